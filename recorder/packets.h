/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packets.h - blocks that hold whole packets, with headers in front of them (layout mark6)
 *
 *   packets_mend() when a stretch of the stream begins in a block; packets_end() when the stream is over;
 *   packets_put_headers() when the block is complete
 *
 * Packets are counted from the stream's first byte. What a gap leaves of one is in no block: it is counted
 * as discarded, with a gap of that cause. What the stream's end leaves of one is discarded as well, but
 * told, and no gap: nothing is missing in front of it.
 *
 * Threads: the reader only.
 */
#ifndef VSIB_RECORDER_PACKETS_H
#define VSIB_RECORDER_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/state.h"

/** packets_torn() - bytes of the packet that has begun and is not whole yet; 0 where any bytes will do */
size_t packets_torn(const struct layout_plan *plan, size_t fill);

/** packets_is_label_full() - the block can't go on behind another gap; an extent to end a packet that has begun is kept */
bool packets_is_label_full(const struct layout_plan *plan, const struct block_label *label);

/**
 * packets_mend() - leaves out what belongs to no whole packet, behind a gap or at a block's beginning
 * @fill:  bytes in the block before those, on whole packets when it returns
 * @bytes: put behind @fill; those that stay move up to where it is then
 * @stream_offset: of the first of them
 *
 * Where the last extent loses its end, its checksum is its writer's to make.
 * Return: how many bytes stay, the last of them.
 */
size_t packets_mend(struct session *session, uint32_t block, size_t *fill, size_t bytes,
		    uint64_t stream_offset);

/** packets_end() - nothing more comes: the block ends with its last whole packet. @fill as packets_mend() */
void packets_end(struct session *session, uint32_t block, size_t *fill);

/**
 * packets_put_headers() - the block's header, and in front of it that of a file, should it be the first there
 * @number: of the block in the recording; the first one is looked at: is it what the headers say?
 *
 * Done by the reader and not by who writes it: a disk that is stuck may still read what another one writes by now.
 */
void packets_put_headers(struct session *session, uint32_t block, size_t fill, uint32_t number);

#endif
