/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Posting. Where the script has a rule for the queue, a chain is posted WR by WR, so that a rule has counted exactly the
 * WRs that were tried, in their order over all QPs, with no lock and nothing to give back when the inner QP is full
 * in mid-chain. It costs a doorbell for each. What the first rule that hits makes of a WR:
 *
 *                 inner has it    the post says      it completes
 *      fail       no              refused            -
 *      deny       yes             refused            all the same
 *      unname     no, but those   none of the chain  those in front do
 *                 in front of it
 *      lose link  no              posted             with RETRY_EXC_ERR, and the QP is done for
 *      in_err     no              refused or posted  flushed here, or never
 */

#include "fault.h"

#include <errno.h>

/** The queue that a chain is posted to. */
struct queue {
	struct fault_device *dev;
	enum fault_queue kind;
	struct fault_qp *qp; /* NULL for an SRQ */
	struct plx_srq *srq; /* inner's, of an SRQ */
};

/** Post a chain as it is. */
static uint16_t
queue_post(const struct queue *q, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	switch (q->kind) {
	case FAULT_SEND:
		return q->qp->inner->fast->post_send(q->qp->inner, wrs, n, err);
	case FAULT_RECV:
		return q->qp->inner->fast->post_recv(q->qp->inner, wrs, n, err);
	default:
		return q->srq->fast->post_srq_recv(q->srq, wrs, n, err);
	}
}

/* ---- which rule ---------------------------------------------------------------------------- */

static bool
is_about(const struct queue *q, const struct fault_rule *rule)
{
	if (rule->action < FAULT_FAIL_POST || rule->action > FAULT_IN_ERR || rule->queue != q->kind)
		return false;
	return rule->action != FAULT_IN_ERR || plx_qp_query_state(q->qp->inner) == PLX_QP_ERR;
}

/** What is done to one more WR, or NULL. Every rule counts the WR, the first one that hits decides. */
static const struct fault_rule *
wr_rule(const struct queue *q)
{
	struct fault_device *dev = q->dev;
	const struct fault_rule *first = NULL;

	for (unsigned int i = 0; i < dev->script.nb_rules; i++) {
		const struct fault_rule *rule = &dev->script.rules[i];

		if (is_about(q, rule) && fault_rule_hits(dev, i) != 0 && first == NULL)
			first = rule;
	}
	return first;
}

bool
fault_link_is_down(struct fault_device *dev)
{
	bool down = false;

	for (unsigned int i = 0; i < dev->script.nb_rules; i++)
		down |= dev->script.rules[i].action == FAULT_LINK && fault_rule_hits(dev, i) != 0;
	return down;
}

/* ---- what it does -------------------------------------------------------------------------- */

/** The three ways in which providers say no. */
static void
say_no(const struct fault_rule *rule, int *err)
{
	switch ((enum fault_style)rule->how) {
	case FAULT_PLAIN:
		*err = (int)rule->arg;
		break;
	case FAULT_MINUS_ONE:
		errno = (int)rule->arg;
		*err = -1;
		break;
	case FAULT_NEGATIVE:
		*err = -(int)rule->arg;
		break;
	}
}

/** Taken here, and an error CQE of ours in time. 1: taken; 0: refused, and *err says why. */
static int
wr_make_cqe(struct fault_qp *qp, enum fault_queue queue, const struct plx_wr *wr, uint8_t status, uint64_t due, int *err)
{
	struct fault_cq *cq = fault_cq(queue == FAULT_SEND ? qp->base.send_cq : qp->base.recv_cq);

	if (!fault_cqe_make(cq, qp, wr->wr_id, status, due)) {
		*err = -ENOMEM;
		return 0;
	}
	fault_count(status == PLX_ST_WR_FLUSH_ERR ? &qp->dev->stats.flushed : &qp->dev->stats.lost, 1);
	return 1;
}

/** The first send that is lost dies of it, in time; those behind it wait for that, and are flushed. */
static int
wr_lose(struct fault_qp *qp, const struct fault_rule *rule, const struct plx_wr *wr, int *err)
{
	if (qp->lost_due != 0)
		return wr_make_cqe(qp, FAULT_SEND, wr, PLX_ST_WR_FLUSH_ERR, qp->lost_due, err);
	qp->lost_due = fault_cq(qp->base.send_cq)->turn + rule->arg;
	return wr_make_cqe(qp, FAULT_SEND, wr, PLX_ST_RETRY_EXC_ERR, qp->lost_due, err);
}

static int
wr_in_err(struct fault_qp *qp, const struct fault_rule *rule, const struct plx_wr *wr, int *err)
{
	enum fault_queue queue = (enum fault_queue)rule->queue;

	switch ((enum fault_fate)rule->how) {
	case FAULT_SWALLOW:
		fault_count(&qp->dev->stats.swallowed, 1);
		return 1;
	case FAULT_FLUSH:
		return wr_make_cqe(qp, queue, wr, PLX_ST_WR_FLUSH_ERR, 0, err);
	case FAULT_REFUSE:
		break;
	}
	fault_count(&qp->dev->stats.failed_posts, 1);
	*err = -(int)rule->arg;
	return 0;
}

/** Post one WR as @p rule wants it. 1: taken; 0: refused, and *err says why, in its way. */
static int
wr_act(const struct queue *q, const struct fault_rule *rule, const struct plx_wr *wr, int *err)
{
	switch (rule->action) {
	case FAULT_DENY:
		if (queue_post(q, &wr, 1, err)) {
			fault_count(&q->dev->stats.denied, 1);
			say_no(rule, err);
		}
		return 0;
	case FAULT_LOSE:
	case FAULT_LINK:
		return wr_lose(q->qp, rule, wr, err);
	case FAULT_IN_ERR:
		return wr_in_err(q->qp, rule, wr, err);
	default:
		fault_count(&q->dev->stats.failed_posts, 1);
		say_no(rule, err);
		return 0;
	}
}

/** One WR that no rule hits. Behind a lost one it cannot leave either. */
static int
wr_post(const struct queue *q, const struct plx_wr *wr, int *err)
{
	if (q->kind == FAULT_SEND && q->qp->lost_due != 0)
		return wr_lose(q->qp, NULL, wr, err);
	return queue_post(q, &wr, 1, err);
}

static uint16_t
post_watched(const struct queue *q, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	for (uint16_t i = 0; i < n; i++) {
		const struct fault_rule *rule = wr_rule(q);

		if (rule == NULL ? wr_post(q, wrs[i], err) : wr_act(q, rule, wrs[i], err))
			continue;
		if (rule == NULL || rule->action != FAULT_UNNAME)
			return i;
		fault_count(&q->dev->stats.denied, i); /* bad_wr NULL: who is told so takes none for posted */
		return 0;
	}
	return n;
}

static uint16_t
post(const struct queue *q, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	if (q->dev->watches[q->kind])
		return post_watched(q, wrs, n, err);
	return queue_post(q, wrs, n, err);
}

/** The events that come with @p n WRs. */
static void
raise_each(struct fault_device *dev, uint32_t types, uint64_t object, uint16_t n)
{
	for (uint16_t i = 0; dev->raises && i < n; i++)
		fault_event_raise(dev, types, object);
}

/* ---- the table ----------------------------------------------------------------------------- */

static uint16_t
fault_post_send(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct fault_qp *qp = fault_qp(base);
	uint16_t posted = post(&(struct queue){.dev = qp->dev, .kind = FAULT_SEND, .qp = qp}, wrs, n, err);

	raise_each(qp->dev, FAULT_EVENTS_OF_SEND, base->id, posted);
	return posted;
}

static uint16_t
fault_post_recv(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct fault_qp *qp = fault_qp(base);

	return post(&(struct queue){.dev = qp->dev, .kind = FAULT_RECV, .qp = qp}, wrs, n, err);
}

static uint16_t
fault_post_srq_recv(struct plx_srq *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct fault_srq *srq = fault_srq(base);
	uint16_t posted = post(&(struct queue){.dev = srq->dev, .kind = FAULT_SRQ_RECV, .srq = srq->inner}, wrs, n, err);

	raise_each(srq->dev, FAULT_EVENTS_OF_SRQ, base->id, posted);
	return posted;
}

const struct plx_fast_ops fault_fast = {
	.post_send = fault_post_send,
	.post_recv = fault_post_recv,
	.poll_cq = fault_poll_cq,
	.post_srq_recv = fault_post_srq_recv,
};
