#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# plx-test itself: what it prints, and how it ends.
#
#   shell.sh PLX-TEST PLX-TEST-PLANTED CASE [ROOM...]
#
# A case is a function below. The planted program is plx-test around the suites of apps/test/planted.c, one for
# each way to end.
set -euo pipefail

plx_test=$1 planted=$2 case=$3 rooms=("${@:4}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export PLX_TEST_SCALE=small
unset DPDK_TEST

run() { # run PROGRAM ARG...
	status=0
	timeout 100 "$@" >"$tmp/out" 2>"$tmp/err" <"${input:-/dev/null}" || status=$?
	out=$(<"$tmp/out")
	last=$(tail -n 1 "$tmp/err")
}
typed() { printf '%s\n' "$@" >"$tmp/in"; input=$tmp/in; }
fail() {
	echo "$case: $*"
	echo "exit status $status, stdout:"
	cat "$tmp/out"
	echo "stderr:"
	cat "$tmp/err"
	exit 1
}
ends_with() { [[ $status = "$1" ]] || fail "wants exit status $1"; }
prints() { for line; do grep -qxF -- "$line" "$tmp/out" || fail "wants the line: $line"; done; }
prints_like() { [[ $out =~ $1 ]] || fail "wants on stdout: $1"; }
prints_not() { [[ $out != *"$1"* ]] || fail "does not want on stdout: $1"; }
last_names() { for word; do [[ $last = *"$word"* ]] || fail "wants in the last line: $word"; done; }
in_order() { # in_order LINE...: these among the lines that name an autotest or its result
	local got
	got=$(grep -E '^(# |Test )' "$tmp/out" | paste -sd ' ')
	[[ $got = "$*" ]] || fail "wants '$*', got '$got'"
}

# ---- how a run ends

a_test_that_passes_is_ok() {
	run "$planted" good_autotest
	ends_with 0
	in_order '# good_autotest' 'Test OK'
}
a_test_that_fails_fails_the_run() {
	run "$planted" good_autotest bad_autotest good_autotest
	ends_with 1
	in_order '# good_autotest' 'Test OK' '# bad_autotest' 'Test Failed' '# good_autotest' 'Test OK'
}
one_bad_suite_fails_its_room() {
	run "$planted" mixed_autotest
	ends_with 1
	in_order '# mixed_autotest' 'Test Failed'
}
a_crash_is_a_failure() {
	run "$planted" crash_autotest good_autotest
	ends_with 1
	in_order '# crash_autotest' 'Test Failed' '# good_autotest' 'Test OK'
}
what_is_left_behind_is_a_failure() {
	run "$planted" leak_autotest
	ends_with 1
	prints_like $'\n''fail: leak/leak: left behind: .*allocations ([0-9]+) -> ([0-9]+)'
	((BASH_REMATCH[2] == BASH_REMATCH[1] + 1)) || fail 'one allocation was lost'
	in_order '# leak_autotest' 'Test Failed'
}
only_skips_are_a_skipped_run() {
	run "$planted" absent_autotest
	ends_with 77
	in_order '# absent_autotest' 'Test Skipped'
	run "$planted" absent_autotest good_autotest
	ends_with 0
	run "$planted" half_autotest
	ends_with 0
	in_order '# half_autotest' 'Test OK'
}

# ---- what is not there is named

too_few_lcores_skip_by_name() {
	local eal=(--no-huge --no-shconf --no-pci -m 64 -l 0)
	run "$planted" "${eal[@]}" -- lcores_autotest
	ends_with 77
	prints 'skip: lcores/three: needs lcores 0 (main) to 2: there are 1' 'Test Skipped'
	run "$planted" "${eal[@]}" -- lcores_some_autotest
	ends_with 0
	prints 'skip: lcores_some/three: needs lcores 0 (main) to 2: there are 1' 'Test OK'
	run "$plx_test" "${eal[@]}" -- dispatcher_autotest
	ends_with 77
	prints 'skip: dispatcher/deliver: needs lcores 0 (main) to 3: there are 1' 'Test Skipped'
}
no_hugepages_skip_by_name() {
	run "$planted" hugepages_autotest
	ends_with 77
	prints 'skip: hugepages/hugepages: needs hugepages: EAL runs without' 'Test Skipped'
}
root_is_needed_by_name() {
	run "$planted" root_autotest
	[[ $EUID != 0 ]] || { ends_with 0; prints 'Test OK'; }
	[[ $EUID != 0 ]] || run setpriv --reuid 65534 --clear-groups env XDG_RUNTIME_DIR=/tmp "$planted" root_autotest
	ends_with 77
	prints_like 'skip: root/root: needs root: this is user [1-9][0-9]*'
}
a_missing_capability_is_named() {
	run "$planted" -d loopback0 rnr_autotest
	ends_with 0
	run "$planted" -d loopback0,no-such-key=1 rnr_autotest
	ends_with 2
	run "$planted" -d null0 rnr_autotest
	ends_with 77
	prints 'skip: rnr/rnr: needs RNR retries: not on null0' 'Test Skipped'
}
contract_skips_by_name_what_null_cannot() {
	run "$plx_test" -d null0 contract_autotest
	ends_with 0
	prints 'skip: contract/transfer: needs a device that moves data; null0 moves none' 'Test OK'
	prints_like 'OK . fresh_cq_is_empty'
}
an_unknown_device_is_named() {
	run "$planted" -d nope0 good_autotest
	ends_with 2
	last_names plx-test nope0
	prints_not '# good_autotest'
}

# ---- where commands come from

an_unknown_command_stops_all() {
	run "$plx_test" op_autotest nope_autotest
	ends_with 2
	last_names plx-test nope_autotest dump_tests
	prints_not '# op_autotest'
	DPDK_TEST=op_autotest,nope_autotest run "$plx_test"
	ends_with 2
	last_names DPDK_TEST nope_autotest
	prints_not '# op_autotest'
}
bad_options_are_named() {
	run "$plx_test" --depth 3
	ends_with 2
	last_names plx-test --depth
}
the_environment_names_tests() {
	DPDK_TEST=hist_autotest,op_autotest run "$plx_test"
	ends_with 0
	in_order '# hist_autotest' 'Test OK' '# op_autotest' 'Test OK'
	DPDK_TEST='good_autotest bad_autotest' run "$planted" half_autotest
	ends_with 1
	in_order '# good_autotest' 'Test OK' '# bad_autotest' 'Test Failed' '# half_autotest' 'Test OK'
}
a_piped_session_is_a_session() {
	typed op_autotest quit good_autotest
	run "$plx_test"
	ends_with 0
	prints_like 'plx>>op_autotest.*# op_autotest.*Test OK.*plx>>quit'
	in_order '# op_autotest' 'Test OK'
	printf 'good_autotest\ngood_autotest' >"$tmp/in" # a last line without its end
	run "$planted"
	in_order '# good_autotest' 'Test OK' '# good_autotest' 'Test OK'
	status=0
	"$planted" good_autotest >/dev/full 2>"$tmp/err" || status=$?
	ends_with 1
	status=0
	"$planted" --help >/dev/full 2>"$tmp/err" || status=$?
	ends_with 2
	typed bad_autotest good_autotest # its end is as good as quit
	run "$planted"
	ends_with 1
	in_order '# bad_autotest' 'Test Failed' '# good_autotest' 'Test OK'
}
the_prompt_survives_nonsense() {
	typed nope_autotest good 'good_autotest now' good_autotest quit
	run "$planted"
	ends_with 2 # nobody saw it
	prints 'Command not found: nope_autotest' 'Command not found: good' 'Command not found: good_autotest now'
	last_names plx-test '3 lines of stdin'
	in_order '# good_autotest' 'Test OK'
	typed nope_autotest bad_autotest
	run "$planted"
	ends_with 2
	in_order '# bad_autotest' 'Test Failed'
}
help_lists_every_command() {
	local cmd
	typed help quit
	run "$plx_test"
	ends_with 0
	for cmd in op_autotest op_perf_autotest contract_autotest dump_tests fast_tests quit; do
		prints_like "(^|[[:cntrl:]])$cmd "
	done
}

# ---- what there is

every_room_has_an_autotest() {
	local room
	run "$plx_test" dump_tests
	ends_with 0
	[[ ${#rooms[@]} -ge 15 ]] || fail 'wants the rooms as arguments'
	for room in "${rooms[@]}"; do
		prints_like "(^|"$'\n'")${room}_autotest "
	done
	prints_like 'a program of its own:.*'$'\n''    op/poison +[a-z].*'
}
dumps_say_what_there_is() {
	run "$plx_test" dump_devices dump_lcores dump_op_pools dump_memzone dump_malloc_stats dump_mempools dump_rings
	ends_with 0
	prints_like 'loopback0 +driver loopback, tests run on it'
	prints_like 'null0 +driver null'
	prints_like 'lcore 3, '
	prints_like 'op pools: 0'
	prints 'mempools: 0' 'memzones: 0'
	prints_like 'Alloc_count:'
}
perf_tests_print_cycles_and_judge_none() {
	run "$plx_test" perf_tests
	ends_with 0
	local room
	for room in op lane dispatcher poller; do
		prints "# ${room}_perf_autotest"
		prints_like $'\n'"$room +[a-z].* +[0-9]+\.[0-9] cycles per op"
	done
	prints_not 'Test Failed'
}

"$case"
