#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Does the counting count? Planted outputs go through rows.awk and expected.sh;
# each check names the rows that must come out (STATUS CASE DETAIL).
set -euo pipefail
cd "$(dirname "$0")"
failed=0

check() { # check WHAT WANTED GOT
	[[ $3 = "$2" ]] && return
	printf 'devtools selftest: %s\n--- wanted\n%s\n--- got\n%s\n' "$@"
	failed=1
}
rows() { # rows ENDED OUTPUT: what becomes of a program that printed OUTPUT
	printf '\001program\t%s\n%s\n' "$1" "$2" | awk -f rows.awk 2>/dev/null | cut -f 1,3,4 | tr '\t' ' '
}

two='[==========] Running 2 test(s).
[ RUN      ] one
[       OK ] one
[ RUN      ] two'
passed="$two
[       OK ] two
[==========] 2 test(s) run."

check 'all pass' $'PASS one \nPASS two ' "$(rows ok "$passed")"
check 'a failing case, listed again in the summary' $'PASS one \nFAIL two assertion' \
	"$(rows 'exit status 1' "$two
[  FAILED  ] two
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] two")"
check 'a failing case whose verdict is on stderr' $'FAIL one no result\nPASS two ' \
	"$(rows ok "${passed/'[       OK ] one'$'\n'/}
[  FAILED  ] one")"
check 'a skipped case, its reason on stderr' $'PASS one \nSKIP two needs SRQ' \
	"$(rows ok "$two
[  SKIPPED ] two
skip: two: needs SRQ")"
check 'a skip without a reason' $'PASS one \nSKIP two no reason given' "$(rows ok "$two
[  SKIPPED ] two")"
check 'a crash inside a case' $'PASS one \nFAIL two killed by signal 6' \
	"$(rows 'killed by signal 6' "$two")"
check 'exit(0) inside a case' $'PASS one \nFAIL two no result' "$(rows ok "$two")"
check 'a crash before cases of the group ran' \
	$'PASS one \nFAIL two killed by signal 11\nFAIL (group) 3 of 5 cases did not run' \
	"$(rows 'killed by signal 11' "${two/2 test/5 test}")"
check 'a hang' $'PASS one \nFAIL two timed out' "$(rows 'timed out' "$two")"
check 'a leak found after all cases passed' $'PASS one \nPASS two \nFAIL (program) exit status 23' \
	"$(rows 'exit status 23' "$passed")"
check 'a group that was not set up' 'FAIL (group) GROUP SETUP failed, 2 cases in it' \
	"$(rows 'exit status 1' '[==========] Running 2 test(s).
[  FAILED  ] GROUP SETUP')"
check 'a crash before any case' 'FAIL (program) killed by signal 11' "$(rows 'killed by signal 11' '')"
check 'a script' 'PASS (program) ' "$(rows ok 'all is well')"
check 'a script that skips' 'SKIP (program) needs python' "$(rows skip 'skip: ffi: needs python')"

table=$(mktemp)
trap 'rm -f "$table"' EXIT
counts() { # counts LINE: one case ran and one was skipped on d0
	printf 'device\tcases_run_at_least\tskips_at_most\n%b\n' "$1" >"$table"
	printf 'PASS\tcontract d0\ta\t\nSKIP\tvm: contract d0\tb\tneeds X\n' |
		./expected.sh "$table" | cut -f 1,4 | sed "s|$table|TABLE|g" | tr '\t' ' '
}
check 'as many as expected' '' "$(counts 'd0\t1\t1')"
check 'fewer than expected' 'FAIL 1 cases ran, TABLE asks for 2' "$(counts 'd0\t2\t1')"
check 'more skips than allowed' 'FAIL 1 cases skipped, TABLE allows 0' "$(counts 'd0\t1\t0')"
check 'a device without a line' 'FAIL has no line in TABLE' "$(counts 'd1\t1\t1')"

kernel() { # kernel LINE...: the row of a log
	printf '[    0.000000] Linux version 6.1.0-1 (debian)\n[    9.100000] vm: tests -d rxe0\n' >"$table"
	printf '%s\n' "$@" >>"$table"
	./kernel-log.sh "$table" | cut -f 1,4 | tr '\t' ' '
}
check 'a kernel that says nothing' 'PASS ' "$(kernel '[    9.2] rxe0: added' '[    9.3] Warning: unused' '[    9.4] vm: echo BUG:')"
for line in 'WARNING: CPU: 0 PID: 12 at lib/refcount.c:28' 'BUG: kernel NULL pointer dereference' \
	'watchdog: BUG: soft lockup - CPU#1 stuck for 22s!' 'refcount_t: underflow; use-after-free.' 'Oops: 0000 [#1]'; do
	check "a kernel that says $line" "FAIL Linux 6.1.0-1, 1 complaints, the first during tests -d rxe0: [    9.2] $line" \
		"$(kernel "[    9.2] $line" '[    9.3] vm: others')"
done
: >"$table"
check 'a guest that died before its first command ended' 'FAIL there is none' \
	"$(./kernel-log.sh "$table" | cut -f 1,4 | tr '\t' ' ')"
exit $failed
