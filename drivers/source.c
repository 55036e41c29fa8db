/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source.c - the table of drivers, names and details, and the checks that every driver needs
 */
#include "drivers/source.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"

static const struct source_ops *const table[] = {
	&source_sim, &source_file, &source_stdin,       &source_dev,      &source_vsib,
	&source_udp, &source_pcap, &source_packet_ring, &source_pcapfile, NULL,
};

const struct source_ops *const *source_table(void)
{
	return table;
}

/* ---- sentences ------------------------------------------------------------------------------- */

static void write_sentence(char *out, size_t size, const char *name, const char *format,
			   va_list arguments)
{
	size_t used = (size_t)snprintf(out, size, "%.200s: ", name);

	if (used < size)
		vsnprintf(out + used, size - used, format, arguments);
}

int source_fail(struct source *source, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_sentence(source->error, sizeof(source->error), source->name, format, arguments);
	va_end(arguments);
	return -error;
}

void source_note(struct source *source, const char *format, ...)
{
	size_t used = strlen(source->note);
	va_list arguments;

	if (used && used < sizeof(source->note) - 1)
		source->note[used++] = '\n';
	va_start(arguments, format);
	write_sentence(source->note + used, sizeof(source->note) - used, source->name, format,
		       arguments);
	va_end(arguments);
}

/* ---- names and details ----------------------------------------------------------------------- */

/*
 * Copies @from up to the next single comma and writes ',' for ",,". At most @size - 1 characters
 * are kept. Returns where the comma or the end is; *@length tells how long the whole would be.
 */
static const char *copy_item(const char *from, char *to, size_t size, size_t *length)
{
	*length = 0;
	for (; *from; from++) {
		if (*from == ',' && *++from != ',')
			return from - 1;
		if (++*length < size)
			*to++ = *from;
	}
	return from;
}

bool source_next_detail(const struct source *source, const char **cursor, char *buf, size_t buf_len,
			struct source_detail *detail)
{
	size_t length = 0;
	char *equals;

	if (!*cursor)
		*cursor = source->details;
	while (**cursor && !length) {
		memset(buf, 0, buf_len);
		*cursor = copy_item(*cursor, buf, buf_len, &length);
		if (**cursor)
			++*cursor;
	}
	if (!length)
		return false;
	equals = strchr(buf, '=');
	if (equals)
		*equals = '\0';
	detail->key = buf;
	detail->value = equals ? equals + 1 : "";
	return true;
}

static bool is_in_list(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list && *list) {
		size_t item_len = strcspn(list, " ");

		if (item_len == len && !strncmp(list, word, len))
			return true;
		list += item_len + strspn(list + item_len, " ");
	}
	return false;
}

static int check_keys(struct source *source)
{
	const char *keys = source->ops->keys;
	char buf[SOURCE_DETAIL_LEN];
	struct source_detail detail;
	const char *cursor = NULL;

	while (source_next_detail(source, &cursor, buf, sizeof(buf), &detail)) {
		/* the key was cut off at '=', so the value's length counts apart */
		if (strlen(detail.key) + strlen(detail.value) + 2 >= sizeof(buf))
			return source_fail(source, EINVAL, "the detail %.40s is too long", detail.key);
		if (!is_in_list(keys, detail.key))
			return source_fail(source, EINVAL, "unknown detail \"%s\"; %s knows %s%s",
					   detail.key, source->ops->prefix, keys ? "" : "none",
					   keys ? keys : "");
	}
	return 0;
}

/* "path,key=value" -> path and details. */
static int split_name(struct source *source, const char *rest)
{
	size_t size = strlen(rest) + 1, length;

	source->path = calloc(1, size);
	source->details = calloc(1, size);
	if (!source->path || !source->details)
		return source_fail(source, ENOMEM, "out of memory");
	if (source->ops->takes_path) {
		rest = copy_item(rest, source->path, size, &length);
		if (!length)
			return source_fail(source, EINVAL, "what to record from is missing behind %s",
					   source->ops->prefix);
	}
	strcpy(source->details, *rest == ',' ? rest + 1 : rest);
	return 0;
}

/* "sim:..." begins with its prefix; "-" stands alone or before a comma. */
static bool has_prefix(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(name, prefix, len))
		return false;
	return (len && prefix[len - 1] == ':') || name[len] == '\0' || name[len] == ',';
}

static int refuse_unknown(struct source *source)
{
	char known[SOURCE_ERROR_LEN / 2] = "";

	for (const struct source_ops *const *ops = table; *ops; ops++) {
		size_t used = strlen(known);

		if (!(*ops)->summary) /* the other one of its name has been told */
			continue;
		snprintf(known + used, sizeof(known) - used, " %s", (*ops)->prefix);
	}
	return source_fail(source, EINVAL, "unknown source; a name begins with one of%s", known);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A source that knows its name, so that errors can be told; NULL without memory. */
static struct source *source_new(const char *name)
{
	struct source *source = calloc(1, sizeof(*source));

	if (source)
		source->name = strdup(name);
	if (!source || !source->name) {
		free(source);
		return NULL;
	}
	source->word_bytes = 4;
	return source;
}

static int open_driver(struct source *source, const struct source_config *config)
{
	static const struct source_config nothing_asked;
	const struct source_ops *ops = source->ops;
	int ret;

	if (!config)
		config = &nothing_asked;
	ret = split_name(source, source->name + strlen(ops->prefix));
	if (!ret)
		ret = check_keys(source);
	if (!ret && config->is_as_recorded && !is_in_list(ops->keys, "as-recorded"))
		ret = source_fail(source, EINVAL,
				  "has no time stamps to go by: as-recorded is for pcapfile:");
	if (!ret && ops->open)
		ret = ops->open(source, config);
	if (ret && !source->error[0])
		source_fail(source, -ret, "cannot open: %s", strerror(-ret));
	return ret;
}

int source_open_with(struct source **out, const struct source_ops *ops, const char *name,
		     const struct source_config *config)
{
	*out = source_new(name);
	if (!*out)
		return -ENOMEM;
	if (!has_prefix(name, ops->prefix))
		return source_fail(*out, EINVAL, "the name doesn't begin with %s", ops->prefix);
	(*out)->ops = ops;
	return open_driver(*out, config);
}

/* Of a prefix there may be two: one that gives packets, and one that gives what is in them. */
int source_open(struct source **out, const char *name, const struct source_config *config)
{
	bool wants_packets = config && config->wants_packets, is_known = false;

	for (const struct source_ops *const *ops = table; *ops; ops++) {
		if (!has_prefix(name, (*ops)->prefix))
			continue;
		is_known = true;
		if (((*ops)->lend != NULL) == wants_packets)
			return source_open_with(out, *ops, name, config);
	}
	*out = source_new(name);
	if (!*out)
		return -ENOMEM;
	if (!is_known)
		return refuse_unknown(*out);
	return source_fail(
		*out, EINVAL,
		wants_packets ?
			"this source has no packets to keep whole; pcap:INTERFACE has" :
			"it gives whole packets, and only they can be recorded: --layout pcap");
}

void source_close(struct source *source)
{
	if (!source)
		return;
	source_stop(source);
	if (source->state && source->ops->close)
		source->ops->close(source);
	free(source->details);
	free(source->path);
	free(source->name);
	free(source);
}

/* ---- running --------------------------------------------------------------------------------- */

int source_start(struct source *source)
{
	int ret;

	source->note[0] = '\0';
	ret = source->ops->start ? source->ops->start(source) : 0;
	if (ret && !source->error[0])
		source_fail(source, -ret, "cannot start: %s", strerror(-ret));
	source->is_started = !ret;
	return ret;
}

void source_fill(struct source *source, void *buf, size_t len)
{
	source->ops->fill(source, buf, len);
}

void source_stop(struct source *source)
{
	source->note[0] = '\0';
	if (source->is_started && source->ops->stop)
		source->ops->stop(source);
	source->is_started = false;
}

void source_interrupt(struct source *source)
{
	/* relaxed: nothing travels with the flag, it only has to be seen soon */
	atomic_store_explicit(&source->is_interrupted, true, memory_order_relaxed);
}

/*
 * What a driver may return, and what it may not: the last line between a broken device and the
 * recording.
 */
static ssize_t check_result(struct source *source, ssize_t got, size_t len)
{
	if (got > 0 && (size_t)got > len)
		return source_fail(source, EIO,
				   "the device returned %zd bytes when %zu were asked for", got, len);
	if (got >= 0 || got == SOURCE_NOT_YET)
		return got;
	if (got == -EINTR)
		return SOURCE_NOT_YET;
	if (got < -4095 || !strerrorname_np((int)-got))
		return source_fail(source, EIO, "the device returned the unknown error %zd", -got);
	if (!source->error[0])
		source_fail(source, (int)-got, "cannot read: %s", strerror((int)-got));
	return got;
}

void source_tell_fill(struct source *source, uint64_t bytes)
{
	struct source_stats *stats = &source->stats;

	/* relaxed: figures for display, written by this thread only */
	atomic_store_explicit(&stats->device_fill_bytes, bytes, memory_order_relaxed);
	if (bytes > atomic_load_explicit(&stats->device_fill_max_bytes, memory_order_relaxed))
		atomic_store_explicit(&stats->device_fill_max_bytes, bytes, memory_order_relaxed);
}

void source_tell_capture(struct source *source, const struct packet_counts *counts)
{
	struct source_capture *capture = &source->stats.capture;

	for (int fate = 0; fate < PACKET_FATE_COUNT; fate++)
		atomic_store_explicit(&capture->packets[fate], counts->packets[fate],
				      memory_order_relaxed);
	atomic_store_explicit(&capture->first_utc_ns, counts->first_utc_ns, memory_order_relaxed);
	atomic_store_explicit(&capture->last_utc_ns, counts->last_utc_ns, memory_order_relaxed);
	atomic_store_explicit(&capture->incomplete_count, counts->fragments.incomplete_count,
			      memory_order_relaxed);
	atomic_store_explicit(&capture->incomplete_fragments,
			      counts->fragments.incomplete_fragments, memory_order_relaxed);
	atomic_store_explicit(&capture->overlapping_fragments,
			      counts->fragments.overlapping_fragments, memory_order_relaxed);
}

bool source_capture(const struct source *source, struct packet_counts *counts)
{
	const struct source_stats *stats = &source->stats;
	const struct source_capture *capture = &stats->capture;

	/* relaxed: counters, each exact by itself */
	*counts = (struct packet_counts){
		.payload_bytes = atomic_load_explicit(&stats->received_bytes, memory_order_relaxed),
		.first_utc_ns = atomic_load_explicit(&capture->first_utc_ns, memory_order_relaxed),
		.last_utc_ns = atomic_load_explicit(&capture->last_utc_ns, memory_order_relaxed),
		.fragments.incomplete_count =
			atomic_load_explicit(&capture->incomplete_count, memory_order_relaxed),
		.fragments.incomplete_fragments =
			atomic_load_explicit(&capture->incomplete_fragments, memory_order_relaxed),
		.fragments.overlapping_fragments =
			atomic_load_explicit(&capture->overlapping_fragments, memory_order_relaxed),
	};
	for (int fate = 0; fate < PACKET_FATE_COUNT; fate++)
		counts->packets[fate] =
			atomic_load_explicit(&capture->packets[fate], memory_order_relaxed);
	return source->has_capture;
}

/* Counts what a driver has said. */
static ssize_t count(struct source *source, ssize_t got, struct source_mark *mark)
{
	if (got == SOURCE_NOT_YET)
		*mark = (struct source_mark){ 0 };
	if (got > 0)
		source_count(&source->stats.received_bytes, (uint64_t)got);
	source_count(&source->stats.lost_bytes, mark->lost_bytes);
	source_count(&source->stats.discarded_bytes, mark->discarded_bytes);
	if (mark->is_estimated)
		source_count(&source->stats.estimated_bytes, mark->lost_bytes);
	return got;
}

ssize_t source_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
		    struct source_mark *mark)
{
	ssize_t got;

	assert(len > 0 && len <= SSIZE_MAX);
	*mark = (struct source_mark){ 0 };
	source->error[0] = '\0';
	source->note[0] = '\0';
	got = check_result(source, source->ops->read(source, buf, len, deadline_ns, mark), len);
	return count(source, got, mark);
}

/* ---- memory that is lent --------------------------------------------------------------------- */

int source_lend(struct source *source, size_t block_bytes, uint32_t block_count, void **memory)
{
	source->error[0] = '\0';
	return source->ops->lend(source, block_bytes, block_count, memory);
}

void source_give(struct source *source, uint32_t block)
{
	source->ops->give(source, block);
}

ssize_t source_take(struct source *source, uint32_t *block, int64_t deadline_ns,
		    struct source_mark *mark)
{
	ssize_t got;

	*mark = (struct source_mark){ 0 };
	source->error[0] = '\0';
	source->note[0] = '\0';
	got = source->ops->take(source, block, deadline_ns, mark);
	return count(source, check_result(source, got, SSIZE_MAX), mark);
}

/* ---- details with units ---------------------------------------------------------------------- */

static int check_value(struct source *source, const struct source_detail *detail, int ret,
		       const char *expected)
{
	if (ret == -ERANGE)
		return source_fail(source, ERANGE, "%s=%s is too large", detail->key, detail->value);
	if (ret)
		return source_fail(source, EINVAL, "%s=%s: expected %s", detail->key, detail->value,
				   expected);
	return 0;
}

int source_detail_bytes(struct source *source, const struct source_detail *detail, uint64_t *bytes)
{
	return check_value(source, detail, units_parse_bytes(detail->value, bytes),
			   "a size like 4096, 64Ki or 1.5G");
}

int source_detail_rate(struct source *source, const struct source_detail *detail, uint64_t *bps)
{
	return check_value(source, detail, units_parse_rate(detail->value, bps),
			   "a rate like 512 (Mbit/s), 1.6G or 64MB/s");
}

int source_detail_time(struct source *source, const struct source_detail *detail, int64_t *ns)
{
	return check_value(source, detail, units_parse_time(detail->value, ns),
			   "a time like 1.5 (seconds), 500ms or 10m");
}

int source_detail_frequency(struct source *source, const struct source_detail *detail, uint64_t *hz)
{
	return check_value(source, detail, units_parse_frequency(detail->value, hz),
			   "a frequency like 32M (Hz)");
}

int source_detail_count(struct source *source, const struct source_detail *detail, uint64_t *count,
			uint64_t max)
{
	int ret = check_value(source, detail, units_parse_count(detail->value, count),
			      "a whole number");

	if (!ret && *count > max)
		ret = source_fail(source, ERANGE, "%s=%s is more than %llu", detail->key,
				  detail->value, (unsigned long long)max);
	return ret;
}

int source_detail_port(struct source *source, const struct source_detail *detail, uint16_t *port)
{
	uint64_t number = 0;
	int ret = source_detail_count(source, detail, &number, UINT16_MAX);

	if (!ret && number == 0)
		ret = source_fail(source, EINVAL, "%s=0: expected 1 to 65535", detail->key);
	if (!ret)
		*port = (uint16_t)number;
	return ret;
}
