/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A backend of one's own: an in-memory transport of four functions, and two structs that begin with a plx_qp and a
 * plx_cq. No plx_device, no driver: the program links none.
 *
 *      a ==send==> the oldest receive of b, copied -> two completions -> own_poll() -> deliver, by hand -> callbacks
 *
 *      cc -D_GNU_SOURCE own_backend.c $(pkg-config --cflags --libs pollux) -o own_backend
 *      ./own_backend --no-huge --no-shconf --no-pci -m 64 -l 0      prints what b received, and how every op ended
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>

#include <plx_conn_attach.h>

#define DEPTH 8

struct own_cq {
	struct plx_cq base;
	struct plx_wc ring[4 * DEPTH];
	unsigned int head, tail;
};

struct own_qp {
	struct plx_qp base;
	struct own_qp *peer;
	struct own_cq *cq;
	struct plx_wr recvs[DEPTH]; /* with one SGE each, copied beside it */
	struct plx_sge sges[DEPTH];
	unsigned int head, tail;
};

static void
own_complete(struct own_qp *qp, uint64_t wr_id, uint8_t opcode, uint8_t status, uint32_t len)
{
	qp->cq->ring[qp->cq->head++ % (4 * DEPTH)] = (struct plx_wc){.wr_id = wr_id,
		.byte_len = len,
		.qp_num = qp->base.qp_num,
		.status = status,
		.opcode = opcode};
}

static uint16_t
own_send(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct own_qp *qp = (struct own_qp *)base, *peer = qp->peer;

	for (uint16_t i = 0; i < n; i++) {
		const struct plx_sge *from = wrs[i]->sg_list, *to = &peer->sges[peer->tail % DEPTH];

		if (peer->head == peer->tail) { /* nobody receives: nothing is posted */
			*err = -EAGAIN;
			return i;
		}
		if (from->length > to->length) {
			own_complete(qp, wrs[i]->wr_id, PLX_OPCODE_SEND, PLX_ST_REM_INV_REQ_ERR, 0);
			continue;
		}
		memcpy((void *)(uintptr_t)to->addr, (const void *)(uintptr_t)from->addr, from->length);
		own_complete(peer, peer->recvs[peer->tail++ % DEPTH].wr_id, PLX_OPCODE_RECV, 0, from->length);
		own_complete(qp, wrs[i]->wr_id, PLX_OPCODE_SEND, PLX_ST_SUCCESS, 0);
	}
	return n;
}

static uint16_t
own_recv(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct own_qp *qp = (struct own_qp *)base;

	for (uint16_t i = 0; i < n; i++, qp->head++) {
		qp->recvs[qp->head % DEPTH] = *wrs[i];
		qp->sges[qp->head % DEPTH] = wrs[i]->sg_list[0];
	}
	return n;
}

static int
own_poll(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct own_cq *cq = (struct own_cq *)base;
	uint16_t got = 0;

	while (got < n && cq->tail != cq->head)
		wcs[got++] = cq->ring[cq->tail++ % (4 * DEPTH)];
	return got;
}

static const struct plx_fast_ops own_fast = {.post_send = own_send, .post_recv = own_recv, .poll_cq = own_poll};

static void
own_done(struct plx_op *op, void *text)
{
	printf("%s %s: %s\n", (const char *)text, plx_opcode_name(plx_op_kind(op)), plx_status_name(op->status));
	plx_op_put(op);
}

int
main(int argc, char **argv)
{
	static struct own_cq cq = {.base = {.fast = &own_fast, .nb_cqe = 4 * DEPTH}};
	static struct own_qp qps[2];
	static char text[] = "hello", got[2][16];
	struct plx_conn *conns[2];
	struct plx_dispatcher *d;
	struct plx_wc wcs[DEPTH];

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	d = plx_dispatcher_create(
		&(struct plx_dispatcher_conf){.name = "own", .owner = rte_lcore_id(), .pool = {.nb_ops = 64}});
	for (int i = 0; i < 2; i++) {
		qps[i] = (struct own_qp){.base = {.fast = &own_fast,
			.cap = {.send_depth = DEPTH, .recv_depth = DEPTH, .send_sge = 1, .recv_sge = 1},
			.qp_num = i + 1}, .peer = &qps[!i], .cq = &cq};
		conns[i] = plx_conn_attach(&(struct plx_conn_attach_conf){.qp = &qps[i].base,
			.dispatcher = d, .home = PLX_HOME_ANY, .kinds = PLX_KIND(PLX_OPCODE_SEND)});
	}
	for (int i = 0; i < 3; i++) { /* two messages, and a receive that is never met */
		struct plx_op *op = plx_op_get(d->pool);

		plx_op_prep_recv(op, got[i % 2], sizeof(got[0]), 0, own_done, (void *)(uintptr_t)"b");
		plx_conn_submit(conns[1], op);
		op = i < 2 ? plx_op_get(d->pool) : NULL;
		if (op == NULL)
			continue;
		plx_op_prep_send(op, text, sizeof(text), 0, own_done, (void *)(uintptr_t)"a");
		plx_conn_submit(conns[0], op);
	}
	for (int n; (n = own_poll(&cq.base, wcs, DEPTH)) != 0;) /* the application's loop */
		plx_dispatcher_deliver_burst(d, wcs, (uint16_t)n);
	printf("b has: %s %s\n", got[0], got[1]);
	for (int i = 0; i < 2; i++)
		if (plx_conn_detach(conns[i]) != 0)
			return 1;
	return plx_dispatcher_destroy(d) == 0 ? 0 : 1;
}
