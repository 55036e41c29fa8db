/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vdif_fill.h - VDIF frames, marked invalid, in place of those that were lost, byte by byte as they are wanted
 *
 *   vdif_fill_create() -> { vdif_fill_before() or vdif_fill_behind() -> vdif_fill_put() ... } -> vdif_fill_free()
 *
 * Threads: one at a time.
 */
#ifndef VSIB_DRIVERS_VDIF_FILL_H
#define VSIB_DRIVERS_VDIF_FILL_H

#include <stddef.h>
#include <stdint.h>

struct vdif_fill;

/** vdif_fill_create() - @frame_bytes_max: no frame is longer. Return: 0; -ENOMEM. */
int vdif_fill_create(struct vdif_fill **out, size_t frame_bytes_max);

/** vdif_fill_free() - NULL is fine */
void vdif_fill_free(struct vdif_fill *fill);

/**
 * vdif_fill_before() - what comes next are the @count frames of its thread before this one
 * @header: of a frame that vdif_read() takes for one, not longer than the longest
 * @rate:   frames a second of each thread; more than any frame's number
 */
void vdif_fill_before(struct vdif_fill *fill, const void *header, uint64_t count, uint64_t rate);

/** vdif_fill_behind() - what comes next are the frames of its thread behind this one */
void vdif_fill_behind(struct vdif_fill *fill, const void *header, uint64_t rate);

/** vdif_fill_put() - the next bytes of them; of no frame was told yet: the fill word */
void vdif_fill_put(struct vdif_fill *fill, void *buf, size_t len);

#endif
