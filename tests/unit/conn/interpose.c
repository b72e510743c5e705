/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "interpose.h"

#include <pthread.h>

#include <rte_malloc.h>

#include "conn_internal.h"

unsigned int interpose_fail_alloc_at;
void (*interpose_in_check)(void);
void (*interpose_before_sync)(void);
void (*interpose_when_closed)(void);
void (*interpose_after_send)(void);
__thread void (*interpose_after_unlock)(void);

void *__real_rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket);
void *__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket);
int __real_plx_conn_check(const struct plx_conn *conn, const struct plx_op_queue *q, const struct plx_op *op,
	struct plx_submit_err *err);
int __wrap_plx_conn_check(const struct plx_conn *conn, const struct plx_op_queue *q, const struct plx_op *op,
	struct plx_submit_err *err);
int __real_plx_control_sync(struct plx_control *ctl, int (*fn)(void *arg), void *arg);
int __wrap_plx_control_sync(struct plx_control *ctl, int (*fn)(void *arg), void *arg);
unsigned int __real_plx_lane_send_other(struct plx_lane *lane, const void *elems, unsigned int n);
unsigned int __wrap_plx_lane_send_other(struct plx_lane *lane, const void *elems, unsigned int n);
int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
bool __real_conn_state_change(struct plx_conn *conn, enum plx_conn_state to);
bool __wrap_conn_state_change(struct plx_conn *conn, enum plx_conn_state to);

static void
call_once(void (**hook)(void))
{
	void (*call)(void) = *hook;

	*hook = NULL;
	if (call != NULL)
		call();
}

void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	if (interpose_fail_alloc_at != 0 && --interpose_fail_alloc_at == 0)
		return NULL;
	return __real_rte_zmalloc_socket(type, size, align, socket);
}

int
__wrap_plx_conn_check(const struct plx_conn *conn, const struct plx_op_queue *q, const struct plx_op *op,
	struct plx_submit_err *err)
{
	call_once(&interpose_in_check);
	return __real_plx_conn_check(conn, q, op, err);
}

int
__wrap_plx_control_sync(struct plx_control *ctl, int (*fn)(void *arg), void *arg)
{
	call_once(&interpose_before_sync);
	return __real_plx_control_sync(ctl, fn, arg);
}

bool
__wrap_conn_state_change(struct plx_conn *conn, enum plx_conn_state to)
{
	bool changed = __real_conn_state_change(conn, to);

	if (changed && to == PLX_CONN_CLOSED)
		call_once(&interpose_when_closed);
	return changed;
}

int
__wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	int err = __real_pthread_mutex_unlock(lock);

	call_once(&interpose_after_unlock);
	return err;
}

unsigned int
__wrap_plx_lane_send_other(struct plx_lane *lane, const void *elems, unsigned int n)
{
	unsigned int sent = __real_plx_lane_send_other(lane, elems, n);

	call_once(&interpose_after_send);
	return sent;
}
