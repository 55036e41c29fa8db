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

#include "drivers/device_name.h"

static const struct source_ops *const table[] = {
	&source_sim, &source_file, &source_stdin,       &source_dev,      &source_vsib,
	&source_udp, &source_pcap, &source_packet_ring, &source_pcapfile, NULL,
};

const struct source_ops *const *source_table(void)
{
	return table;
}

/* ---- sentences ------------------------------------------------------------------------------- */

struct device_voice source_voice(struct source *source)
{
	return (struct device_voice){ source->name, source->error, source->note };
}

int source_fail(struct source *source, int error, const char *format, ...)
{
	struct device_voice voice = source_voice(source);
	va_list arguments;

	va_start(arguments, format);
	device_fail_list(&voice, error, format, arguments);
	va_end(arguments);
	return -error;
}

void source_note(struct source *source, const char *format, ...)
{
	struct device_voice voice = source_voice(source);
	va_list arguments;

	va_start(arguments, format);
	device_note_list(&voice, format, arguments);
	va_end(arguments);
}

/* ---- names and details ----------------------------------------------------------------------- */

bool source_next_detail(const struct source *source, const char **cursor, char *buf, size_t buf_len,
			struct source_detail *detail)
{
	return device_name_next(source->details, cursor, buf, buf_len, &detail->key, &detail->value);
}

/* "path,key=value" -> path and details that the driver knows. */
static int take_name(struct source *source)
{
	const struct source_ops *ops = source->ops;
	struct device_voice voice = source_voice(source);
	int ret = device_name_split(source->name + strlen(ops->prefix), ops->takes_path,
				    &source->path, &source->details);

	if (ret == -ENOENT)
		return source_fail(source, EINVAL, "what to record from is missing behind %s",
				   ops->prefix);
	if (ret)
		return source_fail(source, -ret, "out of memory");
	return device_name_check_keys(&voice, source->details, ops->prefix, ops->keys);
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
	ret = take_name(source);
	if (!ret && config->is_as_recorded && !device_name_lists(ops->keys, "as-recorded"))
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
	if (!device_name_has_prefix(name, ops->prefix))
		return source_fail(*out, EINVAL, "the name doesn't begin with %s", ops->prefix);
	(*out)->ops = ops;
	return open_driver(*out, config);
}

/* Of a prefix there may be two: one that gives packets, and one that gives what is in them. */
int source_open(struct source **out, const char *name, const struct source_config *config)
{
	bool wants_packets = config && config->wants_packets, is_known = false;

	for (const struct source_ops *const *ops = table; *ops; ops++) {
		if (!device_name_has_prefix(name, (*ops)->prefix))
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

int source_detail_bytes(struct source *source, const struct source_detail *detail, uint64_t *bytes)
{
	struct device_voice voice = source_voice(source);

	return device_detail_bytes(&voice, detail->key, detail->value, bytes);
}

int source_detail_rate(struct source *source, const struct source_detail *detail, uint64_t *bps)
{
	struct device_voice voice = source_voice(source);

	return device_detail_rate(&voice, detail->key, detail->value, bps);
}

int source_detail_time(struct source *source, const struct source_detail *detail, int64_t *ns)
{
	struct device_voice voice = source_voice(source);

	return device_detail_time(&voice, detail->key, detail->value, ns);
}

int source_detail_frequency(struct source *source, const struct source_detail *detail, uint64_t *hz)
{
	struct device_voice voice = source_voice(source);

	return device_detail_frequency(&voice, detail->key, detail->value, hz);
}

int source_detail_count(struct source *source, const struct source_detail *detail, uint64_t *count,
			uint64_t max)
{
	struct device_voice voice = source_voice(source);

	return device_detail_count(&voice, detail->key, detail->value, count, max);
}

int source_detail_port(struct source *source, const struct source_detail *detail, uint16_t *port)
{
	struct device_voice voice = source_voice(source);

	return device_detail_port(&voice, detail->key, detail->value, port);
}
