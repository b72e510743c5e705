#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Run one meson test suite of a build folder; print a row (rows.awk) per case.
#
#   meson-suite.sh FOLDER SUITE LABEL [meson test option...]
#
# LABEL goes in front of each program's name. A run of the contract tests is
# named for its device (the argument of -d): "contract rxe0".
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=$1 suite=$2 label=$3
shift 3
logs=$folder/meson-logs
base=plx-$suite${label:+-${label//[!a-z]/}}

rm -f "$logs/$base"*
export CMOCKA_MESSAGE_OUTPUT=STDOUT
[[ ${PLX_TEST_SCALE-} != soak ]] || set -- -t $((10 * ${PLX_TEST_TIMES:-1})) "$@"
# Its status is not asked: each program's own is in the log.
meson test -C "$folder" --no-rebuild --suite "$suite" --logbase "$base" "$@" >"$folder/$base.log" 2>&1 || true
log=$(find "$logs" -name "$base*.json" 2>/dev/null)
if [[ ! -s $log ]]; then
	cat "$folder/$base.log" >&2
	exit 0
fi

# A wrapper (valgrind) stands in front of the command and is skipped over.
jq -r --arg prefix "$label" '
	def device: .command as $c
		| [range($c | length) | select($c[.] | endswith("/plx-contract-tests"))][0] as $at
		| if $at == null then null
		  else ($c[$at:] | index("-d")) as $d | if $d then $c[$at + $d + 1] else null end end;
	def ended:
		if .result == "OK" or .result == "EXPECTEDFAIL" then "ok"
		elif .result == "SKIP" then "skip"
		elif .result == "TIMEOUT" then "timed out"
		elif .returncode < 0 then "killed by signal \(-.returncode)"
		elif .returncode == 0 then .result
		else "exit status \(.returncode)" end;
	"\u0001\($prefix)\(if device then "contract \(device)" else .name | sub("^.* / "; "") end)\t\(ended)",
	.stdout // "", .stderr // ""' "$log" |
	awk -f "$here/rows.awk"
