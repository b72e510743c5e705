/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Control verbs that a script makes fail or wait.
 */

#include "plx_test.h"

#include <errno.h>

#include <rte_errno.h>

#include "fake_device.h"
#include "plx_clock.h"
#include "plx_fault.h"

/* What a walk through all verbs has made, so that it is taken down however far it came. */
struct walk {
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_mr *mr;
	struct plx_cq *cq;
	struct plx_qp *qp;
};

static char buf[64];

static int
made(void *object)
{
	return object != NULL ? 0 : -rte_errno;
}

static int
step_limits(struct walk *w)
{
	struct plx_qp_cap cap = {.send_depth = 4};

	return plx_qp_limits(w->dev, &cap);
}

static int
step_port(struct walk *w)
{
	struct plx_port_attr attr;

	return plx_port_query(w->dev, 1, &attr);
}

static int
step_gid(struct walk *w)
{
	struct plx_gid gid;

	return plx_gid_query(w->dev, 1, 1, &gid);
}

static int
step_pd(struct walk *w)
{
	return made(w->pd = plx_pd_create(w->dev));
}

static int
step_mr(struct walk *w)
{
	return made(w->mr = plx_mr_register(w->pd, buf, sizeof(buf), 0));
}

static int
step_cq(struct walk *w)
{
	return made(w->cq = plx_cq_create(w->dev, 8));
}

static int
step_qp(struct walk *w)
{
	struct plx_qp_conf conf = {.send_cq = w->cq, .recv_cq = w->cq, .cap = {.send_depth = 4}};

	return made(w->qp = plx_qp_create(w->pd, &conf));
}

static int
step_addr(struct walk *w)
{
	struct plx_qp_path path;
	struct plx_qp_addr addr;

	plx_qp_path_default(&path);
	path.port = 1; /* or they are asked for */
	path.gid_index = 1;
	return plx_qp_local_addr(w->qp, &path, &addr);
}

static int
step_up(struct walk *w)
{
	struct plx_qp_path path;
	struct plx_qp_addr addr = {.mtu = 1024};

	plx_qp_path_default(&path);
	path.port = 1;
	path.gid_index = 1;
	return plx_qp_bring_up(w->qp, &path, &addr);
}

static int
step_state(struct walk *w)
{
	int state = plx_qp_query_state(w->qp);

	return state < 0 ? state : 0;
}

static int
step_error(struct walk *w)
{
	return plx_qp_to_error(w->qp);
}

/* Destroy what @p object names; it is gone only when that worked. */
#define STEP_DESTROY(name, object, destroy)                                                                  \
	static int name(struct walk *w)                                                                      \
	{                                                                                                    \
		int err = destroy(w->object);                                                                \
                                                                                                             \
		if (err == 0)                                                                                \
			w->object = NULL;                                                                    \
		return err;                                                                                  \
	}

STEP_DESTROY(step_qp_destroy, qp, plx_qp_destroy)
STEP_DESTROY(step_cq_destroy, cq, plx_cq_destroy)
STEP_DESTROY(step_deregister, mr, plx_mr_deregister)
STEP_DESTROY(step_pd_destroy, pd, plx_pd_destroy)

/* Each control verb once, in an order that works; gid_query also asks for the port first. */
static const struct {
	const char *verb;
	int (*run)(struct walk *w);
} steps[] = {
	{"qp_limits", step_limits},
	{"port_query", step_port},
	{"gid_query", step_gid},
	{"pd_create", step_pd},
	{"mr_register", step_mr},
	{"cq_create", step_cq},
	{"qp_create", step_qp},
	{"qp_local_addr", step_addr},
	{"qp_bring_up", step_up},
	{"qp_query_state", step_state},
	{"qp_to_error", step_error},
	{"qp_destroy", step_qp_destroy},
	{"cq_destroy", step_cq_destroy},
	{"mr_deregister", step_deregister},
	{"pd_destroy", step_pd_destroy},
};

static struct plx_fault_stats
stats(const struct walk *w)
{
	struct plx_fault_stats now;

	assert_int_equal(plx_fault_stats(w->dev, &now), 0);
	return now;
}

/* Take down what is there, and see that nothing is left. */
static void
end(struct walk *w)
{
	assert_int_equal(plx_qp_destroy(w->qp), 0);
	assert_int_equal(plx_cq_destroy(w->cq), 0);
	assert_int_equal(plx_mr_deregister(w->mr), 0);
	assert_int_equal(plx_pd_destroy(w->pd), 0);
	assert_int_equal(plx_device_close(w->dev), 0);
	assert_int_equal(fake_nb_objects, 0);
}

static struct walk
begin(const char *format, ...)
{
	char script[128];
	va_list args;
	struct walk w = {0};

	va_start(args, format);
	vsnprintf(script, sizeof(script), format, args);
	va_end(args);
	w.dev = plx_fault_wrap(&fake_open()->base, script);
	assert_non_null(w.dev);
	return w;
}

static void
each_verb_fails_alone_and_once(void **state)
{
	for (unsigned int v = 0; v < NB_OF(steps); v++) {
		struct walk w = begin("fail %s 1 ENOSPC", steps[v].verb);

		for (unsigned int i = 0; i <= v; i++)
			assert_int_equal(steps[i].run(&w), i < v ? 0 : -ENOSPC);
		assert_int_equal(stats(&w).failed_verbs, 1);
		end(&w);
	}
}

static void
verb_that_failed_has_done_nothing_and_works_when_tried_again(void **state)
{
	struct walk w = begin("fail control 1/3 EIO");

	for (unsigned int i = 0; i < NB_OF(steps); i++) {
		int before = fake_nb_objects, err = steps[i].run(&w);

		if (err == 0)
			continue;
		if (steps[i].run != step_addr && steps[i].run != step_up) /* which ask for the GID: EINVAL */
			assert_int_equal(err, -EIO);
		assert_int_equal(fake_nb_objects, before);
		i--; /* again */
	}
	assert_true(stats(&w).failed_verbs >= NB_OF(steps) / 2);
	end(&w);
}

static void
kth_verb_fails_for_all_k_and_nothing_is_left(void **state)
{
	unsigned int k = 1;
	bool failed = true;

	for (; failed; k++) {
		struct walk w = begin("fail control %u ENOMEM; fail control %u EIO", k, k);

		for (unsigned int i = 0; i < NB_OF(steps) && steps[i].run(&w) == 0; i++)
			;
		failed = stats(&w).failed_verbs != 0;
		end(&w);
		assert_true(k < 100);
	}
	assert_int_equal(k - 2, NB_OF(steps) + 2); /* address and bring-up ask for the GID */
}

static void
first_rule_that_hits_decides_how_a_verb_fails(void **state)
{
	struct walk w = begin("fail pd_create 2 EIO; fail control 1 ENOSPC; fail control 1.. EPERM");

	assert_int_equal(step_pd(&w), -ENOSPC);
	assert_int_equal(step_pd(&w), -EIO);
	assert_int_equal(step_pd(&w), -EPERM);
	assert_int_equal(stats(&w).failed_verbs, 3);
	w.pd = NULL;
	end(&w);
}

/* case 13.4: the knob */
static void
delayed_verb_takes_its_time_and_works(void **state)
{
	struct walk w = begin("delay pd_create 20000; delay control 1000 3; delay qp_create 1000 2..");
	uint64_t start = plx_clock_monotonic_ns();

	assert_int_equal(step_limits(&w), 0);
	assert_int_equal(stats(&w).delayed, 0);
	assert_int_equal(step_pd(&w), 0);
	assert_true(plx_clock_monotonic_ns() - start >= 20000000);
	assert_int_equal(stats(&w).delayed, 1);
	assert_int_equal(step_cq(&w), 0); /* the third verb */
	assert_int_equal(stats(&w).delayed, 2);
	assert_int_equal(step_qp(&w), 0);
	assert_int_equal(stats(&w).delayed, 2);
	end(&w);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_verb_fails_alone_and_once),
	cmocka_unit_test(verb_that_failed_has_done_nothing_and_works_when_tried_again),
	cmocka_unit_test(kth_verb_fails_for_all_k_and_nothing_is_left),
	cmocka_unit_test(first_rule_that_hits_decides_how_a_verb_fails),
	cmocka_unit_test(delayed_verb_takes_its_time_and_works),
};

PLX_TEST_SUITE(fault, fault_control, tests);
