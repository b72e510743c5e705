#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# meson's test wrapper: valgrind for programs, nothing for scripts.
if [ "$(head -c 4 "$1" | od -An -c | tr -d ' ')" != '177ELF' ]; then exec "$@"; fi
supp=$(dirname "$0")/../../tests/valgrind.supp
[ ! -e "$supp" ] || set -- "--suppressions=$supp" "$@"
# Fair scheduling: threads take turns there, and a busy-polling one would keep its.
exec valgrind -q --fair-sched=try --leak-check=full --errors-for-leak-kinds=definite \
	--show-leak-kinds=definite --error-exitcode=99 "$@"
