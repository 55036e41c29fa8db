/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * second.pml - ring_put_second() of ring.c and writer_claim_rescued() of recorder/writer.c: every block written by two
 *              of three writers
 *
 * What runs: a producer that fills blocks as long as some are free, holds each once more and puts it to two
 * queues; three writers that write what is in their queue, or in the rescue queue if the other copy is not theirs. Each
 * may fail at any time, and then hands over what it has and what still comes to its queue. With no writer left
 * that may take it, a copy is given up; with none left at all both are lost.
 *
 * What is checked, in every order of steps: what is written is what was filled; the two copies end on two disks, each once;
 * one is lost only when no other disk is left, both when none is; a block is free only once, after both; when nothing moves any more, all
 * blocks are free and both copies of all have ended.
 */

/* verify: cc:-DCOLLAPSE */
/* mutant: -DNO_HOLD expect-error */
/* mutant: -DTAKES_BOTH expect-error */
/* mutant: -DGIVES_UP_BESIDE_OTHERS expect-error */
/* mutant: -DHOLDER_IS_NOT_SAID expect-error */

#define W 3 /* writers */
#define N 2 /* blocks */
#define K 2 /* positions of the stream, one a block */
#define NOBODY W
#define OPEN 4
#define LOST 5

byte owner_count[N], content[N];
byte holder[2 * N];      /* who has copy c of block b: [2 * b + c] */
byte end_of[2 * K];      /* of each position's copies: the writer it is safe with, LOST, OPEN */
byte usable_count = W;
byte ended_count;
chan free = [N] of { byte };
chan rescue = [2 * N] of { byte, bit };
chan filled[W] = [2 * N] of { byte, bit };

inline put(queue, block, copy)
{
	if
	:: queue == NOBODY -> rescue!block, copy
	:: else -> filled[queue]!block, copy
	fi
}

inline give_back(block)
{
	atomic { assert(owner_count[block] > 0); owner_count[block]--; left = owner_count[block] };
	if
	:: left == 0 -> free!block
	:: else
	fi;
	left = 0
}

inline end_copy(block, copy, how)
{
	atomic {
		assert(end_of[2 * content[block] + copy] == OPEN);
		end_of[2 * content[block] + copy] = how;
		assert(how == LOST || end_of[2 * content[block] + 1 - copy] != how);
		assert(how != LOST || usable_count <= 1); /* beside others it need not be */
		assert(how != LOST || usable_count == 0 || end_of[2 * content[block] + 1 - copy] != LOST);
		ended_count++
	}
	give_back(block)
}

active proctype producer()
{
	byte position, b, first, second;

	do
	:: position == K -> break
	:: else ->
		atomic { free?b; assert(owner_count[b] == 0); owner_count[b] = 1; }
		content[b] = position;
		if
		:: first = 0; second = 1
		:: first = 1; second = 2
		:: first = 2; second = NOBODY
		:: first = NOBODY; second = NOBODY
		fi;
#ifndef NO_HOLD
		owner_count[b]++;
#endif
		atomic { holder[2 * b] = first; holder[2 * b + 1] = second };
		put(first, b, 0);
		put(second, b, 1);
		position++
	od;
	position = 0; b = 0; first = 0; second = 0
}

inline take_from_rescue()
{
	rescue?b, c;
	if
#ifndef TAKES_BOTH
	:: holder[2 * b + 1 - c] == me && usable_count > 0 ->
		if
#ifdef GIVES_UP_BESIDE_OTHERS
		:: true -> end_copy(b, c, LOST)
#else
		:: usable_count <= 1 -> end_copy(b, c, LOST)
		:: else -> rescue!b, c
#endif
		fi;
		has = false
#endif
	:: else ->
#ifndef HOLDER_IS_NOT_SAID
		holder[2 * b + c] = me;
#endif
		has = true
	fi
}

proctype writer(byte me)
{
	byte b, left;
	bit c;
	bool has, is_usable = true;

	do
	:: is_usable && !has && len(filled[me]) > 0 -> filled[me]?b, c; has = true
	:: is_usable && !has && len(rescue) > 0 -> atomic { if :: len(rescue) > 0 -> take_from_rescue() :: else fi }
	:: is_usable && has -> end_copy(b, c, me); has = false
	:: is_usable -> /* fails */
		atomic { is_usable = false; usable_count--; }
	:: !is_usable && has ->
		if
		:: usable_count > 0 -> rescue!b, c
		:: else -> end_copy(b, c, LOST)
		fi;
		has = false
	:: !is_usable && !has && len(filled[me]) > 0 -> filled[me]?b, c; has = true
	:: !is_usable && !has && usable_count == 0 && len(rescue) > 0 ->
		atomic { if :: len(rescue) > 0 -> rescue?b, c; has = true :: else fi }
	:: ended_count == 2 * K -> break
	od
}

active proctype judge()
{
	timeout -> assert(ended_count == 2 * K && len(free) == N)
}

init
{
	atomic {
		end_of[0] = OPEN; end_of[1] = OPEN; end_of[2] = OPEN; end_of[3] = OPEN;
		free!0; free!1;
		run writer(0); run writer(1); run writer(2)
	}
}
