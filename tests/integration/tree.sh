#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# tree.sh SOURCE-DIR CASE: what must hold of the tree itself.
set -eu
src=$1 case=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() { echo "$case: $*"; exit 1; }

copy() { # the build files and sources, without what a build left behind
	mkdir "$tmp/src"
	(cd "$src" && tar cf - meson.build meson_options.txt config lib drivers apps tests doc README.md LICENSE) | tar xf - -C "$tmp/src"
}

setup_must_say() { # TEXT: the configuration stops, and says so
	if meson setup "$tmp/build" "$tmp/src" >"$tmp/log" 2>&1; then fail 'the configuration went through'; fi
	grep -F "$1" "$tmp/log" || { tail -n 5 "$tmp/log"; fail "no word of: $1"; }
}

case $case in
an_upward_dependency_stops_the_configuration_by_name)
	copy
	sed -i "s/^uses = .*/uses = ['common', 'wr', 'conn']/" "$tmp/src/lib/op/meson.build"
	setup_must_say 'lib/op (floor 2) must not use lib/conn (floor 4)' ;;
a_neighbour_on_the_same_floor_is_refused_too)
	copy
	sed -i "s/^uses = .*/uses = ['common', 'wr', 'op']/" "$tmp/src/lib/device/meson.build"
	setup_must_say 'lib/device (floor 2) must not use lib/op (floor 2)' ;;
an_upward_include_does_not_compile)
	copy
	sed -i '0,/#include/s//#include "plx_conn.h"\n#include/' "$tmp/src/lib/op/op.c"
	meson setup "$tmp/build" "$tmp/src" >"$tmp/log" 2>&1 || fail 'no configuration'
	if ninja -C "$tmp/build" lib/libplx_op.a >"$tmp/log" 2>&1; then fail 'it compiled'; fi
	grep -F 'plx_conn.h: No such file' "$tmp/log" || grep -F "'plx_conn.h' file not found" "$tmp/log" ||
		fail 'stopped for another reason' ;;
only_the_verbs_driver_includes_verbs)
	found=$(cd "$src" && grep -rlE '#include *<(infiniband|rdma)/' lib drivers apps tests || :)
	[ -n "$found" ] || fail 'nobody does: the search is broken'
	others=$(echo "$found" | grep -vE '^(drivers|tests/unit)/verbs/' || :)
	[ -z "$others" ] || fail "these do too: $others"
	echo "$found" ;;
no_inline_lock_is_used) # which cost_tests could not see
	lock='rte_(spin|rw|ticket|mcs|seq)lock|rte_seqcount'
	echo 'rte_spinlock_lock(&l);' | grep -qE "$lock" || fail 'the search is broken'
	if (cd "$src" && grep -rnE "$lock" lib drivers); then fail 'these lines do'; fi ;;
*) fail 'no such case' ;;
esac
