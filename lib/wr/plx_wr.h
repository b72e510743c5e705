/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_WR_H
#define PLX_WR_H

/**
 * @file
 * The words that ops and devices share: SGE, work request (WR), work completion (WC).
 *
 * Data only. An op carries a WR, a device is given WRs and gives back WCs, and neither needs to
 * know the other. Integers are in host order, immediates included.
 *
 * @since 0.1
 */

#include <stdint.h>

#include "plx_common.h"
#include "plx_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One piece of local memory. Lies in memory like `struct ibv_sge` (drivers/verbs asserts it). */
struct plx_sge {
	uint64_t addr;
	uint32_t length; /**< bytes */
	uint32_t lkey;
};

/** What a WR asks for, and what a WC reports. */
enum plx_opcode {
	PLX_OPCODE_SEND,
	PLX_OPCODE_SEND_IMM,
	PLX_OPCODE_SEND_INV,
	PLX_OPCODE_WRITE,
	PLX_OPCODE_WRITE_IMM,
	PLX_OPCODE_READ,
	PLX_OPCODE_CMP_SWAP,
	PLX_OPCODE_FETCH_ADD,
	PLX_OPCODE_BIND_MW,
	PLX_OPCODE_LOCAL_INV,
	PLX_OPCODE_RECV, /**< as a WC: a message of a send */
	PLX_OPCODE_RECV_WRITE_IMM, /**< WC only: the receive was consumed by a write with immediate */

	PLX_NB_OPCODES
};

#define PLX_KIND(opcode) (1u << (opcode)) /**< one opcode as a bit, for capability masks */

/** "send", "write", ...; "unknown" outside the enum. */
PLX_INLINE const char *
plx_opcode_name(unsigned int opcode)
{
	static const char *const names[] = {"send", "send-imm", "send-inv", "write", "write-imm", "read",
		"compare-and-swap", "fetch-and-add", "bind-mw", "local-inv", "recv", "recv-write-imm"};

	return opcode < PLX_NB_OPCODES ? names[opcode] : "unknown";
}

#define PLX_WR_SIGNALED	 0x01 /**< ask for a WC also on success */
#define PLX_WR_FENCE	 0x02 /**< start after the reads and atomics before it (IBA 10.8.3.3) */
#define PLX_WR_SOLICITED 0x04 /**< raise a solicited event at the receiver */
#define PLX_WR_INLINE	 0x08 /**< copy the payload while posting; lkeys are not looked at */

/** A work request. 56 bytes; the SGE list must live until the post call returns. */
struct plx_wr {
	uint64_t wr_id;
	const struct plx_sge *sg_list;
	uint32_t num_sge;
	uint8_t opcode; /**< enum plx_opcode, up to PLX_OPCODE_RECV */
	uint8_t flags;	/**< PLX_WR_*; ignored on a receive */
	uint16_t reserved;
	uint32_t imm;		/**< *_IMM; bind-mw: PLX_ACCESS_REMOTE_* */
	uint32_t rkey;		/**< write, read, atomics: the target's; *_INV: the key to invalidate; bind-mw: the new one */
	uint64_t remote_addr;	/**< write, read, atomics; bind-mw: where the window begins */
	uint64_t compare_add;	/**< compare-and-swap: expected; fetch-and-add: addend; bind-mw: bytes */
	uint64_t swap;		/**< compare-and-swap: new value; bind-mw: the struct plx_mw (plx_mw_bind_wr()) */
};

#define PLX_WC_WITH_IMM 0x01 /**< imm is valid */
#define PLX_WC_WITH_INV 0x02 /**< inv_rkey is valid */

/**
 * A work completion. Unless status is PLX_ST_SUCCESS only wr_id, status, qp_num, vendor_err and
 * raw_status mean anything (ibv_poll_cq(3)).
 */
struct plx_wc {
	uint64_t wr_id;
	/* These 16 bytes lie as in struct plx_op, which takes them over as a whole. */
	uint32_t byte_len; /**< received, read, or 8 for an atomic; else 0 */
	uint32_t imm;
	uint32_t qp_num;
	uint8_t status;	   /**< enum plx_status */
	uint8_t opcode;	   /**< enum plx_opcode */
	uint8_t flags;	   /**< PLX_WC_* */
	uint8_t no_qp_num; /**< 1: qp_num is not known; never set by a device */

	uint32_t inv_rkey;
	uint32_t vendor_err;
	uint32_t raw_status; /**< the provider's own status number */
	uint32_t reserved;
};

#ifdef __cplusplus
}
#endif

#endif
