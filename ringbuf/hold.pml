/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hold.pml - ring_hold() and ring_give_back() of ring.c: memory that the kernel still reads although its run goes to
 *            another writer
 *
 * What runs: a producer that fills blocks as long as some are free; a writer that has given a block to the kernel and
 * leaves (it holds the block once more, then hands the run over, then waits for the kernel); the kernel, which reads the
 * block at any time until it is done; a second writer, which reads the handed-over block and gives it back.
 *
 * What is checked, in every order of steps: what kernel and second writer read is what was written; a block is free only
 * once, and only after both have let it go; when nothing moves any more, all blocks are free and the stream is through.
 */

/* mutant: -DNO_HOLD expect-error */
/* mutant: -DHOLD_AFTER_HAND_OVER expect-error */
/* mutant: -DNO_LAST_GIVE_BACK expect-error */
/* mutant: -DLOAD_AND_STORE expect-error */

#define N 2     /* blocks */
#define K 3     /* positions of the stream, one a block */
#define NONE 15

byte owner_count[N];
byte content[N];
chan free = [N] of { byte };
chan filled = [N] of { byte };
chan rescue = [N] of { byte };
chan to_kernel = [1] of { byte };
chan from_kernel = [1] of { byte };
byte done;

inline ring_take(b)
{
	atomic { free?b; assert(owner_count[b] == 0); owner_count[b] = 1; }
}

inline ring_hold(b)
{
	d_step { assert(owner_count[b] > 0); owner_count[b]++; }
}

inline ring_give_back(b)
{
#ifdef LOAD_AND_STORE
	left = owner_count[b] - 1;
	owner_count[b] = left;
#else
	d_step { assert(owner_count[b] > 0); owner_count[b]--; left = owner_count[b]; }
#endif
	if
	:: left == 0 -> free!b
	:: else
	fi;
	left = 0
}

active proctype producer()
{
	byte position, b;

	do
	:: position == K -> break
	:: else ->
		ring_take(b);
		content[b] = position;
		filled!b;
		position++
	od;
	b = 0
}

/* Gives each block to the kernel, and leaves before that is done with it. */
active proctype leaver()
{
	byte b, left, count;

	do
	:: count == K -> break
	:: else ->
		filled?b;
		to_kernel!b;
#ifdef HOLD_AFTER_HAND_OVER
		rescue!b;
		ring_hold(b);
#else
#ifndef NO_HOLD
		ring_hold(b);
#endif
		rescue!b;
#endif
		from_kernel?eval(b);
#if !defined(NO_HOLD) && !defined(NO_LAST_GIVE_BACK)
		ring_give_back(b);
#endif
		count++
	od
}

active proctype kernel()
{
	byte b, count;

	do
	:: count == K -> break
	:: else ->
		to_kernel?b;
		assert(content[b] == count);
		assert(content[b] == count); /* it reads for a while */
		from_kernel!b;
		count++
	od
}

active proctype taker()
{
	byte b, left, count;

	do
	:: count == K -> break
	:: else ->
		rescue?b;
		assert(content[b] == count);
		ring_give_back(b);
		count++;
		done = count
	od
}

active proctype judge()
{
	timeout -> assert(done == K && len(free) == N)
}

init
{
	atomic { free!0; free!1; }
}
