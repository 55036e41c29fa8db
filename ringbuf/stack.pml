/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack.pml - the stack of free blocks of ring.c step by step: ring_take() and the push of ring_give_back()
 *
 * TAKERS threads take blocks and give them back. The ring has one taker, with which nothing depends on the count beside
 * the top: see the run with one taker, without the count, and one other thread that gives back. With
 * two it does, and the count makes that safe too.
 *
 * What is checked: no block is held by two, and in the end all blocks are on the stack, once.
 */

/* verify: cc:-DCOLLAPSE */
/* verify: -DONE_TAKER -DNO_COUNT cc:-DCOLLAPSE */
/* mutant: -DNO_COUNT expect-error */
/* mutant: -DLINK_ONCE expect-error */
/* mutant: -DPLAIN_PUSH expect-error */

#define BLOCKS  3
#define NONE    15
#ifndef ROUNDS
#define ROUNDS  3
#endif

byte next_free[BLOCKS];
byte top_block, top_count;
/* ghosts */
bool is_held[BLOCKS];
/* from a taker to the one that gives back */
chan held = [BLOCKS] of { byte };

#ifdef NO_COUNT
#define COUNT_UP        skip
#else
#define COUNT_UP        top_count++
#endif

inline ring_take(b)
{
	d_step { b = top_block; count = top_count; }
	do
	:: b == NONE -> break
	:: else ->
		below = next_free[b];
		d_step {
			is_done = top_block == b && top_count == count;
			if
			:: is_done -> top_block = below; COUNT_UP
			:: else -> b = top_block; count = top_count
			fi;
			below = 0;
		}
		if
		:: is_done -> break
		:: else
		fi
	od;
	count = 0;
	is_done = false
}

inline push(b)
{
	d_step { below = top_block; count = top_count; }
#ifdef LINK_ONCE
	next_free[b] = below;
#endif
	do
	::
#ifndef LINK_ONCE
	   next_free[b] = below;
#endif
	   d_step {
#ifdef PLAIN_PUSH
		is_done = true;
#else
		is_done = top_block == below && top_count == count;
#endif
		if
		:: is_done -> top_block = b; COUNT_UP
		:: else -> below = top_block; count = top_count
		fi;
	   }
	   if
	   :: is_done -> break
	   :: else
	   fi
	od;
	below = 0;
	count = 0;
	is_done = false
}

inline check_taken(b)
{
	d_step {
		assert(b < BLOCKS);
		assert(!is_held[b]);
		is_held[b] = true;
	}
}

#ifdef ONE_TAKER
proctype Producer()
{
	byte b, below, count, round;
	bool is_done;

	do
	:: round < 2 * ROUNDS ->
		round++;
		ring_take(b);
		if
		:: b != NONE -> check_taken(b); held!b
		:: else
		fi;
		b = 0
	:: else -> break
	od
}

proctype Consumer()
{
	byte b, below, count;
	bool is_done;

end_idle:
	do
	:: held?b ->
		is_held[b] = false;
		push(b);
		b = 0
	od
}
#else
/* Takes up to two blocks, and gives them back in any order. */
proctype Thread()
{
	byte a = NONE, b = NONE, below, count, round;
	bool is_done;

	do
	:: round < ROUNDS && a == NONE ->
		ring_take(a);
		round++;
		if
		:: a != NONE -> check_taken(a)
		:: else
		fi
	:: round < ROUNDS && a != NONE && b == NONE ->
		ring_take(b);
		round++;
		if
		:: b != NONE -> check_taken(b)
		:: else
		fi
	:: a != NONE -> is_held[a] = false; push(a); a = NONE
	:: b != NONE -> is_held[b] = false; push(b); b = NONE
	:: round == ROUNDS && a == NONE && b == NONE -> break
	od
}
#endif

proctype Judge()
{
	byte b, length;

	timeout;
	d_step {
		b = top_block;
		do
		:: b != NONE && length <= BLOCKS -> length++; b = next_free[b]
		:: else -> break
		od;
		assert(length == BLOCKS);
	}
}

init
{
	atomic {
		next_free[0] = 1;
		next_free[1] = 2;
		next_free[2] = NONE;
		run Judge();
#ifdef ONE_TAKER
		run Producer();
		run Consumer();
		run Consumer();
#else
		run Thread();
		run Thread();
#endif
	}
}
