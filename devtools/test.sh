#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Build everything and test it.
#
#   devtools/test.sh [SUITE...]      default: all of them, in this order
#
#   unit         one room at a time, and the counting of this very script
#   contract     what every device must do, on the software devices
#   integration  lcores and processes together
#   explore      every interleaving of small scenarios
#   vm           the contract and more on real kernel devices, in a guest
#   sanitize     unit and contract again: ASan, TSan, clang, valgrind
#
# and, when asked for by name, since integration has all of them in one process:
#
#   fast-tests   the autotests of plx-test, each in a process of its own
#
# PLX_TEST_SCALE sets the rounds of stress tests: small (about 10^5), unset
# (10^6), soak (10^7 times PLX_TEST_TIMES). vm and sanitize use small by
# themselves.
#
# Ends with "N passed, N failed, N skipped" alone on the last line. Exit status
# 1 when a case failed or a suite ran none, 2 for an unknown suite or option. A
# program that crashes, hangs or exits badly is a failed case; so are a missing
# device and a missing build.
set -euo pipefail

for word; do
	case $word in
	-h | --help) sed -n '5,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
	-*) echo "test.sh: $word: unknown option; there is: --help" >&2; exit 2 ;;
	esac
done
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
known='unit contract integration explore vm sanitize'
suites=${*:-$known}
known+=' fast-tests'
for suite in $suites; do
	[[ " $known " = *" $suite "* ]] || { echo "no suite '$suite'; there are: $known" >&2; exit 2; }
done
wants() { [[ " $suites " = *" $1 "* ]]; }

rows=build/test-rows
vm_pid=
build_pid=

suite_unit() {
	printf 'PASS\tdevtools\tselftest\t\n'
	devtools/test/meson-suite.sh build unit ''
}
suite_contract() { devtools/test/meson-suite.sh build contract '' | check_counts contract; }
suite_integration() { devtools/test/meson-suite.sh build integration ''; }
suite_explore() { devtools/test/meson-suite.sh build explore ''; }
suite_fast-tests() { devtools/test/meson-suite.sh build fast-tests ''; }
suite_vm() { devtools/test/vm-suite.sh | check_counts vm; }
suite_sanitize() {
	wait "$build_pid"
	devtools/test/sanitize.sh run
}
check_counts() { # check_counts SUITE: passes the rows on, adds what is short
	tee "$rows/$1.run"
	devtools/test/expected.sh tests/contract/expected.tsv <"$rows/$1.run"
}

run() { # run SUITE: rows to a file; a suite that breaks off is a failure
	local start=$SECONDS
	"suite_$1" >"$rows/$1.tsv" || printf 'FAIL\t%s\t(suite)\tbroke off\n' "$1" >>"$rows/$1.tsv"
	[[ -s $rows/$1.tsv ]] || printf 'FAIL\t%s\t(suite)\tran no case\n' "$1" >"$rows/$1.tsv"
	report "$1" $((SECONDS - start))
}
count() { cat "${@:2}" | grep -c "^$1" || true; }
totals() { echo "$(count PASS "$@") passed, $(count FAIL "$@") failed, $(count SKIP "$@") skipped"; }
report() { printf '%-12s %4d s   %s\n' "$1" "$2" "$(totals "$rows/$1.tsv")"; }

devtools/setup.sh test
if wants vm; then devtools/setup.sh vm; fi
# A script that miscounts has no say, and without a build there is nothing to run.
if ! devtools/test/selftest.sh >&2 || ! devtools/build.sh build --buildtype=release; then
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
fi
rm -rf "$rows"
mkdir -p "$rows"

# Beside the rest, in process groups of their own, so that all of it goes when we
# are interrupted: the sanitizers' folders are built with what the tests leave of
# the CPUs, and then the guest runs beside their tests: it keeps one CPU busy.
trap 'kill -- ${vm_pid:+-$vm_pid} ${build_pid:+-$build_pid} 2>/dev/null || true' EXIT
beside() { # beside COMMAND...: its process is $!
	set -m
	"$@" &
	set +m
}
if wants sanitize; then
	beside chrt --idle 0 devtools/test/sanitize.sh build >&2
	build_pid=$!
fi
for suite in unit contract integration explore fast-tests; do
	if wants $suite; then run $suite; fi
done
if wants vm; then
	beside run vm
	vm_pid=$!
fi
if wants sanitize; then run sanitize; fi
if [[ $vm_pid ]]; then wait "$vm_pid"; fi

echo
awk -F '\t' '$1 != "PASS" { print $1 "  " $2 ": " $3 ($4 == "" ? "" : ": " $4) }' "$rows"/*.tsv | sort -r
totals "$rows"/*.tsv
[[ $(count FAIL "$rows"/*.tsv) = 0 ]]
