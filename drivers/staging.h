/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * staging.h - payloads that wait for their turn: memory for a number of them, and a queue of those whose turn has come
 *
 *   staging_create() -> staging_keep() -> staging_push() or staging_drop() -> staging_get()
 *
 * All payloads are of one length, and are handed out as bytes: what a caller has no room for comes next time.
 * Memory is taken once, and touched only when it is used.
 *
 * Threads: one at a time.
 */
#ifndef VSIB_DRIVERS_STAGING_H
#define VSIB_DRIVERS_STAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct staging;

/** staging_create() - @count: of payloads; @bytes_max: of each. Return: 0 or -ENOMEM. */
int staging_create(struct staging **out, uint32_t count, size_t bytes_max);

/** staging_free() - NULL is fine */
void staging_free(struct staging *staging);

/** staging_keep() - copies @bytes of a payload. Return: its place; there must be one free. */
uint32_t staging_keep(struct staging *staging, const void *payload, size_t bytes);

/** staging_drop() - it is not wanted any more, and its place is free */
void staging_drop(struct staging *staging, uint32_t place);

/** staging_push() - its turn has come. @lost: payloads that are missing just before it */
void staging_push(struct staging *staging, uint32_t place, uint64_t lost);

bool staging_has_ready(const struct staging *staging);

/** staging_front() - the payload that staging_get() goes on with, from its begin on; something must be ready */
const void *staging_front(const struct staging *staging);

/**
 * staging_get() - bytes of what is ready, up to where something is missing
 * @lost: payloads missing just before these bytes
 * Return: bytes; 0 = nothing is ready
 */
size_t staging_get(struct staging *staging, void *buf, size_t len, uint64_t *lost);

#endif
