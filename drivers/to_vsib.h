/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * to_vsib.h - the vsib destination on a board of one's own choice, as vsib.h says for the source
 */
#ifndef VSIB_DRIVERS_TO_VSIB_H
#define VSIB_DRIVERS_TO_VSIB_H

struct board_ops;
struct destination;
struct destination_config;

/**
 * to_vsib_open_board() - what the vsib destination's open does once it knows the board
 * @ops:  the board
 * @path: goes to its open(); "-" adopts descriptor 1
 *
 * All times, also the deadlines of destination_write() and destination_finish(), are then those of @ops->monotonic_ns().
 * Return: 0 or -errno with destination->error set; -ENOTTY when it is no VSIB board.
 */
int to_vsib_open_board(struct destination *destination, const struct destination_config *config,
		       const struct board_ops *ops, const char *path);

#endif
