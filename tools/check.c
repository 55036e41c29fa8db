/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "drivers/units.h"
#include "tools/history.h"
#include "tools/read_at.h"

#define READ_BYTES ((size_t)1 << 20) /* stays in the cache between the copy and the checksum */
#define READ_ALIGN 4096
#define AHEAD_BYTES ((uint64_t)16 << 20) /* asked of the disk before it is needed */
#define THREADS_MAX 16
#define PROGRESS_NS (UNITS_NS_PER_S / 4)

/* The segments, and parity, that lie in one place, in the order of its files. */
struct reader {
	pthread_t thread;
	bool has_thread;
	const struct recording *recording;
	const struct check_config *config;
	struct check_result *result;
	const uint32_t *order; /* of history_stored() */
	size_t count;
	unsigned char *buf;
	XXH3_state_t *hash;
	int fd;               /* of file, or -errno */
	uint32_t file;        /* UINT32_MAX: none yet */
	uint64_t asked_bytes; /* of file, asked of the disk */
};

struct sorting {
	const struct recording *recording;
	const struct history *history;
};

static bool is_stopped(const struct check_config *config)
{
	return config->stop && atomic_load_explicit(config->stop, memory_order_relaxed);
}

/*
 * ---- the readers
 * ---------------------------------------------------------------------------------
 */

static int open_segment_file(struct reader *reader, uint32_t file)
{
	if (reader->file == file)
		return reader->fd;
	if (reader->fd >= 0)
		close(reader->fd);
	reader->file = file;
	reader->asked_bytes = 0;
	reader->fd = recording_open_file(reader->recording, file);
	if (reader->fd >= 0)
		posix_fadvise(reader->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return reader->fd;
}

/* The kernel's own window is small for a fast disk. Beyond the end of the file nothing happens. */
static void ask_ahead(struct reader *reader, uint64_t from)
{
	if (reader->asked_bytes < from)
		reader->asked_bytes = from;
	if (reader->asked_bytes - from > AHEAD_BYTES / 2)
		return;
	posix_fadvise(reader->fd, (off_t)reader->asked_bytes, (off_t)(AHEAD_BYTES / 2),
		      POSIX_FADV_WILLNEED);
	reader->asked_bytes += AHEAD_BYTES / 2;
}

/* Return: 0; -ENODATA; -EINTR stopped; -errno. */
static int hash_segment(struct reader *reader, const struct history_segment *segment)
{
	uint64_t at = segment->file_offset, end = at + segment->bytes;
	int fd = open_segment_file(reader, segment->file);

	if (fd < 0)
		return fd;
	XXH3_64bits_reset(reader->hash);
	while (at < end) {
		size_t want = end - at < READ_BYTES ? (size_t)(end - at) : READ_BYTES;
		int ret;

		if (is_stopped(reader->config))
			return -EINTR;
		ask_ahead(reader, at);
		ret = read_whole_at(fd, reader->buf, want, at);
		if (ret < 0)
			return ret;
		if (segment->has_xxh3)
			XXH3_64bits_update(reader->hash, reader->buf, want);
		at += want;
		/* relaxed: only shown */
		atomic_fetch_add_explicit(&reader->result->read_bytes, want, memory_order_relaxed);
	}
	return 0;
}

static void verify(struct reader *reader, uint32_t index)
{
	const struct history_segment *segment =
		history_stored(recording_info(reader->recording)->history, index);
	struct check_segment *found = &reader->result->segments[index];
	int ret = hash_segment(reader, segment);

	if (ret == -EINTR)
		return;
	if (ret < 0) {
		found->state = CHECK_UNREADABLE;
		found->error = ret;
	} else if (!segment->has_xxh3) {
		found->state = CHECK_UNSUMMED;
	} else {
		found->state =
			XXH3_64bits_digest(reader->hash) == segment->xxh3 ? CHECK_GOOD : CHECK_BAD;
	}
}

static void *reader_main(void *arg)
{
	struct reader *reader = arg;

	for (size_t i = 0; i < reader->count && !is_stopped(reader->config); i++)
		verify(reader, reader->order[i]);
	if (reader->fd >= 0)
		close(reader->fd);
	reader->fd = -1;
	return NULL;
}

/*
 * ---- who reads what
 * ------------------------------------------------------------------------------
 */

static int place_of(const struct sorting *sorting, uint32_t segment)
{
	struct recording_file file;

	return recording_file(sorting->recording, history_stored(sorting->history, segment)->file,
			      &file) ?
		       file.place :
		       -1;
}

static int compare_order(const void *a, const void *b, void *context)
{
	const struct sorting *sorting = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct history_segment *x = history_stored(sorting->history, i),
				     *y = history_stored(sorting->history, j);

	if (x->file != y->file) {
		int p = place_of(sorting, i), q = place_of(sorting, j);

		if (p != q)
			return p < q ? -1 : 1;
		return x->file < y->file ? -1 : 1;
	}
	if (x->file_offset != y->file_offset)
		return x->file_offset < y->file_offset ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* The segments that can be read, sorted; the others are missing. Return: their count. */
static size_t choose_segments(struct check_result *result, const struct sorting *sorting, uint32_t *order)
{
	size_t count = 0;

	for (size_t i = 0; i < history_stored_count(sorting->history); i++) {
		const struct history_segment *segment = history_stored(sorting->history, i);
		struct recording_file file;

		if (recording_file(sorting->recording, segment->file, &file) && file.place >= 0 &&
		    file.bytes >= segment->file_offset + segment->bytes) {
			order[count++] = (uint32_t)i;
			result->total_bytes += segment->bytes;
		} else {
			result->segments[i].state = CHECK_MISSING;
		}
	}
	if (count)
		qsort_r(order, count, sizeof(order[0]), compare_order, (void *)sorting);
	return count;
}

/* Places are dealt out; two that share a reader are read one after the other. */
static size_t deal(struct reader *readers, const struct sorting *sorting, const uint32_t *order,
		   size_t count)
{
	size_t used = 0, begin = 0;

	while (begin < count) {
		int place = place_of(sorting, order[begin]);
		size_t end = begin;

		while (end < count && place_of(sorting, order[end]) == place)
			end++;
		if (used < THREADS_MAX) {
			readers[used].order = order + begin;
			used++;
		}
		readers[used - 1].count += end - begin;
		begin = end;
	}
	return used;
}

static void wait_for_readers(struct reader *readers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		while (readers[i].has_thread) {
			int64_t until = units_realtime_ns() + PROGRESS_NS;
			struct timespec ts = { .tv_sec = until / UNITS_NS_PER_S,
					       .tv_nsec = until % UNITS_NS_PER_S };

			readers[i].has_thread =
				pthread_timedjoin_np(readers[i].thread, NULL, &ts) != 0;
			if (readers[i].has_thread && readers[i].config->progress)
				readers[i].config->progress(readers[i].config->context,
							    readers[i].result);
		}
	}
}

static int run_readers(struct reader *readers, size_t count)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < count; i++) {
		readers[i].buf = aligned_alloc(READ_ALIGN, READ_BYTES);
		readers[i].hash = XXH3_createState();
		if (!readers[i].buf || !readers[i].hash)
			ret = -ENOMEM;
	}
	for (size_t i = 0; ret == 0 && i < count; i++) {
		ret = -pthread_create(&readers[i].thread, NULL, reader_main, &readers[i]);
		readers[i].has_thread = ret == 0;
	}
	wait_for_readers(readers, count);
	for (size_t i = 0; i < count; i++) {
		XXH3_freeState(readers[i].hash);
		free(readers[i].buf);
	}
	return ret;
}

static void count_states(struct check_result *result, const struct history *history)
{
	for (size_t i = 0; i < result->segment_count; i++) {
		result->count[result->segments[i].state]++;
		if (result->segments[i].state == CHECK_GOOD)
			result->verified_bytes += history->segments[i].bytes;
	}
	for (size_t i = 0; i < result->parity_count; i++)
		result->parity_states[result->segments[result->segment_count + i].state]++;
}

int check_run(const struct recording *recording, const struct check_config *config,
	      struct check_result *result)
{
	const struct history *history = recording_info(recording)->history;
	struct reader readers[THREADS_MAX];
	struct sorting sorting = { .recording = recording };
	int64_t started = units_monotonic_ns();
	uint32_t *order = NULL;
	int ret = -ENOMEM;

	memset(result, 0, sizeof(*result));
	if (!history)
		return 0;
	for (size_t i = 0; i < THREADS_MAX; i++)
		readers[i] = (struct reader){ .recording = recording,
					      .config = config,
					      .result = result,
					      .fd = -1,
					      .file = UINT32_MAX };
	sorting.history = history;
	result->segment_count = history->segment_count;
	result->parity_count = history->parity_count;
	result->segments = calloc(history_stored_count(history) + 1, sizeof(result->segments[0]));
	order = calloc(history_stored_count(history) + 1, sizeof(order[0]));
	if (result->segments && order) {
		size_t count = choose_segments(result, &sorting, order);

		ret = run_readers(readers, deal(readers, &sorting, order, count));
		count_states(result, history);
	}
	if (ret == 0 && (result->count[CHECK_PENDING] || result->parity_states[CHECK_PENDING]))
		ret = -EINTR;
	result->duration_ns = units_monotonic_ns() - started;
	free(order);
	return ret;
}

void check_free(struct check_result *result)
{
	free(result->segments);
	result->segments = NULL;
}

/*
 * ---- rebuilding
 * ----------------------------------------------------------------------------------
 */

static bool is_good(void *context, uint32_t index, uint64_t bytes)
{
	const struct check_result *result = context;

	(void)bytes;
	return result->segments[index].state == CHECK_GOOD ||
	       result->segments[index].state == CHECK_UNSUMMED;
}

static bool is_there(void *context, uint32_t index, uint64_t bytes)
{
	const struct recording *recording = context;
	const struct history_segment *stored =
		history_stored(recording_info(recording)->history, index);
	struct recording_file file;

	return recording_file(recording, stored->file, &file) &&
	       file.bytes >= stored->file_offset + bytes;
}

/* What is bad or unreadable somewhere may be right where it is needed: only trying tells. */
static int is_rebuildable(struct recording *recording, struct check_result *result, uint32_t index)
{
	struct recording_piece piece = { .kind = RECORDING_DATA, .segment = index };
	int ret = recording_can_rebuild(recording, index, is_good, result);

	if (ret)
		return ret;
	ret = recording_can_rebuild(recording, index, is_there, recording);
	if (ret <= 0)
		return ret;
	ret = recording_rebuild(recording, &piece);
	return ret == -ENOMEM ? ret : ret == 0;
}

int check_rebuilding(struct recording *recording, struct check_result *result)
{
	for (size_t i = 0; i < result->segment_count; i++) {
		struct check_segment *found = &result->segments[i];
		uint64_t bytes = recording_info(recording)->history->segments[i].bytes;
		int ret;

		if (found->state == CHECK_PENDING || is_good(result, (uint32_t)i, bytes))
			continue;
		ret = is_rebuildable(recording, result, (uint32_t)i);
		if (ret < 0)
			return ret;
		found->is_rebuildable = ret;
		result->wrong_bytes += bytes;
		result->rebuildable_bytes += ret ? bytes : 0;
	}
	return 0;
}

/*
 * ---- narrowing down
 * ------------------------------------------------------------------------------
 */

/* Return: 1 no difference; 0 there is one, at *offset; -errno. */
static int compare_segments(const struct recording *recording, const struct history_segment *bad,
			    const struct history_segment *good, uint64_t *offset)
{
	int fds[2] = { recording_open_file(recording, bad->file),
		       recording_open_file(recording, good->file) };
	uint64_t at[2] = { bad->file_offset, good->file_offset };
	int ret = fds[0] < 0 ? fds[0] : fds[1] < 0 ? fds[1] : 0;

	if (ret == 0)
		ret = compare_at(fds, at, bad->bytes < good->bytes ? bad->bytes : good->bytes, offset);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return ret;
}

int check_difference(const struct recording *recording, const struct check_result *result,
		     size_t index, uint64_t *offset)
{
	const struct history_segment *segments = recording_info(recording)->history->segments;
	size_t first = index;

	/* copies lie side by side: they are sorted by their place in the stream */
	while (first > 0 && segments[first - 1].stream_offset == segments[index].stream_offset)
		first--;
	for (size_t i = first;
	     i < result->segment_count && segments[i].stream_offset == segments[index].stream_offset;
	     i++) {
		int ret;

		if (result->segments[i].state != CHECK_GOOD)
			continue;
		ret = compare_segments(recording, &segments[index], &segments[i], offset);
		if (ret != 1)
			return ret;
	}
	return -ENOENT;
}

/*
 * ---- the account
 * ---------------------------------------------------------------------------------
 */

struct stretch {
	uint64_t offset;
	uint64_t end;
	bool is_gap;
};

static int compare_stretches(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->is_gap - y->is_gap;
}

/*
 * A gap that is filled is none: its bytes are to be elsewhere, and that must show up to its end, but for what was
 * discarded behind the recording's.
 */
static uint64_t filled_end(const struct history *history, const struct history_gap *gap)
{
	uint64_t end = gap->stream_offset + gap->bytes;

	return history->end && end > history->end_bytes ? history->end_bytes : end;
}

static struct stretch *sort_stretches(const struct history *history, size_t *count)
{
	size_t n = 0;
	struct stretch *all = calloc(history->segment_count + history->gap_count + 1, sizeof(*all));

	if (!all)
		return NULL;
	for (size_t i = 0; i < history->segment_count; i++, n++) {
		all[n].offset = history->segments[i].stream_offset;
		all[n].end = all[n].offset + history->segments[i].bytes;
	}
	for (size_t i = 0; i < history->gap_count; i++, n++) {
		all[n].offset = history->gaps[i].stream_offset;
		all[n].end = all[n].offset + history->gaps[i].bytes;
		if (history->gaps[i].is_filled)
			all[n].offset = all[n].end = filled_end(history, &history->gaps[i]);
		all[n].is_gap = true;
	}
	if (n)
		qsort(all, n, sizeof(*all), compare_stretches);
	*count = n;
	return all;
}

int check_sum_up(const struct history *history, struct check_sums *sums,
		 int (*hole)(void *context, uint64_t offset, uint64_t bytes), void *context)
{
	size_t count;
	struct stretch *all = sort_stretches(history, &count);
	int ret = all ? 0 : -ENOMEM;

	memset(sums, 0, sizeof(*sums));
	for (size_t i = 0; i < history->gap_count; i++) {
		sums->gap_bytes[history->gaps[i].cause] += history->gaps[i].bytes;
		sums->filled_bytes += history->gaps[i].is_filled ? history->gaps[i].bytes : 0;
	}
	for (size_t i = 0; ret == 0 && i < count; i++) {
		uint64_t position = sums->stream_bytes;
		uint64_t from = all[i].offset > position ? all[i].offset : position;
		uint64_t fresh = all[i].end > from ? all[i].end - from : 0;

		if (from > position) {
			sums->hole_bytes += from - position;
			ret = hole ? hole(context, position, from - position) : 0;
		}
		if (all[i].is_gap)
			sums->doubled_bytes += all[i].end - all[i].offset - fresh;
		else
			sums->written_bytes += fresh;
		sums->stream_bytes = from + fresh;
	}
	free(all);
	return ret;
}

struct accounting {
	const json_t *end;
	void (*say)(void *context, const char *sentence);
	void *context;
	int count;
};

static __attribute__((format(printf, 2, 3))) void tell(struct accounting *accounting,
						       const char *format, ...)
{
	char sentence[512];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	accounting->count++;
	if (accounting->say)
		accounting->say(accounting->context, sentence);
}

/* False: the line doesn't have it. Below 0 is left to the comparison, which says so. */
static bool get(const struct accounting *accounting, const char *key, uint64_t *value)
{
	const json_t *number = json_object_get(accounting->end, key);

	*value = (uint64_t)json_integer_value(number);
	return json_is_integer(number);
}

static void compare_total(struct accounting *accounting, const char *key, uint64_t sum)
{
	uint64_t value;

	if (get(accounting, key, &value) && value != sum)
		tell(accounting,
		     "the end line says %s %" PRId64 ", the lines before it come to %" PRIu64, key,
		     (int64_t)value, sum);
}

/* stream = received + lost by the source; received + filled = written + all other losses */
static void compare_end_line(struct accounting *accounting)
{
	static const char *const parts[] = { "written_bytes", "overflow_bytes", "disk_lost_bytes",
					     "discarded_bytes", "aborted_bytes" };
	uint64_t stream, received, lost, filled, sum = 0, part;

	if (!get(accounting, "stream_bytes", &stream) || !get(accounting, "received_bytes", &received) ||
	    !get(accounting, "source_lost_bytes", &lost))
		return;
	if (stream != received + lost)
		tell(accounting,
		     "the end line's stream_bytes %" PRId64 " is not received_bytes %" PRId64
		     " + source_lost_bytes %" PRId64,
		     (int64_t)stream, (int64_t)received, (int64_t)lost);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!get(accounting, parts[i], &part))
			return;
		sum += part;
	}
	get(accounting, "filled_bytes", &filled);
	if (received + filled != sum)
		tell(accounting,
		     "the end line's received_bytes %" PRId64 " + filled_bytes %" PRId64
		     " are not written + overflow + disk_lost + discarded + aborted: %" PRId64,
		     (int64_t)received, (int64_t)filled, (int64_t)sum);
}

int check_account(const struct history *history, void (*say)(void *context, const char *sentence),
		  void *context)
{
	struct accounting accounting = { .end = history->end, .say = say, .context = context };
	struct check_sums sums;
	uint64_t discarded = 0;
	int ret = history->end ? check_sum_up(history, &sums, NULL, NULL) : 0;

	if (!history->end || ret < 0)
		return ret;
	get(&accounting, "discarded_bytes", &discarded);
	compare_end_line(&accounting);
	compare_total(&accounting, "written_bytes", sums.written_bytes);
	compare_total(&accounting, "overflow_bytes", sums.gap_bytes[HISTORY_OVERFLOW]);
	compare_total(&accounting, "source_lost_bytes", sums.gap_bytes[HISTORY_SOURCE]);
	compare_total(&accounting, "disk_lost_bytes", sums.gap_bytes[HISTORY_DISK]);
	compare_total(&accounting, "aborted_bytes", sums.gap_bytes[HISTORY_ABORTED]);
	compare_total(&accounting, "filled_bytes", sums.filled_bytes);
	compare_total(&accounting, "stream_bytes",
		      sums.stream_bytes + discarded - sums.gap_bytes[HISTORY_DISCARDED]);
	if (sums.hole_bytes)
		tell(&accounting,
		     "%" PRIu64 " bytes of the stream are neither in a segment nor in a gap",
		     sums.hole_bytes);
	if (sums.doubled_bytes)
		tell(&accounting,
		     "%" PRIu64 " bytes of gaps are said of bytes that are there, or are lost already",
		     sums.doubled_bytes);
	return accounting.count;
}
