/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * player_cut.c - see player_parts.h
 *
 * A unit lies in its block until it is out; the block goes round with the last unit of the row that lies in it. A frame
 * that lies in several blocks is put together in carry, of which there is one: the next such frame waits for it.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/replay/player_parts.h"

/* ---- the row ---- */

static unsigned char *first_byte(const struct destination_unit *unit)
{
	return unit->parts[0].iov_base;
}

static void append(struct player *player, const struct destination_unit *unit,
		   const struct player_piece *piece)
{
	struct player_state *s = player->state;

	assert(s->count < PLAYER_ROW);
	s->units[s->count] = *unit;
	s->pieces[s->count] = *piece;
	s->count++;
}

void player_drop_row(struct player *player, unsigned count)
{
	struct player_state *s = player->state;

	for (unsigned i = 0; i < count; i++) {
		struct player_piece *piece = &s->pieces[i];

		if (piece->block != RING_NONE)
			ring_give_back(player->config.ring, piece->block);
		if (piece->is_carried && !(i + 1 < s->count && s->pieces[i + 1].is_double))
			s->is_carry_in_row = false;
		free(piece->copy);
	}
	s->count -= count;
	s->row_begin += count;
	s->first_sent = 0;
	memmove(s->units, s->units + count, s->count * sizeof(s->units[0]));
	memmove(s->pieces, s->pieces + count, s->count * sizeof(s->pieces[0]));
}

/* ---- disturbed ---- */

/* Return: false: no memory; then it goes out in its turn. */
static bool hold(struct player *player, const struct destination_unit *unit,
		 const struct player_piece *piece, unsigned behind)
{
	struct player_state *s = player->state;
	void *copy = s->held_count < DISTURBANCE_DISTANCE_MAX ? malloc(unit->bytes) : NULL;

	if (!copy)
		return false;
	memcpy(copy, first_byte(unit), unit->bytes);
	s->held[s->held_count] = *unit;
	s->held[s->held_count].parts[0].iov_base = copy;
	s->held_pieces[s->held_count] = *piece;
	s->held_pieces[s->held_count].copy = copy;
	s->held_pieces[s->held_count].is_carried = false;
	s->held_pieces[s->held_count].release = s->number + behind;
	s->held_count++;
	return true;
}

/* Those that were to come behind the unit of this number. */
static void let_go(struct player *player, uint64_t number, int64_t due_ns)
{
	struct player_state *s = player->state;
	unsigned kept = 0;

	for (unsigned i = 0; i < s->held_count; i++) {
		if (s->held_pieces[i].release <= number) {
			s->held_pieces[i].due_ns = due_ns;
			append(player, &s->held[i], &s->held_pieces[i]);
			continue;
		}
		s->held[kept] = s->held[i];
		s->held_pieces[kept++] = s->held_pieces[i];
	}
	s->held_count = kept;
}

/* ---- a unit ---- */

static void take_into_row(struct player *player, const struct destination_unit *unit,
			  struct player_piece *piece, bool is_in_block)
{
	struct player_state *s = player->state;
	struct disturbance_fate fate = { .copies = 1, .due_ns = piece->due_ns };

	if (player->config.disturbance)
		disturbance_next(player->config.disturbance, s->number, piece->due_ns, unit->bytes,
				 &fate);
	piece->due_ns = fate.due_ns;
	if (fate.copies == 0)
		s->lost_bytes += unit->bytes;
	if (fate.copies > 0 && fate.behind > 0 && hold(player, unit, piece, fate.behind))
		fate.copies = 0;
	for (unsigned i = 0; i < fate.copies; i++) {
		piece->is_double = i > 0;
		append(player, unit, piece);
		s->is_carry_in_row |= piece->is_carried;
		s->is_in_row |= is_in_block;
		if (is_in_block)
			s->row_place = s->row_begin + s->count - 1;
	}
	let_go(player, s->number, fate.due_ns);
	s->number++;
}

/* @bytes of the stream from @data on, which stay there until they are out. */
static int take_unit(struct player *player, unsigned char *data, size_t bytes,
		     uint64_t stream_offset, const struct block_packet *packet, bool is_in_block)
{
	const struct player_config *config = &player->config;
	struct player_state *s = player->state;
	const enum psn_kind psn = config->destination->psn;
	const struct schedule_unit what = { stream_offset, data, bytes, packet ? packet->utc_ns : 0 };
	struct destination_unit unit = {
		.prefix_bytes = psn_prefix_bytes(psn),
		.parts = { { data, bytes } },
		.part_count = 1,
		.bytes = bytes,
		.wire_bytes = packet ? packet->wire_bytes : bytes,
		.utc_ns = packet ? packet->utc_ns : 0,
	};
	struct player_piece piece = {
		.stream_offset = stream_offset,
		.due_ns = schedule_due(config->schedule, &what),
		.block = RING_NONE,
		.is_carried = !is_in_block,
	};

	if (config->duration_ns && piece.due_ns > config->duration_ns) {
		destination_count(&player->stats.unsent_bytes, bytes);
		s->is_at_end = true;
		return PLAYER_CUT_END;
	}
	if (unit.prefix_bytes)
		psn_put(psn, s->number, unit.prefix);
	take_into_row(player, &unit, &piece, is_in_block);
	return PLAYER_CUT;
}

/* ---- blocks ---- */

static uint32_t claim(struct player *player)
{
	struct player_state *s = player->state;

	if (s->waiting_at < s->waiting_count)
		return s->waiting[s->waiting_at++];
	return ring_claim(player->config.ring, 0);
}

static void finish_block(struct player *player)
{
	struct player_state *s = player->state;

	if (s->is_in_row && s->row_place >= s->row_begin)
		s->pieces[s->row_place - s->row_begin].block = s->block;
	else
		ring_give_back(player->config.ring, s->block);
	s->block = RING_NONE;
}

static void give_up_carry(struct player *player)
{
	struct player_state *s = player->state;

	destination_count(&player->stats.rest_bytes, s->carry_bytes);
	s->carry_bytes = 0;
}

/*
 * The stream goes on somewhere else than behind what was before: so does what is cut, with the first frame that is whole.
 * Frames that are not there count, unless the gap is closed up.
 */
static void go_on_at(struct player *player, uint64_t stream_offset)
{
	struct player_state *s = player->state;
	size_t frame = player->config.frame_bytes;
	uint64_t in_frame = (stream_offset - s->phase) % frame;
	uint64_t next = in_frame ? stream_offset + (frame - in_frame) : stream_offset;

	give_up_carry(player);
	assert(next >= s->frame_offset);
	if (player->config.gaps == PLAYER_GAPS_SKIP)
		schedule_close_gap(player->config.schedule, next - s->frame_offset);
	else
		s->number += (next - s->frame_offset) / frame;
	s->frame_offset = next;
}

static void begin_anew(struct player *player)
{
	struct player_state *s = player->state;

	give_up_carry(player);
	s->has_phase = false;
	schedule_loop(player->config.schedule, s->label.stream_offset);
}

static bool cuts_frames(const struct player *player)
{
	return player->config.destination->takes != DESTINATION_BYTES &&
	       player->state->label.kind == BLOCK_BYTES;
}

static uint64_t left_in_block(const struct player_state *s)
{
	if (s->block == RING_NONE)
		return 0;
	if (s->label.kind == BLOCK_PACKETS)
		return block_packets_bytes(s->data + s->at, s->end - s->at);
	return s->label.kind == BLOCK_BYTES ? s->end - s->at : 0;
}

/* What the block that was claimed is. */
static void show_block(struct player *player)
{
	struct player_state *s = player->state;
	struct ring *ring = player->config.ring;

	memcpy(&s->label, ring_label(ring, s->block), sizeof(s->label));
	s->data = ring_data(ring, s->block);
	s->at = s->label.lead_bytes;
	s->end = ring_bytes(ring, s->block);
	s->offset = s->label.stream_offset;
	s->given_bytes += left_in_block(s);
}

static void begin_block(struct player *player)
{
	struct player_state *s = player->state;

	show_block(player);
	s->is_in_row = false;
	if (s->label.kind == BLOCK_END)
		return;
	if (s->label.is_anew)
		begin_anew(player);
	if (!s->has_phase) {
		s->has_phase = true;
		s->phase = s->frame_offset = s->offset;
	}
	if (cuts_frames(player) && player->config.frame_bytes &&
	    s->offset != s->frame_offset + s->carry_bytes)
		go_on_at(player, s->offset);
}

/* Frames go on behind it by themselves; a stream that is not cut into frames has nothing else that could tell. */
static void pass_gap(struct player *player)
{
	struct player_state *s = player->state;
	struct player_stats *stats = &player->stats;

	destination_count(&stats->gap_bytes, s->label.gap_bytes);
	destination_count(&stats->gap_count, 1);
	if (player->config.gaps == PLAYER_GAPS_SKIP &&
	    player->config.destination->takes == DESTINATION_BYTES)
		schedule_close_gap(player->config.schedule, s->label.gap_bytes);
	/* relaxed: a figure to look at */
	atomic_store_explicit(&stats->stream_offset, s->offset + s->label.gap_bytes,
			      memory_order_relaxed);
}

/* ---- cutting ---- */

static void step(struct player_state *s, size_t bytes)
{
	s->at += bytes;
	s->offset += bytes;
}

static int cut_lump(struct player *player)
{
	struct player_state *s = player->state;
	size_t bytes = s->end - s->at, at = s->at;
	uint64_t offset = s->offset;

	if (s->is_paced && player->config.lump_bytes && bytes > player->config.lump_bytes)
		bytes = player->config.lump_bytes;
	step(s, bytes);
	return take_unit(player, s->data + at, bytes, offset, NULL, true);
}

/* Part of a frame that begins or goes on in carry. */
static int carry_over(struct player *player)
{
	struct player_state *s = player->state;
	size_t frame = player->config.frame_bytes, bytes = frame - s->carry_bytes;

	if (s->is_carry_in_row)
		return PLAYER_CUT_FULL;
	if (bytes > s->end - s->at)
		bytes = s->end - s->at;
	memcpy(s->carry + s->carry_bytes, s->data + s->at, bytes);
	s->carry_bytes += bytes;
	step(s, bytes);
	if (s->carry_bytes < frame)
		return PLAYER_CUT;
	s->carry_bytes = 0;
	s->frame_offset += frame;
	return take_unit(player, s->carry, frame, s->frame_offset - frame, NULL, false);
}

static int cut_frame(struct player *player)
{
	struct player_state *s = player->state;
	size_t frame = player->config.frame_bytes, at = s->at;

	if (frame == 0)
		return player_fail(player, -EINVAL,
				   "%s takes datagrams, and nobody said how long they are to be",
				   player->config.destination->name);
	if (s->offset < s->frame_offset && s->carry_bytes == 0) { /* behind a gap that tore a frame */
		uint64_t torn = s->frame_offset - s->offset;
		size_t bytes = torn < s->end - at ? (size_t)torn : s->end - at;

		destination_count(&player->stats.rest_bytes, bytes);
		step(s, bytes);
		return PLAYER_CUT;
	}
	if (s->carry_bytes > 0 || s->end - at < frame)
		return carry_over(player);
	step(s, frame);
	s->frame_offset += frame;
	return take_unit(player, s->data + at, frame, s->frame_offset - frame, NULL, true);
}

static int cut_packet(struct player *player)
{
	struct player_state *s = player->state;
	unsigned char *data = s->data + s->at + sizeof(struct block_packet);
	uint64_t offset = s->offset;
	struct block_packet packet;

	memcpy(&packet, s->data + s->at, sizeof(packet));
	s->at += block_packet_size(packet.bytes);
	s->offset += packet.bytes;
	if (packet.bytes == 0)
		return PLAYER_CUT;
	return take_unit(player, data, packet.bytes, offset, &packet, true);
}

/* Those held for units that never came, and the begin of a frame that was never whole. */
static int end_stream(struct player *player)
{
	struct player_state *s = player->state;

	player->feed_result = s->label.result;
	give_up_carry(player);
	let_go(player, UINT64_MAX, s->is_paced ? player->config.schedule->last_due_ns : SCHEDULE_NOW);
	finish_block(player);
	s->is_at_end = true;
	return PLAYER_CUT_END;
}

static int cut_block(struct player *player)
{
	struct player_state *s = player->state;

	switch (s->label.kind) {
	case BLOCK_END:
		return end_stream(player);
	case BLOCK_GAP:
		pass_gap(player);
		s->at = s->end;
		return PLAYER_CUT;
	case BLOCK_PACKETS:
		return cut_packet(player);
	case BLOCK_BYTES:
		break;
	}
	return cuts_frames(player) ? cut_frame(player) : cut_lump(player);
}

int player_cut(struct player *player)
{
	struct player_state *s = player->state;
	int ret;

	if (s->is_at_end)
		return PLAYER_CUT_END;
	if (s->block == RING_NONE) {
		s->block = claim(player);
		if (s->block == RING_NONE)
			return PLAYER_CUT_EMPTY;
		begin_block(player);
	}
	ret = cut_block(player);
	if (s->block != RING_NONE && s->at == s->end && !s->is_at_end)
		finish_block(player);
	return ret;
}

/* ---- what is left ---- */

void player_count_unsent(struct player *player)
{
	struct player_state *s = player->state;
	uint64_t unsent = s->carry_bytes;

	for (unsigned i = 0; i < s->count; i++)
		unsent += s->pieces[i].is_double ? 0 : s->units[i].bytes;
	unsent -= s->first_sent;
	for (unsigned i = 0; i < s->held_count; i++)
		unsent += s->held[i].bytes;
	unsent += left_in_block(s);
	destination_count(&player->stats.unsent_bytes, unsent);
	player_drain(player);
}

void player_drain(struct player *player)
{
	struct player_state *s = player->state;
	uint64_t unsent = 0;

	while ((s->block = claim(player)) != RING_NONE) {
		show_block(player);
		unsent += left_in_block(s);
	}
	destination_count(&player->stats.unsent_bytes, unsent);
}
