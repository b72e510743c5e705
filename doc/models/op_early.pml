/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 *
 * An op that is over before the device is done with it: its deadline passes, or it is cancelled (lib/conn, conn_give_up.c).
 * Owner, home, device and a thread that cancels by id, over one slot, so that each id is soon one of the past. The rest of an
 * op's life is op_life.pml; the comment of each transition names the function of lib/ that does it.
 *
 *   owner:   POSTED, armed ... settled early: halves = 2, result -> lane of ops ... late CQE: the device's half
 *   home:    callback, put: the waiter's half; or home was told to give up on it, the same
 *   device:  CQE, twice if it likes
 *
 * BREAK (check.sh) takes one rule away; spin must then find what goes wrong.
 */
#ifndef BREAK
#define BREAK 0
#endif
#define LATE_SETTLES_AGAIN	1	/* the completion of an op that was settled early is one like any other */
#define LATE_WRITES_THE_RESULT	2	/* it is dropped, but fills in its result */
#define FIRST_HALF_PUTS		3	/* of waiter and device, the first to let go gives the node back */
#define LATE_LETS_NOT_GO	4	/* the device's half is never given up */
#define CANCEL_BY_AN_OLD_ID	5	/* the cancel looks at the slot, not at the use */
#define SETTLED_EARLY_TWICE	6	/* deadline and cancel do not see each other */
#define USED_AGAIN_TOO_SOON	7	/* plx_op_again() though the device still has it */

#define USES 3
#define NONE 255
#define EARLY 254			/* op.result: TIMED_OUT or CANCELLED */

mtype = { FREE, POSTED, ORPHANED, COMPLETED };	/* enum plx_op_state */

mtype state = FREE;
byte gen = 0;		/* wr.wr_id: the use that the slot is in */
byte armed = NONE;	/* device_word: the use that the device has */
byte halves = 0;	/* op->halves */
byte result = NONE;	/* the use whose completion was filled in, or EARLY */
bool in_pool = true, in_device = false;	/* not in the code: for the properties */

chan cq = [USES * 2] of { byte };	/* generation */
chan lane = [2] of { byte };		/* plx_home.ops: it cannot fill; the use */
chan cancels = [USES] of { byte };	/* lane_cancel() words */

byte nb_posted = 0;
byte settled[USES];

/* plx_op_renew(): the use is over for both */
inline renew() {
	assert(!in_device);
	gen++
}

/* half_done(): in one step; the second one has the node for itself */
inline half_done() {
	d_step {
		halves--;
		if
		:: halves == 0 || BREAK == FIRST_HALF_PUTS ->
			assert(!in_pool);
			renew();
			state = FREE;
			in_pool = true
		:: else
		fi
	}
}

/* plx_dispatcher_settle_early(): of the use that the device has, unless it was settled so already */
inline settle_early(use) {
	if
	:: (armed == use || (BREAK == CANCEL_BY_AN_OLD_ID && armed != NONE)) &&
	   (halves == 0 || BREAK == SETTLED_EARLY_TWICE) ->
		halves = 2;
		if
		:: armed != use -> assert(false)	/* another use is told that it was cancelled */
		:: else
		fi;
		result = EARLY;
		lane ! gen
	:: else
	fi
}

proctype owner() {
	byte g;
	byte deadlines = 2;
	do
	/* plx_op_get() to the post call */
	:: atomic { nb_posted < USES && in_pool ->
		in_pool = false;
		state = POSTED;
		result = NONE;
		armed = gen;
		in_device = true;
		nb_posted++ }
	/* owned_claim_watched(), plx_op_claim() */
	:: cq ? g ->
		if
		:: armed == g && halves != 0 && BREAK != LATE_SETTLES_AGAIN ->
			if
			:: BREAK == LATE_WRITES_THE_RESULT -> result = g
			:: else
			fi;
			armed = NONE;		/* plx_op_device_done() */
			if
			:: BREAK != LATE_LETS_NOT_GO -> half_done()
			:: else
			fi
		:: armed == g && (halves == 0 || BREAK == LATE_SETTLES_AGAIN) ->
			armed = NONE;
			result = g;
			lane ! g
		:: else			/* deliver_refuse(): stale or duplicate */
		fi
	/* conn_group_expire() */
	:: deadlines > 0 && armed == gen -> deadlines--; settle_early(gen)
	/* conn_group_cancel() */
	:: cancels ? g -> settle_early(g)
	:: nb_posted == USES && empty(cq) && empty(cancels) && timeout -> break
	od
}

/* Completes what it has when it likes; once a second time. */
proctype device() {
	byte again = 1, last = NONE;
	do
	:: d_step { in_device -> in_device = false; last = armed; cq ! last }
	:: d_step { again > 0 && last != NONE -> again--; cq ! last }
	:: nb_posted == USES && timeout -> break
	od
}

/* home_settle(): the callback puts the op, or uses it again; or nobody waits for it */
proctype home() {
	byte use;
	do
	:: lane ? use ->
		settled[use]++;
		assert(settled[use] == 1);		/* told once, and of its own use */
		assert(result == use || result == EARLY);
		if
		:: state == POSTED -> state = COMPLETED;
			/* plx_op_in_device(), while the late completion comes: what it was told stays */
			if
			:: result == EARLY -> assert(result == EARLY)
			:: result != EARLY -> assert(halves == 0)
			fi
		:: state == ORPHANED
		fi;
		if
		/* plx_op_again(): -EBUSY while the device has it */
		:: state == COMPLETED && BREAK == USED_AGAIN_TOO_SOON && halves == 2 -> renew()
		:: else
		fi;
		/* plx_op_end_more(), plx_op_leave() */
		if
		:: halves == 0 -> d_step {
			assert(!in_pool);
			renew();
			state = FREE;
			in_pool = true }
		:: halves != 0 -> half_done()
		fi
	/* abandon_at_home() */
	:: state == POSTED && nb_posted == 1 -> state = ORPHANED
	:: nb_posted == USES && empty(lane) && timeout -> break
	od
}

/* plx_conn_cancel() elsewhere: any use whose id it may know, once each; or never */
proctype canceller() {
	byte u = 0;
	do
	:: u < nb_posted -> cancels ! u; u++
	:: u < nb_posted -> u++
	:: u == USES || timeout -> break
	od
}

init {
	atomic { run owner(); run device(); run home(); run canceller() }
	timeout;
	assert(nb_posted == USES);
	assert(settled[0] == 1 && settled[1] == 1 && settled[2] == 1);
	assert(in_pool && armed == NONE && halves == 0)
}
