/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_conn_events.h"

#include <errno.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "conn_internal.h"
#include "plx_log.h"
#include "recv_pool_internal.h"

struct plx_conn_events {
	struct plx_control_watch watch;
	struct plx_device *dev;
	struct plx_control *control;
	plx_event_cb_t cb;
	void *arg;
	struct plx_conn_events_stats stats;
	pthread_mutex_t lock; /**< of the list */
	LIST_HEAD(, plx_conn_group) groups;
};

/* ---- control thread: whom does it concern? -------------------------------------------------- */

/** Under the group's lock. */
static bool
conn_tell(struct plx_conn_group *group, const struct plx_event *event, uint32_t what)
{
	struct plx_conn *conn;

	if (event->object == 0)
		return false; /* gone, or none of ours; whose QP is gone has that number too */
	LIST_FOREACH(conn, &group->conns, in_group) {
		if (conn->qp_id != event->object)
			continue;
		if (what == CONN_TOLD_FATAL)
			conn->fatal_raw = event->raw;
		__atomic_fetch_or(&conn->told, what, __ATOMIC_RELAXED);
		conn_group_tell(group, GROUP_TOLD_CONN);
		return true;
	}
	return false;
}

/** Under the group's lock. */
static bool
pool_tell(struct plx_conn_group *group, const struct plx_event *event)
{
	struct plx_recv_pool *pool;

	LIST_FOREACH(pool, &group->pools, in_group) {
		if (!recv_pool_tell(pool, event))
			continue;
		conn_group_tell(group, event->type == PLX_EVENT_SRQ_ERROR ? GROUP_TOLD_CONN : GROUP_TOLD_POOL);
		return true;
	}
	return false;
}

bool
conn_group_hear(struct plx_conn_group *group, const struct plx_event *event)
{
	bool mine = false;

	pthread_mutex_lock(&group->lock);
	switch (event->type) {
	case PLX_EVENT_CQ_ERROR:
		mine = group->cq->id == event->object;
		if (mine)
			conn_group_tell(group, GROUP_TOLD_CQ);
		break;
	case PLX_EVENT_DEVICE_FATAL:
		mine = true;
		conn_group_tell(group, GROUP_TOLD_LOST);
		break;
	case PLX_EVENT_QP_FATAL:
		mine = conn_tell(group, event, CONN_TOLD_FATAL);
		break;
	case PLX_EVENT_LAST_WQE:
		mine = conn_tell(group, event, CONN_TOLD_LAST_WQE);
		break;
	case PLX_EVENT_SRQ_LIMIT:
	case PLX_EVENT_SRQ_ERROR:
		mine = pool_tell(group, event);
		break;
	default:
		break;
	}
	pthread_mutex_unlock(&group->lock);
	return mine;
}

static void
count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static bool
has_object(const struct plx_event *event)
{
	return event->type <= PLX_EVENT_SRQ_ERROR;
}

static void
event_log(const struct plx_conn_events *events, const struct plx_event *event)
{
	const char *dev = plx_device_name(events->dev), *name = plx_event_name(event->type);

	switch (event->type) {
	case PLX_EVENT_PORT_DOWN:
	case PLX_EVENT_PORT_UP:
		PLX_LOG(INFO, "device %s: %s: port %u", dev, name, event->port);
		break;
	case PLX_EVENT_DEVICE_FATAL:
		PLX_LOG(ERR, "device %s: %s (object %" PRIu64 ", event %d)", dev, name, event->object, event->raw);
		break;
	default: /* of a QP that fails its connection speaks */
		PLX_LOG(DEBUG, "device %s: %s (object %" PRIu64 ", event %d)", dev, name, event->object, event->raw);
		break;
	}
}

/** Whether this is the first error of CQ @p id of a group. From here on it is known. */
static bool
is_first_of_cq(struct plx_conn_events *events, uint64_t id)
{
	struct plx_conn_group *group;
	bool mine = false, known = false;

	pthread_mutex_lock(&events->lock);
	LIST_FOREACH(group, &events->groups, in_events) {
		if (group->cq->id != id)
			continue;
		mine = true;
		known |= group->cq_told;
		group->cq_told = true;
	}
	pthread_mutex_unlock(&events->lock);
	return mine && !known;
}

/** A provider may raise an error for each completion that is lost: one is enough for the log. */
static void
overrun(struct plx_conn_events *events, const struct plx_event *event)
{
	if (!is_first_of_cq(events, event->object))
		return;
	count(&events->stats.cq_overruns);
	PLX_LOG(ERR, "device %s: CQ error (object %" PRIu64 ", event %d): it has lost completions; was it reserved for all that "
		"completes there? Its connections are closed", plx_device_name(events->dev), event->object, event->raw);
}

static void
event_take(struct plx_conn_events *events, const struct plx_event *event)
{
	struct plx_conn_group *group;
	bool heard = false;

	count(&events->stats.by_type[event->type]);
	event_log(events, event);
	if (event->type == PLX_EVENT_CQ_ERROR)
		overrun(events, event);
	if (events->cb != NULL)
		events->cb(events->dev, event, events->arg);
	pthread_mutex_lock(&events->lock);
	LIST_FOREACH(group, &events->groups, in_events)
		heard |= conn_group_hear(group, event);
	pthread_mutex_unlock(&events->lock);
	if (!heard && has_object(event))
		count(&events->stats.unclaimed);
}

static void
events_readable(struct plx_control_watch *watch)
{
	struct plx_conn_events *events = plx_container_of(watch, struct plx_conn_events, watch);
	struct plx_event event;
	int got;

	while ((got = plx_device_next_event(events->dev, &event)) == 1)
		event_take(events, &event);
	if (got == 0)
		return;
	PLX_LOG(ERR, "device %s: its events cannot be read: error %d; nobody reads them any more", plx_device_name(events->dev),
		-got);
	watch->fd = -1; /* it may stay readable for ever */
}

/* ---- owner: act --------------------------------------------------------------------------- */

/** Keep an event as the cause, if there is no better one. Of a CQ, an SRQ and a device the log has it already. */
static void
cause_keep(struct plx_conn *conn, enum plx_event_type type, int32_t raw)
{
	if (!conn_lacks_cause(conn) || plx_conn_state(conn) == PLX_CONN_CLOSED)
		return;
	conn->error = (struct plx_conn_error){.status = PLX_ST_EVENT, .qp_num = conn->sq.qp_num, .event = type, .event_raw = raw};
	conn->error_logged = true;
	if (type == PLX_EVENT_QP_FATAL)
		PLX_LOG(ERR, "QP %u: %s (event %d): %s", conn->sq.qp_num, plx_event_name(type), raw, plx_status_str(PLX_ST_EVENT));
}

/** Under the group's lock: tell @p conn and close it, behind this in the same turn, unless somebody has closed it. */
static void
conn_end(struct plx_conn *conn, enum plx_event_type type, int32_t raw)
{
	cause_keep(conn, type, raw);
	/* Sequential: submitters_gone(). Whoever takes it first may free the connection: so it is in no list yet. */
	if (__atomic_exchange_n(&conn->closing, true, __ATOMIC_SEQ_CST))
		return;
	conn->close_due = true;
	conn_set_failed(conn);
}

/** Under the group's lock. What the device will not complete any more is not waited for. */
static void
conn_heed(struct plx_conn *conn, const struct plx_conn_group *group)
{
	uint32_t told = __atomic_exchange_n(&conn->told, 0, __ATOMIC_RELAXED);

	if (told & CONN_TOLD_KEPT)
		conn_close_begin(conn);
	conn->last_wqe |= (told & CONN_TOLD_LAST_WQE) != 0;
	conn->fatal |= (told & CONN_TOLD_FATAL) != 0; /* for good: a destroy may be on its way that fails */
	conn->cq_lost |= group->cq_lost;
	if (conn->fatal)
		conn_end(conn, PLX_EVENT_QP_FATAL, conn->fatal_raw);
	else if (group->cq_lost)
		conn_end(conn, group->lost ? PLX_EVENT_DEVICE_FATAL : PLX_EVENT_CQ_ERROR, 0);
	else if (recv_pool_is_lost(conn->recv_pool))
		conn_end(conn, PLX_EVENT_SRQ_ERROR, 0);
}

unsigned int
conn_group_heed(struct plx_conn_group *group)
{
	/* Acquire: partner is the release in conn_group_tell(). */
	uint32_t told = __atomic_exchange_n(&group->told, 0, __ATOMIC_ACQUIRE);
	struct plx_recv_pool *pool;
	struct plx_conn *conn;

	if (told & GROUP_TOLD_LOST)
		__atomic_store_n(&group->lost, true, __ATOMIC_RELAXED);
	if (told & (GROUP_TOLD_CQ | GROUP_TOLD_LOST))
		__atomic_store_n(&group->cq_lost, true, __ATOMIC_RELAXED);
	pthread_mutex_lock(&group->lock);
	if (told != GROUP_TOLD_POOL) {
		LIST_FOREACH(conn, &group->conns, in_group)
			conn_heed(conn, group);
	}
	LIST_FOREACH(pool, &group->pools, in_group)
		recv_pool_heed(pool);
	pthread_mutex_unlock(&group->lock);
	return 1;
}

/* ---- life ---------------------------------------------------------------------------------- */

struct plx_conn_events *
plx_conn_events_create(const struct plx_conn_events_conf *conf)
{
	struct plx_conn_events *events;
	int fd, err;

	if (conf->dev == NULL || conf->control == NULL) {
		PLX_LOG(ERR, "events: no %s in the conf", conf->dev == NULL ? "device" : "control thread");
		rte_errno = EINVAL;
		return NULL;
	}
	fd = plx_device_event_fd(conf->dev);
	if (fd < 0) {
		rte_errno = -fd;
		return NULL;
	}
	events = rte_zmalloc("plx_conn_events", sizeof(*events), 0);
	if (events == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	events->dev = conf->dev;
	events->control = conf->control;
	events->cb = conf->cb;
	events->arg = conf->arg;
	events->watch = (struct plx_control_watch){.fd = fd, .fn = events_readable};
	pthread_mutex_init(&events->lock, NULL);
	LIST_INIT(&events->groups);
	err = plx_control_watch(conf->control, &events->watch);
	if (err != 0) {
		pthread_mutex_destroy(&events->lock);
		rte_free(events);
		rte_errno = -err;
		return NULL;
	}
	plx_control_hold(conf->control);
	return events;
}

int
plx_conn_events_destroy(struct plx_conn_events *events)
{
	struct plx_conn_group *group;
	unsigned int nb = 0;
	int err;

	if (events == NULL)
		return 0;
	pthread_mutex_lock(&events->lock);
	LIST_FOREACH(group, &events->groups, in_events)
		nb++;
	pthread_mutex_unlock(&events->lock);
	if (nb != 0) {
		PLX_LOG(ERR, "events of device %s: %u connection groups use them", plx_device_name(events->dev), nb);
		return -EBUSY;
	}
	err = plx_control_unwatch(events->control, &events->watch);
	if (err != 0)
		return err;
	plx_control_release(events->control);
	pthread_mutex_destroy(&events->lock);
	rte_free(events);
	return 0;
}

void
conn_events_join(struct plx_conn_events *events, struct plx_conn_group *group)
{
	pthread_mutex_lock(&events->lock);
	LIST_INSERT_HEAD(&events->groups, group, in_events);
	pthread_mutex_unlock(&events->lock);
}

void
conn_events_leave(struct plx_conn_events *events, struct plx_conn_group *group)
{
	pthread_mutex_lock(&events->lock);
	LIST_REMOVE(group, in_events);
	pthread_mutex_unlock(&events->lock);
}

bool
conn_events_fit(const struct plx_conn_events *events, const struct plx_device *dev, const struct plx_control *control)
{
	return events->dev == dev && events->control == control;
}

void
plx_conn_events_stats(const struct plx_conn_events *events, struct plx_conn_events_stats *stats)
{
	for (unsigned int i = 0; i < PLX_NB_EVENTS; i++)
		stats->by_type[i] = __atomic_load_n(&events->stats.by_type[i], __ATOMIC_RELAXED);
	stats->cq_overruns = __atomic_load_n(&events->stats.cq_overruns, __ATOMIC_RELAXED);
	stats->unclaimed = __atomic_load_n(&events->stats.unclaimed, __ATOMIC_RELAXED);
}
