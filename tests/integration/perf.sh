#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# plx-perf as a user meets it: results that add up, faults that are counted, and how it ends.
#
#   perf.sh PROGRAM CASE
#
# A case is a function below. `run` leaves the exit status in $status and the last line of stderr in $last;
# `holds` asks jq about the JSON that the run wrote.
set -euo pipefail

program=$1 case=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
command -v jq >/dev/null || { echo "skip: $case: needs jq"; exit 77; }

run() {
	status=0
	timeout 100 "$program" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	last=$(tail -n 1 "$tmp/err")
}
fail() {
	echo "$case: $*"
	echo "exit status $status, stdout:"
	cat "$tmp/out"
	echo "stderr:"
	cat "$tmp/err"
	exit 1
}
ends_with() { [[ $status = "$1" ]] || fail "wants exit status $1"; }
holds() { [[ $(jq "$1" "$tmp/out") = true ]] || fail "does not hold: $1"; }
prints() { grep -qE -- "$1" "$tmp/out" || fail "wants on stdout: $1"; }
says() { grep -qE -- "$1" "$tmp/err" || fail "wants on stderr: $1"; }
last_is() { [[ $last = "plx-perf: $1" ]] || fail "wants as the last line: plx-perf: $1"; }
last_begins() { [[ $last = "plx-perf: $1"* ]] || fail "wants the last line to begin: plx-perf: $1"; }
refuses() { # refuses 'LAST LINE' ARGS...: exit 2, that line last, nothing on stdout
	local line=$1
	shift
	run "$@"
	ends_with 2
	last_is "$line"
	[[ ! -s $tmp/out ]] || fail 'wants nothing on stdout'
}

# What every complete run must show, from its own numbers.
adds_up='(.rate_ops - .ops / .seconds | fabs) < 0.01 and .latency_ns.samples == .ops and
	([.latency_ns | .min, .p50, .p90, .p99, .p99_9, .p99_99, .max] | . == sort and .[0] > 0) and
	.latency_ns.mean >= .latency_ns.min and .latency_ns.mean <= .latency_ns.max and .tsc_hz != 0 and
	.half_rtt == false and .loop == "closed"'

# ---- results

default_run_works_whatever_the_device_grants() { # cases 1.5, 10.1, 10.2, 10.6
	for limits in max_inline=0 max_inline=102 inline=none empty=lost grant=less grant=pow2; do
		run -- -d "loopback0,$limits" -n 200 --json -
		ends_with 0
		holds '.ops == 12800 and .errors == 0 and .lost == 0'
	done
}

default_run_counts_every_op() {
	run -- -n 1000 --json -
	ends_with 0
	holds "$adds_up"
	holds '.ops == 64000 and .connections == 64 and .depth == 16 and .burst == 16 and .op == "send" and .size == 64'
	holds '.lost == 0 and .duplicated == 0 and .stale == 0 and .errors == 0'
	holds '.lcores == {main: 0, poller: 1, worker: 2}'
}
text_is_for_people() {
	run -- -n 50 -q 2
	ends_with 0
	prints '^ops +100 in [0-9.]+ s$'
	prints '^lcores +main 0@.*poller 1@.*worker 2@'
	prints 'closed loop, every op is a sample: 100 samples'
	prints '^ +p99\.99 +[0-9.]+ us$'
	prints '^granted +send queue 16, receive queue 32, CQ 100 '
	prints '^clock +.* calibrated at [0-9]+ Hz'
}
json_goes_to_a_file_beside_the_text() {
	run -- -n 50 -q 2 --json "$tmp/json"
	ends_with 0
	prints '^ops +100 in'
	mv "$tmp/json" "$tmp/out"
	[[ $(wc -l <"$tmp/out") = 1 ]] || fail 'wants one line of JSON'
	holds '.ops == 100'
}
window_is_as_long_as_asked() {
	run -- -D 0.5 -q 4 --json -
	ends_with 0
	holds "$adds_up"
	holds '.seconds >= 0.5 and .seconds < 2 and .ops > 0' # the upper end is the machine's
}
write_moves_what_it_says() { run -- -t write -n 500 -q 8 -s 1000 --json -; ends_with 0; holds "$adds_up"; holds '.ops == 4000 and .op == "write"'; }
read_moves_what_it_says() { run -- -t read -n 500 -q 8 -s 1000 --json -; ends_with 0; holds "$adds_up"; holds '.ops == 4000 and .op == "read"'; }
any_size_is_verified() {
	local size
	for size in 0 1 7 513 64k; do
		run -- -n 50 -q 2 --depth 3 -s $size --json -
		ends_with 0
		holds '.ops == 100'
	done
}
run_to_completion_needs_two_lcores() {
	run --no-huge --no-shconf --no-pci --lcores '0@(0-1),5@0' -- --handoff off -n 1000 -q 8 --json -
	ends_with 0
	holds "$adds_up"
	holds '.ops == 8000 and .lcores == {main: 0, poller: 5, worker: null}'
}
one_cpu_is_enough() { # poller and worker share it, and yield
	status=0
	timeout 100 taskset -c 0 "$program" -- -q 2 -n 500 --json - >"$tmp/out" 2>"$tmp/err" || status=$?
	ends_with 0
	says "--lcores '0@\(0\),1@0,2@0'"
	holds '.ops == 1000'
}
help_is_no_error() {
	run --help
	ends_with 0
	prints '--handoff on\|off'
	status=0
	"$program" --help >/dev/full 2>"$tmp/err" || status=$?
	last=$(tail -n 1 "$tmp/err")
	ends_with 2
	last_begins 'stdout: the result could not be written: No space left'
}

# ---- faults

counts_agree() { # with what the fault driver did
	ends_with 0
	says '^fault script: dropped [0-9]+, garbled [0-9]+; lost [0-9]+: equal$'
	says "; lost $(jq .lost "$tmp/out"): equal\$"
	says "^fault script: duplicates [0-9]+; duplicated \\+ stale $(jq '.duplicated + .stale' "$tmp/out"): equal\$"
}
drops_are_counted_as_lost() {
	run -- -n 1000 -q 16 --fault 'drop cqe 1/100' --json -
	counts_agree
	# At least what the script does to the CQEs of all that was sent.
	holds '.lost >= 320 and .ops >= 15000 and .ops <= 16000 and .duplicated + .stale == 0'
}
duplicates_are_counted() {
	run -- -n 1000 -q 16 --fault 'dup cqe 1/50' --json -
	counts_agree
	holds '.lost == 0 and .ops == 16000 and .duplicated + .stale >= 640'
}
drops_and_duplicates_without_handoff() {
	run -- -n 1000 -q 16 --handoff off --fault 'drop cqe 1/70; dup cqe 1/30' --json -
	counts_agree
	holds '.lost > 0 and .duplicated + .stale > 0'
}
run_ends_though_a_whole_window_is_lost() {
	run -- -n 1000 -q 2 --depth 1 --fault 'drop cqe 1/50' --json -
	counts_agree
	holds '.lost >= 80 and .ops + .lost >= 2000'
}
writes_are_lost_at_depth_1_too() {
	run -- -t write -n 500 -q 2 --depth 1 --handoff off --fault 'drop cqe 1/20' --json -
	counts_agree
	holds '.lost >= 50 and .ops + .lost >= 1000'
}
late_completions_are_not_lost() {
	run -- -n 1000 -q 4 --fault 'hold cqe 16 1/3' --json -
	late_ones_agree
	holds '.ops == 4000'
	# So late that everything seems to stand still.
	run -- -n 20 -q 2 --depth 2 --fault 'hold cqe 100000 1/5' --json -
	late_ones_agree
	holds '.ops == 40'
}
# Flushes are held back too, until after the close: those ops are settled as lost, and stale when they come.
late_ones_agree() {
	ends_with 0
	holds '.lost == .duplicated + .stale'
	[[ $(jq .lost "$tmp/out") = 0 ]] || says ' completions were held back until their connections were gone: '
}
result_that_cannot_be_written_fails_the_run() {
	run -- -n 100 -q 2 --json /dev/full
	ends_with 1
	last_begins '/dev/full: the result could not be written: '
	echo old >"$tmp/json" # a run that cannot begin leaves it alone, one that ends replaces it
	run -- -n 100 --json "$tmp/json" --fault nonsense
	ends_with 2
	[[ $(cat "$tmp/json") = old ]] || fail 'the old result is gone'
	run -- -n 100 -q 2 --json "$tmp/json"
	ends_with 0
	[[ $(jq .ops "$tmp/json") = 200 ]] || fail 'no result'
}
error_completion_fails_the_run() {
	run -- -n 1000 -q 4 --fault 'error RNR_RETRY_EXC_ERR 500' --json -
	ends_with 1
	last_begins 'connection '
	[[ $last = *'ended with RNR_RETRY_EXC_ERR: '* ]] || fail 'wants the status in the last line'
	holds '.errors == 1'
}
failed_posts_are_issued_again() { # queued, then not queued; every message is still compared
	run -- -n 1000 -q 4 --fault 'fail post_send 5 ENOMEM; fail post_send 1/500 EIO' --json -
	counts_agree
	holds '.ops == 4000 and .lost == 0 and .errors == 0'
	says '^fault script: ([0-9]+) posts failed; [1-9][0-9]* queued ops were issued again$'
	run -- -n 1000 -q 4 --handoff off --fault 'fail post_send 5 ENOMEM; fail post_send 1/500 EIO' --json -
	counts_agree
	holds '.ops == 4000 and .lost == 0 and .errors == 0'
	says '^fault script: ([0-9]+) posts failed; 0 queued ops were issued again$'
}
every_rule_at_once() {
	run -- -n 1000 -q 16 \
		--fault 'drop cqe 1/1000; dup cqe 1/1000; hold cqe 32; fail post_send 5 ENOMEM; poison' --json -
	counts_agree
	says '^fault counts: cqes [1-9][0-9]*, made 0, given .*, failed_posts 1, denied 0, .*, raised 0(, |$)'
	holds '.lost > 0 and .duplicated + .stale > 0 and .errors == 0'
}
garbled_wr_ids_touch_nobody() {
	run -- -n 500 -q 4 --fault 'wrid 1/100' --json -
	ends_with 0
	counts_agree
	holds '.lost >= 40 and .errors == 0'
}
rules_behind_copies_add_up() { # of two copies one is garbled or dropped: the other one settles the op
	local script
	for script in 'dup cqe 1/10; wrid 1/7 last' 'dup cqe 1/10; wrid 1/7' 'dup cqe 1/2; drop cqe 1/3' \
		'replay cqe 1/9 3; wrid 1/7 last; drop cqe 1/11'; do
		run -- -n 1000 -q 2 --fault "$script" --json -
		ends_with 0
		says '^fault script: dropped [0-9]+, garbled [0-9]+; lost [0-9]+: the whole adds up$'
		! grep -q DIFFERENT "$tmp/err" || fail "wants no difference: $script"
		holds '.ops + .lost >= 2000 and .errors == 0'
	done
}
ops_run_dry() { # each lost completion keeps its op until the end
	run -- -t write -D 100 -q 64 --fault 'drop cqe 1/20' --json -
	ends_with 1
	last_begins 'out of ops: '
	holds '.lost >= 65536 and .latency_ns.samples == .ops'
}

# ---- the end

interrupt() { # interrupt SIGNAL REGEX ARGS...: once it has said that on stderr
	local signal=$1 regex=$2 pid
	shift 2
	"$program" "$@" >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	for _ in $(seq 600); do
		! grep -qsE "$regex" "$tmp/err" || break
		sleep 0.05
	done
	kill -s "$signal" $pid
	for _ in $(seq 600); do
		kill -0 $pid 2>/dev/null || break
		sleep 0.05
	done
	kill -9 $pid 2>/dev/null || true
	status=0
	wait $pid || status=$?
}
ctrl_c_gives_the_result_so_far() {
	interrupt INT 'op/s' -- -q 4 -D 1000 --json -
	ends_with 0
	holds "$adds_up"
	holds '.ops > 0 and .seconds > 0.5 and .seconds < 60'
}
sigterm_ends_a_counted_run() {
	interrupt TERM 'op/s' -- -q 4 -n 1000000000 --json -
	ends_with 0
	holds "$adds_up"
}
interrupt_before_the_run_gives_an_empty_result() {
	interrupt INT '^EAL arguments' -- -q 4 -n 1000000000 --json -
	ends_with 0
	holds '.ops == 0 and .seconds == 0 and .rate_ops == 0 and .latency_ns.p99 == null'
}

# ---- refusals

late_ops_need_no_completion_of_their_own() {
	local handoff
	for handoff in on off; do
		run -- -n 1000 -q 4 --late 4 -t write --handoff $handoff --json -
		ends_with 0
		holds "$adds_up"
		holds '.ops == 4000 and .lost + .duplicated + .stale + .errors == 0'
		# bursts are as they come, and the last of each is signaled
		holds '.signal_every == 4 and .unsignaled > 400 and .unsignaled <= 3 * (4000 + 64) / 4 + 64'
	done
	run -- -n 1000 -q 4 --json -
	holds '.signal_every == 1 and .unsignaled == 0'
	run -- -n 100 -q 4 --late 4
	prints '^completed with a later op, without a completion of their own: [1-9]'
}
late_ops_are_not_lost_with_dropped_completions() {
	run -- -n 2000 -q 4 --late 8 --fault 'drop cqe 1/100' --json -
	ends_with 0
	holds '.ops + .lost >= 8000 and .lost > 0 and .unsignaled > 0 and .errors == 0'
	says '^fault script: dropped .*: equal$'
	# the last completion of all: with it go the ops in front of it, which have none
	run -- -n 16 -q 1 --late 8 -t write --fault 'drop cqe 1/1'
	ends_with 0
	says '^fault script: dropped .*, [1-9][0-9]* of them unsignaled: equal$'
}

bad_options_are_named() {
	refuses '-D 0: not a number of seconds above 0 and up to 1e+06' -- -D 0
	refuses '-n 0: not a number from 1 to 1000000000000' -- -n 0
	refuses '-q 0: not a number from 1 to 65536' -- -q 0
	refuses '--depth 0: not a number from 1 to 16384' -- --depth 0
	refuses '--burst 0: not a number from 1 to 1024' -- --burst 0
	refuses '--late 0: not a number from 1 to 16384' -- --late 0
	refuses '-t swim: not one of send, write, read' -- -t swim
	refuses '--handoff maybe: not one of off, on' -- --handoff maybe
	refuses '-n 1 and -D 1: one of them, not both' -- -n 1 -D 1
	refuses "--nope: unknown option (EAL's options stand before a --; --help lists ours)" -- --nope
	refuses '-q: needs a value' -- -q
	refuses '--json /nowhere/x: No such file or directory' -- --json /nowhere/x
}
unknown_devices_are_named() {
	run -- -d nope0
	ends_with 2
	last_begins '-d nope0: '
	run -- -d loopback0,no_such_key=1
	ends_with 2
	last_begins '-d loopback0,no_such_key=1: '
	[[ $last = *no_such_key* && $last = *max_cqe* ]] || fail 'wants the keys that there are'
}
limits_are_told_with_numbers() {
	local dev=loopback0,max_msg_sz=32
	refuses "-s 64: above max_msg_sz 32 of port 1 of $dev" -- -d $dev
	dev=loopback0,max_qp_wr=8
	refuses "--depth 16: above max_qp_wr 8 of $dev" -- -d $dev
	dev=loopback0,max_cqe=100
	refuses "-q 64 --depth 16: needs 3200 CQEs in one CQ (50 for each connection), max_cqe of $dev is 100" -- -d $dev
	dev=loopback0,max_rd_atomic=0
	refuses "-t read: device $dev does not have it (its max_rd_atomic is 0)" -- -d $dev -t read
	dev=loopback0,max_qp=7
	refuses "-q 4: needs 8 QPs, $dev has at most 7" -- -d $dev -q 4
	run -- -q 64 -s 16m
	ends_with 2
	last_begins '-q 64 --depth 16 -s 16777216: no 16384 MiB for 16 buffers each: '
	run --no-huge --no-shconf --no-pci -m 16 -- -q 100 --depth 256 -n 1000
	ends_with 2
	last_begins 'ops: op pool perf: no ' # the dispatcher's name
}
bad_fault_script_is_shown() { refuses "--fault 'drop x': rule 1, column 6: expected cqe, ok, err, send or recv, found \"x\"" -- --fault 'drop x'; }
too_few_lcores_are_counted() {
	refuses '--handoff on needs 3 lcores (main, poller, worker), EAL has 1: see -l and --lcores' --no-huge -l 0 -- -n 1
	refuses '--handoff on needs 3 lcores (main, poller, worker), EAL has 2: see -l and --lcores, or --handoff off' \
		--no-huge --lcores '0@0,1@0' -- -n 1
	refuses '--handoff off needs 2 lcores (main, poller), EAL has 1: see -l and --lcores' --no-huge -l 0 -- -n 1 --handoff off
}
# case 14.1: without hugepages, as in a container
eal_arguments_start_or_are_refused_by_name() {
	local set
	for set in --no-huge '--no-huge -m 256' --in-memory --huge-unlink '--socket-mem 128'; do
		# shellcheck disable=SC2086 # words
		run $set --no-pci -- -q 1 -n 10 --json -
		ends_with 0
		holds '.ops == 10'
	done
	refuses 'EAL options --in-memory and --no-huge exclude each other' --in-memory --no-huge -- -n 1
	refuses 'EAL options --huge-unlink and --no-huge exclude each other' --no-huge --huge-unlink -- -n 1
	refuses "EAL option --socket-mem '': empty" --no-huge --socket-mem= -- -n 1
	refuses "EAL argument 'no-huge' is no option: --no-huge is" no-huge -- -n 1
	run --no-huge --lcores 0@999 -- -n 1
	ends_with 2
	last_begins 'EAL does not start: core 999 unavailable; this process may use CPUs '
}
defaults_of_eal_are_printed() {
	run -q 1 -n 1
	ends_with 0
	says "^EAL arguments: --no-huge --no-shconf --no-pci -m 512 --lcores '"
}

"$case"
echo "$case: ok"
