/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packet_feed.h - savefiles one behind the other: their packets, or the datagrams in them, with their time stamps
 *
 * Only one file is open at a time. What isn't taken (not UDP, another port, cut, incomplete) is counted by its fate
 * (drivers/packet.h). A file cut in the middle of a packet gives its whole packets; then the end is -EBADMSG, and
 * feed->error says where it was cut.
 */
#ifndef VSIB_TOOLS_REPLAY_PACKET_FEED_H
#define VSIB_TOOLS_REPLAY_PACKET_FEED_H

#include "drivers/packet.h"
#include "tools/replay/feed.h"

struct packet_feed_config {
	const char *const *files; /* savefiles that libpcap reads; "-" = stdin */
	size_t file_count;
	bool is_whole;      /* whole packets; false: UDP payloads */
	uint16_t port;      /* payloads to this port only; 0 = any */
	const char *filter; /* as tcpdump knows them; NULL = all */
	uint64_t start_offset,
		stop_offset; /* in bytes given; a packet belongs to where it begins; UINT64_MAX */
	int64_t start_utc_ns, stop_utc_ns; /* by time stamp: from the one on, before the other; 0 = all */
	int64_t start_ns, stop_ns;         /* the same, behind the first packet's; 0 = all */
	uint64_t loop_count; /* 1 = once; 0 = until it is stopped. Time stamps are the file's own each time */
};

/**
 * packet_feed_create() - opens the first file and reads its header
 * Return: 0; -EBADMSG not a savefile; -ENOENT ... ; -ENOMEM; the sentence in (*out)->error if *out is set.
 */
int packet_feed_create(struct feed **out, const struct feed_config *config,
		       const struct packet_feed_config *packets);

/** packet_feed_link_type() - DLT_... of the first file, which all must have */
int packet_feed_link_type(const struct feed *feed);

/** packet_feed_counts() - of all files, when the feed has ended (feed->is_ended); zeros before */
void packet_feed_counts(const struct feed *feed, struct packet_counts *counts);

#endif
