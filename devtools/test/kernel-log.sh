#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# One row from the guest's kernel log: kernel-log.sh FILE
#
# FILE is the log, with a line "vm: COMMAND" where each command began (guest.sh).
# Some complaint is a failure, whoever is to blame: the row names the command
# that ran, and the kernel. So is a log that does not reach to the first command.
set -eu
if ! grep -qs ' vm: ' "$1"; then
	printf 'FAIL\tvm\tkernel log\tthere is none\n'
	exit 0
fi
awk '
	/ vm: / { command = $0; sub(/.* vm: /, "", command); next }
	/Linux version / { kernel = $0; sub(/.*Linux version /, "", kernel); sub(/ .*/, "", kernel) }
	/WARNING:|BUG:|Oops|soft lockup|refcount_t:|use-after-free/ { if (nb++ == 0) first = "during " command ": " $0 }
	END {
		gsub(/\t/, " ", first)
		if (nb == 0) print "PASS\tvm\tkernel log\t"
		else print "FAIL\tvm\tkernel log\tLinux " kernel ", " nb " complaints, the first " first
	}' "$1"
