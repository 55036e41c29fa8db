/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vsib.h - the vsib source on a board of one's own choice
 *
 *   static int my_open(struct source *source, const struct source_config *config)
 *   {
 *           return vsib_open_board(source, config, &my_board);
 *   }
 *   struct source_ops ops = source_vsib;
 *   ops.open = my_open;
 *   source_open_with(&source, &ops, "vsib:...", &config);
 */
#ifndef VSIB_DRIVERS_VSIB_H
#define VSIB_DRIVERS_VSIB_H

struct board_ops;
struct source;
struct source_config;

/**
 * vsib_open_board() - what the vsib source's open does once it knows the board
 * @ops: the board; source->path goes to its open(), "-" adopts descriptor 0
 *
 * All times, also the deadline of source_read(), are then those of @ops->monotonic_ns().
 * Return: 0 or -errno with source->error set; -ENOTTY when it is no VSIB board.
 */
int vsib_open_board(struct source *source, const struct source_config *config,
		    const struct board_ops *ops);

#endif
