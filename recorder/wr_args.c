/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/wr_args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drivers/board.h"
#include "drivers/units.h"
#include "recorder/layout.h"

#define PCI33_MBPS 1056.0 /* 33 MHz x 4 bytes x 8 */

static const char *const names[] = { "BLOCK", "NBLOCKS", "MODE", "SKIP", "EMBED", "GIGA", "NDIRS" };

enum { ARG_BLOCK, ARG_NBLOCKS, ARG_MODE, ARG_SKIP, ARG_EMBED, ARG_GIGA, ARG_NDIRS, ARG_COUNT };

static int number(const char *name, const char *text, uint64_t least, uint64_t most,
		  uint64_t *value, char *error)
{
	int ret = units_parse_count(text, value);

	if (ret == 0 && *value >= least && *value <= most)
		return 0;
	snprintf(error, WR_ERROR_LEN,
		 "%s '%.100s': a whole number from %" PRIu64 " to %" PRIu64 " is expected", name,
		 text, least, most);
	return -EINVAL;
}

static int parse_dir(struct wr_dir *dir, const char *text, const char *blocks, char *error)
{
	char why[LAYOUT_ERROR_LEN];
	const char *slash = strrchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : 0;
	int ret = number("BLOCKS_PER_FILE", blocks, 1, INT64_MAX, &dir->blocks_per_file, error);

	if (ret < 0)
		return ret;
	if (len >= sizeof(dir->path)) {
		snprintf(error, WR_ERROR_LEN, "TEMPLATE '%.100s...': the path is too long", text);
		return -EINVAL;
	}
	dir->given = text;
	memcpy(dir->path, text, len);
	dir->path[len] = '\0';
	if (!slash)
		strcpy(dir->path, ".");
	else if (len == 0)
		strcpy(dir->path, "/");
	dir->name_template = slash ? slash + 1 : text;
	if (layout_check_template(dir->name_template, false, why) < 0) {
		snprintf(error, WR_ERROR_LEN, "%s", why);
		return -EINVAL;
	}
	return 0;
}

uint64_t wr_dir_bytes(const struct wr_args *args, unsigned index)
{
	uint64_t rounds = args->block_count / args->dir_count,
		 rest = args->block_count % args->dir_count;

	return (rounds + (index < rest)) * args->block_bytes;
}

/* Several files under one name would overwrite each other; two directories with one name too. */
static int check_names(const struct wr_args *args, char *error)
{
	char why[LAYOUT_ERROR_LEN];

	for (unsigned i = 0; i < args->dir_count; i++) {
		const struct wr_dir *dir = &args->dirs[i];

		if (wr_dir_bytes(args, i) / args->block_bytes > dir->blocks_per_file &&
		    layout_check_template(dir->name_template, true, why) < 0) {
			snprintf(error, WR_ERROR_LEN, "%s", why);
			return -EINVAL;
		}
		for (unsigned k = 0; k < i; k++) {
			if (strcmp(args->dirs[k].path, dir->path) != 0 ||
			    strcmp(args->dirs[k].name_template, dir->name_template) != 0)
				continue;
			snprintf(error, WR_ERROR_LEN,
				 "TEMPLATE '%.200s' is given twice: the files would be the same",
				 dir->given);
			return -EINVAL;
		}
	}
	return 0;
}

int wr_args_parse(struct wr_args *args, int argc, char *const *argv, char *error)
{
	static const uint64_t least[ARG_COUNT] = { 1, 1, 0, 0, 0, 0, 1 };
	static const uint64_t most[ARG_COUNT] = { UINT32_MAX / 2, INT64_MAX, BOARD_MODE_MAX,
						  BOARD_SKIP_MAX, 1,         1,
						  TARGET_MAX };
	uint64_t values[ARG_COUNT];
	int ret;

	memset(args, 0, sizeof(*args));
	for (int i = 0; i < ARG_COUNT; i++) {
		if (i >= argc) {
			snprintf(error, WR_ERROR_LEN,
				 "%s is missing; wr BLOCK NBLOCKS MODE SKIP EMBED GIGA NDIRS {TEMPLATE BLOCKS_PER_FILE}... < DEVICE",
				 names[i]);
			return -EINVAL;
		}
		ret = number(names[i], argv[i], least[i], most[i], &values[i], error);
		if (ret < 0)
			return ret;
	}
	args->block_bytes = values[ARG_BLOCK];
	args->block_count = values[ARG_NBLOCKS];
	args->mode = (unsigned)values[ARG_MODE];
	args->skip = (unsigned)values[ARG_SKIP];
	args->is_embed = values[ARG_EMBED];
	args->is_giga = values[ARG_GIGA];
	args->dir_count = (unsigned)values[ARG_NDIRS];
	if (__builtin_mul_overflow(args->block_bytes, args->block_count, &args->total_bytes) ||
	    args->total_bytes > INT64_MAX) {
		snprintf(error, WR_ERROR_LEN,
			 "NBLOCKS '%s': BLOCK x NBLOCKS is more than 2^63 bytes", argv[ARG_NBLOCKS]);
		return -EINVAL;
	}
	if (argc != ARG_COUNT + 2 * (int)args->dir_count) {
		snprintf(error, WR_ERROR_LEN,
			 "NDIRS is %u, so %u arguments TEMPLATE BLOCKS_PER_FILE ... must follow; there are %d",
			 args->dir_count, 2 * args->dir_count, argc - ARG_COUNT);
		return -EINVAL;
	}
	for (unsigned i = 0; i < args->dir_count; i++) {
		ret = parse_dir(&args->dirs[i], argv[ARG_COUNT + 2 * i],
				argv[ARG_COUNT + 2 * i + 1], error);
		if (ret < 0)
			return ret;
	}
	return check_names(args, error);
}

void wr_source_name(char *buf, size_t len, const struct wr_args *args, const char *given, bool is_board)
{
	if (!given && is_board)
		given = "vsib:-";
	if (given && strncmp(given, "vsib:", 5) == 0)
		snprintf(buf, len, "%s,mode=%u,skip=%u,embed=%d,giga=%d", given, args->mode,
			 args->skip, args->is_embed, args->is_giga);
	else
		snprintf(buf, len, "%s", given ? given : "-");
}

void wr_report_line(char *buf, uint64_t bytes, double seconds, uint64_t usleep_count)
{
	double mbps = seconds > 0 ? 8.0 * (double)bytes / seconds / 1e6 : 0;

	snprintf(buf, WR_LINE_LEN,
		 "Took %f seconds, %f Mbits(dec)/s (%.1f%% of PCI33), usleeps = %" PRIu64 ".",
		 seconds, mbps, mbps / PCI33_MBPS * 100, usleep_count);
}

void wr_max_line(char *buf, const char *name, double seconds)
{
	snprintf(buf, WR_LINE_LEN, "%.200s max. %f seconds.", name, seconds);
}
