#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Do the benchmarks run? Every line that was asked for, with numbers in it, and the same numbers as JSON. How large they
# are is nobody's business here.
#
#   bench_test.sh BENCH.SH PROGRAM CASE
set -euo pipefail

bench=$1 case=$3
export PLX_BENCH=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for tool in jq valgrind; do
	command -v $tool >/dev/null || { echo "skip: $case: needs $tool"; exit 77; }
done

run() {
	status=0
	timeout 100 "$bench" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
}
fail() {
	echo "$case: $*"
	echo "exit status $status, stdout:"
	cat "$tmp/out"
	echo "stderr:"
	cat "$tmp/err"
	exit 1
}
names() { "$bench" NONE 2>&1 | sed -n "s/.*; there are: //p"; }

targets() { awk -v names=" $(names) " '!/^#/ && $2 !~ /^[?]/ && index(names, " " $1 " ")' "$(dirname "$0")/targets.tsv" | wc -l; }

every_benchmark_prints_its_line_and_the_same_as_json() {
	local name
	run --quick --json "$tmp/json"
	[[ $status = 0 ]] || fail 'wants exit status 0'
	for name in $(names); do
		[[ $(grep -c "^bench: $name " "$tmp/out") = 1 ]] || fail "wants one line of $name"
	done
	# After the name: key=number and the targets that were missed, nothing else.
	! grep -vE '^bench: B[0-9]+( [a-z0-9_]+=-?[0-9]+(\.[0-9]+)?)+ missed=(-|[a-z0-9_,]+)$' "$tmp/out" ||
		fail 'wants numbers only'
	jq -r '.benchmarks[] | "bench: " + .name, (.numbers | to_entries[] | "\(.key)=\(.value)")' "$tmp/json" >"$tmp/as-json"
	sed 's/ missed=.*//' "$tmp/out" | awk '{ print $1 " " $2; for (i = 3; i <= NF; i++) { split($i, p, "="); print p[1] "=" p[2] + 0 } }' |
		diff - <(awk -F= 'NF == 2 { $2 += 0; print $1 "=" $2; next } { print }' "$tmp/as-json") || fail 'JSON has other numbers'
	[[ $(jq '.machine | .cores > 0 and .clock_hz > 0 and (.cpu | length > 0) and (.cpu_flags | length > 0)' "$tmp/json") = true ]] ||
		fail 'wants the machine'
	[[ $(jq '[.benchmarks[].targets[] | select(.value == null or (.met | type) != "boolean")] == []' "$tmp/json") = true ]] ||
		fail 'a target is of no number'
	# Each target of a benchmark that ran is in the object, but for numbers that not every build has.
	[[ $(jq '[.benchmarks[].targets[]] | length' "$tmp/json") -ge $(targets) ]] || fail 'wants every target'
}
one_that_counts_no_instructions_runs_alone() {
	run --quick B6
	[[ $status = 0 ]] && grep -qE '^bench: B6 raw=' "$tmp/out" || fail 'wants its line'
	[[ $(wc -l <"$tmp/out") = 1 ]] || fail 'wants one line'
}
unknown_names_are_refused() {
	run B1 B99
	[[ $status = 2 && $(cat "$tmp/err") = "bench.sh: no benchmark 'B99'; there are: $(names)" && ! -s $tmp/out ]] ||
		fail 'wants exit status 2 and the names that there are'
	run --nope
	[[ $status = 2 ]] && grep -q -- '--nope: unknown option' "$tmp/err" || fail 'wants the option named'
	run --json
	[[ $status = 2 ]] || fail 'wants --json to need a file'
}
a_program_that_breaks_fails_the_run() {
	PLX_BENCH=false run --quick B1
	[[ $status = 1 && ! -s $tmp/out ]] && grep -q '^bench.sh: false broke$' "$tmp/err" || fail 'wants exit status 1'
}

"$case"
echo "$case: ok"
