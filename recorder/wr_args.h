/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wr_args.h - the historical command line of wr, and its report, as pure functions
 *
 *   wr BLOCK NBLOCKS MODE SKIP EMBED GIGA NDIRS {TEMPLATE BLOCKS_PER_FILE}... < DEVICE
 *
 * The directory of a block is its number modulo NDIRS; each directory rolls to a new file after
 * its own BLOCKS_PER_FILE blocks. Report, with Mbits(dec)/s = 8 x bytes / seconds / 10^6 and
 * PCI33 = 33 x 4 x 8 = 1056 Mbit/s:
 *   Took %f seconds, %f Mbits(dec)/s (%.1f%% of PCI33), usleeps = %d. %s max. %f seconds. (each
 *   directory, then "call-to-call")
 * Threads: pure functions.
 */
#ifndef VSIB_RECORDER_WR_ARGS_H
#define VSIB_RECORDER_WR_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target.h"

#define WR_ERROR_LEN 1024
#define WR_LINE_LEN 256

struct wr_dir {
	const char *given;         /* as on the command line */
	char path[4096];           /* its directory */
	const char *name_template; /* behind the last '/' */
	uint64_t blocks_per_file;
};

struct wr_args {
	uint64_t block_bytes;
	uint64_t block_count;
	uint64_t total_bytes; /* their product */
	unsigned mode, skip;
	bool is_embed, is_giga;
	unsigned dir_count;
	struct wr_dir dirs[TARGET_MAX];
};

/**
 * wr_args_parse() - the positional arguments
 * @argv: without the program's name, @argc of them
 * @error: WR_ERROR_LEN, which argument and what it should be
 * Return: 0; -EINVAL.
 */
int wr_args_parse(struct wr_args *args, int argc, char *const *argv, char *error);

/** wr_dir_bytes() - bytes directory @index gets in a whole run */
uint64_t wr_dir_bytes(const struct wr_args *args, unsigned index);

/**
 * wr_source_name() - the source as vsib-record names it
 * @given:    --source, or NULL for stdin
 * @is_board: stdin is a board
 *
 * A board, on stdin or given as "vsib:...", gets mode, skip, embed and giga as details.
 */
void wr_source_name(char *buf, size_t len, const struct wr_args *args, const char *given,
		    bool is_board);

/** wr_report_line() - "Took ..." without newline. @buf: WR_LINE_LEN */
void wr_report_line(char *buf, uint64_t bytes, double seconds, uint64_t usleep_count);

/**
 * wr_max_line() - "NAME max. S seconds." without newline. @buf: WR_LINE_LEN; a longer name is cut
 */
void wr_max_line(char *buf, const char *name, double seconds);

#endif
