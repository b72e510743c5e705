#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# The trace of the script on a device, against the one that is kept, line by line.
#
#   conformance.sh same PROGRAM DEVICE TRACE      the script on DEVICE gives TRACE
#   conformance.sh finds PROGRAM DEVICE TRACE     a TRACE with one status changed is told from it
#   conformance.sh page                           doc/conformance.md has every difference of the traces
#   conformance.sh table                          prints the table that it must have
#
# Paths are the project's; PROGRAM and TRACE are as given.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
page=$here/../../doc/conformance.md
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

trace() { # PROGRAM DEVICE
	"$1" -d "$2" -s "$here/script.txt" >"$tmp/trace" 2>"$tmp/err" || { cat "$tmp/err"; exit 1; }
	nb=$(grep -c '^  [ab]#' "$tmp/trace")
	[ "$nb" -gt 300 ] || { echo "only $nb completions"; exit 1; }
	if grep -n 'not advertised' "$tmp/trace"; then echo "$2 lacks them"; exit 1; fi
}

table() { # steps that differ: operations, completions by the specification, completions of rxe
	awk '
		FNR == 1 { file++ }
		/^step / { step = $2 + 0; sub(/^step [0-9]+: /, ""); ops[step] = $0; if (file == 1) order[++n] = step; next }
		{ sub(/^ +/, ""); text[file, step] = text[file, step] (text[file, step] == "" ? "" : "<br>") $0; line[file, step, ++nb[file, step]] = $0 }
		function differing(file, step,    i, all) {
			for (i = 1; i <= nb[file, step]; i++)
				if (line[1, step, i] != line[2, step, i])
					all = all (all == "" ? "" : "<br>") line[file, step, i]
			return all
		}
		END {
			print "| step | operations | specification | rxe |"
			print "|---|---|---|---|"
			for (i = 1; i <= n; i++) {
				step = order[i]
				if (text[1, step] != text[2, step])
					print "| " step " | `" ops[step] "` | " differing(1, step) " | " differing(2, step) " |"
			}
		}' "$here/trace.iba.txt" "$here/trace.rxe.txt"
}

case $1 in
same)
	trace "$2" "$3"
	diff "$4" "$tmp/trace"
	echo "$nb completions as in $(basename "$4")" ;;
finds)
	trace "$2" "$3"
	for line in 30 200 400; do # a success, and what else is there
		awk -v nb="$line" '/^  [ab]#/ && ++at == nb { $NF = $NF == "REM_OP_ERR" ? "SUCCESS" : "REM_OP_ERR"; $0 = "  " $0 } { print }' \
			"$4" >"$tmp/changed"
		if diff "$tmp/changed" "$tmp/trace" >"$tmp/diff"; then echo "completion $line changed, and nobody saw it"; exit 1; fi
		[ "$(grep -c '^<' "$tmp/diff")" = 1 ] || { echo 'more than was changed:'; cat "$tmp/diff"; exit 1; }
	done ;;
table)
	table ;;
page)
	table >"$tmp/table"
	[ "$(wc -l <"$tmp/table")" -gt 10 ] || { echo 'the search is broken'; exit 1; }
	sed -n '/^| step |/,/^$/p' "$page" | sed '/^$/d' >"$tmp/page"
	diff "$tmp/page" "$tmp/table" || { echo "doc/conformance.md: put the output of '$0 table' in place of its table"; exit 1; }
	echo "$(($(wc -l <"$tmp/table") - 2)) steps differ" ;;
*)
	echo "no such case: $1"
	exit 2 ;;
esac
