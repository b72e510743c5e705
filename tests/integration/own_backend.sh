#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# own_backend.sh PROGRAM CASE: a backend without a device.
set -eu
program=$1 case=$2
fail() { echo "$case: $*"; exit 1; }

case $case in
own_backend_moves_data_and_settles_every_op)
	printed=$("$program" --no-huge --no-shconf --no-pci -m 64 -l 0 2>/dev/null) || fail "exit $?"
	echo "$printed"
	[ "$printed" = 'b recv: SUCCESS
a send: SUCCESS
b recv: SUCCESS
a send: SUCCESS
b has: hello hello
b recv: CONN_LOST' ] || fail 'not what was expected' ;;
own_backend_links_no_device)
	nm "$program" >"${TMPDIR:-/tmp}/own_backend.$$"
	trap 'rm -f "${TMPDIR:-/tmp}/own_backend.$$"' EXIT
	grep -q ' plx_conn_attach$' "${TMPDIR:-/tmp}/own_backend.$$" || fail 'no symbols: the search is broken'
	if grep -E ' (plx_device|plx_[a-z]*_driver|plx_drivers)' "${TMPDIR:-/tmp}/own_backend.$$"; then fail 'it links these'; fi ;;
*) fail 'no such case' ;;
esac
