#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# As in a container: no privileges, and 64 KiB that may be pinned. A program that needs more says so with the
# numbers and how to change that, and starts nothing; one that does not need more runs.
#
#   memlock.sh PLX-PERF DEVICE      as root, on a device that pins what is registered
set -euo pipefail
# case 8.4

perf() {
	setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --memlock=65536:65536 \
		"$plx_perf" -- -d "$device" -q 1 -n 100 "$@" >"$tmp/out" 2>"$tmp/err"
}
plx_perf=$1 device=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

status=0
perf -s 65536 || status=$?
tail -1 "$tmp/err"
[[ $status = 2 ]]
tail -1 "$tmp/err" | grep -q 'RLIMIT_MEMLOCK is 65536, pinned already 0, so it must be [0-9]* at least: ulimit -l'
if grep -q ibv_reg_mr "$tmp/err"; then # something had been registered
	cat "$tmp/err"
	exit 1
fi
perf -s 64 --depth 16 || { tail -3 "$tmp/err"; exit 1; }
