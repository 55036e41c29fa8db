/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lanes.h - cuts the stream into blocks, runs and files and deals them to the disks
 *
 *   lanes_create() -> { lanes_room() -> fill -> lanes_filled() } ... -> lanes_finish() ->
 *   lanes_free()
 *
 * Shape:   A lane is a sequence of files being written one after the other. Policy any has one
 *          lane, whose disk is chosen anew at each file; policy round has one a disk, and the
 *          stream goes from lane to lane unit by unit, each lane filling its own block. A block
 *          never spans two files, so that file offsets stay aligned.
 * Packets: Where blocks hold whole packets a block ends with one, whatever is lost: see packets.h.
 * Parity:  One lane more, behind those of policy round: while they are filled its block becomes the XOR of
 *          the row, the unit that each of them gets in turn.
 * Threads: the reader only.
 */
#ifndef VSIB_RECORDER_LANES_H
#define VSIB_RECORDER_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/state.h"

struct lanes;

/** lanes_create() - Return: 0; -ENOMEM */
int lanes_create(struct lanes **out, struct session *session);

void lanes_free(struct lanes *lanes);

/**
 * lanes_room() - where the next bytes of the stream go
 * @data: set to the place
 *
 * Takes a block from the ring when the lane has none.
 * Return: bytes that may be put there (> 0), or 0 when the ring is full.
 */
size_t lanes_room(struct lanes *lanes, void **data);

/**
 * lanes_filled() - @bytes were put where lanes_room() said
 * @stream_offset: of the first of them; jumps over what was lost
 * @utc_ns: time of the first of them
 */
void lanes_filled(struct lanes *lanes, size_t bytes, uint64_t stream_offset, int64_t utc_ns);

/** lanes_has_block() - is one free? Instead of lanes_room() where blocks are put by lanes_put(). */
bool lanes_has_block(struct lanes *lanes);

/**
 * lanes_put() - a block of the ring that was filled already goes on, as it is
 * @block: taken from the ring; begins with the first of the @bytes
 *
 * Instead of lanes_room() and lanes_filled(); one lane. A file ends where a whole block has no room in it.
 */
void lanes_put(struct lanes *lanes, uint32_t block, size_t bytes, uint64_t stream_offset,
	       int64_t utc_ns);

/** lanes_unput_runs() - runs of which no block is put yet: begun, or begun by the next byte */
uint32_t lanes_unput_runs(const struct lanes *lanes);

/** lanes_is_between_blocks() - the next bytes begin a block */
bool lanes_is_between_blocks(const struct lanes *lanes);

/**
 * lanes_finish() - the stream is over: hands on blocks that are filled in part and ends every run
 */
void lanes_finish(struct lanes *lanes);

#endif
