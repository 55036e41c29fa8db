/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/lanes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"
#include "recorder/disk.h"
#include "recorder/exclusive_or.h"
#include "recorder/packets.h"
#include "recorder/sum.h"

#define FIRST_RUNS \
	3 /* so many fit when one is begun in two copies: itself, one being written, one being filled */

struct lane {
	struct sum sum;
	uint32_t disk; /* of the open file: a disk's number, or RING_RESCUE: whoever is free first */
	bool has_second;      /* the open file is written twice */
	uint32_t second_disk; /* of that; RING_NONE = there is none */
	uint32_t block;       /* being filled; RING_NONE = none */
	uint32_t last;        /* last block of the open run; RING_NONE = no run is open */
	size_t fill;          /* bytes in block */
	uint64_t unit_left;   /* until the stripe turns */
	uint64_t run_left;    /* until the run ends */
	uint64_t run_blocks;  /* in the open run, full or not */
	uint64_t run_extents; /* in the open run */
	uint64_t file_left;   /* until the file ends; UINT64_MAX = never */
	uint64_t file_number;
	uint64_t file_offset; /* of the next block */
	uint64_t file_count;  /* files begun in this lane */
	int64_t file_utc_ns;  /* of the open file's first byte; INT64_MAX = not known yet */
};

struct lanes {
	struct session *session;
	uint32_t count; /* of those that the stream goes to */
	uint32_t current;
	uint64_t file_count;  /* files begun in all lanes */
	uint32_t block_count; /* put, in the order of the stream */
	struct lane *parity;  /* the one behind them; NULL = none */
	uint64_t row;         /* parity: the unit that each lane gets once, */
	bool is_row_begun; /* and what there is of it so far is in parity->block, if that could be had */
	bool is_short; /* of room: the last file has no second copy */
	struct lane lanes[];
};

int lanes_create(struct lanes **out, struct session *session)
{
	uint32_t count = session->plan.stripe == STRIPE_ROUND ? session->disk_count : 1;
	struct lanes *lanes = calloc(1, sizeof(*lanes) + count * sizeof(lanes->lanes[0]));

	*out = lanes;
	if (!lanes)
		return -ENOMEM;
	lanes->session = session;
	lanes->count = count - session->plan.has_parity;
	lanes->parity = session->plan.has_parity ? &lanes->lanes[count - 1] : NULL;
	for (uint32_t i = 0; i < count; i++) {
		lanes->lanes[i].disk = i;
		lanes->lanes[i].second_disk = RING_NONE;
		lanes->lanes[i].block = lanes->lanes[i].last = RING_NONE;
		if (session->has_sums && sum_open(&lanes->lanes[i].sum) < 0)
			return -ENOMEM;
	}
	return 0;
}

void lanes_free(struct lanes *lanes)
{
	for (uint32_t i = 0; lanes && i < lanes->count + (lanes->parity != NULL); i++)
		sum_close(&lanes->lanes[i].sum);
	free(lanes);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- which disk ---- */

static void look_at_disks(const struct session *session, struct stripe_disk *disks)
{
	int64_t now = units_monotonic_ns();

	for (unsigned i = 0; i < session->disk_count; i++) {
		const struct disk *disk = &session->disks[i];
		int64_t started = atomic_load_explicit(&disk->write_started_ns, memory_order_relaxed);
		uint64_t assigned = account_get(&disk->assigned_bytes);
		uint64_t room = disk->target.free_bytes;

		/*
		 * relaxed: a policy decides by these figures, nothing is unsafe if they are a
		 * little old
		 */
		disks[i].is_usable = disk_is_usable(disk);
		disks[i].open_units = atomic_load_explicit(&disk->open_units, memory_order_relaxed);
		disks[i].write_age_ns = started ? now - started : 0;
		disks[i].free_bytes = room > assigned ? room - assigned : 0;
		disks[i].total_bytes = disk->total_bytes;
	}
}

static uint32_t choose_disk(const struct session *session)
{
	struct stripe_disk disks[TARGET_MAX];
	uint32_t chosen;

	if (session->disk_count == 1)
		return 0;
	look_at_disks(session, disks);
	chosen = stripe_any(disks, session->disk_count);
	return chosen == STRIPE_NOBODY ? RING_RESCUE : chosen;
}

/* Any but the first's. */
static uint32_t choose_second_disk(const struct session *session, uint32_t first)
{
	struct stripe_disk disks[TARGET_MAX] = { { 0 } };
	uint32_t chosen;

	look_at_disks(session, disks);
	if (first != RING_RESCUE)
		disks[first].is_usable = false;
	chosen = session->plan.stripe == STRIPE_ROUND ?
			 stripe_round(disks, session->disk_count, first) :
			 stripe_any(disks, session->disk_count);
	return chosen == STRIPE_NOBODY ? RING_RESCUE : chosen;
}

/*
 * A disk that can't keep up must not cost the stream what another one could take: when the ring is nearly full of
 * what waits for second copies, new files get none. A source that can wait does so instead.
 */
static bool has_room_for_second(const struct session *session)
{
	const struct layout_plan *plan = &session->plan;
	uint64_t free_bytes = ring_free_count(session->ring) * plan->block_bytes;
	uint64_t wanted = FIRST_RUNS * plan->run_bytes;

	if (wanted > plan->ring_bytes / 2)
		wanted = plan->ring_bytes / 2;
	return !session->can_drop || free_bytes >= wanted;
}

static void choose_second(struct lanes *lanes, struct lane *lane)
{
	struct session *session = lanes->session;
	bool is_short = !has_room_for_second(session);

	lane->has_second = !is_short;
	lane->second_disk = is_short ? RING_NONE : choose_second_disk(session, lane->disk);
	if (is_short && !lanes->is_short)
		session_event(
			session, "copies-wait", -1,
			"the ring is nearly full of what waits for its second copy: what comes now gets one copy only");
	lanes->is_short = is_short;
}

/* ---- files ---- */

static uint64_t lane_file_bytes(const struct lanes *lanes, const struct lane *lane)
{
	const struct session *session = lanes->session;

	/* where sizes differ each lane has its own disk; else they are all the same */
	return lanes->count > 1 ? session->disks[lane - lanes->lanes].file_bytes :
				  session->disks[0].file_bytes;
}

/*
 * File numbers. One lane, or whole files in turn: counted over the whole recording. Lanes that
 * take turns by units smaller than a file: lane i has numbers i, i + n, i + 2n ..., so that they
 * are unique as well; or, as wr counts, 0, 1, 2 ... in each directory.
 */
static uint64_t next_file_number(struct lanes *lanes, const struct lane *lane)
{
	const struct session *session = lanes->session;

	if (session->plan.is_appended)
		return 0;
	if (session->config.is_index_global) {
		/*
		 * of the file's first block: file_count files before it, a block of each round
		 * being this lane's
		 */
		uint64_t index = (uint64_t)(lane - lanes->lanes);
		uint64_t blocks = lane_file_bytes(lanes, lane) / session->config.unit_bytes;

		return blocks ? lane->file_count * lanes->count + index / blocks : 0;
	}
	if (session->config.is_index_per_target)
		return lane->file_count;
	if (lane == lanes->parity)
		return lane->file_count | LAYOUT_PARITY;
	if (lanes->count > 1 && session->plan.unit_bytes)
		return lane->file_count * lanes->count + (uint64_t)(lane - lanes->lanes);
	return lanes->file_count;
}

static void begin_file(struct lanes *lanes, struct lane *lane)
{
	struct session *session = lanes->session;
	const struct layout_plan *plan = &session->plan;

	lane->file_number = next_file_number(lanes, lane);
	lane->file_offset = 0;
	lane->file_left = lane_file_bytes(lanes, lane);
	if (lane->file_left == 0)
		lane->file_left = UINT64_MAX;
	lane->file_utc_ns = INT64_MAX;
	lane->file_count++;
	lanes->file_count++;
	lane->sum.is_due = true;
	if (plan->stripe == STRIPE_ANY)
		lane->disk = choose_disk(session);
	if (plan->has_second)
		choose_second(lanes, lane);
}

/* ---- blocks and runs ---- */

static struct extent *last_extent(struct block_label *label)
{
	return label->extent_count ? &label->extents[label->extent_count - 1] : NULL;
}

static void end_extent(const struct lane *lane, struct extent *extent)
{
	if (extent)
		sum_end(&lane->sum, &extent->xxh3);
}

static bool is_new_run_needed(const struct lane *lane)
{
	return lane->last == RING_NONE;
}

/*
 * The disk of a file that goes on over several runs has failed: the file ends, a new one begins
 * elsewhere. Or the file is whichever its disk has, and the disk is chosen anew.
 */
static void leave_disk(struct lanes *lanes, struct lane *lane)
{
	const struct session *session = lanes->session;
	bool has_failed = lane->disk != RING_RESCUE && !disk_is_usable(&session->disks[lane->disk]);

	if (lane->file_offset > 0 && session->plan.is_held && session->plan.stripe == STRIPE_ANY &&
	    (has_failed || session->plan.is_appended))
		lane->file_left = 0;
}

static bool is_disk(uint32_t queue)
{
	return queue != RING_RESCUE; /* nor RING_NONE, which is the same number */
}

static void add_unit(struct session *session, uint32_t queue)
{
	if (is_disk(queue)) /* relaxed: see look_at_disks() */
		atomic_fetch_add_explicit(&session->disks[queue].open_units, 1, memory_order_relaxed);
}

static void add_assigned(struct session *session, uint32_t queue, size_t bytes)
{
	if (is_disk(queue))
		account_add(&session->disks[queue].assigned_bytes, bytes);
}

/* How much of its unit the lane has had; of the parity's, which gets it at once, nothing. */
static uint64_t row_offset(const struct layout_plan *plan, const struct lane *lane)
{
	return lane->unit_left == UINT64_MAX ? 0 : plan->unit_bytes - lane->unit_left;
}

static void open_run(struct session *session, struct lane *lane)
{
	const struct layout_plan *plan = &session->plan;

	lane->sum.is_due = lane->sum.is_due || plan->is_held; /* a run may end up in any file */
	lane->run_left = plan->run_bytes;
	lane->run_blocks = lane->run_extents = 0;
	if (plan->run_bytes) {
		add_unit(session, lane->disk);
		add_unit(session, lane->second_disk);
	}
}

/* Return: false: there is no block. */
static bool begin_block(struct lanes *lanes, struct lane *lane, uint32_t block)
{
	struct session *session = lanes->session;
	const struct layout_plan *plan = &session->plan;
	struct block_label *label;

	lane->block = block;
	if (block == RING_NONE)
		return false;
	lane->fill = 0;
	sum_look(&lane->sum, plan);
	if (is_new_run_needed(lane)) {
		leave_disk(lanes, lane);
		if (lane->file_left == 0)
			begin_file(lanes, lane);
		open_run(session, lane);
	}
	if (lane->unit_left == 0)
		lane->unit_left = plan->unit_bytes ? plan->unit_bytes : UINT64_MAX;
	label = ring_label(session->ring, lane->block);
	label->file_number = lane->file_number;
	label->file_offset = lane->file_offset;
	label->is_file_end = false;
	label->row_at = lanes->parity ? lanes->row * plan->block_bytes + row_offset(plan, lane) : 0;
	label->extent_count = 0;
	return true;
}

/*
 * Blocks that had to be handed on with little in them take as much of the ring as full ones, and
 * the ring must hold a run for each disk. And whoever writes the run keeps its extents until it
 * is durable.
 */
static bool is_run_full(const struct layout_plan *plan, const struct lane *lane)
{
	return lane->run_blocks * plan->block_bytes >= plan->run_bytes ||
	       lane->run_extents + plan->extent_max > SEGMENT_PENDING_MAX / 2;
}

/*
 * A disk that fails hands on what is in its queue before it does anything that may take for ever.
 * What we put there meanwhile, or the disk was chosen for before, we hand on ourselves. seq_cst:
 * see ring_rescue(). With nothing held its writer counts it as lost.
 */
static void rescue_if_left(struct session *session, uint32_t queue)
{
	if (is_disk(queue) && session->plan.is_held &&
	    atomic_load_explicit(&session->disks[queue].is_left, memory_order_seq_cst))
		disk_subtract_units(&session->disks[queue], ring_rescue(session->ring, queue));
}

/*
 * The time of the file is over with the block that has been filled. What is known is when its pieces began, and
 * where the stream has a rate how long the last one is. A clock that was put back begins the time anew.
 */
static bool is_file_over(const struct session *session, struct lane *lane,
			 const struct block_label *label)
{
	const struct extent *last;
	uint64_t age_ns;

	if (session->plan.file_ns == 0 || label->extent_count == 0)
		return false;
	last = &label->extents[label->extent_count - 1];
	if (label->extents[0].utc_ns < lane->file_utc_ns)
		lane->file_utc_ns = label->extents[0].utc_ns;
	if (last->utc_ns < lane->file_utc_ns)
		return false;
	age_ns = (uint64_t)last->utc_ns - (uint64_t)lane->file_utc_ns;
	if (session->source->rate_bps)
		age_ns += (uint64_t)units_time_for(last->bytes, session->source->rate_bps);
	return age_ns >= (uint64_t)session->plan.file_ns;
}

/* A direct write takes whole pages: what is behind the last byte goes along, and is cut off again. */
static void pad(const struct session *session, const struct lane *lane)
{
	size_t rest = lane->fill % LAYOUT_ALIGN ? LAYOUT_ALIGN - lane->fill % LAYOUT_ALIGN : 0;

	if (rest <= session->plan.data_bytes - lane->fill)
		memset(session_block_data(session, lane->block) + lane->fill, 0, rest);
}

static void begin_run(struct session *session, const struct lane *lane, bool is_last)
{
	struct block_label *label = ring_label(session->ring, lane->block);

	/* relaxed: before the put, which releases it; has_stream_ended comes behind all of them */
	atomic_fetch_add_explicit(&session->run_count, lane->has_second ? 2 : 1, memory_order_relaxed);
	atomic_store_explicit(&label->holders[0], lane->disk, memory_order_relaxed);
	atomic_store_explicit(&label->holders[1], lane->second_disk, memory_order_relaxed);
	ring_put(session->ring, lane->disk, lane->block, lane->fill, is_last);
	if (lane->has_second)
		ring_put_second(session->ring, lane->second_disk, lane->block);
	rescue_if_left(session, lane->disk);
	rescue_if_left(session, lane->second_disk);
}

/* Whom to tell that the run goes on, or ends: anybody, when anybody may have one of its copies. */
static uint32_t first_owner(const struct lane *lane)
{
	return lane->has_second && lane->second_disk == RING_RESCUE ? RING_RESCUE : lane->disk;
}

static void wake_second_owner(const struct session *session, const struct lane *lane)
{
	if (is_disk(lane->second_disk))
		ring_wake(session->ring, lane->second_disk);
}

/* Hands the block on, as a run of its own, as the beginning of one, or as its next piece. */
static void commit_block(struct lanes *lanes, struct lane *lane)
{
	struct session *session = lanes->session;
	const struct layout_plan *plan = &session->plan;
	struct block_label *label = ring_label(session->ring, lane->block);
	bool is_last;

	end_extent(lane, last_extent(label));
	if (plan->head_bytes)
		packets_put_headers(session, lane->block, lane->fill, lanes->block_count++);
	else
		pad(session, lane);
	lane->file_offset += lane->fill;
	lane->run_left -= lane->run_left < lane->fill ? lane->run_left : lane->fill;
	lane->run_blocks++;
	lane->run_extents += label->extent_count;
	is_last = lane->run_left == 0 || is_run_full(plan, lane);
	if ((is_last && plan->is_run_a_file) || (plan->is_lent && lane->file_left < plan->block_bytes) ||
	    is_file_over(session, lane, label))
		lane->file_left = 0;
	label->is_file_end = lane->file_left == 0;
	is_last = is_last || label->is_file_end;
	add_assigned(session, lane->disk, lane->fill);
	add_assigned(session, lane->second_disk, lane->fill);
	if (lane->has_second) /* both give it back */
		ring_hold(session->ring, lane->block);
	else if (plan->has_second)
		session_lose_block(session, NULL, lane->block, GAP_DISK, true);
	if (lane->last == RING_NONE) {
		begin_run(session, lane, is_last);
	} else {
		ring_append(session->ring, first_owner(lane), lane->last, lane->block, lane->fill,
			    is_last);
		wake_second_owner(session, lane);
	}
	if (session->disks[0].target.kind == TARGET_NULL) /* which stands alone */
		disk_drop(&session->disks[0]);
	lane->last = is_last ? RING_NONE : lane->block;
	lane->block = RING_NONE;
	lane->fill = 0;
}

/* The lane ends here: a block filled in part goes on, and whoever has its run can finish it. */
static void retire_lane(struct lanes *lanes, struct lane *lane)
{
	struct ring *ring = lanes->session->ring;

	if (lane->block != RING_NONE && lane->fill > 0)
		commit_block(lanes, lane);
	else if (lane->block != RING_NONE)
		ring_give_back(ring, lane->block);
	lane->block = RING_NONE;
	if (lane->last != RING_NONE) {
		ring_end_run(ring, first_owner(lane), lane->last);
		wake_second_owner(lanes->session, lane);
	}
	lane->last = RING_NONE;
}

/* ---- parity ---- */

/* The parity's run ends, the block that its row is being added to stays. */
static void end_parity_run(struct lanes *lanes)
{
	struct lane *parity = lanes->parity;

	if (!parity || parity->last == RING_NONE)
		return;
	ring_end_run(lanes->session->ring, parity->disk, parity->last);
	parity->last = RING_NONE;
	if (parity->block != RING_NONE) /* it will begin the next one */
		open_run(lanes->session, parity);
}

/*
 * A row's parity has a block of its own, which is there before the row begins. With the parity's disk
 * gone its rows have none. False: no block is free.
 */
static bool begin_row(struct lanes *lanes)
{
	struct lane *parity = lanes->parity;

	if (!parity || lanes->is_row_begun)
		return true;
	if (!disk_is_usable(&lanes->session->disks[parity->disk]))
		end_parity_run(lanes); /* another disk takes it over, and must not wait for its end */
	else if (!begin_block(lanes, parity, ring_take(lanes->session->ring)))
		return false;
	lanes->is_row_begun = true;
	return true;
}

/* What is the first at its place in the row is copied: what was in the block before is of no row. */
static void add_to_row(struct lanes *lanes, const char *data, uint64_t at, size_t bytes)
{
	struct lane *parity = lanes->parity;
	size_t common;
	char *sum;

	if (!parity)
		return;
	if (parity->block == RING_NONE) {
		account_add(&lanes->session->unprotected_bytes, bytes);
		return;
	}
	sum = ring_data(lanes->session->ring, parity->block);
	common = at < parity->fill ? least(parity->fill - at, bytes) : 0;
	exclusive_or(sum + at, data, common);
	memcpy(sum + at + common, data + common, bytes - common);
	if (at + bytes > parity->fill)
		parity->fill = at + bytes;
}

/* Each lane has had its unit, or the stream is over. */
static void end_row(struct lanes *lanes)
{
	struct session *session = lanes->session;
	struct lane *parity = lanes->parity;
	struct block_label *label;
	struct extent *extent;

	lanes->is_row_begun = false;
	lanes->row++;
	if (parity->block == RING_NONE)
		return;
	label = ring_label(session->ring, parity->block);
	extent = &label->extents[label->extent_count++];
	*extent = (struct extent){
		.stream_offset = label->row_at, /* its own: it goes on as the rows do */
		.utc_ns = session_utc(session, units_monotonic_ns()),
		.bytes = (uint32_t)parity->fill,
		.sum = sum_begin(&parity->sum, label->row_at),
	};
	sum_add(&parity->sum, ring_data(session->ring, parity->block), parity->fill, label->row_at);
	if (parity->file_left != UINT64_MAX)
		parity->file_left -= parity->fill;
	commit_block(lanes, parity);
}

/* ---- turning ---- */

/* The unit is over, or its file is: the stripe turns to the next lane whose disk works. */
static void turn(struct lanes *lanes)
{
	struct stripe_disk disks[TARGET_MAX] = { { 0 } };
	uint32_t next;

	assert(lanes->count > 0 && lanes->count <= lanes->session->disk_count);
	if (lanes->count == 1)
		return;
	look_at_disks(lanes->session, disks);
	for (uint32_t i = 0; i < lanes->count; i++)
		if (!disks[i].is_usable) /* another disk takes its run over, and must not wait for its end */
			retire_lane(lanes, &lanes->lanes[i]);
	next = stripe_round(disks, lanes->count, lanes->current);
	if (next == STRIPE_NOBODY)
		next = (lanes->current + 1) % lanes->count;
	if (lanes->parity && next <= lanes->current)
		end_row(lanes);
	lanes->current = next;
}

/* Does this disk's writer have anything to do, though it may not have woken up for it yet? */
static bool has_work(const struct disk *disk)
{
	const struct ring *ring = disk->session->ring;
	/* relaxed: a hint; a writer that sleeps stays where it is until we put something */
	uint32_t block = atomic_load_explicit(&disk->waits_behind, memory_order_relaxed);

	if (block == RING_END)
		return true;
	if (block == RING_NONE)
		return ring_queue_length(ring, disk->number) > 0 ||
		       ring_queue_length(ring, RING_RESCUE) >
			       atomic_load_explicit(&disk->passed_count, memory_order_relaxed);
	return ring_next(ring, block) != RING_NONE;
}

/*
 * The ring is full. When every disk that works waits for its run to go on, no block will ever
 * come back: it happens when a disk fails and its runs, which fill the ring, wait for writers who
 * are in the middle of others. So the open runs end here.
 */
static void end_runs_if_all_wait(struct lanes *lanes)
{
	const struct session *session = lanes->session;

	for (unsigned i = 0; i < session->disk_count; i++)
		if (disk_is_usable(&session->disks[i]) && has_work(&session->disks[i]))
			return;
	for (uint32_t i = 0; i < lanes->count; i++) {
		retire_lane(lanes, &lanes->lanes[i]);
		if (session->plan.is_run_a_file)
			lanes->lanes[i].file_left = 0;
	}
	end_parity_run(lanes);
}

/* ---- filling ---- */

size_t lanes_room(struct lanes *lanes, void **data)
{
	struct session *session = lanes->session;
	const struct layout_plan *plan = &session->plan;
	struct lane *lane = &lanes->lanes[lanes->current];
	uint64_t room;

	if (!begin_row(lanes) ||
	    (lane->block == RING_NONE && !begin_block(lanes, lane, ring_take(session->ring)))) {
		if (plan->is_held)
			end_runs_if_all_wait(lanes);
		return 0;
	}
	room = plan->data_bytes - lane->fill;
	room = least(least(room, lane->unit_left), lane->file_left);
	/* then the block is complete, or the last extent is torn and gone */
	if (plan->packet_bytes && packets_is_label_full(plan, ring_label(session->ring, lane->block)))
		room = least(room, plan->packet_bytes - packets_torn(plan, lane->fill));
	*data = session_block_data(session, lane->block) + lane->fill;
	return (size_t)room;
}

static void begin_extent(const struct session *session, struct lane *lane,
			 struct block_label *label, uint64_t stream_offset, int64_t utc_ns)
{
	struct extent *extent = &label->extents[label->extent_count];

	assert(label->extent_count < session->plan.extent_max);
	end_extent(lane, last_extent(label));
	label->extent_count++;
	extent->sum = sum_begin(&lane->sum, stream_offset);
	extent->stream_offset = stream_offset;
	extent->utc_ns = utc_ns;
	extent->at = (uint32_t)lane->fill;
	extent->bytes = 0;
}

/* The block has lost its last bytes: a packet that was torn. */
static void take_off(struct lane *lane, size_t bytes)
{
	if (bytes == 0)
		return;
	lane->sum.is_due = true; /* this one is of them as well */
	if (lane->unit_left != UINT64_MAX)
		lane->unit_left += bytes;
}

/* What begins in a block is behind a gap, or behind a header. Return: how many of the bytes stay, the last ones. */
static size_t begin_packets(struct session *session, struct lane *lane, size_t bytes,
			    uint64_t stream_offset)
{
	size_t fill = lane->fill;
	size_t kept = packets_mend(session, lane->block, &lane->fill, bytes, stream_offset);

	take_off(lane, fill - lane->fill);
	return kept;
}

static void end_packets(struct session *session, struct lane *lane)
{
	size_t fill = lane->fill;

	if (lane->block == RING_NONE)
		return;
	packets_end(session, lane->block, &lane->fill);
	take_off(lane, fill - lane->fill);
}

/*
 * All is in it that may be. Also when the label is full: the next piece may need an extent of its own. A
 * block of numbered ones is of one unit: their order is the stream's.
 */
static bool is_block_complete(const struct layout_plan *plan, const struct lane *lane,
			      const struct block_label *label)
{
	return lane->fill == plan->data_bytes || lane->file_left == 0 ||
	       (plan->is_appended && lane->unit_left == 0) ||
	       (packets_is_label_full(plan, label) && packets_torn(plan, lane->fill) == 0);
}

void lanes_filled(struct lanes *lanes, size_t bytes, uint64_t stream_offset, int64_t utc_ns)
{
	struct session *session = lanes->session;
	struct lane *lane = &lanes->lanes[lanes->current];
	struct block_label *label = ring_label(session->ring, lane->block);
	struct extent *last = last_extent(label);
	bool goes_on = last && last->at + last->bytes == lane->fill &&
		       last->stream_offset + last->bytes == stream_offset;
	const char *data;

	if (!goes_on && session->plan.packet_bytes) {
		size_t kept = begin_packets(session, lane, bytes, stream_offset);

		if (kept == 0)
			return;
		stream_offset += bytes - kept;
		if (session->source->rate_bps)
			utc_ns += units_time_for(bytes - kept, session->source->rate_bps);
		bytes = kept;
	}
	if (!goes_on)
		begin_extent(session, lane, label, stream_offset, utc_ns);
	last_extent(label)->bytes += (uint32_t)bytes;
	data = session_block_data(session, lane->block) + lane->fill;
	sum_add(&lane->sum, data, bytes, stream_offset);
	add_to_row(lanes, data, row_offset(&session->plan, lane), bytes);
	lane->fill += bytes;
	if (lane->file_left != UINT64_MAX)
		lane->file_left -= bytes;
	if (lane->unit_left != UINT64_MAX)
		lane->unit_left -= bytes;
	if (is_block_complete(&session->plan, lane, label))
		commit_block(lanes, lane);
	if (lane->unit_left == 0 || (lane->file_left == 0 && session->plan.unit_bytes == 0)) {
		lane->unit_left = session->plan.unit_bytes ? session->plan.unit_bytes : UINT64_MAX;
		turn(lanes);
	}
}

bool lanes_has_block(struct lanes *lanes)
{
	if (ring_free_count(lanes->session->ring) > 0)
		return true;
	if (lanes->session->plan.is_held)
		end_runs_if_all_wait(lanes);
	return false;
}

void lanes_put(struct lanes *lanes, uint32_t block, size_t bytes, uint64_t stream_offset, int64_t utc_ns)
{
	struct lane *lane = &lanes->lanes[0];

	assert(lanes->count == 1 && lane->block == RING_NONE);
	begin_block(lanes, lane, block);
	lanes_filled(lanes, bytes, stream_offset, utc_ns);
	if (lane->block != RING_NONE)
		commit_block(lanes, lane);
}

bool lanes_is_between_blocks(const struct lanes *lanes)
{
	return lanes->lanes[lanes->current].block == RING_NONE;
}

uint32_t lanes_unput_runs(const struct lanes *lanes)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < lanes->count; i++)
		count += lanes->lanes[i].last == RING_NONE &&
			 (lanes->lanes[i].fill > 0 || i == lanes->current);
	if (lanes->session->plan.has_second)
		count *= 2;
	return count + (lanes->parity && lanes->parity->last == RING_NONE);
}

void lanes_finish(struct lanes *lanes)
{
	for (uint32_t i = 0; i < lanes->count; i++) {
		end_packets(lanes->session, &lanes->lanes[i]);
		retire_lane(lanes, &lanes->lanes[i]);
	}
	if (!lanes->parity)
		return;
	if (lanes->parity->fill > 0)
		end_row(lanes);
	retire_lane(lanes, lanes->parity);
}
