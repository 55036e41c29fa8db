/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/capture.h"
#include "recorder/disk.h"
#include "recorder/outbox.h"
#include "recorder/report_objects.h"
#include "recorder/version.h"
#include "recorder/write_all.h"

#define TEXT_GAPS 20 /* gaps listed in the text report */

static double duration_s(const struct session *session)
{
	return (double)session_duration_ns(session) / 1e9;
}

static double rate_bps(const struct session *session, uint64_t bytes)
{
	double seconds = duration_s(session);

	return seconds > 0 ? (double)bytes * 8 / seconds : 0;
}

static double since_start_s(const struct session *session, int64_t monotonic_ns)
{
	int64_t began = session->ended_ns - session_duration_ns(session);

	return monotonic_ns > began ? (double)(monotonic_ns - began) / 1e9 : 0;
}

/* ---- text ---- */

static void text_gaps(FILE *out, const struct session *session)
{
	const struct account *account = &session->account;
	char utc[UNITS_UTC_LEN];

	for (size_t i = 0; i < account->gap_kept_count && i < TEXT_GAPS; i++) {
		const struct gap *gap = &account->gaps[i];

		fprintf(out,
			"  gap: %" PRIu64 " bytes at stream offset %" PRIu64 ", cause %s%s%s, %s\n",
			gap->bytes, gap->stream_offset, account_cause_name(gap->cause),
			gap->is_estimated ? " (estimated)" : "", gap->is_filled ? ", filled" : "",
			units_format_utc(utc, gap->utc_ns));
	}
	if (account->gap_count > TEXT_GAPS)
		fprintf(out, "  ... %" PRIu64 " gaps in all%s\n", account->gap_count,
			session->journal ? "; the journal has every one" : "");
}

static void text_capture(FILE *out, const struct session *session)
{
	struct packet_counts counts;
	char left_out[PACKET_TEXT_LEN], overlaps[PACKET_TEXT_LEN];

	if (!source_capture(session->source, &counts))
		return;
	fprintf(out, "  capture  %" PRIu64 " packets, with %" PRIu64 " UDP datagrams",
		packet_count(&counts), counts.packets[PACKET_DATAGRAM]);
	if (packet_tell_left_out(&counts, left_out, sizeof(left_out)))
		fprintf(out, "; left out: %s", left_out);
	if (packet_tell_overlaps(&counts, overlaps, sizeof(overlaps)))
		fprintf(out, "; %s", overlaps);
	fputc('\n', out);
}

static void text_account(FILE *out, const struct session *session)
{
	const struct account *account = &session->account;
	struct account_sum sum = session_sum(session);

	fprintf(out,
		"  stream   %" PRIu64 " bytes = received %" PRIu64 " + lost by the source %" PRIu64
		"%s\n",
		account_stream_bytes(account), account_get(&account->received_bytes),
		account_get(&account->source_lost_bytes),
		account_get(&account->estimated_bytes) ? " (partly estimated by the clock)" : "");
	fprintf(out, "  received %" PRIu64 " bytes", account_get(&account->received_bytes));
	if (account_get(&account->filled_bytes))
		fprintf(out, " + filled %" PRIu64, account_get(&account->filled_bytes));
	fprintf(out, " = written %" PRIu64 " + overflow %" PRIu64 " + lost with a disk %" PRIu64,
		sum.written_bytes, account_get(&account->overflow_bytes), sum.disk_bytes);
	if (account_get(&account->discarded_bytes))
		fprintf(out, " + discarded %" PRIu64, account_get(&account->discarded_bytes));
	if (sum.aborted_bytes)
		fprintf(out, " + aborted %" PRIu64, sum.aborted_bytes);
	fputc('\n', out);
}

static void text_packets(FILE *out, const struct session *session)
{
	const struct source_packets *packets = &session->source->stats.packets;
	char buffer[UNITS_TEXT_LEN];

	if (!session->source->has_packets)
		return;
	fprintf(out,
		"  packets  %" PRIu64 " received; %" PRIu64 " lost, %" PRIu64 " dropped by the kernel",
		account_get(&packets->received_count), account_get(&packets->lost_count),
		account_get(&packets->dropped_count));
	fprintf(out,
		"; %" PRIu64 " late, %" PRIu64 " duplicate, %" PRIu64 " reordered, %" PRIu64 " stray",
		account_get(&packets->late_count), account_get(&packets->duplicate_count),
		account_get(&packets->reordered_count), account_get(&packets->stray_count));
	if (account_get(&packets->unwanted_count))
		fprintf(out, ", %" PRIu64 " not to be recorded", account_get(&packets->unwanted_count));
	if (account_get(&packets->restart_count))
		fprintf(out, "; the numbers began anew %" PRIu64 " times",
			account_get(&packets->restart_count));
	if (account_get(&packets->buffer_bytes))
		fprintf(out, "; receive buffer %s",
			units_format_size(buffer, account_get(&packets->buffer_bytes)));
	fputc('\n', out);
}

/* On all disks together, each copy. */
static uint64_t physical_bytes(const struct session *session)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < session->disk_count; i++)
		bytes += atomic_load_explicit(&session->disks[i].durable_bytes, memory_order_relaxed);
	return bytes;
}

static void text_protection(FILE *out, const struct session *session)
{
	uint64_t written = session_written_bytes(session), physical = physical_bytes(session);

	if (!session->plan.has_second && !session->plan.has_parity)
		return;
	fprintf(out, "  %s %" PRIu64 " bytes on the disks, %.3f for each byte recorded",
		session->plan.has_second ? "copies   two:" : "parity  ", physical,
		written ? (double)physical / (double)written : 0.0);
	if (session_single_bytes(session))
		fprintf(out, "; %" PRIu64 " bytes have one copy only", session_single_bytes(session));
	if (session_unprotected_bytes(session))
		fprintf(out, "; %" PRIu64 " bytes are not protected",
			session_unprotected_bytes(session));
	fputc('\n', out);
}

static void text_ring(FILE *out, const struct session *session)
{
	struct ring_level level = ring_level(session->ring);
	char high[UNITS_TEXT_LEN];
	int64_t waited = atomic_load_explicit(&session->waited_ns, memory_order_relaxed);

	fprintf(out,
		"  ring     high-water mark %" PRIu64 " bytes (%s, %.1f %%) after %.3f s; %" PRIu64
		" overflows",
		level.high_water_bytes, units_format_bytes(high, level.high_water_bytes),
		(double)level.high_water_bytes / (double)session->plan.ring_bytes * 100,
		since_start_s(session, level.high_water_ns),
		account_get(&session->account.overflow_count));
	if (waited > UNITS_NS_PER_S / 100)
		fprintf(out, "; the source had to wait %.3f s", (double)waited / 1e9);
	fputc('\n', out);
}

static void text_disk(FILE *out, const struct session *session, const struct disk *disk)
{
	uint64_t bytes = atomic_load_explicit(&disk->durable_bytes, memory_order_relaxed);
	enum disk_state state =
		(enum disk_state)atomic_load_explicit(&disk->state, memory_order_acquire);
	double rate = rate_bps(session, bytes);
	const char *note;

	fprintf(out, "  %-8s %" PRIu64 " bytes, %.3f Mbit/s (%.2f MiB/s), worst write %.3f s",
		session_disk_state_name(state), bytes, rate / 1e6, rate / 8 / 1048576,
		(double)atomic_load_explicit(&disk->worst_write_ns, memory_order_relaxed) / 1e9);
	if (disk->target.kind == TARGET_DIRECTORY)
		fprintf(out, " at file offset %" PRIu64 ", %" PRIu64 " files, %s I/O",
			account_get(&disk->worst_offset), account_get(&disk->file_count),
			outbox_io_name(disk->outbox));
	fprintf(out, ": %s\n", disk->target.path);
	for (unsigned i = 0; (note = outbox_note(disk->outbox, i)) != NULL; i++)
		if (note[0])
			fprintf(out, "           %s\n", note);
	if (state != DISK_OK)
		fprintf(out, "           %s\n", disk->error);
}

static const char *reason_words(const char *reason)
{
	static const char *const words[][2] = {
		{ "signal", "by a signal" },
		{ "duration", "its time was over" },
		{ "bytes", "it had its bytes" },
		{ "source-end", "the source ended" },
		{ "source-error", "the source failed" },
		{ "last-disk", "no disk was left" },
		{ "overflow", "the ring was full" },
		{ "disks-full", "the disks were about to be full" },
		{ "abort", "aborted by a second signal" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i][0], reason) == 0)
			return words[i][1];
	return reason;
}

void report_text(FILE *out, const struct session *session)
{
	int status;
	enum session_outcome outcome = session_outcome(session, &status);
	uint64_t written = session_written_bytes(session);
	double rate = rate_bps(session, written);

	fprintf(out, "%s: %s (%s)\n", session->config.name, session_outcome_name(outcome),
		reason_words(session_reason_name(session)));
	if (session_placed_bytes(session) == 0)
		fprintf(out, "  not one byte came from %s\n", session->source->name);
	fprintf(out, "  %.3f s, of which %.3f s final sync; %.3f Mbit/s sustained (%.2f MiB/s)\n",
		duration_s(session), (double)session->sync_ns / 1e9, rate / 1e6, rate / 8 / 1048576);
	text_capture(out, session);
	text_account(out, session);
	text_packets(out, session);
	text_protection(out, session);
	text_ring(out, session);
	for (unsigned i = 0; i < session->disk_count; i++)
		text_disk(out, session, &session->disks[i]);
	text_gaps(out, session);
	for (unsigned i = 0; i < session->warning_count; i++)
		fprintf(out, "  warning: %s\n", session->warnings[i]);
}

/* ---- JSON ---- */

static json_t *json_disk(const struct session *session, const struct disk *disk)
{
	uint64_t bytes = atomic_load_explicit(&disk->durable_bytes, memory_order_relaxed);
	struct report_disk object = {
		.target = &disk->target,
		.written_bytes = bytes,
		.file_count = account_get(&disk->file_count),
		.state = (enum disk_state)atomic_load_explicit(&disk->state, memory_order_acquire),
		.error = disk->error,
		.io = outbox_io_name(disk->outbox),
		.engine = outbox_engine_name(disk->outbox),
		.depth = outbox_depth(disk->outbox),
		.rate_bps = rate_bps(session, bytes),
		.worst_write_s =
			(double)atomic_load_explicit(&disk->worst_write_ns, memory_order_relaxed) / 1e9,
		.worst_write_offset = account_get(&disk->worst_offset),
		.worst_write_at_s = since_start_s(
			session, atomic_load_explicit(&disk->worst_write_at_ns, memory_order_relaxed)),
	};

	for (unsigned i = 0; i < SESSION_HISTOGRAM; i++)
		object.histogram[i] = account_get(&disk->write_hist[i]);
	for (unsigned i = 0; i < SESSION_MARK5_BINS; i++)
		object.mark5_bins[i] = account_get(&disk->mark5_bins[i]);
	return report_object_disk(&object);
}

static json_t *json_gaps(const struct account *account)
{
	json_t *gaps = json_array();
	char utc[UNITS_UTC_LEN];

	for (size_t i = 0; i < account->gap_kept_count; i++) {
		const struct gap *gap = &account->gaps[i];
		json_t *o = json_pack("{sI sI ss ss}", "stream_offset",
				      (json_int_t)gap->stream_offset, "bytes", (json_int_t)gap->bytes,
				      "cause", account_cause_name(gap->cause), "utc",
				      units_format_utc(utc, gap->utc_ns));

		if (gap->is_estimated)
			json_object_set_new(o, "estimated", json_true());
		if (gap->is_filled)
			json_object_set_new(o, "filled", json_true());
		json_array_append_new(gaps, o);
	}
	return gaps;
}

static json_t *json_ring(const struct session *session)
{
	struct ring_level level = ring_level(session->ring);
	struct report_ring object = {
		.capacity_bytes = session->plan.ring_bytes,
		.asked_bytes = session->config.ring_bytes,
		.block_bytes = session->plan.block_bytes,
		.chunk_bytes = session->plan.chunk_bytes,
		.high_water_bytes = level.high_water_bytes,
		.high_water_s = since_start_s(session, level.high_water_ns),
		.overflow_count = account_get(&session->account.overflow_count),
		.overflow_bytes = account_get(&session->account.overflow_bytes),
	};
	json_t *o = report_object_ring(&object);

	json_object_set_new(o, "pages", json_string(memory_pages_name(session->memory.pages)));
	json_object_set_new(o, "numa_node",
			    session->memory.numa_node == MEMORY_ANY_NODE ?
				    json_null() :
				    json_integer(session->memory.numa_node));
	json_object_set_new(o, "locked", json_boolean(session->memory.is_locked));
	json_object_set_new(
		o, "source_waited_s",
		json_real((double)atomic_load_explicit(&session->waited_ns, memory_order_relaxed) /
			  1e9));
	return o;
}

static json_t *json_packets(const struct source_packets *packets)
{
	json_t *o = json_object();

	json_object_set_new(o, "received", report_object_number(account_get(&packets->received_count)));
	json_object_set_new(o, "lost", report_object_number(account_get(&packets->lost_count)));
	json_object_set_new(o, "late", report_object_number(account_get(&packets->late_count)));
	json_object_set_new(o, "duplicate",
			    report_object_number(account_get(&packets->duplicate_count)));
	json_object_set_new(o, "reordered",
			    report_object_number(account_get(&packets->reordered_count)));
	json_object_set_new(o, "stray", report_object_number(account_get(&packets->stray_count)));
	json_object_set_new(o, "unwanted", report_object_number(account_get(&packets->unwanted_count)));
	json_object_set_new(o, "restarts", report_object_number(account_get(&packets->restart_count)));
	json_object_set_new(o, "kernel_drops",
			    report_object_number(account_get(&packets->dropped_count)));
	json_object_set_new(o, "buffer_bytes",
			    report_object_number(account_get(&packets->buffer_bytes)));
	return o;
}

static json_t *json_source(const struct session *session)
{
	const struct source *source = session->source;
	const struct source_stats *stats = &source->stats;
	struct packet_counts counts;
	json_t *o = json_object();

	json_object_set_new(o, "name", report_object_text(source->name));
	json_object_set_new(o, "rate_bps", report_object_number(source->rate_bps));
	json_object_set_new(o, "received_bytes",
			    report_object_number(account_get(&session->account.received_bytes)));
	json_object_set_new(o, "lost_bytes",
			    report_object_number(account_get(&session->account.source_lost_bytes)));
	json_object_set_new(o, "estimated_bytes",
			    report_object_number(account_get(&session->account.estimated_bytes)));
	json_object_set_new(o, "missing_bytes",
			    report_object_number(atomic_load_explicit(&session->missing_bytes,
								      memory_order_relaxed)));
	json_object_set_new(o, "device_ring_bytes",
			    report_object_number(account_get(&stats->device_ring_bytes)));
	json_object_set_new(o, "device_fill_max_bytes",
			    report_object_number(account_get(&stats->device_fill_max_bytes)));
	json_object_set_new(o, "marker_count", report_object_number(account_get(&stats->marker_count)));
	json_object_set_new(o, "marker_missing_count",
			    report_object_number(account_get(&stats->marker_missing_count)));
	if (source->has_packets)
		json_object_set_new(o, "packets", json_packets(&stats->packets));
	if (source_capture(source, &counts))
		json_object_set_new(o, "capture", capture_json(&counts));
	return o;
}

static const char *policy_name(int policy)
{
	switch (policy & ~SCHED_RESET_ON_FORK) {
	case SCHED_FIFO:
		return "fifo";
	case SCHED_RR:
		return "rr";
	case SCHED_BATCH:
		return "batch";
	case SCHED_IDLE:
		return "idle";
	default:
		return "other";
	}
}

static void add_thread(json_t *placement, const char *thread, int cpu, int policy)
{
	json_array_append_new(placement, json_pack("{ss si ss}", "thread", thread, "cpu", cpu,
						   "policy", policy_name(policy)));
}

static json_t *json_placement(const struct session *session)
{
	json_t *placement = json_array();
	char name[32];

	add_thread(placement, "reader",
		   atomic_load_explicit(&session->reader_cpu, memory_order_relaxed),
		   atomic_load_explicit(&session->reader_policy, memory_order_relaxed));
	for (unsigned i = 0; i < session->disk_count; i++) {
		const struct disk *disk = &session->disks[i];

		if (disk->target.kind == TARGET_NULL)
			continue; /* the reader serves it */
		snprintf(name, sizeof(name), "writer%u", i);
		add_thread(placement, name,
			   atomic_load_explicit(&disk->writer_cpu, memory_order_relaxed),
			   atomic_load_explicit(&disk->writer_policy, memory_order_relaxed));
	}
	return placement;
}

static void add_account(json_t *o, const struct session *session)
{
	const struct account *account = &session->account;
	struct account_sum sum = session_sum(session);

	json_object_set_new(o, "stream_bytes", report_object_number(account_stream_bytes(account)));
	json_object_set_new(o, "written_bytes", report_object_number(sum.written_bytes));
	json_object_set_new(o, "disk_lost_bytes", report_object_number(sum.disk_bytes));
	json_object_set_new(o, "discarded_bytes",
			    report_object_number(account_get(&account->discarded_bytes)));
	json_object_set_new(o, "aborted_bytes", report_object_number(sum.aborted_bytes));
	json_object_set_new(o, "filled_bytes",
			    report_object_number(account_get(&account->filled_bytes)));
	json_object_set_new(o, "copies", json_integer(session->plan.has_second ? 2 : 1));
	json_object_set_new(o, "single_copy_bytes",
			    report_object_number(session_single_bytes(session)));
	json_object_set_new(o, "parity", json_boolean(session->plan.has_parity));
	json_object_set_new(o, "unprotected_bytes",
			    report_object_number(session_unprotected_bytes(session)));
	json_object_set_new(o, "physical_bytes", report_object_number(physical_bytes(session)));
}

static json_t *make_report(const struct session *session)
{
	json_t *o = json_object(), *disks = json_array(), *warnings = json_array();
	struct rusage usage;
	char utc[UNITS_UTC_LEN];
	int status;
	enum session_outcome outcome = session_outcome(session, &status);

	getrusage(RUSAGE_SELF, &usage);
	json_object_set_new(o, "schema", json_string("vsib-report/1"));
	json_object_set_new(o, "program", json_string(session->config.program));
	json_object_set_new(o, "version", json_string(VSIB_VERSION));
	json_object_set_new(o, "name", report_object_text(session->config.name));
	json_object_set_new(o, "outcome", json_string(session_outcome_name(outcome)));
	json_object_set_new(o, "reason", json_string(session_reason_name(session)));
	json_object_set_new(o, "exit_status", json_integer(status));
	json_object_set_new(
		o, "utc",
		json_string(units_format_utc(
			utc, atomic_load_explicit(&session->start_utc_ns, memory_order_relaxed))));
	json_object_set_new(o, "source", json_source(session));
	add_account(o, session);
	json_object_set_new(o, "metadata",
			    json_pack("{sI sI}", "files",
				      (json_int_t)metadata_written(session->metadata), "failed",
				      (json_int_t)metadata_failures(session->metadata)));
	json_object_set_new(o, "duration_s", json_real(duration_s(session)));
	json_object_set_new(o, "sync_s", json_real((double)session->sync_ns / 1e9));
	json_object_set_new(o, "startup_s",
			    json_real((double)(session->armed_ns - session->created_ns) / 1e9));
	json_object_set_new(o, "rate_bps",
			    json_real(rate_bps(session, session_written_bytes(session))));
	json_object_set_new(o, "ring", json_ring(session));
	for (unsigned i = 0; i < session->disk_count; i++)
		json_array_append_new(disks, json_disk(session, &session->disks[i]));
	json_object_set_new(o, "disks", disks);
	json_object_set_new(o, "gaps", json_gaps(&session->account));
	json_object_set_new(o, "gap_count", report_object_number(session->account.gap_count));
	json_object_set_new(o, "placement", json_placement(session));
	json_object_set_new(
		o, "cpu_s",
		json_pack("{sf sf}", "user",
			  (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6, "sys",
			  (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6));
	for (unsigned i = 0; i < session->warning_count; i++)
		json_array_append_new(warnings, report_object_text(session->warnings[i]));
	json_object_set_new(o, "warnings", warnings);
	return o;
}

int report_prepare(struct report_file *file, const char *path)
{
	memset(file, 0, sizeof(*file));
	file->fd = -1;
	file->path = path;
	if (!path || strcmp(path, "-") == 0)
		return 0;
	if ((size_t)snprintf(file->temporary, sizeof(file->temporary), "%s.XXXXXX", path) >=
	    sizeof(file->temporary))
		return -ENAMETOOLONG;
	file->fd = mkostemp(file->temporary, O_CLOEXEC);
	if (file->fd < 0)
		return -errno;
	return 0;
}

int report_json(struct report_file *file, const struct session *session)
{
	json_t *report;
	char *dump;
	int ret;

	if (!file->path)
		return 0;
	report = make_report(session);
	dump = json_dumps(report, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
	json_decref(report);
	if (!dump)
		return -ENOMEM;
	ret = write_all(file->fd < 0 ? STDOUT_FILENO : file->fd, dump, strlen(dump));
	if (ret == 0)
		ret = write_all(file->fd < 0 ? STDOUT_FILENO : file->fd, "\n", 1);
	free(dump);
	if (file->fd < 0)
		return ret;
	if (ret == 0 && (fchmod(file->fd, 0644) < 0 || fsync(file->fd) < 0 ||
			 rename(file->temporary, file->path) < 0))
		ret = -errno;
	if (ret < 0)
		unlink(file->temporary);
	close(file->fd);
	file->fd = -1;
	return ret;
}

void report_discard(struct report_file *file)
{
	if (file->fd < 0)
		return;
	close(file->fd);
	unlink(file->temporary);
	file->fd = -1;
}
