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
here=$(cd "$(dirname "$0")" && pwd)
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

# Every plx_ function that a header in FOLDER declares, inline ones too, as the compiler sees them; and variables.
declared() { # declared FOLDER
	local header
	for header in "$1"/*.h; do echo "#include \"$header\""; done >"$tmp/all.c"
	# shellcheck disable=SC2046 # flags
	gcc -D_GNU_SOURCE $(pkg-config --cflags libdpdk) -aux-info "$tmp/aux" -fsyntax-only "$tmp/all.c"
	{
		# plx_fast_lacks_...(): defined nowhere, for the compiler to stop at.
		grep -F "$1/" "$tmp/aux" | grep -v 'plx_fast_lacks_' | sed 's@/\*[^*]*\*/@@g' | grep -oE '\bplx_\w+ \(' | tr -d ' ('
		sed -nE 's/^extern [^(]*\b(plx_\w+)(\[[^]]*\])*;.*/\1/p' "$1"/*.h
	} | sort -u
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
	echo "$(wc -l <"$tmp/declared") names, $(grep -cE ':NF.* static .*\bplx_' "$tmp/aux") of them inline"
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

# ---- programs

strict='-D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Werror'
eal='--no-huge --no-shconf --no-pci -m 64 -l 0'

# Nothing but pkg-config says where Pollux is. g++ has _GNU_SOURCE set.
# shellcheck disable=SC2046,SC2086 # flags
build_c() { gcc -std=c11 $strict "${@:2}" $(pkg-config --cflags --libs "$1") -o "$tmp/program"; }
# shellcheck disable=SC2046,SC2086
build_cxx() { g++ -std=c++17 ${strict#* } -x c++ "${@:2}" -x none $(pkg-config --cflags --libs "$1") -o "$tmp/program"; }
run() { # run PROGRAM [ARGUMENT...]: its output in $out; $status
	status=0
	# shellcheck disable=SC2086
	out=$(timeout 60 "$1" $eal "${@:2}" 2>"$tmp/err") || status=$?
	echo "$out"
}
ends_with() { [[ $status = "$1" ]] || { cat "$tmp/err"; fail "exit status $status"; }; }
loads() { [[ $(ldd "$1") = *"$2"* ]]; }

plays() {
	run "$tmp/program"
	ends_with 0
	[[ $out = "300 messages of 64 bytes verified, library $VERSION" ]] || fail 'not what it prints'
}
c_program_on_the_shared_library() {
	build_c pollux "$here/outside.c"
	loads "$tmp/program" "$lib/libpollux.so.$ABI" || fail 'does not load it'
	plays
}
cxx_program_on_the_shared_library() {
	build_cxx pollux "$here/outside.c"
	loads "$tmp/program" "$lib/libpollux.so.$ABI" || fail 'does not load it'
	plays
}
static_only() { # the shared one is not even there
	rm "$lib"/libpollux.so*
	if loads "$tmp/program" libpollux; then fail 'loads a libpollux'; fi
	plays
}
c_program_on_the_static_library() {
	build_c pollux-static "$here/outside.c"
	static_only
}
cxx_program_on_the_static_library() {
	build_cxx pollux-static "$here/outside.c"
	static_only
}
# The documented line and nothing else; each page includes as <plx_x.h>.
page_compiles_with_the_installed_flags() {
	awk -f "$SOURCE/tests/docs/examples.awk" "$SOURCE/doc/guide/conn.md" >"$tmp/page.c"
	grep -F '#include <plx_conn.h>' "$tmp/page.c"
	# shellcheck disable=SC2046 # flags
	cc -D_GNU_SOURCE -c "$tmp/page.c" $(pkg-config --cflags pollux) -o "$tmp/page.o"
}
backend_of_ones_own() {
	build_c pollux "$SOURCE/apps/examples/own_backend.c"
	run "$tmp/program"
	ends_with 0
	grep -Fqx 'b has: hello hello' <<<"$out" || fail 'not what it prints'
}
driver_of_ones_own() {
	build_c pollux "$SOURCE"/apps/examples/own_driver/*.c
	run "$tmp/program" -- own0
	ends_with 0
	for line in 'own0 (own)' 'loopback0 (loopback)' 'own0: SUCCESS' 'receive: Operation not supported'; do
		grep -Fqx "$line" <<<"$out" || fail "wants: $line"
	done
	run "$tmp/program" -- own7,status=10
	ends_with 0
	grep -Fqx 'own7: REM_ACCESS_ERR' <<<"$out" || fail 'the status that it was told'
	run "$tmp/program" -- own0,status=no
	ends_with 2
	grep -F 'devarg status=no: want a number' "$tmp/err" || fail 'the cause'
}
python_plays_through_the_c_abi() {
	status=0
	python3 "$here/pingpong.py" 2>"$tmp/err" || status=$?
	ends_with 2
	grep -F 'pingpong.py LIBPOLLUX_SO [ROUNDS]' "$tmp/err" || fail 'no usage'
	python3 "$here/pingpong.py" --layout >"$tmp/layout.c"
	grep -c _Static_assert "$tmp/layout.c"
	# shellcheck disable=SC2046
	gcc -D_GNU_SOURCE -fsyntax-only "$tmp/layout.c" $(pkg-config --cflags pollux)
	out=$(timeout 60 python3 "$here/pingpong.py" "$lib/libpollux.so" 1000 2>"$tmp/err") || { cat "$tmp/err"; fail "$out"; }
	[[ $out = "1000 pings and 1000 pongs verified, library $VERSION" ]] || fail "prints: $out"
	echo "$out"
}
installed_programs_run() {
	run "$bin/plx-pingpong" -- -n 100
	ends_with 0
	if loads "$bin/plx-pingpong" libpollux; then fail 'programs need no libpollux'; fi
}

# ---- headers

# Each one alone is tests/headers' business, and again here when soaking. Beside each other in a folder that is not on the
# path, as <pollux/...>, is this one's: in one file per language, since nothing in them depends on the order.
headers_find_each_other() {
	(cd "$include" && printf '#include <%s>\n' pollux/*.h) >"$tmp/all.c"
	wc -l <"$tmp/all.c"
	# shellcheck disable=SC2046,SC2086
	gcc -std=c11 $strict "-I$include" $(pkg-config --cflags libdpdk) -fsyntax-only "$tmp/all.c"
	# shellcheck disable=SC2046,SC2086
	g++ -std=c++17 ${strict#* } "-I$include" $(pkg-config --cflags libdpdk) -fsyntax-only -x c++ "$tmp/all.c"
	[[ ${PLX_TEST_SCALE-} = soak ]] || return 0
	"$SOURCE/tests/headers/check.sh" "$include/pollux" "$include"/pollux/*.h -- gcc -x c -std=gnu11
	"$SOURCE/tests/headers/check.sh" "$include/pollux" "$include"/pollux/*.h -- g++ -x c++ -std=c++17
}

# ---- without verbs

# A build of its own: the library and plx-info, and when soaking the unit and contract suites too.
core_builds_without_verbs() {
	[[ ${PLX_TEST_SCALE-} = soak ]] || { echo 'skip: core_builds_without_verbs: needs PLX_TEST_SCALE=soak'; exit 77; }
	meson setup "$tmp/build" "$SOURCE" -Dverbs=disabled -Dbuildtype=plain -Doptimization=0 >"$tmp/log" 2>&1 ||
		{ cat "$tmp/log"; fail 'meson setup'; }
	ninja -C "$tmp/build" >"$tmp/log" 2>&1 || { tail -n 30 "$tmp/log"; fail 'it does not build'; }
	grep '#define PLX_HAS_VERBS 0' "$tmp/build/config/plx_config.h" || fail 'PLX_HAS_VERBS'
	if readelf -d "$tmp/build/lib/pollux/libpollux.so" "$tmp/build/apps/info/plx-info" | grep verbs; then
		fail 'it needs verbs'
	fi
	if grep -i verbs "$tmp"/build/lib/pollux/*.pc; then fail '.pc files ask for verbs'; fi
	run "$tmp/build/apps/info/plx-info" --
	ends_with 0
	grep -q '^loopback0: driver loopback' <<<"$out" || fail 'no loopback0'
	PLX_TEST_SCALE=small meson test -C "$tmp/build" --no-rebuild --suite unit --suite contract -t 10 || fail 'its tests'
}

"$case"
echo "$case: ok"
