/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.pml - queue.c step by step, with as many slots as items and takers that may be held up anywhere
 *
 * THREADS threads take an item from one queue and put it back there, ROUNDS times each, so that positions come round to
 * the same slots again and again while somebody still stands between two steps of a take or a put.
 *
 * What is checked: no item is held by two; each take gets the item that was put at the position it claimed (so they
 * come out in the order of the claimed positions); there is always room; in the end all items are there again.
 * That makes queue_take() as good as one step, and queue_put() as good as two, which ring.pml uses.
 */

/* verify: cc:-DCOLLAPSE */
/* mutant: -DNO_COMPARE expect-error */
/* mutant: -DITEM_AFTER_CLAIM expect-error */
/* mutant: -DSLOT_FREED_LATER unreached-ok expect-error */
/* mutant: -DPUBLISHED_FIRST expect-error */

#define ITEMS   2
#define SLOTS   2
#ifndef THREADS
#define THREADS 3
#endif
#ifndef ROUNDS
#define ROUNDS  2
#endif
#define POSITIONS (ITEMS + THREADS * ROUNDS)
#define NONE    15

byte put_position, take_position;
byte item[SLOTS], published[SLOTS];
/* ghosts */
bool is_held[ITEMS];
byte was_put[POSITIONS];
#ifdef SLOT_FREED_LATER
byte is_free_for[SLOTS];
#endif

inline queue_put(b)
{
	d_step {
		position = put_position;
		put_position++;
		was_put[position] = b;
		assert(position - take_position < SLOTS);
#ifdef SLOT_FREED_LATER
		/* a queue whose takers free their slot after the claim is full when one of them is held up there */
		assert(is_free_for[position % SLOTS] == position);
#endif
	}
#ifdef PUBLISHED_FIRST
	published[position % SLOTS] = position + 1;
	item[position % SLOTS] = b;
#else
	item[position % SLOTS] = b;
	published[position % SLOTS] = position + 1;
#endif
	position = 0
}

inline queue_take(b)
{
	position = take_position;
	do
	:: seen = published[position % SLOTS];
	   if
	   :: seen <= position -> b = NONE; seen = 0; break
	   :: seen > position + 1 -> position = take_position
	   :: seen == position + 1 ->
#ifndef ITEM_AFTER_CLAIM
		b = item[position % SLOTS];
#endif
		d_step {
#ifdef NO_COMPARE
			seen = true;
			take_position = position + 1;
#else
			seen = take_position == position;
			take_position = take_position + seen;
#endif
		}
		if
		:: seen -> break
		:: else -> position = take_position
		fi
	   fi
	od;
#ifdef ITEM_AFTER_CLAIM
	if
	:: seen == 1 -> b = item[position % SLOTS]
	:: else
	fi;
#endif
#ifdef SLOT_FREED_LATER
	if
	:: b != NONE -> is_free_for[position % SLOTS] = position + SLOTS
	:: else
	fi;
#endif
	seen = 0
}

proctype Thread()
{
	byte b = NONE, position, seen, round;

	do
	:: round < ROUNDS ->
		round++;
		queue_take(b);
		if
		:: b != NONE ->
			d_step {
				assert(b == was_put[position]);
				assert(!is_held[b]);
				is_held[b] = true;
			}
			is_held[b] = false;
			queue_put(b);
		:: else
		fi;
		b = NONE;
		position = 0
	:: else -> break
	od
}

proctype Judge()
{
	byte left;

	timeout;
	left = put_position - take_position;
	assert(left == ITEMS);
	assert(published[0] + published[1] == put_position + put_position - 1);
	assert(item[0] != item[1])
}

init
{
	atomic {
		item[0] = 0; published[0] = 1; was_put[0] = 0;
		item[1] = 1; published[1] = 2; was_put[1] = 1;
		put_position = ITEMS;
#ifdef SLOT_FREED_LATER
		is_free_for[0] = 0;
		is_free_for[1] = 1;
#endif
		run Judge();
		run Thread();
		run Thread();
		run Thread();
	}
}
