/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * savefile.h - the packets in a capture's file, as libpcap reads it
 *
 *   savefile_create() -> savefile_begin() -> savefile_next() ... -> savefile_free()
 *
 * What libpcap reads: pcap of either order of bytes, with micro- or nanoseconds, and pcapng with one link type.
 * The file may be a pipe: then savefile_wait() before each savefile_next() says when a whole packet is there,
 * so that nobody is held in the middle of one for longer than he wants to be.
 *
 * Threads: one caller at a time. Memory: a buffer, and what libpcap takes for the longest packet.
 * Errors:  -errno, and the sentence in savefile_error().
 */
#ifndef VSIB_DRIVERS_SAVEFILE_H
#define VSIB_DRIVERS_SAVEFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/packet.h"

#define SAVEFILE_ERROR_LEN 400
#define SAVEFILE_MAGIC_BYTES 4

struct savefile;

/** savefile_is_one() - do these bytes begin a file that libpcap may read? @data: SAVEFILE_MAGIC_BYTES */
bool savefile_is_one(const void *data);

/**
 * savefile_create() - nothing is read yet
 * @fd:             stays the caller's
 * @is_interrupted: set by any thread: don't wait for a pipe any more; NULL = never
 *
 * savefile_free() it also after an error.
 * Return: 0; -ENOMEM.
 */
int savefile_create(struct savefile **out, int fd, const _Atomic bool *is_interrupted);

/** savefile_free() - NULL is fine */
void savefile_free(struct savefile *file);

/**
 * savefile_begin() - reads the file's header; of a pipe, waits for it
 * @filter: an expression as tcpdump knows them; NULL = all packets
 *
 * Return: 0; -EINTR; -EBADMSG: not a file that libpcap reads; -EINVAL: the filter; -ENOMEM; from read().
 */
int savefile_begin(struct savefile *file, const char *filter);

/**
 * savefile_wait() - until savefile_next() doesn't have to wait; not needed for a regular file
 * @deadline_ns: CLOCK_MONOTONIC
 *
 * Return: 1; 0 = not until the deadline, or interrupted; -errno.
 */
int savefile_wait(struct savefile *file, int64_t deadline_ns);

/**
 * savefile_next() - the next packet
 * @packet: its data are valid until the next call
 *
 * Return: 1; 0 = the end; -EINTR; -EBADMSG: the file is damaged, or cut in the middle of a packet
 * (savefile_is_cut()); from read(). Nothing comes after an error.
 */
int savefile_next(struct savefile *file, struct packet *packet);

/** savefile_passes() - does the packet that came last pass the filter? */
bool savefile_passes(const struct savefile *file);

/** savefile_is_cut() - the last error came because the file ends too early */
bool savefile_is_cut(const struct savefile *file);

/** savefile_bytes() - of the file: all of them when it has ended, or is cut */
uint64_t savefile_bytes(const struct savefile *file);

/** savefile_link_type() - DLT_...; savefile_link_name() - "EN10MB", or its number. After savefile_begin() */
int savefile_link_type(const struct savefile *file);
const char *savefile_link_name(const struct savefile *file);

/** savefile_error() - why it did not go on */
const char *savefile_error(const struct savefile *file);

#endif
