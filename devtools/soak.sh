#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# devtools/test.sh with ten times the rounds: devtools/soak.sh [SUITE...]
# meson's time limits grow with them: see meson-suite.sh.
set -eu

case ${1-} in
-h | --help) sed -n '5,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
esac
PLX_TEST_SCALE=soak exec "$(dirname "$0")/test.sh" "$@"
