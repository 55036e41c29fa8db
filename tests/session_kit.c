/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/session_kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "drivers/sim.h"
#include "drivers/units.h"
#include "recorder/outbox.h"
#include "tests/scratch.h"

#define NAME "scan"

enum { SEGMENT = -1, PARITY = -2 };

/* A piece of the stream, or of parity, as a journal tells it. */
struct piece {
	uint64_t stream_offset, bytes;
	int cause; /* enum gap_cause; SEGMENT; PARITY */
	unsigned target;
	unsigned copy;
	uint64_t row_at; /* row x block_bytes + offset in it */
	uint64_t file_offset;
	const char *file; /* borrowed from the line */
	const char *xxh3;
};

struct tally {
	struct kit *kit;
	json_t *lines; /* array of the longest journal's */
	struct piece *pieces;
	size_t piece_count;
	uint64_t written, gaps[GAP_CAUSE_COUNT];
	struct piece *fills; /* gaps that are filled: their bytes are in other pieces */
	size_t fill_count;
	uint8_t *numbers; /* layout mark6: how often each block number was seen */
	uint32_t number_end, number_count;
};

static void die(const char *what)
{
	perror(what);
	abort();
}

/* ---- open, run, close ---- */

void kit_open(struct kit *kit, unsigned disk_count)
{
	memset(kit, 0, sizeof(*kit));
	/* in memory: the syncs of the journals are real, and hundreds of recordings wait for them */
	if (scratch_make(kit->root, sizeof(kit->root),
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL) < 0)
		die("no directory for the recording");
	kit->disk_count = disk_count;
	for (unsigned i = 0; i < disk_count; i++) {
		snprintf(kit->paths[i], sizeof(kit->paths[i]), "%s/d%u", kit->root, i);
		if (mkdir(kit->paths[i], 0755) < 0)
			die(kit->paths[i]);
		kit->targets[i] = kit->paths[i];
		fake_disk_init(&kit->disks[i]);
		kit->io[i] = &kit->disks[i].io;
	}
	kit->config = (struct session_config){
		.program = "test",
		.source_name = "fake:",
		.source_ops = &fake_source_ops,
		.targets = kit->targets,
		.target_count = disk_count,
		.name = NAME,
		.layout = disk_count > 1 ? LAYOUT_VBS : LAYOUT_RAW,
		.ring_bytes = 4 * disk_count * KIT_CHUNK,
		.block_bytes = KIT_BLOCK,
		.use_direct = true,
		.use_checksums = true,
		.use_journal = true,
		.allow_same_device = true,
		.numa_node = MEMORY_ANY_NODE,
		.io = kit->io,
	};
	fake_source_script =
		(struct fake_source_script){ .seed = 7, .bytes = 1000003, .can_wait = true };
}

int kit_start(struct kit *kit)
{
	int ret;

	if (kit->config.layout == LAYOUT_PCAP)
		kit->config.source_ops = &fake_lending_source_ops;
	ret = session_create(&kit->session, &kit->config, &kit->refusal);
	if (ret == 0)
		ret = session_arm(kit->session, &kit->refusal);
	if (ret == 0)
		ret = session_start(kit->session, &kit->refusal);
	return ret;
}

bool kit_wait(struct kit *kit, int64_t ns)
{
	int64_t deadline = units_monotonic_ns() + ns;

	while (!session_has_ended(kit->session)) {
		struct timespec pause = { .tv_nsec = 1000000 };

		if (units_monotonic_ns() > deadline)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

bool kit_end(struct kit *kit, int64_t wait_ns, int64_t patience_ns)
{
	int64_t from;
	bool is_free;

	kit_wait(kit, wait_ns);
	from = units_monotonic_ns();
	is_free = session_end(kit->session, patience_ns);
	kit->end_ns = units_monotonic_ns() - from;
	kit->outcome = session_outcome(kit->session, &kit->exit_status);
	return is_free;
}

void kit_close(struct kit *kit)
{
	struct session *session = kit->session;

	for (unsigned i = 0; i < kit->disk_count; i++)
		fake_disk_release(&kit->disks[i]);
	if (session && session->has_reader) {
		session_stop(session, STOP_SIGNAL);
		pthread_join(session->reader, NULL);
	}
	for (unsigned i = 0; session && i < session->disk_count; i++) {
		if (session->disks[i].has_writer)
			pthread_join(session->disks[i].writer, NULL);
		if (session->disks[i].has_keeper)
			pthread_join(session->disks[i].keeper, NULL);
		while (outbox_stop(session->disks[i].outbox) < 0) /* it comes back now */
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	session_free(session);
	kit->session = NULL;
	for (unsigned i = 0; i < kit->disk_count; i++)
		fake_disk_free(&kit->disks[i]);
	scratch_remove(kit->root);
}

/* ---- reading journals ---- */

static bool wrong(struct tally *tally, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(struct tally *tally, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(tally->kit->error, sizeof(tally->kit->error), format, ap);
	va_end(ap);
	return false;
}

static void journal_path(const struct kit *kit, unsigned disk, char *path, size_t len)
{
	if (kit->session->plan.kind == LAYOUT_VBS)
		snprintf(path, len, "%s/" NAME "/" NAME JOURNAL_SUFFIX, kit->targets[disk]);
	else
		snprintf(path, len, "%s/" NAME JOURNAL_SUFFIX, kit->targets[disk]);
}

/* The whole lines of one journal; NULL when one of them is no JSON. */
static json_t *read_journal(const struct kit *kit, unsigned disk)
{
	char path[256], *line = NULL;
	json_t *lines = json_array();
	size_t room = 0;
	ssize_t len;
	FILE *f;

	journal_path(kit, disk, path, sizeof(path));
	f = fopen(path, "r");
	while (f && (len = getline(&line, &room, f)) > 0) {
		json_t *object;

		if (line[len - 1] != '\n')
			break; /* torn */
		object = json_loadb(line, (size_t)len - 1, 0, NULL);
		if (!object) {
			json_decref(lines);
			lines = NULL;
			break;
		}
		json_array_append_new(lines, object);
	}
	free(line);
	if (f)
		fclose(f);
	return lines;
}

static bool is_good(const struct kit *kit, unsigned disk)
{
	return atomic_load(&kit->session->disks[disk].state) == DISK_OK;
}

static bool is_all_good(const struct kit *kit)
{
	for (unsigned i = 0; i < kit->disk_count; i++)
		if (!is_good(kit, i))
			return false;
	return true;
}

/* All good disks have the same lines; the longest journal counts. */
static bool read_journals(struct tally *tally)
{
	struct kit *kit = tally->kit;

	for (unsigned i = 0; i < kit->disk_count; i++) {
		json_t *lines = read_journal(kit, i);
		bool is_longer =
			!tally->lines || json_array_size(lines) > json_array_size(tally->lines);

		if (!lines)
			return wrong(tally, "the journal on disk %u has a broken line", i);
		if (tally->lines && is_good(kit, i) && is_good(kit, 0) &&
		    !json_equal(lines, tally->lines)) {
			json_decref(lines);
			return wrong(tally, "the journals on good disks %u and 0 differ", i);
		}
		if (is_longer) {
			json_decref(tally->lines);
			tally->lines = lines;
		} else {
			json_decref(lines);
		}
	}
	if (json_array_size(tally->lines) == 0)
		return wrong(tally, "no journal has a line");
	return true;
}

static uint64_t number(const json_t *line, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(line, key));
}

static const char *string(const json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text ? text : "";
}

static bool take_line(struct tally *tally, const json_t *line)
{
	struct piece *piece = &tally->pieces[tally->piece_count];
	const char *type = string(line, "type");

	*piece = (struct piece){
		.stream_offset = number(line, "stream_offset"),
		.bytes = number(line, "bytes"),
		.cause = strcmp(type, "parity") == 0 ? PARITY : SEGMENT,
		.target = (unsigned)number(line, "target"),
		.copy = (unsigned)number(line, "copy"),
		.row_at = number(line, "row") * tally->kit->session->plan.block_bytes +
			  number(line, "row_offset"),
		.file_offset = number(line, "file_offset"),
		.file = string(line, "file"),
		.xxh3 = string(line, "xxh3"),
	};
	if (strcmp(type, "segment") == 0 || piece->cause == PARITY) {
		if (!tally->kit->session->plan.has_second &&
		    piece->cause == SEGMENT) /* else count_copies() knows */
			tally->written += piece->bytes;
		tally->piece_count++;
		if (piece->bytes == 0 || piece->bytes > JOURNAL_SEGMENT_MAX ||
		    piece->target >= tally->kit->disk_count)
			return wrong(tally, "a segment line is impossible");
	} else if (strcmp(type, "gap") == 0) {
		while (++piece->cause < GAP_CAUSE_COUNT &&
		       strcmp(account_cause_name((enum gap_cause)piece->cause),
			      string(line, "cause")) != 0)
			;
		if (piece->cause == GAP_CAUSE_COUNT || piece->bytes == 0)
			return wrong(tally, "a gap line is impossible");
		tally->gaps[piece->cause] += piece->bytes;
		tally->piece_count++;
		if (!json_object_get(line, "filled"))
			return true;
		if (piece->cause != GAP_SOURCE)
			return wrong(tally, "a gap of another cause than source is filled");
		tally->fills[tally->fill_count++] = *piece;
		tally->piece_count--;
	}
	return true;
}

static int by_stream_offset(const void *a, const void *b)
{
	const struct piece *left = a, *right = b;

	return left->stream_offset < right->stream_offset ?
		       -1 :
		       left->stream_offset > right->stream_offset;
}

/*
 * With two copies: no byte twice in one copy, nor both of them on one disk, and none of what is a gap. Counts
 * what is there once at least.
 */
static bool count_copies(struct tally *tally)
{
	const struct account *account = &tally->kit->session->account;
	uint64_t bytes = account_stream_bytes(account) - account_get(&account->discarded_bytes);
	uint64_t single = 0;
	unsigned char *disks[COPIES_MAX] = { calloc(bytes + 1, 1), calloc(bytes + 1, 1) };
	bool is_right = true;

	if (!disks[0] || !disks[1])
		die("calloc");
	for (size_t i = 0; i < tally->piece_count && is_right; i++) {
		const struct piece *piece = &tally->pieces[i];

		if (piece->copy >= COPIES_MAX || piece->stream_offset + piece->bytes > bytes)
			is_right = wrong(tally, "a piece at %" PRIu64 " is impossible",
					 piece->stream_offset);
		for (uint64_t b = 0; b < piece->bytes && is_right; b++) {
			unsigned char *own = &disks[piece->copy][piece->stream_offset + b];
			unsigned char *other = &disks[!piece->copy][piece->stream_offset + b];

			if (*own || *other == piece->target + 1 || (piece->cause >= 0 && *other))
				is_right = wrong(tally,
						 "a piece of copy %u (cause %d) on disk %u: its byte %" PRIu64
						 " of the stream is on disks %d and %d already",
						 piece->copy, piece->cause, piece->target,
						 piece->stream_offset + b,
						 disks[0][piece->stream_offset + b] - 1,
						 disks[1][piece->stream_offset + b] - 1);
			*own = piece->cause < 0 ? (unsigned char)(piece->target + 1) : UCHAR_MAX;
			if (piece->cause >= 0)
				*other = UCHAR_MAX;
		}
	}
	for (uint64_t b = 0; b < bytes && is_right; b++) {
		bool is_first = disks[0][b] && disks[0][b] != UCHAR_MAX,
		     is_second = disks[1][b] && disks[1][b] != UCHAR_MAX;

		tally->written += is_first || is_second;
		single += is_first != is_second;
		if (!disks[0][b] && !disks[1][b])
			is_right =
				wrong(tally, "nothing is known of byte %" PRIu64 " of the stream", b);
	}
	free(disks[0]);
	free(disks[1]);
	if (is_right && single != session_single_bytes(tally->kit->session))
		is_right = wrong(tally, "%" PRIu64 " bytes have one copy, %" PRIu64 " are counted",
				 single, session_single_bytes(tally->kit->session));
	return is_right;
}

static bool take_lines(struct tally *tally)
{
	const json_t *line, *last = NULL;
	size_t i;

	tally->pieces = calloc(json_array_size(tally->lines), sizeof(tally->pieces[0]));
	tally->fills = calloc(json_array_size(tally->lines), sizeof(tally->fills[0]));
	if (!tally->pieces || !tally->fills)
		die("calloc");
	json_array_foreach(tally->lines, i, line)
	{
		if (!take_line(tally, line))
			return false;
		last = line;
	}
	qsort(tally->pieces, tally->piece_count, sizeof(tally->pieces[0]), by_stream_offset);
	qsort(tally->fills, tally->fill_count, sizeof(tally->fills[0]), by_stream_offset);
	if (strcmp(string(json_array_get(tally->lines, 0), "type"), "start") != 0)
		return wrong(tally, "the first line is not \"start\"");
	if (tally->kit->session->plan.has_second && !count_copies(tally))
		return false;
	if (strcmp(string(last, "type"), "end") == 0 && number(last, "written_bytes") != tally->written)
		return wrong(tally,
			     "the end line says %" PRIu64 " bytes written, its segments %" PRIu64,
			     number(last, "written_bytes"), tally->written);
	return true;
}

/* ---- comparing ---- */

static bool check_tiles(struct tally *tally)
{
	const struct account *account = &tally->kit->session->account;
	uint64_t at = 0, end = account_stream_bytes(account) - account_get(&account->discarded_bytes) +
			       account->gap_bytes[GAP_DISCARDED];

	if (tally->kit->session->plan.has_second)
		return true; /* count_copies() has looked at each byte */
	for (size_t i = 0; i < tally->piece_count; i++) {
		const struct piece *piece = &tally->pieces[i];

		if (piece->cause == PARITY)
			continue;
		if (piece->stream_offset != at)
			return wrong(tally,
				     "stream offset %" PRIu64
				     " is expected, a piece (cause %d) of %" PRIu64
				     " bytes at %" PRIu64 " comes",
				     at, piece->cause, piece->bytes, piece->stream_offset);
		at += piece->bytes;
	}
	if (at != end)
		return wrong(tally, "the journal ends at %" PRIu64 ", the stream at %" PRIu64, at, end);
	return true;
}

static bool check_account(struct tally *tally)
{
	const struct session *session = tally->kit->session;
	const struct account *account = &session->account;
	struct account_sum sum = session_sum(session);
	uint64_t expected[GAP_CAUSE_COUNT] = {
		[GAP_OVERFLOW] = account_get(&account->overflow_bytes),
		[GAP_SOURCE] = account_get(&account->source_lost_bytes),
		[GAP_DISK] = sum.disk_bytes,
		[GAP_ABORTED] = sum.aborted_bytes,
		/* what was discarded behind the end is no gap */
		[GAP_DISCARDED] = account->gap_bytes[GAP_DISCARDED],
	};

	if (!account_check(account, &sum, tally->kit->error, sizeof(tally->kit->error)))
		return false;
	if (account->gap_bytes[GAP_DISCARDED] > account_get(&account->discarded_bytes))
		return wrong(tally, "gaps of more bytes than were discarded");
	if (session->error[0])
		return wrong(tally, "the session says: %s", session->error);
	for (int cause = 0; cause < GAP_CAUSE_COUNT; cause++)
		if (expected[cause] != account->gap_bytes[cause])
			return wrong(tally, "%s: %" PRIu64 " bytes counted, gaps of %" PRIu64,
				     account_cause_name((enum gap_cause)cause), expected[cause],
				     account->gap_bytes[cause]);
	return true;
}

/* What the journal says against what was counted. */
static bool check_sums(struct tally *tally)
{
	const struct session *session = tally->kit->session;
	uint64_t filled = 0;

	if (tally->written != session_written_bytes(session))
		return wrong(tally,
			     "%" PRIu64 " bytes are counted as written, the journal has %" PRIu64,
			     session_written_bytes(session), tally->written);
	for (size_t i = 0; i < tally->fill_count; i++)
		filled += tally->fills[i].bytes;
	if (filled != account_get(&session->account.filled_bytes))
		return wrong(tally, "%" PRIu64 " bytes are counted as filled, the journal has %" PRIu64,
			     account_get(&session->account.filled_bytes), filled);
	for (int cause = 0; cause < GAP_CAUSE_COUNT; cause++)
		if (tally->gaps[cause] != session->account.gap_bytes[cause])
			return wrong(tally,
				     "gaps of cause %s: %" PRIu64 " bytes known, %" PRIu64
				     " in the journal",
				     account_cause_name((enum gap_cause)cause),
				     session->account.gap_bytes[cause], tally->gaps[cause]);
	return true;
}

/* How much of fill is as it should be: the pattern, or what the source gives for it. */
static size_t verify_fill(const struct tally *tally, const char *bytes, size_t len, uint64_t offset)
{
	static const char pattern[4] = { 0x44, 0x33, 0x22, 0x11 };
	size_t right = 0;

	if (tally->kit->config.fill == FILL_VDIF_INVALID)
		return sim_verify(bytes, len, offset, fake_source_fill_seed());
	while (right < len && bytes[right] == pattern[(offset + right) % 4])
		right++;
	return right;
}

/* How much of a segment is what it should be: the source's bytes, and fill where that is told. */
static size_t verify_stream(const struct tally *tally, const char *bytes, size_t len, uint64_t offset)
{
	size_t done = 0, right = 0, i = 0;

	while (done < len && right == done) {
		uint64_t at = offset + done, part = len - done;
		bool is_fill;

		while (i < tally->fill_count &&
		       tally->fills[i].stream_offset + tally->fills[i].bytes <= at)
			i++;
		is_fill = i < tally->fill_count && tally->fills[i].stream_offset <= at;
		if (is_fill && tally->fills[i].stream_offset + tally->fills[i].bytes - at < part)
			part = tally->fills[i].stream_offset + tally->fills[i].bytes - at;
		else if (!is_fill && i < tally->fill_count && tally->fills[i].stream_offset - at < part)
			part = tally->fills[i].stream_offset - at;
		right += is_fill ? verify_fill(tally, bytes + done, part, at) :
				   sim_verify(bytes + done, part, at, fake_source_script.seed);
		done += part;
	}
	return right;
}

/* @bytes: piece->bytes, read and compared */
static bool read_segment(struct tally *tally, const struct piece *piece, char *bytes)
{
	char path[512], sum[17];
	ssize_t n = -1;
	size_t right = piece->cause == PARITY ? piece->bytes : 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", tally->kit->targets[piece->target], piece->file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		strcat(path, JOURNAL_PART_SUFFIX);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd >= 0) {
		n = pread(fd, bytes, piece->bytes, (off_t)piece->file_offset);
		close(fd);
	}
	if (n == (ssize_t)piece->bytes && piece->cause == SEGMENT)
		right = verify_stream(tally, bytes, piece->bytes, piece->stream_offset);
	snprintf(sum, sizeof(sum), "%016" PRIx64, (uint64_t)XXH3_64bits(bytes, piece->bytes));
	if (n != (ssize_t)piece->bytes)
		return wrong(tally, "%s has not the %" PRIu64 " bytes at %" PRIu64, path,
			     piece->bytes, piece->file_offset);
	if (right != piece->bytes)
		return wrong(tally, "%s is wrong at %" PRIu64, path, piece->file_offset + right);
	if (tally->kit->config.use_checksums && strcmp(sum, piece->xxh3) != 0)
		return wrong(tally, "%s at %" PRIu64 ": checksum %s, the journal says %s", path,
			     piece->file_offset, sum, piece->xxh3);
	return true;
}

static bool check_segment(struct tally *tally, const struct piece *piece)
{
	char *bytes = malloc(piece->bytes);
	bool is_right;

	if (!bytes)
		die("malloc");
	is_right = read_segment(tally, piece, bytes);
	free(bytes);
	return is_right;
}

/* Of each place in the rows: the XOR of all that is there, what has been there, and on which disks. */
struct rows {
	uint64_t bytes;
	char *sums;
	bool *has_data, *has_parity;
	unsigned char *disks; /* a bit each */
	bool has_shared;      /* a disk has two of one row */
};

static bool add_to_rows(struct tally *tally, const struct piece *piece, struct rows *rows)
{
	char *bytes = calloc(1, piece->bytes);
	bool is_right = bytes && read_segment(tally, piece, bytes);
	unsigned char disk = (unsigned char)(1 << piece->target);

	for (uint64_t i = 0; i < piece->bytes && is_right; i++) {
		bool *has = piece->cause == PARITY ? rows->has_parity : rows->has_data;
		uint64_t at = piece->row_at + i;

		rows->sums[at] ^= bytes[i];
		has[at] = true;
		rows->has_shared = rows->has_shared || (rows->disks[at] & disk);
		rows->disks[at] |= disk;
	}
	free(bytes);
	return is_right;
}

/*
 * Where there is parity it is that of all data, unless some were lost; and, unless it was told, it is where
 * it should be, and no disk's loss takes two of a row.
 */
static bool check_rows(struct tally *tally)
{
	const struct session *session = tally->kit->session;
	bool is_whole = session_unprotected_bytes(session) == 0, is_right = true;
	bool has_all = session_unprotected_bytes(session) == atomic_load(&session->displaced_bytes);
	bool has_lost = tally->gaps[GAP_DISK] || tally->gaps[GAP_ABORTED];
	struct rows rows = { 0 };

	for (size_t i = 0; i < tally->piece_count; i++)
		if (tally->pieces[i].cause < 0 &&
		    tally->pieces[i].row_at + tally->pieces[i].bytes > rows.bytes)
			rows.bytes = tally->pieces[i].row_at + tally->pieces[i].bytes;
	rows.sums = calloc(rows.bytes + 1, 1);
	rows.has_data = calloc(rows.bytes + 1, sizeof(bool));
	rows.has_parity = calloc(rows.bytes + 1, sizeof(bool));
	rows.disks = calloc(rows.bytes + 1, 1);
	if (!rows.sums || !rows.has_data || !rows.has_parity || !rows.disks)
		die("calloc");
	for (size_t i = 0; i < tally->piece_count && is_right; i++)
		if (tally->pieces[i].cause < 0)
			is_right = add_to_rows(tally, &tally->pieces[i], &rows);
	for (uint64_t i = 0; i < rows.bytes && is_right; i++) {
		if (rows.has_parity[i] && rows.sums[i] && !has_lost)
			is_right =
				wrong(tally, "place %" PRIu64 " of the rows: the parity is wrong", i);
		if (rows.has_data[i] && !rows.has_parity[i] && has_all)
			is_right = wrong(tally, "place %" PRIu64 " of the rows has no parity", i);
	}
	if (is_right && is_whole && rows.has_shared)
		is_right = wrong(
			tally, "a disk has two blocks of one row, and nothing is told as unprotected");
	free(rows.disks);
	free(rows.sums);
	free(rows.has_data);
	free(rows.has_parity);
	return is_right;
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);

	return len >= suffix_len && strcmp(text + len - suffix_len, suffix) == 0;
}

static uint64_t covered_bytes(const struct tally *tally, unsigned disk, const char *file)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < tally->piece_count; i++)
		if (tally->pieces[i].cause < 0 && tally->pieces[i].target == disk &&
		    strcmp(tally->pieces[i].file, file) == 0)
			bytes += tally->pieces[i].bytes;
	return bytes;
}

/* Names relative to the target, of all files but journals; false as soon as @look says so. */
static bool walk(struct tally *tally, unsigned disk, const char *below,
		 bool (*look)(struct tally *tally, unsigned disk, const char *file, off_t bytes))
{
	char path[1024], name[512];
	struct dirent *entry;
	bool is_right = true;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", tally->kit->targets[disk], below);
	dir = opendir(path);
	while (dir && is_right && (entry = readdir(dir)) != NULL) {
		struct stat st;

		if (entry->d_name[0] == '.' || ends_with(entry->d_name, JOURNAL_SUFFIX))
			continue;
		snprintf(name, sizeof(name), "%.100s%s%.255s", below, below[0] ? "/" : "",
			 entry->d_name);
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode))
			is_right = walk(tally, disk, name, look);
		else
			is_right = look(tally, disk, name, st.st_size);
	}
	if (dir)
		closedir(dir);
	return is_right;
}

/* ---- layout mark6 ---- */

#define NUMBERS_MAX (UINT32_C(1) << 20)

static bool note_number(struct tally *tally, const char *file, uint32_t block_number)
{
	if (!tally->numbers)
		tally->numbers = calloc(NUMBERS_MAX, sizeof(tally->numbers[0]));
	if (!tally->numbers)
		die("calloc");
	if (block_number >= NUMBERS_MAX || tally->numbers[block_number]++)
		return wrong(tally, "block %" PRIu32 " of %s is there twice", block_number, file);
	tally->number_count++;
	if (block_number >= tally->number_end)
		tally->number_end = block_number + 1;
	return true;
}

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* A header, then whole blocks up to the end. What is not safe on a failed disk may be anything. */
static bool check_blocks(struct tally *tally, int fd, const char *file, uint64_t bytes, bool may_end)
{
	const struct layout_plan *plan = &tally->kit->session->plan;
	unsigned char buf[MARK6_FILE_HEADER_BYTES];
	struct mark6_file_header header;
	uint64_t at = MARK6_FILE_HEADER_BYTES;

	if (!read_at(fd, buf, sizeof(buf), 0) || !mark6_get_file_header(buf, &header) ||
	    header.format != plan->packet_format || header.packet_bytes != plan->packet_bytes ||
	    header.block_bytes != plan->data_bytes + MARK6_BLOCK_HEADER_BYTES)
		return may_end || wrong(tally, "%s has a wrong file header", file);
	while (at < bytes) {
		struct mark6_block_header block;

		if (!read_at(fd, buf, MARK6_BLOCK_HEADER_BYTES, at) ||
		    !mark6_get_block_header(buf, &header, &block) || at + block.bytes > bytes)
			return may_end || wrong(tally, "%s has no whole block at %" PRIu64, file, at);
		if (!note_number(tally, file, block.number))
			return false;
		at += block.bytes;
	}
	return true;
}

static bool check_mark6_file(struct tally *tally, unsigned disk, const char *file, off_t bytes)
{
	char path[512];
	bool is_right;
	int fd;

	if (atomic_load(&tally->kit->session->disks[disk].state) == DISK_STUCK)
		return true; /* it has not been able to cut off what others have */
	snprintf(path, sizeof(path), "%s/%s", tally->kit->targets[disk], file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	is_right = fd >= 0 ?
			   check_blocks(tally, fd, file, (uint64_t)bytes, !is_good(tally->kit, disk)) :
			   wrong(tally, "%s can't be opened", path);
	if (fd >= 0)
		close(fd);
	return is_right;
}

/* Each number once, and, unless blocks were lost, none missing. */
static bool check_mark6(struct tally *tally)
{
	const uint64_t *lost = tally->gaps;

	for (unsigned i = 0; i < tally->kit->disk_count; i++)
		if (!walk(tally, i, "", check_mark6_file))
			return false;
	return tally->number_count == tally->number_end || lost[GAP_DISK] || lost[GAP_ABORTED] ||
	       !is_all_good(tally->kit) ||
	       wrong(tally, "of %" PRIu32 " block numbers there are %" PRIu32, tally->number_end,
		     tally->number_count);
}

/* ---- files ---- */

/* A writer that wasn't waited for may have left a file in the middle of being finished, on a good disk too. */
static bool is_finished(const struct kit *kit, unsigned disk)
{
	return is_good(kit, disk) && !atomic_load(&kit->session->is_given_up);
}

static bool check_file(struct tally *tally, unsigned disk, const char *file, off_t bytes)
{
	if (ends_with(file, JOURNAL_PART_SUFFIX))
		return !is_finished(tally->kit, disk) ||
		       wrong(tally, "%s was left on good disk %u", file, disk);
	/* a file of a disk that failed while it was named, or its only file, may be longer than what is known to be safe */
	if (is_finished(tally->kit, disk) && covered_bytes(tally, disk, file) != (uint64_t)bytes)
		return wrong(tally, "%s on disk %u has %jd bytes, the journal knows %" PRIu64, file,
			     disk, (intmax_t)bytes, covered_bytes(tally, disk, file));
	return true;
}

static bool check_content(struct tally *tally)
{
	for (size_t i = 0; i < tally->piece_count; i++)
		if (tally->pieces[i].cause < 0 && !check_segment(tally, &tally->pieces[i]))
			return false;
	if (tally->kit->session->plan.has_parity && !check_rows(tally))
		return false;
	if (tally->kit->session->plan.is_appended)
		return check_mark6(tally);
	for (unsigned i = 0; i < tally->kit->disk_count; i++)
		if (!walk(tally, i, "", check_file))
			return false;
	return true;
}

const char *kit_check(struct kit *kit)
{
	struct tally tally = { .kit = kit };
	bool is_right;

	kit->error[0] = '\0';
	is_right = check_account(&tally) && read_journals(&tally) && take_lines(&tally) &&
		   check_tiles(&tally) && check_sums(&tally) && check_content(&tally);
	free(tally.pieces);
	free(tally.fills);
	free(tally.numbers);
	json_decref(tally.lines);
	return is_right ? NULL : kit->error;
}

unsigned kit_count(const struct kit *kit, unsigned disk, const char *suffix)
{
	char path[256];
	unsigned count = 0;

	for (int level = 0; level < 2; level++) {
		struct dirent *entry;
		DIR *dir;

		snprintf(path, sizeof(path), "%s%s", kit->targets[disk], level ? "/" NAME : "");
		dir = opendir(path);
		while (dir && (entry = readdir(dir)) != NULL)
			count += entry->d_name[0] != '.' && ends_with(entry->d_name, suffix);
		if (dir)
			closedir(dir);
	}
	return count;
}
