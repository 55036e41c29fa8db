/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_packets.h - a recording of whole packets (layout pcap), read as the savefile that it is
 *
 *   check_packets_open() -> source_read() on the source, as of a savefile -> check_packets_close()
 *
 * A thread puts the recording's bytes into a pipe, at whose other end the source pcapfile: reads. What is missing or
 * can't be read is left out: each block begins with a section of its own.
 *
 * Threads: one caller; the recording belongs to the thread until check_packets_close().
 */
#ifndef VSIB_TOOLS_CHECK_PACKETS_H
#define VSIB_TOOLS_CHECK_PACKETS_H

#include <stdbool.h>

#include "drivers/source.h"
#include "tools/recording.h"

struct check_packets;

/** check_packets_is_one() - by its journal */
bool check_packets_is_one(const struct recording *recording);

/**
 * check_packets_open() - @source: started; NULL when there is no memory for it; gone with check_packets_close()
 * Return: 0; -errno, and the sentence in (*source)->error.
 */
int check_packets_open(struct check_packets **out, struct recording *recording, struct source **source);

/** check_packets_close() - NULL is fine */
void check_packets_close(struct check_packets *packets);

#endif
