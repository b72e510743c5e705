#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# plx-pingpong and plx-info as a user meets them: what they print, and how they end.
#
#   apps.sh PROGRAM CASE
#
# A case is a function below. It runs the program with `run`, which leaves its exit status in $status, its
# output in $out and the last line of stderr in $last, and then says what must hold.
set -euo pipefail

program=$1 case=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

run() {
	status=0
	timeout 60 "$program" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	out=$(<"$tmp/out")
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
prints() { [[ $out =~ $1 ]] || fail "wants on stdout: $1"; }
prints_times() { # prints_times N REGEX: in that many lines
	local n
	n=$(grep -cE "$2" "$tmp/out" || true)
	[[ $n = "$1" ]] || fail "wants $1 lines, has $n: $2"
}
last_names() { for word; do [[ $last = *"$word"* ]] || fail "wants in the last line: $word"; done; }

output_is_lost() { # output_is_lost STATUS ARGUMENT...
	local wanted=$1
	shift
	status=0
	timeout 60 "$program" "$@" >/dev/full 2>"$tmp/err" || status=$?
	last=$(tail -n 1 "$tmp/err")
	ends_with "$wanted"
	last_names stdout 'No space left'
}

# ---- plx-pingpong

pingpong_plays_all_rounds() {
	run -n 700
	ends_with 0
	prints '^loopback0: 700 pings and 700 pongs of 64 bytes, each one verified'
	prints 'half round trip in us: p50 ([0-9.]+), p99 ([0-9.]+), p99\.9 ([0-9.]+), max ([0-9.]+)$'
	local p=("${BASH_REMATCH[@]:1}")
	printf '%s\n' 0.001 "${p[@]}" | sort -gc || fail 'percentiles must grow, and not be 0'
}
pingpong_takes_eal_arguments() {
	run --no-huge --no-shconf --no-pci -m 64 -l 0 -- -d loopback1 -n 1
	ends_with 0
	prints '^loopback1: 1 pings and 1 pongs'
}
pingpong_names_an_unknown_device() {
	run -d nope0
	ends_with 2
	last_names plx-pingpong nope0
}
pingpong_says_what_the_device_refuses() {
	run -d loopback0,max_cqe=64
	ends_with 2
	last_names plx-pingpong CQ
}
pingpong_refuses_bad_options() {
	run -n 0
	ends_with 2
	last_names plx-pingpong -n 0
	run -z
	ends_with 2
	last_names plx-pingpong -d -n
	run extra
	ends_with 2
	last_names plx-pingpong extra
}
pingpong_fails_when_its_output_is_lost() {
	output_is_lost 2 -n 10
	output_is_lost 2 -h
}
pingpong_runs_where_there_are_many_lcores() {
	run --no-huge --no-shconf --no-pci -m 512 --lcores '(0-127)@0' -- -n 10
	ends_with 0
	prints '^loopback0: 10 pings and 10 pongs'
}
pingpong_prints_its_options() {
	run -h
	ends_with 0
	prints '\[-d DEVICE\] \[-n ROUNDS\]'
}
pingpong_plays_whatever_the_device_grants() { # cases 10.1, 10.2, 10.6
	for limits in max_inline=0 max_inline=64 max_inline=102 max_inline=400 inline=none empty=lost grant=less grant=pow2; do
		run -d "loopback0,$limits" -n 20
		ends_with 0
		prints '^loopback0,[^:]*: 20 pings and 20 pongs'
	done
}
pingpong_refuses_a_device_that_carries_nothing() {
	run -d null0
	ends_with 2
	last_names plx-pingpong 'null devices carry no bytes'
}
pingpong_names_the_cpus_that_there_are() {
	[[ ! -e /sys/devices/system/cpu/cpu127 ]] || return 0
	run --no-huge --no-shconf --no-pci -m 64 -l 0,127 --
	ends_with 2
	last_names plx-pingpong 'lcore 127' 'may use CPUs'
}

# ---- plx-info

info_lists_every_software_device() {
	run
	ends_with 0
	prints_times 1 '^null0: driver null'
	prints_times 1 '^loopback0: driver loopback'
}
info_shows_one_device() {
	run -d loopback0
	ends_with 0
	prints_times 1 '^[^ ]'
	prints_times 1 '^    port 1: active, Ethernet, MTU [0-9]+, messages up to [0-9]+ bytes, default$'
	prints_times 1 '^        GID [0-9]+: ::ffff:[0-9.]+, RoCE v2, lo, default$'
	prints_times 1 '^    operations: send .*write .*read .*recv$'
	prints_times 1 '^    flags: attribute-exchange '
	prints_times 1 '^        CQEs of a CQ +[1-9][0-9]*$'
}
info_shows_what_devargs_change() {
	run -d loopback0,max_cqe=64
	ends_with 0
	prints_times 1 '^        CQEs of a CQ +64$'
}
info_names_what_there_is_for_an_unknown_device() {
	run -d nope0
	ends_with 2
	[[ -z $out ]] || fail 'wants nothing on stdout'
	last_names plx-info nope0 loopback0 null0
}
info_names_a_bad_devarg() {
	run -d loopback0,no_such_key=1
	ends_with 2
	last_names plx-info no_such_key
	run -d loopback0,grant=zzz
	ends_with 2
	grep -F 'devarg grant=zzz: not one of exact, ' "$tmp/err" || fail 'wants all choices'
}
info_fails_when_its_output_is_lost() {
	output_is_lost 1 --json
	output_is_lost 1 -d loopback0
	output_is_lost 1 --help
}
info_refuses_bad_options() {
	run -z
	ends_with 2
	last_names plx-info -z
	run loopback0
	ends_with 2
	last_names plx-info loopback0
	run --json=1
	ends_with 2
	last_names plx-info --json
	run --jsonn -d loopback0
	ends_with 2
	last_names plx-info --jsonn
	[[ -z $out ]] || fail 'wants nothing on stdout'
}
info_json_of_an_unknown_device_is_empty() {
	run --json -d nope0
	ends_with 2
	[[ -z $out ]] || fail 'wants nothing on stdout'
	last_names plx-info nope0 loopback0
}

"$case"
echo "$case: ok"
