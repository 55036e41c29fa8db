/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings with parity, made by hand line by line, of which disks are taken away or damaged: what
 * tools/recording.h and tools/gather.h make of them. The rows are summed up byte by byte here, as the
 * lines are written.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "tests/made_recording.h"
#include "tools/check.h"
#include "tools/gather.h"
#include "tools/history.h"
#include "tools/recording.h"

#define BLOCK 1000
#define ROWS_BYTES (64 * BLOCK)
#define UTC "2026-11-30T08:15:00.000000000Z"

static struct {
	unsigned char rows[ROWS_BYTES];
	bool has_sums;
	uint64_t stream_bytes;
} made;

/* ---- writing ---- */

static const char *journal(void)
{
	return made_path("d1/scan.vsib.jsonl");
}

static void line(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void line(const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	made_append(journal(), text);
	made_append(journal(), "\n");
}

static void begin(bool has_sums)
{
	memset(&made, 0, sizeof(made));
	made.has_sums = has_sums;
	for (unsigned i = 1; i <= 4; i++) {
		made_make_dir(made_path("d%u", i));
		for (int file = 0; file < 2; file++) {
			unlink(made_path("d%u/scan.%06d", i, file));
			unlink(made_path("d%u/scan.%06d@5000", i, file));
			unlink(made_path("d%u/scan.parity.%06d", i, file));
		}
		unlink(made_path("d%u/scan.vsib.jsonl", i));
	}
	line("{\"type\":\"start\",\"schema\":\"vsib-journal/1\",\"name\":\"scan\",\"layout\":\"raw\",\"stripe\":\"round\",\"block_bytes\":%d,\"file_bytes\":0,\"template\":\"scan.%%06d\",\"targets\":[{\"path\":\"%s\"},{\"path\":\"%s\"},{\"path\":\"%s\"},{\"path\":\"%s\"}],\"utc\":\"" UTC
	     "\",\"host\":\"h\",\"pid\":1,\"parity_target\":3}",
	     BLOCK, made_path("d1"), made_path("d2"), made_path("d3"), made_path("d4"));
}

static const char *path_of(unsigned target, const char *file)
{
	return made_path("d%u/%s", target + 1, file);
}

/* Behind what the file has. */
static void store(const char *type, unsigned target, const char *file, const unsigned char *bytes,
		  size_t count, uint64_t row_at, const char *more)
{
	const char *path = path_of(target, file);
	int64_t at = made_length(path) < 0 ? 0 : made_length(path);
	char sum[64] = "";

	made_append_bytes(path, bytes, count);
	if (made.has_sums)
		snprintf(sum, sizeof(sum), ",\"xxh3\":\"%016" PRIx64 "\"",
			 (uint64_t)XXH3_64bits(bytes, count));
	line("{\"type\":\"%s\",\"target\":%u,\"file\":\"%s\",\"file_offset\":%" PRId64
	     ",\"bytes\":%zu,\"row\":%" PRIu64 ",\"row_offset\":%" PRIu64 "%s%s}",
	     type, target, file, at, count, row_at / BLOCK, row_at % BLOCK, more, sum);
}

/* @is_counted: false: a copy of what is in the row already. */
static void store_data(unsigned target, const char *file, uint64_t stream_offset, size_t count,
		       uint64_t row_at, bool is_counted)
{
	unsigned char *bytes = malloc(count);
	char more[64];

	assert_non_null(bytes);
	assert_true(row_at + count <= ROWS_BYTES);
	for (size_t i = 0; i < count; i++) {
		bytes[i] = made_sample(stream_offset + i);
		made.rows[row_at + i] ^= is_counted ? bytes[i] : 0;
	}
	snprintf(more, sizeof(more), ",\"stream_offset\":%" PRIu64, stream_offset);
	store("segment", target, file, bytes, count, row_at, more);
	free(bytes);
	if (stream_offset + count > made.stream_bytes)
		made.stream_bytes = stream_offset + count;
}

static void data(unsigned target, const char *file, uint64_t stream_offset, size_t count, uint64_t row_at)
{
	store_data(target, file, stream_offset, count, row_at, true);
}

static void parity(unsigned target, const char *file, uint64_t row_at, size_t count)
{
	store("parity", target, file, made.rows + row_at, count, row_at, "");
}

static void end(void)
{
	made_end(journal(), made.stream_bytes);
	for (unsigned i = 1; i < 4; i++)
		made_copy(journal(), path_of(i, "scan.vsib.jsonl"));
}

/* Three disks of data; the stream ends in the middle of the second disk's third block. */
static void make_plain(bool has_sums, size_t parity_bytes)
{
	static const char *const files[] = { "scan.000000", "scan.000001", "scan.000000" };

	begin(has_sums);
	for (unsigned block = 0; block < 8; block++)
		data(block % 3, files[block % 3], block * BLOCK, block < 7 ? BLOCK : 300,
		     block / 3 * BLOCK);
	for (size_t at = 0; at < 3 * BLOCK; at += parity_bytes)
		parity(3, "scan.parity.000000", at, parity_bytes);
	end();
}

static void lose(unsigned target, const char *file)
{
	assert_int_equal(unlink(path_of(target, file)), 0);
}

static void damage(unsigned target, const char *file, off_t offset)
{
	int fd = open(path_of(target, file), O_RDWR | O_CLOEXEC);
	unsigned char byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte ^= 0x55;
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
	close(fd);
}

/* ---- reading ---- */

static struct gather_result result;
static char reason[RECORDING_ERROR_LEN]; /* why something was not rebuilt */
static struct recording *recording;

static void on_event(void *context, const struct gather_event *event)
{
	(void)context;
	if (event->what == GATHER_NOT_MADE)
		snprintf(reason, sizeof(reason), "%s", recording_error(recording));
}

static void open_it(void)
{
	const char *const targets[] = { made_path("d1"), made_path("d2"), made_path("d3"),
					made_path("d4") };
	struct recording_query query = { .name = "scan", .targets = targets, .target_count = 4 };

	reason[0] = '\0';
	assert_int_equal(recording_open(&recording, &query), 0);
}

/* Gathers with filled gaps. Return: how many bytes are not the stream's. */
static uint64_t gather(void)
{
	const char *path = made_path("out");
	struct gather_config config = { .fill = GATHER_PATTERN, .say = on_event };
	uint64_t wrong = 0;
	char *out;

	open_it();
	config.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(config.fd >= 0);
	assert_int_equal(gather_copy(recording, &config, &result), 0);
	close(config.fd);
	assert_int_equal(made_length(path), made.stream_bytes);
	out = made_read(path);
	for (uint64_t i = 0; i < made.stream_bytes; i++)
		wrong += (unsigned char)out[i] != made_sample(i);
	free(out);
	return wrong;
}

static void gathers_whole(uint64_t rebuilt_bytes)
{
	size_t count;

	assert_int_equal(gather(), 0);
	assert_int_equal(result.rebuilt_bytes, rebuilt_bytes);
	assert_int_equal(result.gap_count, 0);
	assert_int_equal(result.bad_sum_count, 0);
	assert_int_equal(result.unreadable_count, 0);
	recording_missing(recording, &count);
	assert_int_equal(count, 0);
	assert_false(recording_info(recording)->has_trouble);
	recording_free(recording);
}

/* @unreadable: pieces that were thought to be rebuildable, and turned out not to be. */
static void gathers_with_gaps(uint64_t rebuilt_bytes, uint64_t filled_bytes, uint64_t unreadable)
{
	assert_true(gather() <= filled_bytes);
	assert_int_equal(result.rebuilt_bytes, rebuilt_bytes);
	assert_int_equal(result.filled_bytes, filled_bytes);
	assert_int_equal(result.unreadable_count, unreadable);
	recording_free(recording);
}

/* What a check says of it before. */
static void checks(uint64_t rebuildable_bytes)
{
	struct check_config config = { 0 };
	struct check_result checked;

	open_it();
	assert_int_equal(check_run(recording, &config, &checked), 0);
	assert_int_equal(check_rebuilding(recording, &checked), 0);
	assert_int_equal(checked.rebuildable_bytes, rebuildable_bytes);
	check_free(&checked);
	recording_free(recording);
}

static void because(const char *word)
{
	if (!strstr(reason, word))
		fail_msg("\"%s\" says nothing of \"%s\"", reason, word);
}

/* ---- tests ---- */

static void each_disk_is_rebuilt(void **state)
{
	(void)state;
	for (size_t parity_bytes = BLOCK; parity_bytes <= 3 * BLOCK; parity_bytes += 2 * BLOCK)
		for (int has_sums = 0; has_sums < 2; has_sums++) {
			make_plain(has_sums, parity_bytes);
			gathers_whole(0);
			lose(0, "scan.000000");
			gathers_whole(3 * BLOCK);
			make_plain(has_sums, parity_bytes);
			lose(1, "scan.000001");
			gathers_whole(2 * BLOCK + 300);
			make_plain(has_sums, parity_bytes);
			lose(2, "scan.000000");
			gathers_whole(2 * BLOCK);
			make_plain(has_sums, parity_bytes);
			lose(3, "scan.parity.000000");
			gathers_whole(0);
		}
}

static void what_is_rebuilt_is_listed_by_file(void **state)
{
	const struct recording_missing *rebuilt;
	size_t count;

	(void)state;
	make_plain(true, BLOCK);
	lose(1, "scan.000001");
	open_it();
	rebuilt = recording_rebuilt(recording, &count);
	assert_int_equal(count, 1);
	assert_string_equal(rebuilt->file, "scan.000001");
	assert_string_equal(rebuilt->target, made_path("d2"));
	assert_int_equal(rebuilt->bytes, 2 * BLOCK + 300);
	assert_int_equal(rebuilt->stream_offset, BLOCK);
	assert_int_equal(rebuilt->stream_end, 7 * BLOCK + 300);
	assert_int_equal(recording_info(recording)->gap_bytes, 0);
	recording_free(recording);

	make_plain(true, BLOCK);
	lose(3, "scan.parity.000000");
	open_it();
	rebuilt = recording_rebuilt(recording, &count);
	assert_int_equal(count, 1);
	assert_int_equal(rebuilt->bytes, 0);
	assert_int_equal(rebuilt->parity_bytes, 3 * BLOCK);
	recording_free(recording);
}

static void a_file_that_is_cut_off_is_rebuilt(void **state)
{
	(void)state;
	make_plain(true, BLOCK);
	assert_int_equal(truncate(path_of(0, "scan.000000"), 1500), 0);
	gathers_whole(2 * BLOCK);
	assert_int_equal(truncate(path_of(3, "scan.parity.000000"), 2500), 0);
	gathers_with_gaps(BLOCK, BLOCK, 0);
	/* of one segment of parity what is left is used */
	make_plain(true, 3 * BLOCK);
	lose(0, "scan.000000");
	assert_int_equal(truncate(path_of(3, "scan.parity.000000"), 2500), 0);
	gathers_with_gaps(2 * BLOCK, BLOCK, 0);
	checks(2 * BLOCK);
}

static void a_seek_into_a_lost_segment_gives_its_rest(void **state)
{
	struct recording_piece piece;
	unsigned char bytes[BLOCK];

	(void)state;
	make_plain(true, BLOCK);
	lose(1, "scan.000001");
	open_it();
	recording_seek(recording, 1234);
	assert_int_equal(recording_next(recording, &piece), 1);
	assert_true(piece.is_lost);
	assert_true(piece.fd < 0);
	assert_int_equal(piece.bytes, 766);
	assert_int_equal(recording_rebuild(recording, &piece), 0);
	assert_int_equal(pread(piece.fd, bytes, 766, (off_t)piece.file_offset), 766);
	for (size_t i = 0; i < 766; i++)
		assert_int_equal(bytes[i], made_sample(1234 + i));
	recording_free(recording);
}

/* Losses of the source: the places in a row and those in the stream shift against each other. */
static void split_blocks_are_rebuilt(void **state)
{
	(void)state;
	for (unsigned lost = 0; lost < 2; lost++) {
		begin(true);
		data(0, "scan.000000", 0, 400, 0);
		line("{\"type\":\"gap\",\"stream_offset\":400,\"bytes\":50,\"cause\":\"source\"}");
		data(0, "scan.000000", 450, 600, 400);
		data(1, "scan.000001", 1050, 10, 0);
		line("{\"type\":\"gap\",\"stream_offset\":1060,\"bytes\":1000,\"cause\":\"source\"}");
		data(1, "scan.000001", 2060, 700, 10);
		line("{\"type\":\"gap\",\"stream_offset\":2760,\"bytes\":40,\"cause\":\"source\"}");
		data(1, "scan.000001", 2800, 290, 710);
		data(0, "scan.000000", 3090, 1000, BLOCK);
		data(1, "scan.000001", 4090, 10, BLOCK);
		parity(3, "scan.parity.000000", 0, 2 * BLOCK);
		end();
		lose(lost, lost ? "scan.000001" : "scan.000000");
		gathers_with_gaps(lost ? 1010 : 2000, 1090, 0);
	}
}

/* With a single disk left in the stripe, segments go over many rows. */
static void long_segments_are_rebuilt(void **state)
{
	(void)state;
	begin(true);
	data(0, "scan.000000", 0, 1000, 0);
	data(1, "scan.000001", 1000, 1000, 0);
	data(0, "scan.000000", 2000, 30300, BLOCK);
	parity(3, "scan.parity.000000", 0, 20 * BLOCK);
	parity(3, "scan.parity.000000", 20 * BLOCK, 12 * BLOCK);
	end();
	lose(0, "scan.000000");
	gathers_whole(31300);
}

static void rescued_pieces_count_where_they_are(void **state)
{
	(void)state;
	begin(true);
	data(0, "scan.000000", 0, BLOCK, 0);
	data(1, "scan.000001", 1000, BLOCK, 0);
	data(2, "scan.000000", 2000, BLOCK, 0);
	parity(3, "scan.parity.000000", 0, BLOCK);
	data(0, "scan.000000", 3000, BLOCK, BLOCK);
	data(2, "scan.000001@5000", 4000, BLOCK, BLOCK); /* the second disk has failed */
	data(2, "scan.000000", 5000, BLOCK, BLOCK);
	parity(0, "scan.parity.000000@5000", BLOCK, BLOCK); /* the last one, too */
	data(0, "scan.000000", 6000, BLOCK, 2 * BLOCK);
	data(2, "scan.000000", 7000, BLOCK, 2 * BLOCK);
	end();
	lose(1, "scan.000001");
	gathers_whole(BLOCK);
	/* two of the second row on one disk */
	lose(2, "scan.000000");
	lose(2, "scan.000001@5000");
	gathers_with_gaps(0, 5 * BLOCK, 0);
}

static void a_copy_counts_once_and_steps_in(void **state)
{
	(void)state;
	begin(true);
	data(0, "scan.000000", 0, BLOCK, 0);
	data(1, "scan.000001", 1000, BLOCK, 0);
	store_data(2, "scan.000001@5000", 1000, 600, 0, false);
	data(2, "scan.000000", 2000, BLOCK, 0);
	parity(3, "scan.parity.000000", 0, BLOCK);
	parity(1, "scan.parity.000000@5000", 0, BLOCK);
	end();
	lose(0, "scan.000000");
	gathers_whole(BLOCK);
	/* wrong before the end of the copy, which is right there */
	damage(1, "scan.000001", 999);
	assert_true(gather() > 0);
	recording_free(recording);
	damage(1, "scan.000001", 999);
	damage(3, "scan.parity.000000", 5);
	gathers_whole(BLOCK);
	lose(3, "scan.parity.000000");
	gathers_whole(BLOCK);
}

static void two_of_a_row_stay_missing(void **state)
{
	const struct recording_missing *missing;
	size_t count;

	(void)state;
	make_plain(true, BLOCK);
	lose(0, "scan.000000");
	assert_int_equal(truncate(path_of(2, "scan.000000"), 500), 0);
	open_it();
	missing = recording_missing(recording, &count);
	assert_int_equal(count, 2);
	assert_int_equal(missing[0].bytes + missing[1].bytes, 2 * BLOCK + BLOCK + 500);
	recording_free(recording);
	/* the third row has no block of the third disk */
	gathers_with_gaps(BLOCK, 2 * BLOCK + BLOCK + 500, 0);
}

static void what_has_no_parity_stays_missing(void **state)
{
	(void)state;
	begin(true);
	data(0, "scan.000000", 0, BLOCK, 0);
	data(1, "scan.000001", 1000, BLOCK, 0);
	parity(3, "scan.parity.000000", 0, 999);
	data(0, "scan.000000", 2000, BLOCK, BLOCK);
	parity(3, "scan.parity.000000", 1001, 999);
	data(0, "scan.000000", 3000, BLOCK, 2 * BLOCK);
	parity(3, "scan.parity.000000", 2 * BLOCK, 500);
	parity(3, "scan.parity.000000", 2500, 500);
	end();
	lose(0, "scan.000000");
	gathers_with_gaps(BLOCK, 2 * BLOCK, 0);
}

static void damage_is_rebuilt(void **state)
{
	(void)state;
	make_plain(true, 3 * BLOCK);
	damage(0, "scan.000000", 10);
	damage(1, "scan.000001", 2299);
	gathers_whole(BLOCK + 300);
	/* of the parity one row is damaged, the others are used */
	damage(3, "scan.parity.000000", 1500);
	gathers_whole(BLOCK + 300);
	checks(BLOCK + 300);
	damage(3, "scan.parity.000000", 500);
	checks(300);
}

static void damage_to_two_of_a_row_is_told(void **state)
{
	(void)state;
	make_plain(true, BLOCK);
	damage(0, "scan.000000", 10);
	damage(1, "scan.000001", 11);
	assert_int_equal(gather(), 2);
	assert_int_equal(result.bad_sum_count, 2);
	assert_int_equal(result.rebuilt_bytes, 0);
	because("d1/scan.000000 has other bytes than were recorded");
	recording_free(recording);
	/* what is missing is not made of what is wrong */
	lose(2, "scan.000000");
	assert_true(gather() <= BLOCK + 2);
	assert_int_equal(result.rebuilt_bytes, BLOCK);
	assert_int_equal(result.filled_bytes, BLOCK);
	assert_int_equal(result.unreadable_count, 1);
	recording_free(recording);
}

/* A part of a row was lost before a line could be written of it; the parity has it. */
static void a_row_that_is_not_all_known_is_not_believed(void **state)
{
	static const char *const causes[] = { "disk", "aborted", "source" };

	(void)state;
	for (int has_sums = 0; has_sums < 2; has_sums++)
		for (int i = 0; i < 3; i++) {
			begin(has_sums);
			data(0, "scan.000000", 0, BLOCK, 0);
			if (i < 2) /* in the sum, and nowhere else */
				for (size_t o = 0; o < 500; o++)
					made.rows[o] ^= made_sample(1000 + o);
			line("{\"type\":\"gap\",\"stream_offset\":1000,\"bytes\":500,\"cause\":\"%s\"}",
			     causes[i]);
			data(2, "scan.000000", 1500, BLOCK, 0);
			data(0, "scan.000000", 2500, BLOCK, BLOCK);
			parity(3, "scan.parity.000000", 0, 2 * BLOCK);
			end();
			lose(0, "scan.000000");
			if (i == 2)
				gathers_with_gaps(2 * BLOCK, 500, 0);
			else if (has_sums)
				gathers_with_gaps(BLOCK, BLOCK + 500, 1);
			else
				gathers_with_gaps(0, 2 * BLOCK + 500, 0);
			if (has_sums && i < 2)
				because("checksum doesn't come out");
		}
}

static void without_checksums_a_journal_without_end_is_not_believed(void **state)
{
	(void)state;
	begin(false);
	data(0, "scan.000000", 0, BLOCK, 0);
	data(1, "scan.000001", 1000, BLOCK, 0);
	parity(3, "scan.parity.000000", 0, BLOCK);
	made_copy(journal(), path_of(1, "scan.vsib.jsonl"));
	lose(0, "scan.000000");
	gathers_with_gaps(0, BLOCK, 0);
}

static void impossible_rows_are_left_out(void **state)
{
	static const char *const rows[] = {
		"\"row\":-1",
		"\"row\":0,\"row_offset\":1000",
		"\"row\":9223372036854775",
		"\"row\":9223372036854775807",
		"\"row\":\"0\"",
		"\"row\":0,\"row_offset\":-1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(false);
		made_write_samples(path_of(0, "scan.000000"), 0, BLOCK, 0);
		line("{\"type\":\"segment\",\"target\":0,\"file\":\"scan.000000\",\"file_offset\":0,\"bytes\":1000,\"stream_offset\":0,%s}",
		     rows[i]);
		data(1, "scan.000001", 1000, BLOCK, 0);
		parity(3, "scan.parity.000000", 0, BLOCK);
		line("{\"type\":\"parity\",\"target\":3,\"file\":\"scan.parity.000000\",\"file_offset\":0,\"bytes\":1000,%s}",
		     rows[i]);
		end();
		assert_int_equal(gather(), 0);
		assert_int_equal(recording_info(recording)->history->invalid_count, 2);
		assert_int_equal(recording_info(recording)->history->parity_count, 1);
		assert_int_equal(recording_info(recording)->history->segment_count, 2);
		assert_true(recording_info(recording)->has_trouble);
		recording_free(recording);
		lose(1, "scan.000001");
		gathers_with_gaps(0, BLOCK, 0);
	}
}

static void parity_is_promised_and_checked(void **state)
{
	struct check_config config = { 0 };
	struct check_result checked;
	uint64_t *promised, bytes = 0;
	const struct history *history;

	(void)state;
	make_plain(true, BLOCK);
	damage(1, "scan.000001", 10);
	damage(3, "scan.parity.000000", 2500);
	open_it();
	history = recording_info(recording)->history;
	promised = history_promises(history, NULL);
	for (size_t i = 0; i < history->file_count; i++)
		bytes += promised[i];
	assert_int_equal(bytes, made.stream_bytes + 3 * BLOCK);
	free(promised);
	assert_int_equal(check_run(recording, &config, &checked), 0);
	assert_int_equal(checked.count[CHECK_GOOD], 7);
	assert_int_equal(checked.count[CHECK_BAD], 1);
	assert_int_equal(checked.parity_states[CHECK_GOOD], 2);
	assert_int_equal(checked.parity_states[CHECK_BAD], 1);
	assert_int_equal(check_rebuilding(recording, &checked), 0);
	assert_int_equal(checked.wrong_bytes, BLOCK);
	assert_int_equal(checked.rebuildable_bytes, BLOCK);
	check_free(&checked);
	recording_free(recording);
}

/* ---- any ---- */

#define LANES 3
#define ROWS 12

static unsigned random_state;

static unsigned below(unsigned count)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % count;
}

/* How many of the stream's bytes any reader could have: those that are there, or alone missing in a row. */
struct model {
	bool is_stored[LANES + 2][ROWS_BYTES]; /* by lane, the last ones are of parity: did it exist ... */
	bool is_there[LANES + 2][ROWS_BYTES]; /* ... and is it there still? */
};

static void add_to_model(struct model *model, unsigned lane, uint64_t at, size_t count, bool is_there)
{
	memset(model->is_stored[lane] + at, true, count);
	memset(model->is_there[lane] + at, is_there, count);
}

/* Can all of these places be had? */
static bool can_be_had(const struct model *model, unsigned lane, uint64_t at, size_t count)
{
	for (uint64_t i = at; i < at + count; i++) {
		if (!model->is_there[LANES][i])
			return false;
		for (unsigned other = 0; other < LANES; other++)
			if (other != lane && model->is_stored[other][i] && !model->is_there[other][i])
				return false;
	}
	return true;
}

struct stored {
	unsigned lane;
	uint64_t row_at;
	size_t bytes;
};

/* Blocks in pieces, on any disk; each disk in turn is lost. */
static void whatever_can_be_had_is_had(void **state)
{
	static const char *const files[] = { "scan.000000", "scan.000001", "scan.000000@5000",
					     "scan.000001@5000" };
	struct model *model = malloc(sizeof(*model));

	(void)state;
	assert_non_null(model);
	for (unsigned round = 0; round < 100; round++) {
		unsigned lost = round % 4, count = 0;
		struct stored stored[ROWS * LANES * 8];
		uint64_t stream = 0, rebuilt = 0, missing = 0;

		random_state = round;
		memset(model, 0, sizeof(*model));
		begin(true);
		for (unsigned block = 0; block < ROWS * LANES; block++) {
			uint64_t at = block / LANES * BLOCK, block_end = at + BLOCK;

			if (below(8) == 0) /* a lane without a disk */
				continue;
			for (unsigned piece = 0; piece < 8 && at < block_end; piece++) {
				size_t bytes = below(2) ? block_end - at :
							  1 + below((unsigned)(block_end - at));
				unsigned target = below(6) ? block % LANES : below(4);

				data(target, files[block % LANES], stream, bytes, at);
				add_to_model(model, block % LANES, at, bytes, target != lost);
				if (target == lost)
					stored[count++] = (struct stored){ block % LANES, at, bytes };
				at += bytes;
				stream += bytes;
				if (below(4) == 0) {
					line("{\"type\":\"gap\",\"stream_offset\":%" PRIu64
					     ",\"bytes\":7,\"cause\":\"source\"}",
					     stream);
					missing += 7;
					stream += 7;
				}
			}
		}
		for (uint64_t at = 0; at < ROWS * BLOCK;) {
			size_t bytes = BLOCK * (1 + below(3));
			unsigned target = below(8) ? 3 : below(4);

			bytes = at + bytes > ROWS * BLOCK ? ROWS * BLOCK - at : bytes;
			if (below(10)) {
				parity(target, "scan.parity.000000", at, bytes);
				add_to_model(model, LANES, at, bytes, target != lost);
			}
			at += bytes;
		}
		made.stream_bytes = stream;
		end();
		for (unsigned i = 0; i < count; i++)
			*(can_be_had(model, stored[i].lane, stored[i].row_at, stored[i].bytes) ?
				  &rebuilt :
				  &missing) += stored[i].bytes;
		for (unsigned i = 0; i < 4; i++)
			unlink(path_of(lost, files[i]));
		unlink(path_of(lost, "scan.parity.000000"));
		gathers_with_gaps(rebuilt, missing, 0);
		checks(rebuilt);
	}
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_disk_is_rebuilt, made_set_up, made_tear_down),
		cmocka_unit_test_setup_teardown(what_is_rebuilt_is_listed_by_file, made_set_up,
						made_tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_cut_off_is_rebuilt, made_set_up,
						made_tear_down),
		cmocka_unit_test_setup_teardown(a_seek_into_a_lost_segment_gives_its_rest,
						made_set_up, made_tear_down),
		cmocka_unit_test_setup_teardown(split_blocks_are_rebuilt, made_set_up, made_tear_down),
		cmocka_unit_test_setup_teardown(long_segments_are_rebuilt, made_set_up, made_tear_down),
		cmocka_unit_test_setup_teardown(rescued_pieces_count_where_they_are, made_set_up,
						made_tear_down),
		cmocka_unit_test_setup_teardown(a_copy_counts_once_and_steps_in, made_set_up,
						made_tear_down),
		cmocka_unit_test_setup_teardown(two_of_a_row_stay_missing, made_set_up, made_tear_down),
		cmocka_unit_test_setup_teardown(what_has_no_parity_stays_missing, made_set_up,
						made_tear_down),
		cmocka_unit_test_setup_teardown(damage_is_rebuilt, made_set_up, made_tear_down),
		cmocka_unit_test_setup_teardown(damage_to_two_of_a_row_is_told, made_set_up,
						made_tear_down),
		cmocka_unit_test_setup_teardown(a_row_that_is_not_all_known_is_not_believed,
						made_set_up, made_tear_down),
		cmocka_unit_test_setup_teardown(without_checksums_a_journal_without_end_is_not_believed,
						made_set_up, made_tear_down),
		cmocka_unit_test_setup_teardown(impossible_rows_are_left_out, made_set_up,
						made_tear_down),
		cmocka_unit_test_setup_teardown(parity_is_promised_and_checked, made_set_up,
						made_tear_down),
		cmocka_unit_test_setup_teardown(whatever_can_be_had_is_had, made_set_up, made_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
