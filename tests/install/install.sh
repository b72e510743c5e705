#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# The installed library from outside.
#
#   install.sh CASE          environment: tests/install/meson.build
#
# Each case installs into a folder of its own and then knows that folder only: $root, $include, $lib, $bin.
set -euo pipefail

case=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() { echo "$case: $*"; exit 1; }

meson install -C "$BUILD" --no-rebuild --destdir "$tmp/installed" >"$tmp/log" 2>&1 || {
	cat "$tmp/log"
	fail 'meson install'
}
root=$tmp/installed$PREFIX include=$root/include lib=$root/$LIBDIR bin=$root/bin
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib

# ---- the tree

installed_tree_is_complete() {
	local file
	for file in "$lib"/libpollux.{a,so,so."$ABI",so."$VERSION"} "$lib"/pkgconfig/pollux{,-static}.pc \
		"$bin"/plx-{info,perf,pingpong} "$root/share/licenses/pollux/LICENSE"; do
		[[ -s $file ]] || fail "$file is not there, or empty"
	done
	readelf -d "$lib/libpollux.so" | grep -F "soname: [libpollux.so.$ABI]" || fail 'soname'
	# shellcheck disable=SC2086 # a list of words
	diff <(printf '%s\n' plx_config.h $HEADERS | sort) <(ls "$include/pollux") || fail 'headers'
	[[ $(pkg-config --modversion pollux) = "$VERSION" ]] || fail 'version of pollux.pc'
	[[ $(pkg-config --variable=includedir pollux) -ef $include ]] || fail 'includedir of pollux.pc'
	local private
	private=$(pkg-config --print-requires-private pollux)
	if grep -q 'PLX_HAS_VERBS 1' "$include/pollux/plx_config.h"; then
		[[ $private = libibverbs ]] || fail 'libibverbs is missing in Requires.private'
	else
		[[ -z $private ]] || fail "Requires.private: $private"
	fi
}

# ---- symbols

# Every plx_ function that a header in FOLDER declares, inline ones too, as the compiler sees them.
declared() { # declared FOLDER
	local header
	for header in "$1"/*.h; do echo "#include \"$header\""; done >"$tmp/all.c"
	# shellcheck disable=SC2046 # flags
	gcc -D_GNU_SOURCE $(pkg-config --cflags libdpdk) -aux-info "$tmp/aux" -fsyntax-only "$tmp/all.c"
	grep -F "$1/" "$tmp/aux" | sed 's@/\*[^*]*\*/@@g' | grep -oE '\bplx_\w+ \(' | tr -d ' (' | sort -u
}
exported() { # exported LIBRARY: without the name of the version itself
	nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort -u
}
compare() { # compare FOLDER LIBRARY: says what differs, and whether anything does
	declared "$1" >"$tmp/declared"
	exported "$2" >"$tmp/exported"
	[[ $(wc -l <"$tmp/declared") -gt 100 ]] || fail 'hardly a function found: the search is broken'
	comm -23 "$tmp/declared" "$tmp/exported" | sed 's/^/declared, not exported: /' >"$tmp/differ"
	comm -13 "$tmp/declared" "$tmp/exported" | sed 's/^/exported, not declared: /' >>"$tmp/differ"
	cat "$tmp/differ"
	[[ ! -s $tmp/differ ]]
}
library_exports_what_headers_declare() {
	compare "$include/pollux" "$lib/libpollux.so" || fail 'see above'
	echo "$(wc -l <"$tmp/declared") functions, $(grep -cE ':NF.* static .*\bplx_' "$tmp/aux") of them inline"
	nm -D --defined-only "$lib/libpollux.so" | awk -v v="PLX_$ABI" '$2 != "A" && $3 !~ "@@" v "$" { print; bad = 1 }
		END { exit bad }' || fail "not of version PLX_$ABI"
}
# The check itself.
missing_twin_and_stray_symbol_are_named() {
	sed -i '/^struct plx_sge {/i PLX_INLINE int plx_newcomer(void) { return 0; }' "$include/pollux/plx_wr.h"
	sed -i '/^int plx_control_sync/d' "$include/pollux/plx_control.h"
	if compare "$include/pollux" "$lib/libpollux.so" >"$tmp/said"; then fail 'nothing was found'; fi
	cat "$tmp/said"
	[[ $(<"$tmp/said") = 'declared, not exported: plx_newcomer
exported, not declared: plx_control_sync' ]] || fail 'not what was changed'
}

"$case"
echo "$case: ok"
