/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_DEVICE_H
#define PLX_DEVICE_H

/**
 * @file
 * The slow half of the narrow waist: find and open devices, make PDs, MRs, CQs and QPs, bring a QP up.
 *
 *      registry --list/open--> device --+--> pd --+--> mr
 *                                       |         +--> qp --posts to--> (plx_fast.h)
 *                                       +--> cq <---------'
 *
 * An object counts what depends on it: destroying one in use is -EBUSY, destroys nothing, and the log
 * names the count. Destroying NULL is harmless: 0.
 * A destroy, close or deregister has freed the object when it returns 0, and left it as it was when it returns -errno: then
 * it may be tried again. On a device that is lost (plx_event.h) it is 0, whether or not anybody knows of the loss yet.
 * Arguments and capabilities are checked here, once, before the driver is asked; what a device
 * does not advertise is refused with -ENOTSUP.
 *
 * Threads: any thread, one at a time per object. Creating, modifying and destroying may block for
 * up to milliseconds: not on a polling lcore (lib/control runs them for you).
 *
 * @since 0.1
 */

#include <stdint.h>

#include "plx_fast.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plx_mr;
struct plx_srq;
struct plx_driver;

/** Bytes of a device name, its 0 included. */
#define PLX_NAME_LEN 64

/* ---- devices and what they can do ---------------------------------------------------------- */

/** A device that can be opened. */
struct plx_device_info {
	char name[PLX_NAME_LEN];
	const char *driver;
};

/** Fill @p infos with up to @p n devices of all registered drivers, opening none. Returns how many there are. */
int plx_device_list(struct plx_device_info *infos, unsigned int n);

/**
 * Open a device: "rxe0", "loopback0,max_cqe=64,status=rxe". Everything behind the first comma
 * is key=value for the driver (rte_kvargs). Opening a name twice gives two devices.
 * NULL with rte_errno: ENODEV no driver has that name, EINVAL an unknown key or bad value, or
 * the provider's errno; the cause is logged with the numbers.
 */
struct plx_device *plx_device_open(const char *name_and_args);

/** -EBUSY while PDs or CQs of it exist; the log names how many. */
int plx_device_close(struct plx_device *dev);

/** The name it was opened by, without arguments. */
const char *plx_device_name(const struct plx_device *dev);

#define PLX_CAP_ATTR_EXCHANGE	   0x0001 /**< QPs come up by attribute exchange (not on iWARP) */
#define PLX_CAP_ACTIVE_SENDS_FIRST 0x0002 /**< the connecting side must send the first message */
#define PLX_CAP_SRQ		   0x0004 /**< shared receive queues */
#define PLX_CAP_RNR		   0x0008 /**< receiver-not-ready is retried, min_rnr_timer counts */
#define PLX_CAP_SOLICITED	   0x0010 /**< PLX_WR_SOLICITED means something */
#define PLX_CAP_FENCE		   0x0020 /**< PLX_WR_FENCE holds a WR back */
#define PLX_CAP_MW		   0x0040 /**< memory windows */
#define PLX_CAP_PINS		   0x0100 /**< registered memory is pinned, RLIMIT_MEMLOCK counts (plx_pin.h) */
#define PLX_CAP_DMABUF		   0x0200 /**< memory of a dma-buf can be registered */

/** Transports that a QP can be asked for. DC and XRC need hardware that nobody here has. */
enum plx_transport { PLX_TRANSPORT_RC, PLX_TRANSPORT_UC, PLX_TRANSPORT_UD };

/** The kinds that `max_rd_atomic` counts: a device where that is 0 has none of them. */
#define PLX_KINDS_RD_ATOMIC                                                                                   \
	(PLX_KIND(PLX_OPCODE_READ) | PLX_KIND(PLX_OPCODE_CMP_SWAP) | PLX_KIND(PLX_OPCODE_FETCH_ADD))

/** What a device can do. Limits are per object and hold alone; plx_qp_limits() asks for them together. */
struct plx_device_caps {
	uint32_t kinds; /**< PLX_KIND() of each opcode that can be posted, PLX_OPCODE_RECV included */
	uint32_t flags; /**< PLX_CAP_* */
	uint32_t transports; /**< 1 << enum plx_transport */
	uint32_t max_qp;
	uint32_t max_qp_wr;
	uint32_t max_cq;
	uint32_t max_cqe;
	uint32_t max_mr;
	uint32_t max_mw;
	uint32_t max_srq;     /**< these three: 0 without PLX_CAP_SRQ */
	uint32_t max_srq_wr;
	uint32_t max_srq_sge;
	uint32_t max_sge;
	uint32_t max_sge_rd; /**< SGEs of a read */
	uint32_t max_inline;
	uint32_t max_rd_atomic; /**< reads and atomics in flight per QP, either side; 0: `kinds` has neither */
	uint64_t max_mr_size;
	uint64_t guid;		/**< which device: its node GUID, or of a software device a number that no other has in this process */
	uint32_t nb_ports;
	uint32_t atomic_big_endian; /**< 1: the provider replies with atomics in big endian */
	int socket_id;		    /**< NUMA node, or SOCKET_ID_ANY */
};

/** Valid while @p dev is open; never changes. */
const struct plx_device_caps *plx_device_caps(const struct plx_device *dev);

/** What would be granted, without making anything: *cap in and out. -EINVAL names the limit in the log. */
int plx_qp_limits(struct plx_device *dev, struct plx_qp_cap *cap);

/* ---- ports and GIDs ------------------------------------------------------------------------ */

/** A port, as it is at the moment. */
struct plx_port_attr {
	uint32_t active;     /**< 1: the port can carry traffic */
	uint32_t ethernet;   /**< link layer */
	uint32_t mtu;	     /**< active path MTU, bytes */
	uint32_t max_msg_sz; /**< bytes */
	uint32_t nb_gids;    /**< entries of the GID table, empty ones included */
	uint32_t lid;
};

/** What an address of a port speaks. */
enum plx_gid_type { PLX_GID_NONE, PLX_GID_IB, PLX_GID_ROCE_V1, PLX_GID_ROCE_V2, PLX_GID_IWARP };

/** An entry of a port's GID table. */
struct plx_gid {
	uint8_t raw[16];
	uint32_t index;
	uint32_t type; /**< enum plx_gid_type; PLX_GID_NONE for an empty entry */
	char netdev[32];
};

/** Ports count from 1. -EINVAL: no such port. */
int plx_port_query(struct plx_device *dev, unsigned int port, struct plx_port_attr *attr);
/** -ENOENT: no GID at @p index. */
int plx_gid_query(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid);
/** "RoCE v2", ...; "unknown" outside the enum. */
const char *plx_gid_type_name(unsigned int type);

/** The first active port; -ENOENT when none is. */
int plx_port_default(struct plx_device *dev);
/**
 * The GID to use on @p port: on Ethernet RoCE v2, IPv4-mapped first, never merely "index 0"; on
 * InfiniBand and iWARP the first entry. Returns 0 and fills @p gid; -ENOENT when the table has none of the right type.
 */
int plx_gid_default(struct plx_device *dev, unsigned int port, struct plx_gid *gid);

/* ---- protection domains and registered memory ---------------------------------------------- */

#define PLX_ACCESS_LOCAL_WRITE	 0x01 /**< receives, reads and old values of atomics may go there */
#define PLX_ACCESS_REMOTE_READ	 0x02 /**< a peer may read */
#define PLX_ACCESS_REMOTE_WRITE	 0x04 /**< a peer may write; needs local write */
#define PLX_ACCESS_REMOTE_ATOMIC 0x08 /**< a peer may do atomics; needs local write */
#define PLX_ACCESS_REMOTE	 0x0e /**< the three remote ones */
#define PLX_ACCESS_ALL		 0x0f /**< all four */

/** A protection domain: memory and QPs of one do not meet those of another. */
struct plx_pd {
	struct plx_device *dev;
	uint32_t nb_mrs;
	uint32_t nb_qps;
	uint32_t nb_srqs;
};

/** NULL with rte_errno: what the provider says. */
struct plx_pd *plx_pd_create(struct plx_device *dev);
/** -EBUSY while it has MRs, QPs or SRQs. */
int plx_pd_destroy(struct plx_pd *pd);

/** Registered memory. lib/memory builds on it; a program rarely needs it bare. */
struct plx_mr {
	struct plx_pd *pd;
	void *addr;
	uint64_t len;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t rights; /**< PLX_ACCESS_* */
	uint32_t nb_mws; /**< windows onto it (plx_mw.h) */
};

/**
 * Register @p len bytes at @p addr. Local read is always granted.
 * NULL with rte_errno: EINVAL no bytes, unknown rights, or remote write or atomic without local write;
 * ERANGE addr + len overflows or len exceeds max_mr_size; ENOMEM, EPERM, ... the provider's, the log explains.
 */
struct plx_mr *plx_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights);
/**
 * Register @p len bytes at @p offset of the dma-buf behind @p fd (memory of a GPU, say), which peers and SGEs then address
 * from @p iova on; that is the region's addr, and there is nothing to be read there. @p fd may be closed afterwards.
 * NULL with rte_errno: ENOTSUP without PLX_CAP_DMABUF; EINVAL no fd, no bytes, rights as above; ERANGE offset + len or
 * iova + len overflows or len exceeds max_mr_size; the provider's.
 */
struct plx_mr *plx_mr_register_dmabuf(struct plx_pd *pd, int fd, uint64_t offset, uint64_t len, uint64_t iova,
	uint32_t rights);
/** The keys open nothing any more when this returns. 0, -EBUSY with windows onto it, or the provider's -errno; then it is as
 * it was. */
int plx_mr_deregister(struct plx_mr *mr);

/* ---- completion queues and queue pairs ----------------------------------------------------- */

/** A CQ of at least @p nb_cqe entries. NULL with rte_errno: EINVAL zero or above max_cqe. */
struct plx_cq *plx_cq_create(struct plx_device *dev, uint32_t nb_cqe);
/** -EBUSY while QPs complete there. */
int plx_cq_destroy(struct plx_cq *cq);

/** What a QP is made of. */
struct plx_qp_conf {
	struct plx_cq *send_cq;
	struct plx_cq *recv_cq;
	struct plx_qp_cap cap; /**< wanted; zero sge counts mean 1 */
	enum plx_transport transport;
	struct plx_srq *srq; /**< receives come from there (plx_srq.h), and recv_depth and recv_sge are 0; NULL: its own queue */
};

/**
 * NULL with rte_errno: ENOTSUP transport, EINVAL a size above its limit, a CQ of another device, or an SRQ of another PD
 * (logged), ENOMEM, ENOSPC max_qp.
 */
struct plx_qp *plx_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf);
/** Completions that are in the CQ stay there (as on rxe). */
int plx_qp_destroy(struct plx_qp *qp);

/**
 * What a peer must know of a QP to reach it, and the other way round. A value of this process: plx_addr.h makes it the
 * bytes that are sent, which have a version and the same byte order everywhere.
 */
struct plx_qp_addr {
	uint32_t qp_num;
	uint32_t psn;
	uint32_t lid;
	uint32_t gid_index; /**< of the sender's own table; the peer ignores it */
	uint32_t gid_type;
	uint32_t mtu;	      /**< bytes; the smaller one is used */
	uint32_t port;	      /**< likewise local */
	uint32_t rd_atomic;   /**< reads and atomics that it accepts at once */
	uint8_t gid[16];
	uint64_t guid;	      /**< plx_device_caps.guid: memory of the same device says so too (plx_export.h). Nothing is done with it */
};

/** How the QP is brought up. plx_qp_path_default() first, then change what you must. */
struct plx_qp_path {
	uint32_t port;		/**< 0: plx_port_default() */
	int32_t gid_index;	/**< -1: plx_gid_default() */
	uint32_t rights;	/**< PLX_ACCESS_REMOTE_*: what the peer may do through this QP */
	uint32_t rd_atomic;	/**< reads and atomics in flight; cut to the device's and the peer's limit; 0: none is posted */
	uint8_t timeout;	/**< ack timeout, 4.096 us x 2^timeout */
	uint8_t retry_cnt;	/**< times again when nobody answers: 0 to 7; 7 is for ever on rxe */
	uint8_t rnr_retry;	/**< times again when the peer has no receive: 0 to 7; 7 is for ever (IBA 9.7.5.2.8) */
	uint8_t min_rnr_timer;	/**< what a peer is asked to wait before that: code 0 to 31 of IBA table 45; 0 is 655.36 ms, 1 is 0.01 ms */
	uint8_t traffic_class;
	uint8_t service_level;
	uint8_t hop_limit;
	uint8_t reserved;
};

/**
 * First active port, default GID, no remote rights, and what suits a LAN: rd_atomic 16, timeout 14 (67 ms), retry_cnt 6,
 * rnr_retry 7, min_rnr_timer 12 (0.64 ms), hop_limit 64.
 *
 * So a send waits for ever for a receive of a peer that answers (UCX has that default too): six tries would end the
 * connection of a peer that is kept from posting for 6 x 0.64 ms, which a preempted lcore is. It hides no peer that is
 * dead: nothing answers then, and retry_cnt ends it. It does hide one that lives and posts nothing: rnr_retry 6 makes
 * that an error, PLX_ST_RNR_RETRY_EXC_ERR; without, an op's deadline ends it, and `stalled_ns` of plx_conn_stats()
 * shows it.
 */
void plx_qp_path_default(struct plx_qp_path *path);

/** This QP's address on the port and GID of @p path. -ENOTSUP without PLX_CAP_ATTR_EXCHANGE. */
int plx_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr);

/**
 * Take the QP to RTS, connected to @p peer. Both sides must have done so before traffic flows.
 * -ENOTSUP without PLX_CAP_ATTR_EXCHANGE, -EINVAL bad path or address, -EISCONN done already.
 */
int plx_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer);

/**
 * Take the QP to ERR: posted WRs are flushed, each with a completion. Again: 0, and receives posted
 * since are flushed at the latest now (rxe looks at them only when told).
 */
int plx_qp_to_error(struct plx_qp *qp);

/** The states a program meets; RTR and SQD are passed through or not used. */
enum plx_qp_state { PLX_QP_RESET, PLX_QP_INIT, PLX_QP_RTS, PLX_QP_ERR };

/** enum plx_qp_state as the device sees it, or -errno. */
int plx_qp_query_state(struct plx_qp *qp);

#ifdef __cplusplus
}
#endif

#endif
