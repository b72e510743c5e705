/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "contract_pair.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_pause.h>

#include <plx_clock.h>

/* ---- making -------------------------------------------------------------------------------- */

struct pair_conf
pair_conf(void)
{
	struct pair_conf conf = {
		.nb_cqe = 256,
		.cap = {.send_depth = 64, .recv_depth = 64, .send_sge = 4, .recv_sge = 4, .inline_len = 64},
		.b_rights = contract_rights() & PLX_ACCESS_REMOTE,
		.connect = contract_has_flag(PLX_CAP_ATTR_EXCHANGE),
	};

	conf.cap.inline_len = RTE_MIN(conf.cap.inline_len, contract_caps()->max_inline);
	conf.cap.send_sge = RTE_MIN(conf.cap.send_sge, contract_caps()->max_sge);
	conf.cap.recv_sge = RTE_MIN(conf.cap.recv_sge, contract_caps()->max_sge);
	plx_qp_path_default(&conf.path);
	conf.path.rights = conf.b_rights;
	return conf;
}

void
side_make(struct pair *pair, struct side *side, struct plx_device *dev, const struct pair_conf *conf,
	struct plx_srq *srq)
{
	side->cq = objects_cq(&pair->objs, dev, conf->nb_cqe);
	side->qp = objects_qp_on(&pair->objs, pair->pd, side->cq, &conf->cap, srq);
	side->buf = objects_buf(&pair->objs, PAIR_BUF_LEN);
	side->mr = objects_mr(&pair->objs, pair->pd, side->buf, PAIR_BUF_LEN, contract_rights());
}

void
pair_make(struct pair *pair, struct plx_device *dev, const struct pair_conf *conf)
{
	pair->pd = objects_pd(&pair->objs, dev);
	if (conf->srq_depth > 0)
		pair->srq = objects_srq(&pair->objs, pair->pd, conf->srq_depth, 1);
	side_make(pair, &pair->a, dev, conf, NULL);
	side_make(pair, &pair->b, dev, conf, pair->srq);
	if (conf->connect)
		pair_connect(pair, conf);
}

void
sides_connect(struct side *a, struct side *b, const struct pair_conf *conf)
{
	struct plx_qp_path b_path = conf->path;
	struct plx_qp_addr a_addr, b_addr;

	b_path.rights = conf->b_rights;
	assert_int_equal(plx_qp_local_addr(a->qp, &conf->path, &a_addr), 0);
	assert_int_equal(plx_qp_local_addr(b->qp, &b_path, &b_addr), 0);
	assert_int_equal(plx_qp_bring_up(b->qp, &b_path, &a_addr), 0);
	assert_int_equal(plx_qp_bring_up(a->qp, &conf->path, &b_addr), 0);
}

void
pair_connect(struct pair *pair, const struct pair_conf *conf)
{
	sides_connect(&pair->a, &pair->b, conf);
}

int
pair_setup_empty(void **state)
{
	*state = calloc(1, sizeof(struct pair));
	return *state != NULL ? 0 : -1;
}

int
pair_setup(void **state)
{
	struct pair_conf conf = pair_conf();

	if (pair_setup_empty(state) != 0)
		return -1;
	pair_make(*state, contract.dev, &conf);
	return 0;
}

int
pair_teardown(void **state)
{
	struct pair *pair = *state;
	int err = objects_destroy(&pair->objs);

	free(pair);
	return err;
}

/* ---- posting ------------------------------------------------------------------------------- */

struct plx_sge
side_sge(const struct side *side, size_t at, uint32_t len)
{
	return (struct plx_sge){(uintptr_t)side->buf + at, len, side->mr->lkey};
}

struct plx_wr
wr_of(uint64_t wr_id, unsigned int opcode, const struct plx_sge *sges, uint32_t nb_sge)
{
	return (struct plx_wr){
		.wr_id = wr_id,
		.sg_list = sges,
		.num_sge = nb_sge,
		.opcode = opcode,
		.flags = PLX_WR_SIGNALED,
	};
}

struct plx_wr
wr_remote(uint64_t wr_id, unsigned int opcode, const struct plx_sge *sges, uint32_t nb_sge,
	const struct side *peer, size_t at)
{
	struct plx_wr wr = wr_of(wr_id, opcode, sges, nb_sge);

	wr.remote_addr = (uintptr_t)peer->buf + at;
	wr.rkey = peer->mr->rkey;
	return wr;
}

void
post_send(struct side *side, const struct plx_wr *wr)
{
	int err = 0;

	if (plx_qp_post_send(side->qp, &wr, 1, &err) != 1)
		fail_msg("%s (wr_id %lu) was not posted: %s", plx_opcode_name(wr->opcode),
			(unsigned long)wr->wr_id, rte_strerror(-err));
}

void
post_recv(struct side *side, const struct plx_wr *wr)
{
	int err = 0;

	if (plx_qp_post_recv(side->qp, &wr, 1, &err) != 1)
		fail_msg("receive (wr_id %lu) was not posted: %s", (unsigned long)wr->wr_id,
			rte_strerror(-err));
}

void
post_recv_at(struct side *side, uint64_t wr_id, size_t at, uint32_t len)
{
	struct plx_sge sge = side_sge(side, at, len);
	struct plx_wr wr = wr_of(wr_id, PLX_OPCODE_RECV, &sge, 1);

	post_recv(side, &wr);
}

/* ---- waiting ------------------------------------------------------------------------------- */

void
wait_wcs_at(struct plx_cq *cq, struct plx_wc *wcs, unsigned int n, const char *file, int line)
{
	uint64_t deadline = plx_clock_monotonic_ns() + WAIT_NS;
	unsigned int done = 0;

	while (done < n) {
		int got = plx_cq_poll(cq, &wcs[done], n - done);

		if (got < 0 || plx_clock_monotonic_ns() > deadline) {
			print_error("%u of %u completions came; poll said %d\n", done, n, got);
			_fail(file, line);
		}
		done += got;
		if (got == 0)
			rte_pause();
	}
}

struct plx_wc
wait_wc_at(struct plx_cq *cq, uint64_t wr_id, unsigned int status, const char *file, int line)
{
	struct plx_wc wc;

	wait_wcs_at(cq, &wc, 1, file, line);
	if (wc.wr_id != wr_id || wc.status != status) {
		print_error("wr_id %lu ended as %s (vendor 0x%x); want wr_id %lu as %s\n", (unsigned long)wc.wr_id,
			plx_status_name(wc.status), wc.vendor_err, (unsigned long)wr_id,
			plx_status_name(status));
		_fail(file, line);
	}
	return wc;
}

void
expect_empty_at(struct plx_cq *cq, const char *file, int line)
{
	struct plx_wc wc;

	for (int i = 0; i < 300; i++) {
		if (plx_cq_poll(cq, &wc, 1) != 0) {
			print_error("nothing may complete, and wr_id %lu did as %s\n", (unsigned long)wc.wr_id,
				plx_status_name(wc.status));
			_fail(file, line);
		}
	}
}

bool
wait_byte(const uint8_t *at, uint8_t value)
{
	uint64_t deadline = plx_clock_monotonic_ns() + WAIT_NS;

	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) != value) {
		if (plx_clock_monotonic_ns() > deadline)
			return false;
		rte_pause();
	}
	return true;
}

bool
wait_error(struct plx_qp *qp)
{
	uint64_t deadline = plx_clock_monotonic_ns() + WAIT_NS;

	while (plx_qp_query_state(qp) != PLX_QP_ERR) {
		if (plx_clock_monotonic_ns() > deadline)
			return false;
		rte_pause();
	}
	return true;
}

/* ---- data ---------------------------------------------------------------------------------- */

static uint8_t
pattern(size_t at, unsigned int seed)
{
	/* The high bits take part, so that data shifted by 256 bytes or by an MTU is seen. */
	return at * 7 + (at >> 8) * 13 + seed * 101 + 1;
}

void
fill(uint8_t *buf, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = pattern(i, seed);
}

void
expect_filled_at(const uint8_t *buf, size_t len, unsigned int seed, const char *file, int line)
{
	for (size_t i = 0; i < len; i++) {
		if (buf[i] == pattern(i, seed))
			continue;
		print_error("byte %zu of %zu is 0x%02x, want 0x%02x\n", i, len, buf[i], pattern(i, seed));
		_fail(file, line);
	}
}

void
expect_all_at(const uint8_t *buf, size_t len, uint8_t value, const char *file, int line)
{
	for (size_t i = 0; i < len; i++) {
		if (buf[i] == value)
			continue;
		print_error("byte %zu of %zu is 0x%02x, want 0x%02x\n", i, len, buf[i], value);
		_fail(file, line);
	}
}
