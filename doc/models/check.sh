#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Check the models with spin, and that spin finds what is wrong when one rule is taken away.
#
#   doc/models/check.sh [MODEL...]
#
# Prints a case each, as cmocka does. Without spin: skipped.
set -euo pipefail

folder=$(realpath "$(dirname "$0")")
command -v spin >/dev/null || { echo 'skip: models: needs spin'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

explore() { # explore MODEL BREAK: what pan says of the model without that rule
	mkdir "$work/$1.$2"
	cd "$work/$1.$2"
	spin -DBREAK="$2" -a "$folder/$1.pml" >log && cc -O"$((!$2))" -w -DSAFETY -o pan pan.c >>log 2>&1 &&
		./pan -m10000 -w"$(($2 ? 16 : 22))" # what is broken shows early
}
rules() { # rules MODEL: number and name of each, a line
	sed -n 's/^#define \([A-Z_]*\)[ \t]*\([1-9][0-9]*\)[ \t].*/\2 \1/p' "$folder/$1.pml" | grep -v 'SLOTS\|USES\|NONE\|EARLY$'
}
failed=0

case_begin() { echo "[ RUN      ] $1"; }
case_end() { # case_end NAME WHAT: by the status before it
	if [[ $? = 0 ]]; then echo "[       OK ] $1"; else echo "[  FAILED  ] $1"; failed=1; fi
}

models=${*:-op_life op_early}
nb=0
for model in $models; do
	nb=$((nb + 1 + $(rules "$model" | wc -l)))
done
echo "[==========] Running $nb test(s)."
for model in $models; do
	name=${model}_holds
	case_begin "$name"
	out=$(explore "$model" 0) || true
	grep -E 'errors:|states, stored|depth' <<<"$out" || true
	grep -q 'errors: 0' <<<"$out" && ! grep -qE 'max search depth too small|out of memory' <<<"$out" && true
	case_end "$name"
	while read -r number rule; do
		name=spin_finds_${rule,,}
		case_begin "$name"
		out=$(explore "$model" "$number") || true
		grep -E '^pan:.*(assert|invalid)' <<<"$out" || true
		grep -qE 'errors: [1-9]' <<<"$out" && true
		case_end "$name"
	done <<<"$(rules "$model")"
done
exit $failed
