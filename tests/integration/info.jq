# plx-info --json turned into plx-info's text: what one has and the other lacks shows as a difference.

def default_mark: if .default then ", default" else "" end;
def pad: . + "                            "[length:];
def limit_names: [
	["max_qp", "QPs"], ["max_qp_wr", "WRs of a queue"], ["max_sge", "SGEs of a WR"],
	["max_sge_rd", "SGEs of a read"], ["max_inline", "inline bytes"],
	["max_rd_atomic", "reads and atomics in flight"], ["max_cq", "CQs"], ["max_cqe", "CQEs of a CQ"],
	["max_srq", "SRQs"], ["max_srq_wr", "WRs of an SRQ"], ["max_srq_sge", "SGEs of an SRQ's WR"],
	["max_mr", "MRs"], ["max_mw", "memory windows"], ["max_mr_size", "bytes of an MR"]
];
def gid: "        GID \(.index): \(.gid), \(.type)\(if .netdev then ", " + .netdev else "" end)\(default_mark)";
def port:
	if .error then "    port \(.port): \(.error)" else
		"    port \(.port): \(.state), \(.link_layer), MTU \(.mtu), messages up to \(.max_msg_sz) bytes"
			+ (if .lid then ", LID \(.lid)" else "" end) + default_mark,
		(.gids[] | gid),
		(if any(.gids[]; .default) then empty else "        no GID that a connection would use" end)
	end;
def words($title): "    \($title):" + (map(" " + .) | add // "");

.devices[]
| "\(.name): driver \(.driver), " + (if .numa_node == null then "any NUMA node" else "NUMA node \(.numa_node)" end),
  (.ports[] | port),
  (.operations | words("operations")),
  (.transports | words("transports")),
  (.flags | words("flags")),
  (if .atomics_answer_in then "    atomics answer in: " + .atomics_answer_in else empty end),
  "    limits:",
  (.limits as $l | ($l | length) as $n | limit_names | if length == $n then .[] else error("\($n) limits") end
	| "        \(.[1] | pad) \($l[.[0]])")
