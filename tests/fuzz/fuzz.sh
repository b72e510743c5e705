#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Make up inputs for one decoder, beginning with those that are kept.
#
#   fuzz.sh PROGRAM FOLDER...        PROGRAM of build.sh, FOLDERs of inputs
#
# A fixed number of inputs from a fixed seed, a second or so; with
# PLX_TEST_SCALE=soak some hundred times as many, and others each time.
# An input that ends the program stays beside it, crash-*, and is named.
set -euo pipefail

program=$1
shift
name=$(basename "$program")
found=$(mktemp -d)
trap 'rm -rf "$found" "$found.log"' EXIT

declare -A runs=([fuzz_import]=200000 [fuzz_addr]=200000 [fuzz_script]=100000 [fuzz_devargs]=5000)
options=(-seed=1 -max_len=256 -timeout=20 -artifact_prefix="$(dirname "$program")/")
if [[ ${PLX_TEST_SCALE-} = soak ]]; then
	options=("${options[@]:1}" -runs=$((${runs[$name]} * 300)))
else
	options+=(-runs="${runs[$name]}")
fi

if ! "$program" "${options[@]}" "$found" "$@" >"$found.log" 2>&1; then
	cat "$found.log"
	echo "$name: put the input above, as a file, into tests/fuzz/kept/${name#fuzz_}/ and mend the decoder"
	exit 1
fi
# Without coverage it would be dice.
if ! grep -Eq 'INITED +cov: [1-9]' "$found.log"; then
	cat "$found.log"
	echo "$name: the decoder is not instrumented"
	exit 1
fi
grep 'DONE' "$found.log"
