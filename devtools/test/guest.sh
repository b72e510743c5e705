#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Inside the guest: run every line of FOLDER/commands (see vm-suite.sh).
# FOLDER/dmesg follows the kernel's log: so it has what a full buffer drops, and
# what came before the guest's death. Without what rxe says of a dummy netdev at
# each query of a port.
folder=$1
limit=200 # seconds for one command
[ "${PLX_TEST_SCALE-}" = small ] || limit=900
say() { echo "vm: $*" >/dev/kmsg; }

dmesg -w 2>/dev/null | grep --line-buffered -v 'speed is unknown, defaulting' >"$folder/dmesg" 2>&1 &
log=$!
ls /sys/class/infiniband >"$folder/devices"
number=0
while IFS= read -r command; do
	number=$((number + 1))
	say "$command"
	timeout -k 5 $limit sh -c "$command" >"$folder/$number.out" 2>&1 </dev/null
	echo $? >"$folder/$number.rc"
done <"$folder/commands"
say end
for _ in 1 2 3 4 5 6 7 8 9 10; do
	if grep -q ' vm: end' "$folder/dmesg"; then break; fi
	sleep 1
done
kill $log
