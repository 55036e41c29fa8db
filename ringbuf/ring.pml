/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.pml - the protocol of ring.c, queue.c and bell.c as a model that spin searches through, every state of it
 *
 * What runs: a producer that fills K blocks' worth of stream into N blocks, as runs of one or two blocks that may grow
 * after they were put; two writers with a queue each and the rescue queue; each writer also owns what it is
 * waiting to see grow. Writer 0 gives its blocks back one by one, writer 1 when the run is whole on the disk, in any
 * order. Writer 1 is the one with bad luck:
 *   (default)   it may fail in the middle of a run: hands it over from the first block, rescues its queue, is gone.
 *   -DSTICK     it may get stuck with what it has, at any time; and at any time, whether it is stuck or merely
 *               slow, a watchdog empties its queue, while it may be claiming from it. Here the reader always
 *               knows which block is a run's last; with -DSINGLES all runs are of one block.
 *   -DCALM      it has none, and runs may go to the rescue queue from the start.
 *
 * What is checked, in every order of steps:
 *   - a block is never taken, or given back, while it is somebody else's (is_busy)
 *   - what is read is what was written, before and after a write to the disk, in the order of the stream (no torn block)
 *   - no position of the stream is made final twice
 *   - when nothing moves any more, the producer is through and all positions are final or in the hands of the stuck
 *     writer: nothing is lost, nobody is left asleep with work for him, there is no deadlock (Judge)
 *
 * How fine the steps are: with -DFINE each atomic operation of the C code is a step of its own, everywhere. For longer
 * streams and more threads the parts stand in for their code: a take, a push and a pop are one step, a put two (its place
 * in the queue, then its publication, so that a put under way hides what is behind it), a ring of the bell and
 * the look at it before sleep one each. That they behave so is what queue.pml, stack.pml and the runs with -DFINE show.
 * What stands in one d_step is one atomic operation with what the thread does on its own; each inline is named
 * like its function in C.
 *
 * What is not modelled: weaker orders than sequential consistency (ThreadSanitizer and stress_ring look after those);
 * deadlines and early returns of sleeps, which could only hide a lost wake-up; the counters behind ring_level().
 * The bell's count is modelled by what it is for: whether it has changed since the sleeper listened. The count
 * beside the top of the free stack is left out: with one taker nothing depends on it, as stack.pml shows.
 */

/* verify: cc:-DCOLLAPSE unreached-ok */
/* verify: -DN=2 cc:-DCOLLAPSE unreached-ok */
/* verify: -DCALM -DK=3 cc:-DCOLLAPSE unreached-ok */
/* verify: -DSTICK -DK=3 cc:-DCOLLAPSE unreached-ok */
/* verify: -DSTICK -DSINGLES -DN=2 cc:-DCOLLAPSE unreached-ok */
/* verify: -DFINE -DN=2 -DK=2 cc:-DCOLLAPSE unreached-ok */
/* verify: -DFINE -DCALM -DN=2 -DK=2 cc:-DCOLLAPSE unreached-ok */

/* mutant: -DWAKE_BEFORE_PUT expect-error */
/* mutant: -DLOOK_BEFORE_LISTEN expect-error */
/* mutant: -DNO_WAKE_ALL expect-error */
/* mutant: -DFORGET_MOVED expect-error */
/* mutant: -DNO_WAKE_AT_HAND_OVER expect-error */
/* mutant: -DNEXT_AFTER_GIVE_BACK expect-error */
/* mutant: -DHAND_OVER_FROM_HERE expect-error */
/* mutant: -DNO_LOOK_AFTER_PUT -DSTICK -DK=3 expect-error */
/* mutant: -DNO_ANNOUNCEMENT -DFINE -DN=2 -DK=2 expect-error */

#ifndef N
#define N       3       /* blocks */
#endif
#ifndef K
#define K       4       /* positions of the stream */
#endif
#define SLOTS   4       /* of each queue: the power of two that queue_create() makes of N */

#define NONE            15
#define END             14
#define TORN            13      /* what is in a block that is nobody's */
#define WRITERS         2
#define RESCUE          2       /* the queue behind the writers' own */
#define PRODUCER        2       /* the bell behind the writers' */
#define BAD             1       /* the writer with bad luck */

/* A sleeper's ticket: nobody listens, so the count doesn't matter; it is the count; the count has changed since. */
#define NO_TICKET       0
#define VALID           1
#define STALE           2

/* ring.c */
byte next_free[N];
byte next_in_run[N];
byte top_block;
bool has_moved;
#ifdef FINE
/* queue.c */
byte put_position[WRITERS + 1];
byte take_position[WRITERS + 1];
byte item[(WRITERS + 1) * SLOTS];
byte published[(WRITERS + 1) * SLOTS];
#else
chan queues[WRITERS + 1] = [N] of { byte };
bool is_published[N];
#endif
/* bell.c: bit 0 of the word, the count, the kernel's side of it */
bool has_sleeper[WRITERS + 1];
byte ticket[WRITERS + 1];
bool is_asleep[WRITERS + 1];
/* the recorder: whether a writer still gets work */
bool is_served[WRITERS];

/* what the blocks hold */
byte content[N];
/* ghosts: for the checks only */
bool is_busy[N];
bool is_final[K];
bool is_through;
bool is_stuck;
byte stuck_run = NONE;
byte stuck_pending = NONE;

#define SLOT(q, position)       ((q) * SLOTS + (position) % SLOTS)

/* ---- bell.c ---- */

inline bell_listen(who)
{
	ticket[who] = VALID
}

#ifdef FINE
inline bell_ring(who)
{
	d_step {
		ticket[who] = (ticket[who] == VALID -> STALE : ticket[who]);
		is_awaited = has_sleeper[who];
		has_sleeper[who] = false;
	}
	if
	:: is_awaited -> d_step { is_asleep[who] = false; is_awaited = false; } /* FUTEX_WAKE */
	:: else
	fi
}

/* The word is compared twice, by us and by the kernel. */
inline bell_sleep(who)
{
	d_step {
		is_awaited = ticket[who] == VALID;
#ifndef NO_ANNOUNCEMENT
		has_sleeper[who] = true;
#endif
	}
	if
	:: is_awaited ->
		d_step { /* FUTEX_WAIT */
			is_asleep[who] = ticket[who] == VALID;
			is_awaited = false;
		}
end_asleep:
		d_step { !is_asleep[who]; ticket[who] = NO_TICKET; }
	:: else -> ticket[who] = NO_TICKET
	fi
}
#else
inline rung(who)
{
	ticket[who] = (ticket[who] == VALID -> STALE : ticket[who]);
	is_asleep[who] = false
}

inline bell_ring(who)
{
	d_step { rung(who); }
}

inline bell_sleep(who)
{
	is_asleep[who] = ticket[who] == VALID;
end_asleep:
	d_step { !is_asleep[who]; ticket[who] = NO_TICKET; }
}
#endif

/* ---- queue.c ---- */

#ifdef FINE
inline queue_put(q, b)
{
	d_step {
		position = put_position[q];
		put_position[q]++;
		assert(position - take_position[q] < SLOTS);
	}
	item[SLOT(q, position)] = b;
	d_step {
		published[SLOT(q, position)] = position + 1;
		position = 0;
	}
}

inline queue_take(q, b)
{
	position = take_position[q];
	do
	:: seen = (published[SLOT(q, position)] > position) + (published[SLOT(q, position)] > position + 1);
	   if
	   :: seen == 0 -> b = NONE; break
	   :: seen == 2 -> position = take_position[q]
	   :: seen == 1 ->
		b = item[SLOT(q, position)];
		d_step {
			seen = take_position[q] == position;
			take_position[q] = take_position[q] + seen;
		}
		if
		:: seen -> break
		:: else -> position = take_position[q]
		fi
	   fi
	od;
	position = 0;
	seen = 0
}
#else
inline queue_put(q, b)
{
	d_step { is_published[b] = false; queues[q]!b; }
	is_published[b] = true
}

inline queue_take(q, b)
{
	d_step {
		if
		:: empty(queues[q]) -> b = NONE
		:: nempty(queues[q]) ->
			queues[q]?<b>;
			if
			:: is_published[b] -> queues[q]?b; is_published[b] = false
			:: else -> b = NONE
			fi
		fi
	}
}
#endif

/* ---- ring.c ---- */

inline taken(b)
{
	assert(!is_busy[b]);
	is_busy[b] = true;
	next_in_run[b] = NONE
}

/* Its bytes are on the disk for good. Who still looks at what is in there will be found out. */
inline given_back(b)
{
	assert(is_busy[b] && content[b] < K && !is_final[content[b]]);
	is_final[content[b]] = true;
	ticket[me] = NO_TICKET;
	is_busy[b] = false;
	content[b] = TORN
}

#ifdef FINE
inline ring_take(b)
{
	b = top_block;
	do
	:: b == NONE -> break
	:: else ->
		below = next_free[b];
		d_step {
			seen = top_block == b;
			if
			:: seen -> top_block = below; taken(b)
			:: else -> b = top_block
			fi;
			below = 0;
		}
		if
		:: seen -> break
		:: else
		fi
	od;
	seen = 0
}

inline ring_give_back(b)
{
	d_step { given_back(b); below = top_block; }
	do
	:: next_free[b] = below;
	   d_step {
		seen = top_block == below;
		if
		:: seen -> top_block = b
		:: else
		fi;
		below = top_block;
	   }
	   if
	   :: seen -> break
	   :: else
	   fi
	od;
	below = 0;
	seen = 0;
	bell_ring(PRODUCER)
}
#else
inline ring_take(b)
{
	d_step {
		b = top_block;
		if
		:: b == NONE
		:: else -> top_block = next_free[b]; next_free[b] = NONE; taken(b)
		fi;
	}
}

inline ring_give_back(b)
{
	d_step { given_back(b); next_free[b] = top_block; top_block = b; }
	bell_ring(PRODUCER)
}
#endif

inline wake_consumers()
{
#ifdef FINE
	bell_ring(0);
	bell_ring(1)
#else
	d_step { rung(0); rung(1); }
#endif
}

/* The numbers of the runs stand in C for what is one bit here: the reader grows one run at a time. */
inline wake_owner(q)
{
#ifndef NO_WAKE_ALL
	seen = has_moved;
	if
	:: seen -> has_moved = false; d_step { is_moved = true; seen = false; }
	:: else
	fi;
#endif
	d_step {
		seen = is_moved || q == RESCUE;
#ifdef FORGET_MOVED
		is_moved = false;
#endif
	}
	if
	:: seen -> seen = 0; wake_consumers()
	:: else -> bell_ring(q)
	fi
}

inline fill_block(b, is_last)
{
	d_step {
		content[b] = next_position;
		next_position++;
		next_in_run[b] = (is_last -> END : NONE);
	}
}

inline wake_claimer(q)
{
	if
	:: q == RESCUE -> wake_consumers()
	:: else -> bell_ring(q)
	fi
}

inline ring_put(q, b, is_last)
{
	fill_block(b, is_last);
	is_moved = false;
#ifdef WAKE_BEFORE_PUT
	wake_claimer(q);
	queue_put(q, b)
#else
	queue_put(q, b);
	wake_claimer(q)
#endif
}

inline ring_append(q, previous, b, is_last)
{
	fill_block(b, is_last);
	next_in_run[previous] = b;
	wake_owner(q)
}

inline ring_end_run(q, last)
{
	next_in_run[last] = END;
	wake_owner(q)
}

inline ring_claim(q, b)
{
	queue_take(q, b);
}

inline ring_hand_over(b)
{
	has_moved = true;
	queue_put(RESCUE, b);
#ifndef NO_WAKE_AT_HAND_OVER
	wake_consumers()
#endif
}

inline ring_rescue(q)
{
	do
	:: ring_claim(q, moved);
	   if
	   :: moved == NONE -> break
	   :: else -> ring_hand_over(moved)
	   fi
	od;
	moved = 0;
}

/* ---- the reader thread ---- */

inline choose_queue()
{
	if
	:: is_served[0] -> queue = 0
	:: is_served[1] -> queue = 1
#ifdef CALM
	:: queue = RESCUE
#else
	:: !is_served[1] -> queue = RESCUE
#endif
	fi
}

inline take_or_sleep()
{
	ring_take(block);
	do
	:: block != NONE -> break
	:: else ->
		bell_listen(PRODUCER);
		ring_take(block);
		if
		:: block != NONE -> ticket[PRODUCER] = NO_TICKET
		:: else -> bell_sleep(PRODUCER); ring_take(block)
		fi
	od
}

proctype Reader()
{
	byte block, last = NONE, queue, next_position;
	bool is_last, is_awaited, is_second, is_moved;
	byte position, seen, below, moved; /* of the inlines */

	do
	:: next_position < K ->
		take_or_sleep();
		if /* either it is known at once, or ring_end_run() says it later */
		:: is_last = true
#ifdef STICK
#ifndef SINGLES
		:: last == NONE && next_position + 1 < K -> is_last = false
#endif
#else
		:: is_last = false
#endif
		fi;
		if
		:: last == NONE ->
			choose_queue();
			ring_put(queue, block, is_last);
#ifndef NO_LOOK_AFTER_PUT
			if
			:: queue != RESCUE && !is_served[queue] -> ring_rescue(queue)
			:: else
			fi;
#endif
			is_second = false;
		:: else ->
			ring_append(queue, last, block, is_last);
			is_second = true;
		fi;
		if
		:: is_last -> last = NONE
		:: !is_last && !is_second && next_position < K -> last = block
		:: !is_last -> ring_end_run(queue, block); last = NONE
		fi;
		block = 0;
		is_last = false;
		is_second = false;
		if
		:: last == NONE -> queue = 0
		:: else
		fi
	:: else -> break
	od;
	is_through = true
}

/* ---- a writer thread ---- */

/* The block goes to the disk: it must be whole, and the next one of the stream, now and when it is made final. */
inline write_block(b)
{
	d_step {
		ticket[me] = NO_TICKET;
		assert(content[b] < K && is_busy[b]);
		assert(expected == NONE || content[b] == expected);
		expected = content[b] + 1;
	}
}

/* The block we came to has a block behind it, or the run ends with it. */
inline go_on()
{
	if
	:: !is_kept ->
		ring_give_back(block);
#ifdef NEXT_AFTER_GIVE_BACK
		next = next_in_run[block];
#endif
		block = next;
		if
		:: block == END -> block = NONE
		:: else -> write_block(block)
		fi
	:: is_kept && next != END ->
		block = next;
		write_block(block)
	:: is_kept && next == END ->
		if /* in any order */
		:: block != first -> ring_give_back(block); ring_give_back(first)
		:: block != first -> ring_give_back(first); ring_give_back(block)
		:: block == first -> ring_give_back(first)
		fi;
		block = NONE
	fi;
	d_step {
		next = 0;
		if
		:: block == NONE -> first = NONE; is_kept = false; expected = NONE
		:: else
		fi
	}
}

/* The one we claimed beside the run that we wait for: the reader grows one at a time, so this one is complete. */
inline write_pending()
{
	d_step { kept_expected = expected; expected = NONE; }
	do
	:: write_block(pending);
	   next = next_in_run[pending];
	   assert(next != NONE);
	   ring_give_back(pending);
	   pending = next;
	   if
	   :: pending == END -> break
	   :: else
	   fi
	od;
	pending = NONE;
	next = 0;
	expected = kept_expected;
	kept_expected = 0
}

inline fail()
{
	is_served[BAD] = false;
#ifdef HAND_OVER_FROM_HERE
	ring_hand_over(block);
#else
	ring_hand_over(first);
#endif
	if
	:: pending != NONE -> ring_hand_over(pending)
	:: else
	fi;
	ring_rescue(BAD);
}

proctype Writer(byte me)
{
	byte first = NONE, block = NONE, pending = NONE, next, claimed;
	byte expected = NONE, kept_expected;
	bool is_kept, is_awaited;
	byte position, seen, below, moved; /* of the inlines */

again:
	if
#ifdef STICK
	:: me == BAD && block != NONE ->
		d_step {
			is_stuck = true;
			stuck_run = (is_kept -> first : block);
			stuck_pending = pending;
			first = NONE; block = NONE; pending = NONE;
			expected = NONE; is_kept = false;
		}
end_stuck:
		false
#endif
#ifndef CALM
#ifndef STICK
	/* it can hand over what it has given nothing back of */
	:: me == BAD && block != NONE && (is_kept || block == first) ->
		fail();
		goto done
#endif
#endif
	:: true
	fi;
#ifdef LOOK_BEFORE_LISTEN
#define LISTEN_LATE     bell_listen(me)
#else
#define LISTEN_LATE     skip
	bell_listen(me);
#endif
	if
	:: block != NONE -> next = next_in_run[block]
	:: else -> next = NONE
	fi;
	if
	:: next != NONE -> go_on(); goto again
	:: next == NONE && pending != NONE && block != NONE -> write_pending(); goto again
	:: else -> next = 0
	fi;
	if
	:: pending != NONE -> d_step { claimed = pending; pending = NONE; }
	:: else ->
		ring_claim(RESCUE, claimed);
		if
		:: claimed == NONE -> ring_claim(me, claimed)
		:: else
		fi
	fi;
	if
	:: claimed == NONE ->
		claimed = 0;
		LISTEN_LATE;
		bell_sleep(me)
	:: claimed != NONE && block != NONE ->
		d_step { pending = claimed; claimed = 0; }
	:: claimed != NONE && block == NONE ->
		d_step { first = claimed; block = claimed; claimed = 0; }
		write_block(block);
		is_kept = me == BAD
	fi;
	goto again;
done:
	skip
}

#ifdef STICK
proctype Watchdog()
{
	bool is_awaited;
	byte position, seen, moved;

	is_served[BAD] = false;
	ring_rescue(BAD);
}
#endif

/* When nothing moves any more. */
proctype Judge()
{
	byte p, b;
	bool is_held[K];

	timeout;
	d_step {
		assert(is_through);
		b = stuck_run;
		do
		:: b < N -> is_held[content[b]] = true; b = next_in_run[b]
		:: else -> break
		od;
		b = stuck_pending;
		do
		:: b < N -> is_held[content[b]] = true; b = next_in_run[b]
		:: else -> break
		od;
		p = 0;
		do
		:: p < K -> assert(is_final[p] != is_held[p]); p++
		:: else -> break
		od;
	}
	/* all is well: this state may end here */
end_well:
	false
}

init
{
	byte i;

	d_step {
		do
		:: i < N ->
			next_free[i] = (i + 1 < N -> i + 1 : NONE);
			next_in_run[i] = NONE;
			content[i] = TORN;
			i++
		:: else -> break
		od;
		is_served[0] = true;
		is_served[1] = true;
		i = 0;
	}
	atomic {
		run Reader();
		run Writer(0);
		run Writer(1);
#ifdef STICK
		run Watchdog();
#endif
		run Judge();
	}
}
