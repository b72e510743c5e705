#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Does the fuzzing find anything? A decoder is broken in a copy, and from one
# harmless input an input must be found that shows it.
#
#   planted.sh NAME SOURCE-ROOT CONFIG-DIR FILE...
#
# FILEs are those that build.sh gets for fuzz_NAME.
set -euo pipefail

name=$1 root=$2 config=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

declare -A seed=([import]=good [addr]=good [devargs]=plain [script]=drop)
declare -A file=(
	[import]=lib/common/wire.c
	[addr]=lib/device/device_addr.c
	[devargs]=lib/device/device_registry.c
	[script]=drivers/fault/fault_words.c
)
declare -A right=(
	[import]='if (len < frame->len)'
	[addr]='addr->psn <= NUM_MAX'
	[devargs]='if (len >= sizeof(name))'
	[script]='word.len < FOUND_MAX ? word.len : FOUND_MAX'
)
declare -A wrong=(
	[import]='if (len + 4 < frame->len)'
	[addr]='true'
	[devargs]='if (len > sizeof(name))'
	[script]='word.len'
)

broken=$tmp/$(basename "${file[$name]}")
text=$(cat "$root/${file[$name]}")
[[ $text = *"${right[$name]}"* ]] || { echo "${file[$name]} has no '${right[$name]}' any more: change planted.sh"; exit 1; }
printf '%s\n' "${text/"${right[$name]}"/"${wrong[$name]}"}" >"$broken"
inputs=()
for input; do
	[[ $input -ef $root/${file[$name]} ]] && input=$broken
	inputs+=("$input")
done
[[ " ${inputs[*]} " = *" $broken "* ]]
"$here/build.sh" "$root" "$config" "$tmp/fuzz" "${inputs[@]}"

mkdir "$tmp/corpus"
cp "$here/corpus/$name/${seed[$name]}" "$tmp/corpus"
"$tmp/fuzz" -runs=0 "$tmp/corpus" >"$tmp/log" 2>&1 || { cat "$tmp/log"; echo 'the seed alone shows it'; exit 1; }
if "$tmp/fuzz" -seed=1 -runs=500000 -max_len=256 -artifact_prefix="$tmp/" "$tmp/corpus" >"$tmp/log" 2>&1; then
	tail -3 "$tmp/log"
	echo "fuzz_$name did not find '${wrong[$name]}'"
	exit 1
fi
grep -E 'ERROR: AddressSanitizer|does not hold|runtime error' "$tmp/log" # not a crash of another kind
echo "after $(grep -oE '^#[0-9]+' "$tmp/log" | tail -1 | tr -d '#') inputs, with $(ls "$tmp" | grep ^crash-): $(base64 -w 0 "$tmp"/crash-*)"
