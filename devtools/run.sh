#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Build Pollux and run its benchmark, from any directory:
#
#   devtools/run.sh                          a benchmark on the loopback device
#   devtools/run.sh -q 128 --json -          arguments are plx-perf's own
#   devtools/run.sh -l 0-1 -- --handoff off -q 128
#                                            EAL's before the --, then plx-perf's
#
# What the set-up and the build say goes to stderr: stdout is plx-perf's.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
"$root/devtools/setup.sh" build
"$root/devtools/build.sh" build --buildtype=release

for arg; do
	[ "$arg" != -- ] || exec "$root/build/apps/perf/plx-perf" "$@"
done
exec "$root/build/apps/perf/plx-perf" -- "$@"
