/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/player_parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE 0

int player_cut_create(struct player_state *state)
{
	const struct player_config *config = &state->player->config;

	state->blocks = calloc(ring_block_count(config->ring), sizeof(state->blocks[0]));
	state->held = calloc(DISTURBANCE_DISTANCE_MAX + 1, sizeof(state->held[0]));
	return state->blocks && state->held ? 0 : -ENOMEM;
}

void player_cut_free(struct player_state *state)
{
	while (state->unit_count > 0)
		player_unit_done(state);
	for (unsigned i = 0; i < state->held_count; i++)
		free(state->held[i].unit.copy);
	free(state->blocks);
	free(state->carry);
	free(state->held);
}

/* ---- blocks -------------------------------------------------------------------------------------- */

static uint32_t first_block(const struct player_state *state)
{
	return state->blocks[state->block_first];
}

static const struct play_label *first_label(const struct player_state *state)
{
	return ring_label(state->player->config.ring, first_block(state));
}

/* It is consumed. The caller gives it back, or a unit will. */
static uint32_t drop_block(struct player_state *state)
{
	uint32_t block = first_block(state);

	state->block_first = (state->block_first + 1) % ring_block_count(state->player->config.ring);
	state->block_count--;
	state->block_at = 0;
	state->is_begun = false;
	return block;
}

bool player_claim(struct player_state *state)
{
	struct ring *ring = state->player->config.ring;
	uint32_t places = ring_block_count(ring), block;

	while ((block = ring_first(ring_claim(ring, QUEUE))) != RING_NONE) {
		const struct play_label *label = ring_label(ring, block);

		state->blocks[(state->block_first + state->block_count++) % places] = block;
		if (label->kind == BLOCK_END)
			state->has_end = true;
	}
	return state->block_count > 0;
}

/* ---- units --------------------------------------------------------------------------------------- */

static bool takes_bytes(const struct player_state *state)
{
	return state->player->config.destination->takes == DESTINATION_BYTES;
}

static int64_t find_due(struct player_state *state, const struct cut_unit *cut)
{
	const struct schedule_unit unit = {
		.stream_offset = cut->stream_offset,
		.data = cut->unit.parts[0].iov_base,
		.bytes = cut->unit.parts[0].iov_len,
		.utc_ns = cut->unit.utc_ns,
	};

	return schedule_due(state->player->config.schedule, &unit);
}

static struct cut_unit *append(struct player_state *state, const struct cut_unit *cut)
{
	struct cut_unit *to = &state->units[state->unit_first + state->unit_count];

	assert(state->unit_first + state->unit_count < CUT_MAX);
	*to = *cut;
	/* what comes behind something late is not before it */
	if (state->unit_count > 0 && to->due_ns < to[-1].due_ns)
		to->due_ns = to[-1].due_ns;
	state->unit_count++;
	return to;
}

/* A copy in memory of its own, so that the block can go back. Return: false: no memory. */
static bool copy_unit(struct cut_unit *cut)
{
	char *copy = malloc(cut->unit.bytes), *to = copy;

	if (!copy)
		return false;
	for (unsigned i = 0; i < cut->unit.part_count; i++)
		to = mempcpy(to, cut->unit.parts[i].iov_base, cut->unit.parts[i].iov_len);
	free(cut->copy);
	cut->copy = copy;
	cut->done_block = RING_NONE;
	cut->unit.parts[0] = (struct iovec){ copy, cut->unit.bytes };
	cut->unit.part_count = 1;
	return true;
}

static void give_back(struct player_state *state, uint32_t block)
{
	if (block != RING_NONE)
		ring_give_back(state->player->config.ring, block);
}

/* The block of a unit that isn't sent now goes with the last one that lies in it. */
static void pass_block(struct player_state *state, uint32_t block)
{
	const struct ring *ring = state->player->config.ring;
	const char *begin, *end;

	if (block == RING_NONE)
		return;
	begin = ring_data(ring, block);
	end = begin + ring_block_bytes(ring);
	for (unsigned i = state->unit_first + state->unit_count; i > state->unit_first; i--) {
		struct cut_unit *cut = &state->units[i - 1];
		const char *data = cut->unit.parts[0].iov_base;

		if (data >= begin && data < end) {
			cut->done_block = block;
			return;
		}
	}
	give_back(state, block);
}

/* One more unit has passed them, whatever became of it: so none waits for more than the distance. */
static void release_held(struct player_state *state, bool is_all, int64_t due_ns)
{
	for (unsigned i = 0; i < state->held_count;) {
		struct cut_held *held = &state->held[i];

		if (!is_all && --held->behind > 0) {
			i++;
			continue;
		}
		if (held->unit.due_ns < due_ns) /* it is not late: it comes behind that one */
			held->unit.due_ns = due_ns;
		append(state, &held->unit);
		memmove(held, held + 1, (--state->held_count - i) * sizeof(*held));
	}
}

/* Return: false: no memory for it. */
static bool hold(struct player_state *state, struct cut_unit *cut, unsigned behind)
{
	uint32_t block = cut->done_block;

	if (!copy_unit(cut))
		return false;
	pass_block(state, block);
	state->held[state->held_count++] = (struct cut_held){ .unit = *cut, .behind = behind };
	return true;
}

static void append_copies(struct player_state *state, struct cut_unit *cut, unsigned copies)
{
	struct cut_unit once = *cut;

	once.done_block = RING_NONE;
	once.copy = NULL; /* the last one's, which goes out behind it */
	while (copies-- > 1)
		append(state, &once);
	append(state, cut);
}

/* Lost, doubled or held back, as the disturbance says. */
static void disturb(struct player_state *state, struct cut_unit *cut)
{
	struct disturbance_fate fate;

	disturbance_next(state->player->config.disturbance, state->unit_number++, cut->due_ns,
			 cut->unit.bytes, &fate);
	cut->due_ns = fate.due_ns;
	if (fate.copies == 0) {
		free(cut->copy);
		pass_block(state, cut->done_block);
	} else if (fate.behind == 0) {
		append_copies(state, cut, fate.copies);
	}
	release_held(state, false, fate.due_ns);
	if (fate.behind > 0 && !hold(state, cut, fate.behind))
		append(state, cut);
}

/* Return: false: the duration is over. */
static bool add(struct player_state *state, struct cut_unit *cut)
{
	const struct player_config *config = &state->player->config;

	cut->due_ns = find_due(state, cut);
	if (config->duration_ns && cut->due_ns != SCHEDULE_NOW && cut->due_ns > config->duration_ns) {
		state->is_over = true;
		return false;
	}
	if (!takes_bytes(state)) {
		enum psn_kind psn = config->destination->psn;

		cut->unit.prefix_bytes = psn_prefix_bytes(psn);
		if (cut->unit.prefix_bytes)
			psn_put(psn, state->number, cut->unit.prefix);
	}
	state->number++;
	if (config->disturbance)
		disturb(state, cut);
	else
		append(state, cut);
	return true;
}

static void fill_unit(struct cut_unit *cut, uint64_t stream_offset, const void *data, size_t bytes)
{
	*cut = (struct cut_unit){
		.unit = { .parts = { { (void *)(uintptr_t)data, bytes } },
			  .part_count = 1,
			  .bytes = bytes,
			  .wire_bytes = bytes },
		.stream_offset = stream_offset,
		.stream_end = stream_offset + bytes,
		.done_block = RING_NONE,
	};
}

/* ---- a stream ------------------------------------------------------------------------------------ */

/* What was carried of a frame whose rest doesn't come. */
static void drop_carry(struct player_state *state)
{
	player_count(&state->player->stats.rest_bytes, state->carry_used);
	state->carry_used = 0;
}

/* Bytes up to where the next frame begins, as they lie from the begin of the stream on. */
static size_t to_next_frame(const struct player_state *state, uint64_t offset)
{
	size_t frame = state->player->config.frame_bytes;
	uint64_t in = (offset - state->first_offset) % frame;

	return in == 0 ? 0 : frame - (size_t)in;
}

/* Numbers count frames that are missing, too, unless gaps are closed up. */
static void set_number(struct player_state *state, uint64_t offset)
{
	const struct player_config *config = &state->player->config;

	if (config->gaps == PLAYER_GAPS_TIME)
		state->number = (offset - state->first_offset) / config->frame_bytes;
}

/*
 * A frame that begins in one block and ends in another is put together in memory of its own, which goes with its unit.
 * Return: bytes taken of those that are there; -ENOMEM.
 */
static ssize_t carry(struct player_state *state, const char *data, size_t there)
{
	size_t frame = state->player->config.frame_bytes, want = frame - state->carry_used;
	size_t taken = want < there ? want : there;
	struct cut_unit cut;

	if (!state->carry)
		state->carry = malloc(frame);
	if (!state->carry)
		return -ENOMEM;
	memcpy(state->carry + state->carry_used, data, taken);
	state->carry_used += taken;
	state->next_offset += taken;
	if (state->carry_used < frame)
		return (ssize_t)taken;
	fill_unit(&cut, state->next_offset - frame, state->carry, frame);
	cut.copy = state->carry;
	set_number(state, cut.stream_offset);
	if (add(state, &cut)) { /* else it is unsent, and counted as carried */
		state->carry = NULL;
		state->carry_used = 0;
	}
	return (ssize_t)taken;
}

static void skip_rest(struct player_state *state, size_t bytes)
{
	player_count(&state->player->stats.rest_bytes, bytes);
	state->next_offset += bytes;
	state->block_at += bytes;
}

/* The next frame of the first block, or what there is of it. Return: false: nothing more can be cut now. */
static bool cut_frame(struct player_state *state, const char *data, size_t there)
{
	size_t frame = state->player->config.frame_bytes, skip;
	bool is_last = there == frame;
	struct cut_unit cut;

	skip = state->carry_used > 0 ? 0 : to_next_frame(state, state->next_offset);
	if (skip > 0 && skip < there) {
		skip_rest(state, skip);
		return true;
	}
	if (skip > 0) {
		skip_rest(state, there);
		pass_block(state, drop_block(state));
		return true;
	}
	if (state->carry_used > 0 || there < frame) {
		ssize_t taken = carry(state, data, there);

		if (taken < 0)
			return false; /* when units have gone out there may be memory again */
		state->block_at += (size_t)taken;
		if ((size_t)taken == there) /* units that wait may still lie in it */
			pass_block(state, drop_block(state));
		return !state->is_over;
	}
	fill_unit(&cut, state->next_offset, data, frame);
	set_number(state, cut.stream_offset);
	if (is_last)
		cut.done_block = first_block(state);
	if (!add(state, &cut))
		return false;
	state->next_offset += frame;
	state->block_at += frame;
	if (is_last)
		drop_block(state);
	return true;
}

static bool cut_lump(struct player_state *state, const char *data, size_t there)
{
	size_t lump = state->player->config.lump_bytes, bytes = there < lump ? there : lump;
	bool is_last = bytes == there;
	struct cut_unit cut;

	fill_unit(&cut, state->next_offset, data, bytes);
	if (is_last)
		cut.done_block = first_block(state);
	if (!add(state, &cut))
		return false;
	state->next_offset += bytes;
	state->block_at += bytes;
	if (is_last)
		drop_block(state);
	return true;
}

static bool cut_bytes(struct player_state *state, const struct play_label *label)
{
	const struct ring *ring = state->player->config.ring;
	const char *data = (const char *)ring_data(ring, first_block(state)) + label->lead_bytes;
	size_t bytes = ring_bytes(ring, first_block(state)) - label->lead_bytes;

	if (state->block_at == 0)
		state->next_offset = label->stream_offset;
	if (takes_bytes(state))
		return cut_lump(state, data + state->block_at, bytes - state->block_at);
	return cut_frame(state, data + state->block_at, bytes - state->block_at);
}

/* ---- packets ------------------------------------------------------------------------------------- */

static bool cut_packet(struct player_state *state, const struct play_label *label)
{
	const struct ring *ring = state->player->config.ring;
	const char *data = (const char *)ring_data(ring, first_block(state)) + label->lead_bytes;
	size_t bytes = ring_bytes(ring, first_block(state)) - label->lead_bytes;
	struct block_packet packet;
	struct cut_unit cut;
	bool is_last;

	if (state->block_at == 0)
		state->next_offset = label->stream_offset;
	memcpy(&packet, data + state->block_at, sizeof(packet));
	is_last = state->block_at + block_packet_size(packet.bytes) >= bytes;
	fill_unit(&cut, state->next_offset, data + state->block_at + sizeof(packet), packet.bytes);
	cut.unit.wire_bytes = packet.wire_bytes;
	cut.unit.utc_ns = packet.utc_ns;
	if (is_last)
		cut.done_block = first_block(state);
	if (!add(state, &cut))
		return false;
	state->next_offset += packet.bytes;
	state->block_at += block_packet_size(packet.bytes);
	if (is_last)
		drop_block(state);
	return true;
}

/* ---- gaps, and all of it ------------------------------------------------------------------------- */

static void pass_gap(struct player_state *state, const struct play_label *label)
{
	struct player *player = state->player;

	drop_carry(state);
	player_count(&player->stats.gap_bytes, label->gap_bytes);
	player_count(&player->stats.gap_count, 1);
	state->next_offset = label->stream_offset + label->gap_bytes;
	if (player->config.gaps == PLAYER_GAPS_SKIP)
		schedule_close_gap(player->config.schedule, label->gap_bytes);
	give_back(state, drop_block(state));
}

static void begin_block(struct player_state *state, const struct play_label *label)
{
	state->is_begun = true;
	if (!state->has_first) {
		state->first_offset = label->stream_offset;
		state->next_offset = label->stream_offset;
		state->has_first = true;
	}
	if (label->is_anew)
		schedule_loop(state->player->config.schedule, label->stream_offset);
}

/* Return: false: nothing more can be cut now. */
static bool cut_one(struct player_state *state)
{
	const struct play_label *label;

	if (state->block_count == 0 || state->is_over)
		return false;
	label = first_label(state);
	if (!state->is_begun)
		begin_block(state, label);
	switch (label->kind) {
	case BLOCK_BYTES:
		return cut_bytes(state, label);
	case BLOCK_PACKETS:
		return cut_packet(state, label);
	case BLOCK_GAP:
		pass_gap(state, label);
		return true;
	default: /* what is carried belongs to no whole frame */
		drop_carry(state);
		release_held(state, true, SCHEDULE_NOW);
		state->player->feed_result = label->result;
		give_back(state, drop_block(state));
		state->is_over = true;
		return false;
	}
}

unsigned player_cut(struct player_state *state)
{
	if (state->unit_count > DESTINATION_BATCH / 2)
		return state->unit_count;
	memmove(state->units, state->units + state->unit_first,
		state->unit_count * sizeof(state->units[0]));
	state->unit_first = 0;
	while (state->unit_count < DESTINATION_BATCH && cut_one(state))
		;
	return state->unit_count;
}

bool player_cut_is_done(const struct player_state *state)
{
	return state->is_over && state->unit_count == 0;
}

void player_unit_done(struct player_state *state)
{
	struct cut_unit *unit = &state->units[state->unit_first];

	give_back(state, unit->done_block);
	free(unit->copy);
	state->unit_first++;
	state->unit_count--;
}

/* Bytes of a block behind @at. */
static uint64_t bytes_left(const struct ring *ring, uint32_t block, size_t at)
{
	const struct play_label *label = ring_label(ring, block);
	size_t bytes = ring_bytes(ring, block) - label->lead_bytes;
	const char *data = (const char *)ring_data(ring, block) + label->lead_bytes;
	uint64_t sum = 0;

	if (label->kind == BLOCK_BYTES)
		return bytes - at;
	while (label->kind == BLOCK_PACKETS && at < bytes) {
		struct block_packet packet;

		memcpy(&packet, data + at, sizeof(packet));
		sum += packet.bytes;
		at += block_packet_size(packet.bytes);
	}
	return sum;
}

void player_leave(struct player_state *state)
{
	_Atomic uint64_t *unsent = &state->player->stats.unsent_bytes;
	const struct ring *ring = state->player->config.ring;

	for (; state->unit_count > 0; player_unit_done(state))
		player_count(unsent, state->units[state->unit_first].unit.bytes);
	player_count(unsent, state->carry_used);
	state->carry_used = 0;
	for (; state->held_count > 0; state->held_count--) {
		struct cut_unit *unit = &state->held[state->held_count - 1].unit;

		player_count(unsent, unit->unit.bytes);
		free(unit->copy);
	}
	while (state->block_count > 0) {
		player_count(unsent, bytes_left(ring, first_block(state), state->block_at));
		give_back(state, drop_block(state));
	}
}
