#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Run README.md's example and see that it prints what README.md says it prints.
#
#   readme_example.sh README EXAMPLE
set -eu

promised=$(sed -n 's/.*They print `\([^`]*\)`.*/\1/p' "$1")
printed=$("$2" --no-huge --no-shconf --no-pci -m 64 -l 0)
echo "promised: $promised"
echo "printed:  $printed"
[ -n "$promised" ] && [ "$printed" = "$promised" ]
