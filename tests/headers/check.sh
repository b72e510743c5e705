#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Compile each header alone, as a user would who includes only that one.
#
#   check.sh CONFIG-DIR HEADER... -- COMPILER [OPTION...]
#
# Include folders are those of the headers, CONFIG-DIR and DPDK's. Twice in one
# file, so that a missing guard is seen too.
set -eu

config=$1
shift
headers=
folders="-I$config"
while [ "$1" != -- ]; do
	headers="$headers $1"
	folders="$folders -I$(dirname "$1")"
	shift
done
shift
flags="-D_GNU_SOURCE -Wall -Wextra -Werror $(pkg-config --cflags libdpdk)"

bad=0
nb=0
for header in $headers; do
	nb=$((nb + 1))
	# shellcheck disable=SC2086 # lists of words
	printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
		"$@" $flags $folders -fsyntax-only - || {
		echo "$header does not compile alone: $*"
		bad=$((bad + 1))
	}
done
echo "$nb headers, $bad bad"
[ "$nb" -gt 0 ] && [ "$bad" -eq 0 ]
