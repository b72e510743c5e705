#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# devtools/test.sh with ten times the rounds: devtools/soak.sh [-x N] [SUITE...]
#
#   -x N    N times as many once more, 1 to 100: 10 for 10^8 rounds of each
#           stress test, and hours. Not in the suites vm and sanitize
#
# meson's time limits grow with them: see meson-suite.sh.
set -eu

usage() { sed -n '5,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
case ${1-} in
-h | --help) usage; exit 0 ;;
-x)
	case ${2-} in
	[1-9] | [1-9][0-9] | 100) ;;
	*) echo "soak.sh: -x ${2-}: not a number from 1 to 100" >&2; exit 2 ;;
	esac
	export PLX_TEST_TIMES="$2"
	shift 2
	;;
esac
PLX_TEST_SCALE=soak exec "$(dirname "$0")/test.sh" "$@"
