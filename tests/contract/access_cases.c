/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "access_cases.h"

#define ST(status) PLX_ST_##status

/* A send also has a receive waiting for it; the others have none. */
#define SEND(n, w, h, spec_req, spec_recv, rxe_req, rxe_recv)                                                \
	{n, PLX_OPCODE_SEND, WHOSE_##w, HOW_##h, {spec_req, spec_recv}, {rxe_req, rxe_recv}}
#define IMM(n, w, h, spec_req, spec_recv, rxe_req, rxe_recv)                                                 \
	{n, PLX_OPCODE_WRITE_IMM, WHOSE_##w, HOW_##h, {spec_req, spec_recv}, {rxe_req, rxe_recv}}
#define ONE(op, n, w, h, spec_req, rxe_req)                                                                  \
	{n, PLX_OPCODE_##op, WHOSE_##w, HOW_##h, {spec_req, ACCESS_NONE}, {rxe_req, ACCESS_NONE}}

#define OK   ST(SUCCESS)
#define PROT ST(LOC_PROT_ERR)
#define QPOP ST(LOC_QP_OP_ERR)
#define RACC ST(REM_ACCESS_ERR)
#define RINV ST(REM_INV_REQ_ERR)
#define ROP  ST(REM_OP_ERR)
#define LEN  ST(LOC_LEN_ERR)
#define LACC ST(LOC_ACCESS_ERR)
#define FLUSH ST(WR_FLUSH_ERR)
#define NONE ACCESS_NONE

/*
 * Specification: IBA 10.10.3 (keys), 9.7.4.1.5 (remote), 9.9.2, 9.9.3 (error classes), 11.6.2 (statuses).
 * rxe: as observed on Linux 6.1.
 */
const struct access_case access_cases[] = {
	/* name, whose, how                                    spec: A, B    rxe: A, B */
	SEND("send_local_first_byte", LOCAL, FIRST,            OK, OK,       OK, OK),
	SEND("send_local_last_byte", LOCAL, LAST,              OK, OK,       OK, OK),
	SEND("send_local_one_before", LOCAL, BEFORE,           PROT, NONE,   PROT, NONE),
	SEND("send_local_one_past", LOCAL, PAST,               PROT, NONE,   PROT, NONE),
	SEND("send_local_last_sge_past", LOCAL, LAST_SGE,      PROT, NONE,   PROT, NONE),
	SEND("send_local_deregistered", LOCAL, DEREGISTERED,   PROT, NONE,   QPOP, NONE),
	SEND("send_local_wrong_pd", LOCAL, WRONG_PD,           PROT, NONE,   QPOP, NONE),
	SEND("send_local_bad_key", LOCAL, BAD_KEY,             PROT, NONE,   QPOP, NONE),

	SEND("recv_first_byte", RECV, FIRST,                   OK, OK,       OK, OK),
	SEND("recv_last_byte", RECV, LAST,                     OK, OK,       OK, OK),
	SEND("recv_one_before", RECV, BEFORE,                  ROP, PROT,    ROP, QPOP),
	SEND("recv_one_past", RECV, PAST,                      ROP, PROT,    ROP, QPOP),
	SEND("recv_last_sge_past", RECV, LAST_SGE,             ROP, PROT,    ROP, QPOP),
	SEND("recv_deregistered", RECV, DEREGISTERED,          ROP, PROT,    ROP, QPOP),
	SEND("recv_wrong_pd", RECV, WRONG_PD,                  ROP, PROT,    ROP, QPOP),
	SEND("recv_bad_key", RECV, BAD_KEY,                    ROP, PROT,    ROP, QPOP),
	SEND("recv_no_local_write", RECV, NO_RIGHT,            ROP, PROT,    ROP, QPOP),
	SEND("recv_too_short", RECV, SHORT,                    RINV, LEN,    ROP, QPOP),

	ONE(WRITE, "write_local_first_byte", LOCAL, FIRST,           OK,     OK),
	ONE(WRITE, "write_local_last_byte", LOCAL, LAST,             OK,     OK),
	ONE(WRITE, "write_local_one_before", LOCAL, BEFORE,          PROT,   PROT),
	ONE(WRITE, "write_local_one_past", LOCAL, PAST,              PROT,   PROT),
	ONE(WRITE, "write_local_last_sge_past", LOCAL, LAST_SGE,     PROT,   PROT),
	ONE(WRITE, "write_local_deregistered", LOCAL, DEREGISTERED,  PROT,   QPOP),
	ONE(WRITE, "write_local_wrong_pd", LOCAL, WRONG_PD,          PROT,   QPOP),
	ONE(WRITE, "write_local_bad_key", LOCAL, BAD_KEY,            PROT,   QPOP),

	ONE(WRITE, "write_remote_first_byte", REMOTE, FIRST,         OK,     OK),
	ONE(WRITE, "write_remote_last_byte", REMOTE, LAST,           OK,     OK),
	ONE(WRITE, "write_remote_one_before", REMOTE, BEFORE,        RACC,   RACC),
	ONE(WRITE, "write_remote_one_past", REMOTE, PAST,            RACC,   RACC),
	ONE(WRITE, "write_remote_deregistered", REMOTE, DEREGISTERED, RACC,  RACC),
	ONE(WRITE, "write_remote_wrong_pd", REMOTE, WRONG_PD,        RACC,   RACC),
	ONE(WRITE, "write_remote_bad_key", REMOTE, BAD_KEY,          RACC,   RACC),
	ONE(WRITE, "write_remote_no_right", REMOTE, NO_RIGHT,        RACC,   RACC),
	ONE(WRITE, "write_remote_qp_no_right", REMOTE, QP_NO_RIGHT,  RINV,   RINV),

	ONE(READ, "read_local_first_byte", LOCAL, FIRST,             OK,     OK),
	ONE(READ, "read_local_last_byte", LOCAL, LAST,               OK,     OK),
	ONE(READ, "read_local_one_before", LOCAL, BEFORE,            PROT,   PROT),
	ONE(READ, "read_local_one_past", LOCAL, PAST,                PROT,   PROT),
	ONE(READ, "read_local_last_sge_past", LOCAL, LAST_SGE,       PROT,   PROT),
	ONE(READ, "read_local_deregistered", LOCAL, DEREGISTERED,    PROT,   PROT),
	ONE(READ, "read_local_wrong_pd", LOCAL, WRONG_PD,            PROT,   PROT),
	ONE(READ, "read_local_bad_key", LOCAL, BAD_KEY,              PROT,   PROT),
	ONE(READ, "read_local_no_local_write", LOCAL, NO_RIGHT,      PROT,   PROT),

	ONE(READ, "read_remote_first_byte", REMOTE, FIRST,           OK,     OK),
	ONE(READ, "read_remote_last_byte", REMOTE, LAST,             OK,     OK),
	ONE(READ, "read_remote_one_before", REMOTE, BEFORE,          RACC,   RACC),
	ONE(READ, "read_remote_one_past", REMOTE, PAST,              RACC,   RACC),
	ONE(READ, "read_remote_deregistered", REMOTE, DEREGISTERED,  RACC,   RACC),
	ONE(READ, "read_remote_wrong_pd", REMOTE, WRONG_PD,          RACC,   RACC),
	ONE(READ, "read_remote_bad_key", REMOTE, BAD_KEY,            RACC,   RACC),
	ONE(READ, "read_remote_no_right", REMOTE, NO_RIGHT,          RACC,   RACC),
	ONE(READ, "read_remote_qp_no_right", REMOTE, QP_NO_RIGHT,    RINV,   RINV),

	IMM("write_imm_local_last_byte", LOCAL, LAST,           OK, OK,       OK, OK),
	IMM("write_imm_local_one_past", LOCAL, PAST,            PROT, NONE,   PROT, NONE),
	IMM("write_imm_local_bad_key", LOCAL, BAD_KEY,          PROT, NONE,   QPOP, NONE),
	IMM("write_imm_remote_last_byte", REMOTE, LAST,         OK, OK,       OK, OK),
	IMM("write_imm_remote_one_past", REMOTE, PAST,          RACC, LACC,   RACC, RACC),
	IMM("write_imm_remote_bad_key", REMOTE, BAD_KEY,        RACC, LACC,   RACC, RACC),
	IMM("write_imm_remote_no_right", REMOTE, NO_RIGHT,      RACC, LACC,   RACC, RACC),
	IMM("write_imm_remote_qp_no_right", REMOTE, QP_NO_RIGHT, RINV, FLUSH, RINV, FLUSH),

	ONE(FETCH_ADD, "atomic_local_no_local_write", LOCAL, NO_RIGHT,    PROT, PROT),
	ONE(FETCH_ADD, "atomic_local_bad_key", LOCAL, BAD_KEY,            PROT, PROT),
	ONE(FETCH_ADD, "atomic_remote_first_word", REMOTE, FIRST,         OK,   OK),
	ONE(FETCH_ADD, "atomic_remote_last_word", REMOTE, LAST,           OK,   OK),
	ONE(FETCH_ADD, "atomic_remote_one_before", REMOTE, BEFORE,        RACC, RACC),
	ONE(FETCH_ADD, "atomic_remote_one_past", REMOTE, PAST,            RACC, RACC),
	ONE(FETCH_ADD, "atomic_remote_deregistered", REMOTE, DEREGISTERED, RACC, RACC),
	ONE(FETCH_ADD, "atomic_remote_wrong_pd", REMOTE, WRONG_PD,        RACC, RACC),
	ONE(FETCH_ADD, "atomic_remote_bad_key", REMOTE, BAD_KEY,          RACC, RACC),
	ONE(FETCH_ADD, "atomic_remote_no_right", REMOTE, NO_RIGHT,        RACC, RACC),
	ONE(FETCH_ADD, "atomic_remote_qp_no_right", REMOTE, QP_NO_RIGHT,  RINV, RINV),
	ONE(CMP_SWAP, "swap_local_bad_key", LOCAL, BAD_KEY,               PROT, PROT),
	ONE(CMP_SWAP, "swap_remote_last_word", REMOTE, LAST,              OK,   OK),
	ONE(CMP_SWAP, "swap_remote_one_past", REMOTE, PAST,               RACC, RACC),
	ONE(CMP_SWAP, "swap_remote_no_right", REMOTE, NO_RIGHT,           RACC, RACC),
	ONE(CMP_SWAP, "swap_remote_qp_no_right", REMOTE, QP_NO_RIGHT,     RINV, RINV),
};

const unsigned int nb_access_cases = sizeof(access_cases) / sizeof(access_cases[0]);
