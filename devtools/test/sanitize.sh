#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Unit and contract tests under sanitizers, another compiler and valgrind.
#
#   sanitize.sh build      the three build folders; prints nothing
#   sanitize.sh run        the tests; prints the rows
#
#   build-asan    gcc, address and undefined behaviour; leaks too
#   build-tsan    gcc, threads. DPDK's rings are built in their C11 form there:
#                 the default one orders with fences, which TSan cannot see
#   build-clang   the other compiler, no sanitizer
#   build         valgrind (definite leaks, memory errors)
#
# All of it is the soak's. Otherwise the unit tests of a room share one process,
# that of plx-test, but for those that have to be alone: linking a program of
# each file, and starting EAL in each, takes longer than the tests do. And clang
# compiles every file, the apps' too, to no object.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
tests=$PWD/tests

build() { # build FOLDER [TARGET] [MESON-OPTION...]; a failure is found again by run
	rm -f "$1/.failed"
	devtools/build.sh "$@" || : >"$1/.failed"
}
build_all() {
	# Line numbers and no more, little optimization: compiling is most of this suite's time.
	local quick=(-Dbuildtype=plain -Doptimization=1)
	build build-asan $programs "${quick[@]}" -Dc_args=-g1 -Db_sanitize=address,undefined -Db_lundef=false
	build build-tsan $programs "${quick[@]}" -Dc_args='-g1 -DRTE_USE_C11_MEM_MODEL' -Db_sanitize=thread -Db_lundef=false
	if $soak; then
		CC=clang CXX=clang++ build build-clang $programs "${quick[@]}"
	else
		rm -f build-clang/.compiled
		CC=clang CXX=clang++ build build-clang build.ninja "${quick[@]}"
		if compile_only build-clang; then : >build-clang/.compiled; fi
	fi
}
compile_only() ( # compile_only FOLDER: warnings are errors
	cd "$1"
	exec >>build.log 2>&1
	jq -r '.[].file | select(startswith("..") | not)' compile_commands.json | xargs ninja && # generated ones
		jq -r '.[].command' compile_commands.json | sed 's/ -MD .* -c / -fsyntax-only /' |
		xargs -d '\n' -P "$(nproc)" -I{} sh -c '{}'
)

suppressions() { [[ ! -e $tests/$1.supp ]] || echo "suppressions=$tests/$1.supp:"; }

run() { # run FOLDER LABEL TIME-FACTOR SUITE...
	local folder=$1 label=$2 factor=$3 suite rows
	shift 3
	if [[ -e $folder/.failed ]]; then
		printf 'FAIL\t%s\t(build)\tsee %s/build.log\n' "$label" "$folder"
		return
	fi
	for suite; do
		rows=$("$here/meson-suite.sh" "$folder" "$suite" "$label: " -t "$factor" --wrap "$wrap" \
			--no-suite headers) # these only compile
		echo "${rows:-FAIL	$label	(suite $suite)	ran no case}"
	done
}

compiled() { # compiled FOLDER LABEL: the row of a folder that has no programs
	if [[ -e $1/.compiled ]]; then
		printf 'PASS\t%s\tevery file compiles\t\n' "$2"
	else
		printf 'FAIL\t%s\tevery file compiles\tsee %s/build.log\n' "$2" "$1"
	fi
}

soak=false
programs=together
suites='fast-tests alone'
asan_suites="$suites contract"
if [[ ${PLX_TEST_SCALE-} = soak ]]; then
	soak=true
	programs=unit-and-contract
	suites='unit contract'
	asan_suites=$suites
fi
case ${1:-} in
build) build_all ;;
run)
	# Everything is 5 to 30 times slower here: small rounds.
	export PLX_TEST_SCALE=small
	if $soak; then unset PLX_TEST_SCALE; fi
	export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
	ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=$(suppressions lsan)
	TSAN_OPTIONS=$(suppressions tsan)second_deadlock_stack=1
	export ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS
	# The shadow memory of gcc 12 needs an address space that is not shuffled.
	wrap='setarch -R'
	run build-asan asan 4 $asan_suites
	run build-tsan tsan 8 $suites
	if $soak; then run build-clang clang 2 unit contract; else compiled build-clang clang; fi
	wrap=$here/valgrind.sh
	run build valgrind 10 $suites
	;;
*) echo "usage: $0 build|run" >&2; exit 1 ;;
esac
