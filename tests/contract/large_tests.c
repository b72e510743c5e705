/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A region longer than 32 bits can say: only its ends are ever touched, so that it needs no memory.
 *
 *      0 ................ 4 GiB ....................... 5 GiB
 *         PROT_NONE         | the last page: read, write |
 */

#include "contract_pair.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_errno.h>

#define GIB	UINT64_C(0x40000000)
#define LEN	(5 * GIB)
#define TAIL	(4 * GIB) /* from here on it can be touched */
#define TAIL_LEN 16384u

/** Whether there is such a region; a device that pins what it registers refuses memory that nobody may touch. */
static bool
large_make(struct pair *pair, uint8_t **mem, struct plx_mr **mr)
{
	*mem = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(*mem != MAP_FAILED);
	assert_int_equal(mprotect(*mem + TAIL, TAIL_LEN, PROT_READ | PROT_WRITE), 0);
	if (contract_has_flag(PLX_CAP_PINS)) {
		rte_errno = 0;
		assert_null(plx_mr_register(pair->pd, *mem, LEN, contract_rights()));
		assert_int_equal(rte_errno, EFAULT);
		munmap(*mem, LEN);
		return false;
	}
	*mr = objects_mr(&pair->objs, pair->pd, *mem, LEN, contract_rights());
	assert_int_equal((*mr)->len, LEN);
	return true;
}

/* case 8.9 */
static void
region_above_4_gib_is_reached_behind_them(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge = side_sge(&pair->a, 0, 1000);
	struct plx_mr *mr;
	struct plx_wr wr;
	uint8_t *mem;

	if (!large_make(pair, &mem, &mr))
		return;
	fill(pair->a.buf, 1000, 9);
	wr = wr_of(1, PLX_OPCODE_WRITE, &sge, 1);
	wr.remote_addr = (uintptr_t)mem + TAIL + 1;
	wr.rkey = mr->rkey;
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 1);
	expect_filled(mem + TAIL + 1, 1000, 9);
	assert_int_equal(mem[TAIL], 0);

	memset(pair->a.buf, 0, 1000);
	wr.wr_id = 2;
	wr.opcode = PLX_OPCODE_READ;
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 2);
	expect_filled(pair->a.buf, 1000, 9);
	objects_drop_mr(&pair->objs, mr);
	munmap(mem, LEN);
}

/* case 8.9: as far as 32 bits see, that is inside. */
static void
region_above_4_gib_ends_where_it_ends(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge = side_sge(&pair->a, 0, 1000);
	struct plx_mr *mr;
	struct plx_wr wr;
	uint8_t *mem;

	if (!large_make(pair, &mem, &mr))
		return;
	wr = wr_of(1, PLX_OPCODE_WRITE, &sge, 1);
	wr.remote_addr = (uintptr_t)mem + LEN - 999;
	wr.rkey = mr->rkey;
	post_send(&pair->a, &wr);
	wait_wc(pair->a.cq, 1, PLX_ST_REM_ACCESS_ERR);
	objects_drop_mr(&pair->objs, mr);
	munmap(mem, LEN);
}

const struct CMUnitTest large_tests[] = {
	pair_test(region_above_4_gib_is_reached_behind_them),
	pair_test(region_above_4_gib_ends_where_it_ends),
};
const size_t nb_large_tests = NB_OF(large_tests);
