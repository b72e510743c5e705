/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "conn_internal.h"
#include "plx_log.h"
#include "recv_pool_internal.h"

/** From every lcore but the owner and from aliens; room for every op, and for closes beside them. */
static struct plx_lane *
lane_make(const struct plx_conn_group *group)
{
	unsigned int producers[RTE_MAX_LCORE], nb = 0, lcore;
	struct plx_lane_conf conf = {
		.name = group->name,
		.consumer = group->dispatcher->owner,
		.producers = producers,
		.alien = true,
		.nb_elem = group->dispatcher->pool->nb_slots + 1024,
		.elem_size = sizeof(uintptr_t),
		.socket_id = SOCKET_ID_ANY,
	};

	RTE_LCORE_FOREACH(lcore)
		if (lcore != group->dispatcher->owner)
			producers[nb++] = lcore;
	conf.nb_producers = nb;
	return plx_lane_create(&conf);
}

struct plx_conn_group *
plx_conn_group_create(const struct plx_conn_group_conf *conf)
{
	struct plx_conn_group *group;

	if (conf->dispatcher == NULL || conf->cq == NULL || conf->control == NULL) {
		PLX_LOG(ERR, "connection group %.63s: no %s in its conf", conf->name,
			conf->dispatcher == NULL ? "dispatcher" : conf->cq == NULL ? "cq" : "control");
		rte_errno = EINVAL;
		return NULL;
	}
	if (conf->dispatcher->owner == LCORE_ID_ANY) {
		PLX_LOG(ERR, "connection group %.63s: dispatcher %s is shared; connections need an owner lcore",
			conf->name, conf->dispatcher->name);
		rte_errno = EINVAL;
		return NULL;
	}
	if (!plx_control_serves(conf->control, conf->dispatcher->owner)) {
		PLX_LOG(ERR, "connection group %.63s: its owner, lcore %u, may not submit to the control thread: name it in "
			"plx_control_conf.lcores",
			conf->name, conf->dispatcher->owner);
		rte_errno = EINVAL;
		return NULL;
	}
	if (conf->events != NULL && !conn_events_fit(conf->events, conf->cq->dev, conf->control)) {
		PLX_LOG(ERR, "connection group %.63s: its events are of another device or another control thread", conf->name);
		rte_errno = EINVAL;
		return NULL;
	}
	group = rte_zmalloc("plx_conn_group", sizeof(*group), RTE_CACHE_LINE_SIZE);
	if (group == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	snprintf(group->name, sizeof(group->name), "%s", conf->name);
	group->dispatcher = conf->dispatcher;
	group->cq = conf->cq;
	group->control = conf->control;
	group->lane = lane_make(group);
	if (group->lane == NULL) {
		rte_free(group);
		return NULL;
	}
	pthread_mutex_init(&group->lock, NULL);
	LIST_INIT(&group->conns);
	LIST_INIT(&group->pools);
	group->events = conf->events;
	if (group->events != NULL)
		conn_events_join(group->events, group);
	plx_control_hold(group->control);
	return group;
}

unsigned int
plx_conn_group_nb_conns(const struct plx_conn_group *group)
{
	return __atomic_load_n(&group->nb_conns, __ATOMIC_ACQUIRE);
}

int
plx_conn_group_destroy(struct plx_conn_group *group)
{
	unsigned int nb = group != NULL ? plx_conn_group_nb_conns(group) : 0;

	if (group == NULL)
		return 0;
	if (nb != 0) {
		PLX_LOG(ERR, "connection group %s: %u connections are not destroyed yet", group->name, nb);
		return -EBUSY;
	}
	if (group->turning)
		return -EBUSY;
	recv_pools_bury(group);
	if (!LIST_EMPTY(&group->pools)) {
		PLX_LOG(ERR, "connection group %s: it has receive pools", group->name);
		return -EBUSY;
	}
	if (group->events != NULL)
		conn_events_leave(group->events, group);
	pthread_mutex_destroy(&group->lock);
	plx_control_release(group->control);
	plx_lane_destroy(group->lane);
	rte_free(group);
	return 0;
}

/* ---- what other threads sent --------------------------------------------------------------- */

/** Remember that @p conn has waiting ops. */
static void
add_waiter(struct plx_conn_group *group, struct plx_conn *conn)
{
	if (conn->in_waiters)
		return;
	conn->in_waiters = true;
	conn->next_waiter = NULL;
	if (group->waiters.first != NULL)
		group->waiters.last->next_waiter = conn;
	else
		group->waiters.first = conn;
	group->waiters.last = conn;
}

/** Ops in a row for one queue: post what has credit and nobody before it, let the rest wait. */
static void
take_run(struct plx_op_queue *q, struct plx_op **ops, unsigned int n)
{
	struct plx_conn *conn = plx_op_queue_conn(q);
	struct plx_op_list *waiting = conn_waiting(conn, q);

	n = conn_sort_out(conn, ops, n);
	if (n == 0)
		return;
	/* By the state: a close that was asked for elsewhere, and told that the lane is full, is none. */
	if (!conn_state_admits(conn, q)) {
		conn_unqueue(conn, n);
		for (unsigned int i = 0; i < n; i++)
			plx_dispatcher_fail(conn->dispatcher, ops[i], PLX_ST_STOPPED, 0);
		return;
	}
	if (n <= conn_room(conn, q)) {
		conn_unqueue(conn, n);
		conn_post_taken(conn, q, ops, (uint16_t)n);
		conn_update_limit(conn, q);
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		conn_enqueue(conn, waiting, ops[i]);
	add_waiter(conn->group, conn);
	conn_post_waiting(conn, q);
	conn_update_limit(conn, q);
}

/** A word that is a connection, to close or to drain. Nothing counts a close: there is no other before it is taken. */
static void
take_conn(uintptr_t word)
{
	struct plx_conn *conn = (struct plx_conn *)(word & ~(uintptr_t)3);

	if (word == lane_close(conn)) {
		conn_close_begin(conn);
		return;
	}
	conn_drain_begin(conn);
	conn_word_end(conn);
}

static unsigned int
take_lane(struct plx_conn_group *group)
{
	uintptr_t words[PLX_POST_BURST];
	unsigned int got = plx_lane_recv(group->lane, words, PLX_POST_BURST), end;

	for (unsigned int i = 0; i < got; i = end) {
		struct plx_op *op = (struct plx_op *)words[i];

		end = i + 1;
		if (words[i] & LANE_CANCEL) {
			conn_group_cancel(group, words[i]);
			continue;
		}
		if (!lane_is_op(words[i])) {
			take_conn(words[i]);
			continue;
		}
		if (plx_op_queue_is_shared(op->queue)) {
			recv_pool_back(op);
			continue;
		}
		while (end < got && lane_is_op(words[end]) && ((struct plx_op *)words[end])->queue == op->queue)
			end++;
		take_run(op->queue, (struct plx_op **)&words[i], end - i);
	}
	return got;
}

/** Give new credit to connections with waiting ops; who still waits goes to the end of the list. */
static unsigned int
serve_waiters(struct plx_conn_group *group)
{
	struct plx_conn *conn = group->waiters.first;
	unsigned int did = 0;

	group->waiters.first = NULL;
	while (conn != NULL) {
		struct plx_conn *next = conn->next_waiter;

		conn->in_waiters = false;
		did += conn_post_waiting(conn, &conn->sq) + conn_post_waiting(conn, &conn->rq);
		if (conn->waiting[0].nb != 0 || conn->waiting[1].nb != 0)
			add_waiter(group, conn);
		conn = next;
	}
	return did;
}

/* ---- closes -------------------------------------------------------------------------------- */

static unsigned int
serve_failed(struct plx_conn_group *group)
{
	unsigned int did = 0;

	for (struct plx_conn *conn; (conn = group->failed) != NULL; did++) {
		group->failed = conn->next_failed;
		conn->in_failed = false;
		conn_fail_once(conn);
	}
	return did;
}

static void
closing_append(struct plx_conn_group *group, struct plx_conn *conn)
{
	conn->next_closing = NULL;
	if (group->closing.first != NULL)
		group->closing.last->next_closing = conn;
	else
		group->closing.first = conn;
	group->closing.last = conn;
}

static void
closing_begin(struct plx_conn *conn)
{
	conn_state_change(conn, PLX_CONN_DRAINING);
	conn_update_limit(conn, &conn->sq);
	conn_update_limit(conn, &conn->rq);
	if (conn->in_closing)
		return;
	conn->in_closing = true;
	closing_append(conn->group, conn);
}

void
conn_close_begin(struct plx_conn *conn)
{
	conn->close_wanted = true;
	closing_begin(conn);
}

void
conn_drain_begin(struct plx_conn *conn)
{
	conn->drain_wanted = true;
	closing_begin(conn);
}

/** One step for each closing connection. Callbacks may begin more closes: those wait for the next turn. */
static unsigned int
serve_closing(struct plx_conn_group *group)
{
	struct plx_conn *conn = group->closing.first;
	unsigned int did = 0;

	group->closing.first = NULL;
	while (conn != NULL) {
		struct plx_conn *next = conn->next_closing;

		if (conn_close_once(conn))
			did++;
		else
			closing_append(group, conn);
		conn = next;
	}
	return did;
}

unsigned int
plx_conn_group_once(struct plx_conn_group *group)
{
	unsigned int did;

	/* A turn inside a callback would take later ops before the rest of this one's. */
	if (group->turning)
		return 0;
	group->turning = true;
	did = take_lane(group);
	if (group->dispatcher->deadlines.nb != 0)
		did += conn_group_expire(group);
	if (group->waiters.first != NULL)
		did += serve_waiters(group);
	if (__builtin_expect(__atomic_load_n(&group->told, __ATOMIC_RELAXED) != 0, 0))
		did += conn_group_heed(group);
	if (group->failed != NULL)
		did += serve_failed(group);
	did += plx_control_once(group->control);
	if (group->closing.first != NULL)
		did += serve_closing(group);
	group->turning = false;
	return did;
}

unsigned int
plx_conn_group_hook(void *group)
{
	return plx_conn_group_once(group);
}
