#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Build a libFuzzer program with clang, whatever compiled the rest.
#
#   build.sh SOURCE-ROOT CONFIG-DIR PROGRAM INPUT...
#
# INPUT: sources (.c), which are watched for coverage and by the sanitizers, and archives (.a) with what they need.
# PROGRAM.d says what was read, for ninja.
set -eu

root=$1 config=$2 program=$3
shift 3
flags="-D_GNU_SOURCE -std=gnu11 -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -I$config"
for folder in "$root"/lib/*/ "$root"/drivers/*/ "$root"/tests/fuzz/; do
	flags="$flags -I$folder"
done
flags="$flags $(pkg-config --cflags libdpdk)"

objects='' parts=$program.parts
rm -rf "$parts"
mkdir -p "$parts"
for input; do
	case $input in
	*.c)
		object=$parts/$(basename "$input" .c).o
		# shellcheck disable=SC2086
		clang $flags -MD -MF "$object.d" -MT "$program" -c "$input" -o "$object"
		objects="$objects $object"
		;;
	*) objects="$objects $input" ;;
	esac
done
# shellcheck disable=SC2086
clang $flags -Wl,--start-group $objects -Wl,--end-group $(pkg-config --libs libdpdk) -o "$program"
cat "$parts"/*.d >"$program.d"
rm -rf "$parts"
