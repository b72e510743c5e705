#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Run the benchmarks, each beside its raw twin, and print a line for each:
#
#   devtools/bench.sh                      all of them, in under 4 minutes
#   devtools/bench.sh B1 B8                these
#   devtools/bench.sh --json FILE [NAME...]    the same numbers, the machine and the targets as one JSON object too
#   devtools/bench.sh --quick [NAME...]    a few short rounds: does it run? The times mean nothing
#
#   bench: B1 raw=4.21 plx=7.30 ratio=1.734 ... instr_raw=50.00 instr_plx=120.00 instr_added=70.00 missed=-
#
# raw, plx and what has their unit: ns per op, unless doc/performance.md says
# otherwise; it also says what each benchmark and its twin do. instr_*:
# instructions per op under callgrind, the same at every run. missed: the
# targets that were, or "-". Nothing here passes or fails by a time.
#
# Exit status: 0; 1 a benchmark broke; 2 an unknown name or option.
set -euo pipefail

from=$PWD
cd "$(dirname "$0")/.."
known='B1 B2 B3 B4 B5 B6 B7 B8 B12'
json='' quick='' names=''
usage() { echo "bench.sh: $1" >&2; exit 2; }
while [[ $# != 0 ]]; do
	case $1 in
	--json) [[ $# -ge 2 ]] || usage '--json: needs a file'; json=$2; shift ;;
	--quick) quick=1 ;;
	-h | --help) sed -n '5,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
	-*) usage "$1: unknown option; there are: --json FILE, --quick, --help" ;;
	*) [[ " $known " = *" $1 "* ]] || usage "no benchmark '$1'; there are: $known"; names="$names $1" ;;
	esac
	shift
done
names=${names:-$known}
[[ ! $json ]] || json=$(cd "$from" && realpath -m -- "$json")
timed=${names/B3/} # B3 is the disassembly, not a run
counted='' # those of one lcore
for name in $timed; do
	[[ " B4 B6 B7 B12 " = *" $name "* ]] || counted+=" $name"
done
[[ ! $json ]] || : >>"$json" || usage "--json $json: cannot be written"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [[ ! ${PLX_BENCH:-} ]]; then # a test brings its own
	devtools/setup.sh bench
	devtools/build.sh build --buildtype=release
fi
program=${PLX_BENCH:-build/tests/bench/plx-bench}
times=(-r 201) counts=(-c)
[[ ! $quick ]] || { times=(-r 3 -s 5); counts=(-c -s 5); }

broke() {
	cat "$tmp/err.$1" >&2
	echo "bench.sh: ${what[$1]} broke" >&2
	wait # for those beside it, which write into $tmp
	exit 1
}

step_b3() { devtools/bench/b3.sh >"$tmp/rows.b3" 2>"$tmp/err.b3"; }
step_times() {
	# shellcheck disable=SC2086 # names
	"$program" "${times[@]}" $timed >"$tmp/rows.times" 2>"$tmp/err.times"
}
# Callgrind writes a file for each window, in the order of the "window" lines.
step_counts() {
	# shellcheck disable=SC2086
	valgrind --tool=callgrind --callgrind-out-file="$tmp/callgrind" --zero-before=bench_window --dump-after=bench_window \
		"$program" "${counts[@]}" $counted >"$tmp/windows" 2>"$tmp/err.counts"
}
step() { "step_$1" || broke "$1"; }
declare -A what=([b3]=devtools/bench/b3.sh [times]=$program [counts]="$program under callgrind")
: >"$tmp/windows"
: >"$tmp/rows.none"
[[ ! ${timed// /} ]] || step times
b3=''
[[ $names = "$timed" ]] || { step_b3 & b3=$!; } # compilers beside valgrind: neither is timed
[[ ! $counted ]] || step counts
[[ ! $b3 ]] || wait $b3 || broke b3
cat "$tmp"/rows.* >"$tmp/rows"
nth=0
sed -n '/^window /p' "$tmp/windows" | while read -r _ name work nb; do
	nth=$((nth + 1))
	echo "$name $work $nb $(awk '/^totals:/ { print $2 }' "$tmp/callgrind.$nth")"
done >"$tmp/counts"

awk -v names="$names" -f devtools/bench/rows.awk tests/bench/targets.tsv "$tmp/counts" "$tmp/rows" >"$tmp/lines"
for name in $names; do
	grep -q "^$name .*=[0-9]" "$tmp/lines" && continue
	echo "bench.sh: $name printed no number: it broke" >&2
	exit 1
done
sed 's/^/bench: /' "$tmp/lines"
[[ ! $json ]] || devtools/bench/json.sh "$tmp/lines" "$(sed -n "s/^clock //p" "$tmp/rows" | grep . || echo none 0)" >"$json"
