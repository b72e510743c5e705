#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# own_backend.sh PROGRAM CASE: a backend without a device; and the same search in a program that has one.
set -eu
program=$1 case=$2
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
devices=' (plx_device|plx_[a-z]*_driver|plx_drivers)'
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
	nm "$program" >"$tmp"
	grep -q ' plx_conn_attach$' "$tmp" || fail 'no symbols: the search is broken'
	if grep -E "$devices" "$tmp"; then fail 'it links these'; fi ;;
a_program_that_links_a_device_is_found_out) # PROGRAM is such a one
	nm "$program" >"$tmp"
	for symbol in plx_device_open plx_null_driver plx_drivers_register; do
		grep -E "$devices" "$tmp" | grep -q " $symbol$" || fail "the search does not find $symbol"
	done ;;
*) fail 'no such case' ;;
esac
