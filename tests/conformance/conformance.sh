#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# The trace of the script on a device, against the one that is kept, line by line.
#
#   conformance.sh same PROGRAM DEVICE TRACE      the script on DEVICE gives TRACE
#   conformance.sh finds PROGRAM DEVICE           DEVICE errs in one thing after the other, and each is found
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
	program=$1 device=$2
	"$program" -d "$device" -s "$here/script.txt" >"$tmp/trace" 2>"$tmp/err" || { cat "$tmp/err"; exit 1; }
	nb=$(grep -c '^  [ab]#' "$tmp/trace")
	[ "$nb" -gt 300 ] || { echo "only $nb completions"; exit 1; }
	if grep -n 'not advertised' "$tmp/trace"; then echo "$2 lacks them"; exit 1; fi
}

run_faulty() { # FAULTS, on the program and the device that trace() had
	"$program" -d "$device" -f "$1" -s "$here/script.txt" >"$tmp/trace" 2>"$tmp/err"
}

tells() { # FAULTS LINE: the trace is another one, and LINE is among what is new
	run_faulty "$1" || { cat "$tmp/err"; exit 1; }
	if diff "$tmp/right" "$tmp/trace" >"$tmp/diff"; then echo "$1: the trace does not tell"; exit 1; fi
	grep -q "$2" "$tmp/diff" || { echo "$1: another difference"; cat "$tmp/diff"; exit 1; }
}

fails() { # FAULTS TEXT: the program says TEXT, and fails
	if run_faulty "$1"; then echo "$1: nobody saw it"; exit 1; fi
	grep -q "$2" "$tmp/err" || { echo "$1: failed, but not for that"; cat "$tmp/err"; exit 1; }
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
	shift
	trace "$@"
	mv "$tmp/trace" "$tmp/right"
	# A status changed, at either queue; two completions in the wrong order.
	tells 'error LOC_PROT_ERR send 30' '> .*#[0-9]* [a-z-]* LOC_PROT_ERR$'
	tells 'error GENERAL_ERR recv 50' '> .* recv GENERAL_ERR$'
	tells 'swap send 1/7' '> .*#[0-9]* '
	# What is undefined in an error may be anything.
	run_faulty poison
	diff "$tmp/right" "$tmp/trace"
	# A completion of nobody, one that comes twice, and what the device does not let go of.
	fails 'dup send 200' 'nobody waits for'
	fails 'wrid 150' 'nobody waits for'
	fails 'fail qp_destroy 5 EBUSY' 'a QP does not go'
	fails 'fail cq_destroy 5 EBUSY' 'a CQ does not go'
	fails 'fail mw_destroy 1 EBUSY' 'a window does not go'
	fails 'fail mr_deregister 4 EBUSY' 'a region does not go'
	fails 'fail pd_destroy 1 EBUSY' 'a PD does not go' ;;
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
