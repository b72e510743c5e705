#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# A call with a constant table that lacks what the call needs does not compile, and the compiler names what is missing; the
# same call with a table that has it, or with one that is known at run time only, compiles.
#
#   lacking_table.sh SOURCE-DIR BUILD-DIR COMPILER...
set -euo pipefail

src=$1 build=$2
shift 2
flags="-D_GNU_SOURCE -w -I$build/config $(printf -- '-I%s ' "$src"/lib/*/ "$src"/drivers/*/)
	$(pkg-config --cflags libdpdk)"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/top.h" <<'END'
#include "plx_conn.h"
#include "plx_loopback_fast.h"
#include "plx_null_fast.h"
#include "plx_poll.h"
#define SEND plx_null_post_send
#define RECV plx_null_post_recv
#define POLL plx_null_poll_cq
static const struct plx_fast_ops whole = {SEND, RECV, POLL, 0, NULL}, no_send = {NULL, RECV, POLL, 0, NULL},
	no_recv = {SEND, NULL, POLL, 0, NULL}, no_poll = {SEND, RECV, NULL, 0, NULL},
	only_sends = {SEND, RECV, POLL, PLX_KIND(PLX_OPCODE_SEND), NULL},
	only_writes = {SEND, RECV, POLL, PLX_KIND(PLX_OPCODE_WRITE), NULL};
END
at=0
call() { # FILE EXPRESSION: a function that makes one call, and is like no other, so that they are not merged
	at=$((at + 1))
	cat >>"$tmp/$1" <<END
int call$at(struct plx_conn *conn, struct plx_op **ops, struct plx_cq *cq, struct plx_submit_err *err,
	struct plx_srq *srq, const struct plx_wr *const *wrs, int *code)
{ return $at + $2; }
END
}
burst() { echo "plx_conn_post_burst_with($1, conn, &conn->$2, ops, 4, err)"; }
kind() { echo "plx_conn_post_kind_with($1, conn, PLX_OPCODE_$2, ops, 4, err)"; }
submit() { echo "plx_conn_submit_with($1, conn, ops[0])"; }
srq() { echo "plx_srq_post_recv_with($1, srq, wrs, 4, code)"; }
poll() { echo "plx_poll_with($1, cq, conn->dispatcher)"; }

printf '#include "top.h"\n' | tee "$tmp/good.c" >"$tmp/bad.c"
: >"$tmp/wanted"
lacks() { echo "$1" >>"$tmp/wanted"; call bad.c "$2"; }
lacks post_send "$(burst \&no_send sq)"
lacks post_recv "$(burst \&no_recv rq)"
lacks post_recv "$(kind \&no_recv RECV)"
lacks post_recv "$(submit \&no_recv)"
lacks post_send "$(submit \&no_send)"
lacks poll_cq "$(poll \&no_poll)"
lacks post_srq_recv "$(srq \&plx_null_fast)"
lacks atomics "$(kind \&only_sends CMP_SWAP)"
lacks atomics "$(kind \&only_sends FETCH_ADD)"
lacks immediates "$(kind \&only_sends SEND_IMM)"
lacks immediates "$(kind \&only_writes WRITE_IMM)"
lacks invalidation "$(kind \&only_sends SEND_INV)"
lacks invalidation "$(kind \&plx_null_fast LOCAL_INV)"
lacks read "$(kind \&only_sends READ)"
lacks write "$(kind \&only_sends WRITE)"
lacks send "$(kind \&only_writes SEND)"
lacks bind-mw "$(kind \&plx_null_fast BIND_MW)"
sort -o "$tmp/wanted" "$tmp/wanted"

call good.c "$(burst \&no_recv sq)" # nobody asks for what is not there
call good.c "$(burst \&no_send rq)"
call good.c "$(poll \&no_send)"
call good.c "$(srq \&plx_loopback_fast)"
call good.c "$(srq 'srq->fast')"
call good.c "$(kind \&no_send RECV)"
for op in SEND SEND_IMM SEND_INV WRITE WRITE_IMM READ CMP_SWAP FETCH_ADD BIND_MW LOCAL_INV RECV; do
	call good.c "$(kind \&plx_loopback_fast $op)"
done
call good.c "$(kind \&plx_null_fast CMP_SWAP)"
call good.c "$(kind \&whole BIND_MW)" # it does not say
for at_run_time in 'conn->fast' 'cq->fast'; do
	call good.c "$(submit $at_run_time)"
	call good.c "$(kind $at_run_time CMP_SWAP)"
	call good.c "$(poll $at_run_time)"
done

bad=0
say() { echo "$*"; bad=1; }
for level in '-std=gnu11 -O1' '-std=gnu11 -O3' '-x c++ -std=gnu++17 -O2'; do
	# shellcheck disable=SC2086 # lists of flags
	"$@" $level $flags -c "$tmp/good.c" -o "$tmp/good.o" || say "$level: good calls do not compile"
	if nm -u "$tmp/good.o" | grep plx_fast_lacks; then say "$level: a good call waits for these"; fi
	# shellcheck disable=SC2086
	if "$@" $level $flags -c "$tmp/bad.c" -o "$tmp/bad.o" 2>"$tmp/said"; then say "$level: bad calls compile"; fi
	sed -n 's/.*error: .*the constant fast table has no \([a-z_-]*\).*/\1/p' "$tmp/said" | sort >"$tmp/got"
	diff "$tmp/wanted" "$tmp/got" || { say "$level: < wanted, > named"; head -30 "$tmp/said"; }
	echo "$level: $(wc -l <"$tmp/got") of $(wc -l <"$tmp/wanted") bad calls named"
done
exit $bad
