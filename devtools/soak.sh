#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# devtools/test.sh with ten times the rounds: devtools/soak.sh [SUITE...]
# meson's time limits grow with them: see meson-suite.sh.
PLX_TEST_SCALE=soak exec "$(dirname "$0")/test.sh" "$@"
