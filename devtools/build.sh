#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# Configure a build folder, if it is new, and build it. Quiet unless it fails.
#
#   devtools/build.sh FOLDER [TARGET] [MESON-OPTION...]      FOLDER below the project root
#
# TARGET: of meson's, default all of them. The options count only when the folder is new. One at a time per folder: a
# second caller waits for the first.
set -eu

case ${1-} in
-h | --help) sed -n '5,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
'' | -*) echo "build.sh: ${1:-no folder}: ${1:+unknown option; }see --help" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
folder=$1
shift
target=
case ${1-} in '' | -*) ;; *) target=$1 && shift ;; esac
mkdir -p "$folder"
exec 9>"$folder/.lock"
flock 9

log=$folder/build.log
[ -e "$folder/build.ninja" ] || echo "building $folder, a minute or two the first time ($log)" >&2
{
	# The last file that a set-up writes; what one broken off left must go.
	[ -e "$folder/build.ninja" ] || {
		rm -rf "$folder/meson-private"
		meson setup "$folder" "$@"
	} &&
		ninja -C "$folder" $target # nothing, or one word
} 9>&- >"$log" 2>&1 || {
	cat "$log" >&2
	echo "build of $folder failed" >&2
	exit 1
}
