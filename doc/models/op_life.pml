/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 *
 * The life of an op, between four parties: who posts and delivers (owner), where it completes (home), the device, and a
 * thread that gives up on it (abandoner). Two slots, so that one is reused while the past of its last use is still on
 * its way; USES uses in all. The comment of each transition names the function of lib/ that does it.
 *
 *   owner:  pool -> PREPARED -> POSTED, armed ....... claim -> result -> lane of ops
 *   device:                            has it -> CQE, twice if it likes; none of an unsignaled one, whose success the
 *                                      completion of a later one tells
 *   abandoner:                         id -> lane of abandons
 *   home:   lane of ops: callback, or orphan: pool    lane of abandons: ORPHANED, or too late
 *
 * BREAK (check.sh) takes one rule away; spin must then find what goes wrong.
 */
#ifndef BREAK
#define BREAK 0
#endif
#define NO_GENERATION_AT_CLAIM	 1	/* any completion of the slot counts */
#define NOT_DISARMED		 2	/* a completion leaves the device word as it is */
#define NO_GENERATION_AT_ABANDON 3	/* an old id gives up on the next use */
#define ABANDON_NOT_AT_HOME	 4	/* the abandoner writes the state itself */
#define ORPHAN_PUT_AT_ONCE	 5	/* the node goes back while the device has it */
#define ORPHAN_NOT_PUT		 6	/* nobody gives the node back */
#define COMPLETE_AND_PUT_TWICE	 7	/* home settles what it received, and again */
#define IMPLIED_NOT_DISARMED	 8	/* an unsignaled op that is over leaves its device word as it is */
#define NOT_IMPLIED		 9	/* a completion says nothing of the unsignaled ops before its own */
#define TAIL_UNSIGNALED		10	/* the last op may be unsignaled, and nothing comes behind it */

#define SLOTS 2
#define USES  3
#define NONE  255

mtype = { FREE, PREPARED, POSTED, ORPHANED, COMPLETED };	/* enum plx_op_state */

typedef op {
	mtype state;	/* written by who prepares and posts it, then by home alone */
	byte gen;	/* wr.wr_id: the use that the slot is in */
	byte armed;	/* device_word: the use that the device has, NONE: it has none */
	byte result;	/* the use whose completion was filled in */
	bool in_pool;	/* not in the code: for the properties */
	bool in_device;	/* likewise: the device may touch the buffers */
};
op ops[SLOTS];

chan cq = [USES * 2] of { byte, byte };		/* slot, generation */
chan lane = [SLOTS] of { byte };		/* plx_home.ops: room for every op there is */
chan abandons = [USES] of { byte, byte };	/* plx_home.abandons: ids */

byte nb_posted = 0;
byte settled[USES];	/* by use: callbacks and orphans' drops */
byte slot_of[USES];
byte gen_of[USES];
byte use_of[SLOTS];	/* the use that the slot is in */
bool known[USES];	/* its id is out */
bool unsignaled[USES];
bool given_up[USES];	/* somebody gave up on it */

/* plx_op_put_bulk(): a new generation; older ids are stale from here on */
inline put(s) {
	assert(!ops[s].in_pool);			/* given back once */
	assert(!ops[s].in_device);			/* no node in the pool while the device has it */
	ops[s].gen++;
	ops[s].state = FREE;
	ops[s].in_pool = true
}

/* home_settle(): whoever waits is called, else the node goes back */
inline settle(s) {
	assert(ops[s].result == ops[s].gen);		/* the result is this use's */
	settled[use_of[s]]++;
	assert(settled[use_of[s]] == 1);		/* exactly once */
	if
	:: ops[s].state == ORPHANED ->			/* home_drop() */
		assert(given_up[use_of[s]]);
		if
		:: BREAK != ORPHAN_NOT_PUT -> put(s)
		:: else
		fi
	:: else ->					/* home_call(): plx_op_complete(), the callback, which puts */
		assert(ops[s].state == POSTED);
		ops[s].state = COMPLETED;
		put(s)
	fi
}

/* abandon_at_home() */
inline give_up(s, g) {
	if
	:: (ops[s].gen == g || BREAK == NO_GENERATION_AT_ABANDON) && ops[s].state == POSTED ->
		ops[s].state = ORPHANED;
		if
		:: BREAK == ORPHAN_PUT_AT_ONCE -> put(s)
		:: else
		fi
	:: else						/* over already: counted */
	fi
}

proctype owner() {
	byte s, g, i;
	do
	/* plx_op_get(), plx_op_prep(): any slot of the pool */
	:: nb_posted < USES ->
		atomic {
			if
			:: ops[0].in_pool -> s = 0
			:: ops[1].in_pool -> s = 1
			:: !ops[0].in_pool && !ops[1].in_pool -> goto poll
			fi;
			ops[s].in_pool = false;
			ops[s].state = PREPARED;
			use_of[s] = nb_posted
		}
		/* plx_dispatcher_posting(), plx_conn_post_burst_with(): POSTED before it is armed, armed before the post */
		ops[s].state = POSTED;
		ops[s].armed = ops[s].gen;
		/* the post call: the device has it, its id is out */
		atomic {
			/* choose_signals(): only while there is a slot for the next one, which is signaled */
			if
			:: (nb_posted < USES - 1 && ops[1 - s].in_pool) || BREAK == TAIL_UNSIGNALED ->
				unsignaled[nb_posted] = true
			:: true
			fi;
			slot_of[nb_posted] = s;
			gen_of[nb_posted] = ops[s].gen;
			ops[s].in_device = true;
			known[nb_posted] = true;
			nb_posted++
		}

poll:		skip
	/* plx_cq_poll(), plx_dispatcher_deliver_burst() */
	:: cq ? s, g ->
		if
		/* plx_op_claim(): the use that the device has */
		:: ops[s].armed == g || (BREAK == NO_GENERATION_AT_CLAIM && ops[s].armed != NONE) ->
			if
			:: BREAK != NOT_DISARMED -> ops[s].armed = NONE
			:: else
			fi;
			/* plx_op_queue_retire_out_of_order(): the unsignaled ones in front of it come first */
			d_step {
			i = 0;
			do
			:: i < use_of[s] ->
				if
				:: BREAK != NOT_IMPLIED && known[i] && unsignaled[i] && ops[slot_of[i]].armed == gen_of[i] ->
					if
					:: BREAK != IMPLIED_NOT_DISARMED -> ops[slot_of[i]].armed = NONE
					:: else
					fi;
					ops[slot_of[i]].result = gen_of[i];
					lane ! slot_of[i]
				:: else
				fi;
				i++
			:: else -> break
			od
			}
			ops[s].result = g;		/* result_fill() */
			lane ! s			/* handoff_send(): never full */
		:: else					/* deliver_refuse(): stale or duplicate */
		fi
	:: nb_posted == USES && empty(cq) && timeout -> break
	od
}

#define HAS(u) (known[u] && ops[slot_of[u]].in_device && ops[slot_of[u]].gen == gen_of[u])

/* Done with use u; an unsignaled one says nothing. */
inline complete(u) {
	ops[slot_of[u]].in_device = false;
	if
	:: unsignaled[u]
	:: else -> cq ! slot_of[u], gen_of[u]
	fi
}

/*
 * Completes what it has, in any order, but none before an unsignaled one that was posted earlier; some of it a second
 * time, at any later moment, and the first perhaps though nobody asked.
 */
proctype device() {
	byte again = 1;
	do
	:: d_step { HAS(0) -> complete(0) }
	:: d_step { HAS(1) && !(HAS(0) && unsignaled[0]) -> complete(1) }
	:: d_step { HAS(2) && !(HAS(0) && unsignaled[0]) && !(HAS(1) && unsignaled[1]) -> complete(2) }
	/* a duplicate of the first, once it has been completed */
	:: again > 0 && known[0] && !(ops[slot_of[0]].in_device && ops[slot_of[0]].gen == gen_of[0]) ->
		again--;
		cq ! slot_of[0], gen_of[0]
	:: nb_posted == USES && timeout -> break
	od
}

proctype home() {
	byte s, g;
	do
	/* home_take_ops() */
	:: lane ? s ->
		settle(s);
		if
		:: BREAK == COMPLETE_AND_PUT_TWICE -> settle(s)
		:: else
		fi
	/* home_take_abandons() */
	:: abandons ? s, g -> give_up(s, g)
	:: nb_posted == USES && empty(lane) && empty(abandons) && timeout -> break
	od
}

/* plx_dispatcher_abandon() from elsewhere: by id, for any of the uses, once each; or never */
proctype abandoner() {
	byte u = 0;
	do
	:: atomic { u < USES && known[u] ->
		given_up[u] = true;
		if
		:: BREAK == ABANDON_NOT_AT_HOME ->
			if
			:: ops[slot_of[u]].gen == gen_of[u] && ops[slot_of[u]].state == POSTED ->
				ops[slot_of[u]].state = ORPHANED
			:: else
			fi
		:: else -> abandons ! slot_of[u], gen_of[u]
		fi;
		u++ }
	:: u < USES && known[u] -> u++
	:: u == USES || timeout -> break
	od
}

init {
	atomic {
		ops[0].state = FREE; ops[0].armed = NONE; ops[0].in_pool = true;
		ops[1].state = FREE; ops[1].armed = NONE; ops[1].in_pool = true;
		run owner(); run device(); run home(); run abandoner()
	}
	/* Everybody is through: nothing is lost. */
	timeout;
	assert(nb_posted == USES);
	assert(settled[0] == 1 && settled[1] == 1 && settled[2] == 1);
	assert(ops[0].in_pool && ops[1].in_pool)
}
