#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Inside the guest: run every line of FOLDER/commands (see vm-suite.sh).
folder=$1
limit=200 # seconds for one command

ls /sys/class/infiniband >"$folder/devices"
number=0
while IFS= read -r command; do
	number=$((number + 1))
	timeout -k 5 $limit sh -c "$command" >"$folder/$number.out" 2>&1 </dev/null
	echo $? >"$folder/$number.rc"
done <"$folder/commands"
