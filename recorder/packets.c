/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/packets.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

size_t packets_torn(const struct layout_plan *plan, size_t fill)
{
	return plan->packet_bytes ? fill % plan->packet_bytes : 0;
}

bool packets_is_label_full(const struct layout_plan *plan, const struct block_label *label)
{
	return label->extent_count + (plan->packet_bytes > 0) >= plan->extent_max;
}

static void discard(struct session *session, uint64_t stream_offset, uint64_t bytes)
{
	account_add(&session->account.discarded_bytes, bytes);
	session_gap(session, (struct gap){ .stream_offset = stream_offset,
					   .bytes = bytes,
					   .cause = GAP_DISCARDED });
}

/*
 * Forgets the beginning of a packet that does not go on. It lies in the last extent: what is not one
 * with it in the stream has torn it already.
 * Return: where in the stream it began.
 */
static uint64_t drop_torn(const struct session *session, uint32_t block, size_t *fill)
{
	struct block_label *label = ring_label(session->ring, block);
	struct extent *last = &label->extents[label->extent_count - 1];
	size_t torn = packets_torn(&session->plan, *fill);

	assert(label->extent_count > 0 && last->bytes >= torn);
	last->bytes -= (uint32_t)torn;
	last->sum = SUM_OURS; /* the one that we have is of these bytes as well */
	if (last->bytes == 0)
		label->extent_count--;
	*fill -= torn;
	return last->stream_offset + last->bytes;
}

size_t packets_mend(struct session *session, uint32_t block, size_t *fill, size_t bytes,
		    uint64_t stream_offset)
{
	uint64_t packet = session->plan.packet_bytes;
	char *data = session_block_data(session, block), *end = data + *fill + bytes;
	size_t torn = packets_torn(&session->plan, *fill);
	size_t late = (size_t)((packet - stream_offset % packet) % packet); /* until one begins */

	if (torn)
		discard(session, drop_torn(session, block, fill), torn);
	late = late < bytes ? late : bytes;
	if (late)
		discard(session, stream_offset, late);
	bytes -= late;
	memmove(data + *fill, end - bytes, bytes);
	return bytes;
}

/* Is this where the stream ended, and not just where a gap began? Only bytes behind a limit may follow. */
static bool is_stream_end(const struct session *session, uint64_t stream_offset)
{
	const struct account *account = &session->account;
	/* the gaps of this cause are the reader's alone */
	uint64_t behind = account_get(&account->discarded_bytes) - account->gap_bytes[GAP_DISCARDED];

	return stream_offset + behind == account_stream_bytes(account);
}

void packets_end(struct session *session, uint32_t block, size_t *fill)
{
	size_t torn = packets_torn(&session->plan, *fill);
	uint64_t stream_offset;

	if (torn == 0)
		return;
	stream_offset = drop_torn(session, block, fill);
	if (!is_stream_end(session, stream_offset + torn)) {
		discard(session, stream_offset, torn);
		return;
	}
	account_add(&session->account.discarded_bytes, torn);
	session_event(session, "packet-torn", -1,
		      "the stream ended within a packet: its last %zu bytes are discarded, since packets of %" PRIu64
		      " bytes are kept whole",
		      torn, session->plan.packet_bytes);
}

/* What stands in the headers must be true, and nothing but the data can tell. */
static void look_at_first(struct session *session, const char *data)
{
	const struct layout_plan *plan = &session->plan;

	if (!mark6_is_packet(data, plan->packet_format, plan->packet_bytes))
		session_event(session, "packet-odd", -1,
			      "the stream does not begin with a packet of format %s and %" PRIu64
			      " bytes, as the files say: --packet-format and --packet-size may be wrong, and who gathers by them goes wrong, too",
			      mark6_format_name(plan->packet_format), plan->packet_bytes);
}

void packets_put_headers(struct session *session, uint32_t block, size_t fill, uint32_t number)
{
	const struct layout_plan *plan = &session->plan;
	char *data = session_block_data(session, block), *header = data - MARK6_BLOCK_HEADER_BYTES;
	const struct mark6_block_header block_header = {
		.number = number,
		.bytes = MARK6_BLOCK_HEADER_BYTES + (uint32_t)fill,
	};
	const struct mark6_file_header file_header = {
		.version = MARK6_VERSION,
		.block_bytes = MARK6_BLOCK_HEADER_BYTES + (uint32_t)plan->data_bytes,
		.format = plan->packet_format,
		.packet_bytes = (uint32_t)plan->packet_bytes,
	};

	if (number == 0)
		look_at_first(session, data);
	mark6_put_block_header(header, &block_header);
	mark6_put_file_header(header - MARK6_FILE_HEADER_BYTES, &file_header);
}
