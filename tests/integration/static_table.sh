#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# With a constant table there is no indirect call from submit to the device: compile a function for each table, look
# into it.
#
#   static_table.sh SOURCE-DIR BUILD-DIR DRIVER COMPILER...    DRIVER: null, loopback, verbs, or run-time, which must fail
#
# PLX_TABLE_LEVELS: the levels of optimization, -O2 and -O3 if it is not set.
set -euo pipefail

src=$1 build=$2 driver=$3
shift 3
flags=(-std=gnu11 -D_GNU_SOURCE -fno-jump-tables "-I$build/config")
for room in "$src"/lib/*/ "$src"/drivers/*/; do flags+=("-I$room"); done
# shellcheck disable=SC2207 # words without spaces
flags+=($(pkg-config --cflags libdpdk))
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

header=plx_${driver}_fast.h table="&plx_${driver}_fast"
[[ $driver != run-time ]] || { header=plx_null_fast.h table='conn->fast'; }
cat >"$tmp/one.c" <<END
#include "plx_conn.h"
#include "plx_poll.h"
#include "$header"
uint16_t one_send(struct plx_conn *conn, struct plx_op **ops, uint16_t n, struct plx_submit_err *err);
uint16_t one_recv(struct plx_conn *conn, struct plx_op **ops, uint16_t n, struct plx_submit_err *err);
int one_poll(struct plx_conn *conn, struct plx_cq *cq);
uint16_t one_send(struct plx_conn *conn, struct plx_op **ops, uint16_t n, struct plx_submit_err *err)
{
	return plx_conn_post_burst_with($table, conn, &conn->sq, ops, n, err);
}
uint16_t one_recv(struct plx_conn *conn, struct plx_op **ops, uint16_t n, struct plx_submit_err *err)
{
	return plx_conn_post_burst_with($table, conn, &conn->rq, ops, n, err);
}
int one_poll(struct plx_conn *conn, struct plx_cq *cq)
{
	return plx_poll_with($table, cq, conn->dispatcher);
}
END
# libibverbs' own: through the ops of its context, for each of post_send, post_recv, poll_cq.
allowed=0
[[ $driver != verbs ]] || allowed=3

bad=0
for level in ${PLX_TABLE_LEVELS:--O2 -O3}; do
	"$@" "${flags[@]}" "$level" -c "$tmp/one.c" -o "$tmp/one.o"
	objdump -d --no-show-raw-insn "$tmp/one.o" >"$tmp/asm" # all: what is not inlined is in there too
	grep -q '<one_poll>:' "$tmp/asm" || { echo "$level: nothing there"; exit 1; }
	nb=$(grep -cE '(call|jmp) +\*' "$tmp/asm" || :)
	echo "$driver $level: $nb indirect calls, $allowed allowed"
	[[ $nb -eq $allowed ]] || bad=1 # fewer than libibverbs' own: the search is broken
done
exit $bad
