/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/outbox.h"
#include "recorder/session.h"
#include "tools/qualify/processor_time.h"
#include "tools/qualify/run_files.h"
#include "tools/qualify/run_sample.h"

#define PATIENCE_NS (INT64_C(60) * UNITS_NS_PER_S)
#define LAST_DISK_NS (UNITS_NS_PER_S / 2) /* the last disk is gone: nothing will move any more */
#define END_NS UNITS_NS_PER_S             /* for threads that a disk holds */
#define HELD_NS \
	(UNITS_NS_PER_S / 2) /* so long after the end of the time a device may hold the reader */
#define SILENCE_NS (INT64_C(10) * UNITS_NS_PER_S)
#define DISK_TIMEOUT_NS (INT64_C(10) * UNITS_NS_PER_S)
/* Writes that are traced: by what is known beforehand, else as if 2 GB/s came. 32 bytes each. */
#define TRACE_LEAST 4096
#define TRACE_MOST (UINT64_C(1) << 22)
#define TRACE_MOST_UNPACED (UINT64_C(1) << 20)
#define WARNINGS_MAX (sizeof(((struct trial_run *)NULL)->warnings) / TRIAL_TEXT_LEN)
#define TRACE_BYTES_PER_S UINT64_C(2000000000)

struct run {
	struct trial_run *out;
	const struct run_config *config;
	struct run_files *files;
	struct session *session;
	struct sampler sampler;
	struct interfere *interferes[TARGET_MAX];
	struct trace *traces[TARGET_MAX];
	const struct target *targets[TARGET_MAX];
	const char *names[TARGET_MAX];
	const struct sink_io *io[TARGET_MAX];
	char recording[64]; /* its name */
	char sim[64];
	int64_t stopping_ns; /* since when the stream is ending; 0 = it isn't */
	int64_t diskless_ns; /* since when no disk can be written to; 0 = some can */
	uint64_t drained_bytes;
	int64_t drained_ns; /* when they moved last */
	double cpu_s;
};

static int say(struct trial_run *out, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The first reason is the one that is told. */
static int say(struct trial_run *out, int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (!out->error[0])
		vsnprintf(out->error, sizeof(out->error), format, ap);
	va_end(ap);
	return error;
}

static bool is_cancelled(const struct run *run)
{
	const struct trial_control *control = run->config->control;

	/* relaxed: nothing travels with it */
	return control && atomic_load_explicit(&control->is_cancelled, memory_order_relaxed);
}

/* ---- set up ---- */

/* What the stream will come to; 0 = nobody knows. */
static uint64_t wanted_bytes(const struct run_config *config)
{
	uint64_t by_time = config->rate_bps && config->duration_ns ?
				   units_bytes_at(config->rate_bps, config->duration_ns) :
				   0;

	if (by_time && config->limit_bytes)
		return by_time < config->limit_bytes ? by_time : config->limit_bytes;
	return by_time ? by_time : config->limit_bytes;
}

static size_t trace_capacity(const struct run *run)
{
	const struct run_config *config = run->config;
	uint64_t bytes = wanted_bytes(config), most = bytes ? TRACE_MOST : TRACE_MOST_UNPACED;
	uint64_t block_bytes = run->session->plan.block_bytes, count;

	if (!bytes)
		bytes = units_bytes_at(TRACE_BYTES_PER_S * 8, config->duration_ns);
	/* a block that is not full is a write as well */
	count = bytes / block_bytes + bytes / block_bytes / 8;
	if (config->disk_count > 1) { /* the fastest may take twice its share */
		count = count * 2 / config->disk_count;
		most = most * 2 / config->disk_count;
	}
	return (size_t)(count < most ? count : most) + TRACE_LEAST;
}

static int make_traces(struct run *run)
{
	struct trial_run *out = run->out;
	size_t capacity = trace_capacity(run);

	out->parts = calloc(run->config->disk_count, sizeof(out->parts[0]));
	if (!out->parts)
		return say(out, -ENOMEM, "no memory for the run");
	out->part_count = run->config->disk_count;
	for (unsigned i = 0; i < out->part_count; i++) {
		out->parts[i].disk = run->config->disks[i].number;
		out->parts[i].pressure = (struct trial_pressure){ -1, -1, -1, -1 };
		if (trace_create(&run->traces[i], capacity) < 0)
			return say(out, -ENOMEM, "no memory to note %zu writes", capacity);
	}
	return 0;
}

static void take_settled(void *context, unsigned target, const char *file, const struct segment *segment)
{
	const struct run *run = context;

	scratch_io_note(run->files->scratches[target], file, segment);
}

/* The stream's own seed: what an earlier run left on the disk, or wrote and lost, is not taken for this one's. */
static const char *name_source(struct run *run)
{
	if (run->config->source)
		return run->config->source;
	run->files->has_seed = true;
	run->files->seed = (uint64_t)units_realtime_ns();
	snprintf(run->sim, sizeof(run->sim), "sim:seed=%" PRIu64, run->files->seed);
	return run->sim;
}

static struct session_config describe(struct run *run)
{
	const struct run_config *config = run->config;

	snprintf(run->recording, sizeof(run->recording), "vsib-trial-%d-%" PRId64, (int)getpid(),
		 units_realtime_ns());
	for (unsigned i = 0; i < config->disk_count; i++) {
		run->targets[i] = config->disks[i].target;
		run->names[i] = config->disks[i].target->path;
		run->io[i] = scratch_io_table(run->files->scratches[i]);
	}
	return (struct session_config){
		.program = "vsib-qualify",
		.source_name = name_source(run),
		.targets = run->names,
		.opened_targets = run->targets,
		.target_count = config->disk_count,
		.name = run->recording,
		.rate_bps = config->rate_bps,
		.duration_ns = config->duration_ns,
		.limit_bytes = config->limit_bytes,
		.layout = LAYOUT_RAW,
		.stripe = config->stripe,
		.ring_bytes = run->files->ring_bytes,
		.block_bytes = config->block_bytes,
		.file_bytes = run->files->file_bytes,
		.engine = config->engine,
		.depth = config->depth,
		.disk_timeout_ns = DISK_TIMEOUT_NS,
		.use_direct = config->use_direct,
		.use_checksums = true,
		.allow_same_device = config->allow_same_device,
		.use_huge_pages = true,
		.use_lock = true,
		.is_ring_default = config->ring_bytes == 0,
		.numa_node = MEMORY_ANY_NODE,
		.silence_ns = SILENCE_NS,
		.io = run->io,
		.settled = take_settled,
		.settled_context = run,
		.traces = run->traces,
		.is_room_kept = true,
	};
}

static int start_interference(struct run *run)
{
	for (unsigned i = 0; i < run->config->disk_count && run->config->has_interference; i++) {
		const struct target *target = run->config->disks[i].target;
		int ret = interfere_start(&run->interferes[i], target, 0, run->config->control);

		if (ret == -ECANCELED)
			return say(run->out, ret, "interrupted");
		if (ret < 0)
			return say(run->out, ret, "%s: no random I/O can be made there: %s",
				   target->path, strerror(-ret));
	}
	return 0;
}

static int set_up(struct run *run)
{
	struct refusal refusal = { .text = "" };
	struct session_config session_config;
	int ret = run_files_create(&run->files, run->config, wanted_bytes(run->config),
				   run->out->error);

	if (ret == 0)
		ret = start_interference(run);
	if (ret < 0)
		return ret;
	session_config = describe(run);
	ret = session_create(&run->session, &session_config, &refusal);
	if (ret == 0)
		ret = make_traces(run);
	if (ret == 0)
		ret = session_arm(run->session, &refusal);
	run->cpu_s = processor_time_s();
	if (ret == 0)
		ret = session_start(run->session, &refusal);
	return ret < 0 ? say(run->out, ret, "%s", refusal.text) : 0;
}

/* ---- while it runs ---- */

static void tell(const struct run *run)
{
	const struct run_config *config = run->config;
	const struct trial_control *control = config->control;
	struct trial_progress progress;

	if (!control || !control->tell)
		return;
	progress = sampler_progress(&run->sampler, config->duration_ns, config->limit_bytes);
	progress.phase = config->phase;
	progress.disk = config->disk_count == 1 ? (int)config->disks[0].number : -1;
	control->tell(control, &progress);
}

static void feed_interference(const struct run *run)
{
	for (unsigned i = 0; i < run->config->disk_count; i++)
		if (run->interferes[i])
			interfere_tell(run->interferes[i],
				       account_get(&run->session->disks[i].accepted_bytes));
}

/* False when it should not be waited for any longer. */
static bool may_wait(struct run *run, int64_t now)
{
	const struct session *session = run->session;
	int64_t patience = run->config->patience_ns ? run->config->patience_ns : PATIENCE_NS;
	uint64_t bytes = session_written_bytes(session);

	if (!atomic_load_explicit(&session->is_stopping, memory_order_acquire))
		return true;
	if (run->stopping_ns == 0)
		run->stopping_ns = run->drained_ns = now;
	if (atomic_load_explicit(&session->is_aborting, memory_order_relaxed))
		return false;
	if (atomic_load_explicit(&session->usable_count, memory_order_acquire) == 0) {
		if (run->diskless_ns == 0)
			run->diskless_ns = now;
		return now - run->diskless_ns < LAST_DISK_NS;
	}
	for (unsigned i = 0; i < session->disk_count; i++)
		bytes += account_get(&session->disks[i].accepted_bytes);
	if (bytes != run->drained_bytes) {
		run->drained_bytes = bytes;
		run->drained_ns = now;
	}
	return now - run->drained_ns < patience;
}

/* The reader keeps the time, but a device may hold it in a read() that knows no deadline. */
static void keep_duration(struct run *run, int64_t now)
{
	/* relaxed: set once, and a look too early only comes again */
	int64_t deadline = atomic_load_explicit(&run->session->deadline_ns, memory_order_relaxed);

	if (deadline && run->stopping_ns == 0 && now - HELD_NS > deadline)
		session_stop(run->session, STOP_DURATION);
	if (run->stopping_ns)
		session_nudge(run->session);
}

/* Whatever is said while it runs stands among the warnings as well, or is nobody's concern here. */
static void drain_events(struct session *session)
{
	uint64_t hidden_count;
	char *text;

	while ((text = session_take_event(session, &hidden_count)) != NULL)
		free(text);
}

static void stay(struct run *run)
{
	struct session *session = run->session;
	struct pollfd news = { .fd = session->wake_fd, .events = POLLIN };
	int64_t now = units_monotonic_ns();

	while (!session_is_settled(session) && may_wait(run, now)) {
		uint64_t count;

		if (poll(&news, 1, RUN_SAMPLE_NS / 1000000) > 0 &&
		    read(session->wake_fd, &count, sizeof(count)) > 0)
			drain_events(session);
		now = units_monotonic_ns();
		if (sampler_take(&run->sampler, session, now) < 0)
			say(run->out, -ENOMEM, "no memory for the series: it ends early");
		feed_interference(run);
		if (sampler_is_to_tell(&run->sampler, now))
			tell(run);
		keep_duration(run, now);
		if (is_cancelled(run) && !run->out->is_interrupted) {
			run->out->is_interrupted = true;
			session_abort(session);
		}
	}
}

/* ---- what has come of it ---- */

static int64_t since_start(const struct trial_run *out, int64_t at_ns)
{
	return at_ns > out->start_ns ? at_ns - out->start_ns : 0;
}

static void take_times(struct trial_run *out, struct session *session)
{
	/* relaxed: its threads are through, or will not say any more */
	int64_t ended = atomic_load_explicit(&session->stream_ended_ns, memory_order_relaxed);
	int64_t written = 0;

	out->start_ns = atomic_load_explicit(&session->started_ns, memory_order_relaxed);
	if (out->start_ns < session->armed_ns || out->start_ns > session->ended_ns)
		out->start_ns = session->armed_ns;
	for (unsigned i = 0; i < session->disk_count; i++) {
		int64_t last =
			atomic_load_explicit(&session->disks[i].last_write_ns, memory_order_relaxed);

		written = last > written ? last : written;
	}
	out->duration_ns = since_start(out, ended);
	out->written_ns = since_start(out, written);
	out->synced_ns = since_start(out, session->ended_ns);
}

static int64_t first_overflow(struct session *session)
{
	struct account *account = &session->account;
	int64_t utc_ns = -1;

	pthread_mutex_lock(&account->lock);
	for (size_t i = 0; i < account->gap_kept_count && utc_ns < 0; i++)
		if (account->gaps[i].cause == GAP_OVERFLOW)
			utc_ns = account->gaps[i].utc_ns;
	pthread_mutex_unlock(&account->lock);
	if (utc_ns < 0)
		return -1;
	utc_ns -= atomic_load_explicit(&session->start_utc_ns, memory_order_relaxed);
	return utc_ns > 0 ? utc_ns : 0;
}

static void take_totals(struct trial_run *out, struct session *session)
{
	const struct account *account = &session->account;
	struct account_sum sum = session_sum(session);
	struct ring_level level = ring_level(session->ring);

	out->stream_bytes = account_stream_bytes(account);
	out->written_bytes = session_written_bytes(session);
	out->overflow_bytes = account_get(&account->overflow_bytes);
	out->overflow_count = account_get(&account->overflow_count);
	out->first_overflow_ns = first_overflow(session);
	out->lost_bytes = sum.disk_bytes;
	out->source_lost_bytes = account_get(&account->source_lost_bytes);
	out->high_water_bytes = level.high_water_bytes;
	out->high_water_at_ns = since_start(out, level.high_water_ns);
}

/* One disk through the page cache is enough to doubt all of it. */
static const char *io_of(const struct session *session)
{
	const char *name = outbox_io_name(session->disks[0].outbox);

	for (unsigned i = 1; i < session->disk_count; i++)
		if (session->disks[i].outbox &&
		    strcmp(outbox_io_name(session->disks[i].outbox), "buffered") == 0)
			name = outbox_io_name(session->disks[i].outbox);
	return name;
}

static void take_shape(const struct run *run)
{
	const struct session *session = run->session;
	struct trial_run *out = run->out;

	out->ring_bytes = session->plan.ring_bytes;
	out->block_bytes = session->plan.block_bytes;
	/* the seed of our own is nobody's concern */
	snprintf(out->source, sizeof(out->source), "%s",
		 run->config->source ? session->source->name : "sim:");
	if (!session->disks[0].outbox)
		return;
	out->depth = outbox_depth(session->disks[0].outbox);
	snprintf(out->io, sizeof(out->io), "%s", io_of(session));
	snprintf(out->engine, sizeof(out->engine), "%s", outbox_engine_name(session->disks[0].outbox));
}

/* A trace that a held thread may still write to is not given away: a copy of it is. */
static struct trace *take_trace(struct trace *trace, bool is_held)
{
	size_t count = trace_count(trace);
	struct trace *copy;

	if (!is_held || trace_create(&copy, count ? count : 1) < 0)
		return is_held ? NULL : trace;
	for (size_t i = 0; i < count; i++)
		trace_add(copy, &trace->writes[i]);
	return copy;
}

static void take_part(struct trial_part *part, struct session *session, unsigned index)
{
	struct disk *disk = &session->disks[index];

	part->written_bytes = account_get(&disk->accepted_bytes);
	part->durable_bytes = atomic_load_explicit(&disk->durable_bytes, memory_order_relaxed);
	part->worst_ns = atomic_load_explicit(&disk->worst_write_ns, memory_order_relaxed);
	part->worst_at_ns = atomic_load_explicit(&disk->worst_write_at_ns, memory_order_relaxed);
	part->worst_offset = account_get(&disk->worst_offset);
	part->state = atomic_load_explicit(&disk->state, memory_order_acquire);
	for (unsigned i = 0; i < SESSION_HISTOGRAM; i++)
		part->histogram[i] = account_get(&disk->write_hist[i]);
	for (unsigned i = 0; i < SESSION_MARK5_BINS; i++)
		part->mark5_bins[i] = account_get(&disk->mark5_bins[i]);
	pthread_mutex_lock(&session->lock);
	snprintf(part->error, sizeof(part->error), "%.*s", TRIAL_TEXT_LEN - 1, disk->error);
	pthread_mutex_unlock(&session->lock);
}

static void take_warnings(struct trial_run *out, struct session *session)
{
	pthread_mutex_lock(&session->lock);
	for (unsigned i = 0; i < session->warning_count && out->warning_count < WARNINGS_MAX; i++)
		snprintf(out->warnings[out->warning_count++], TRIAL_TEXT_LEN, "%.*s",
			 TRIAL_TEXT_LEN - 1, session->warnings[i]);
	pthread_mutex_unlock(&session->lock);
}

/* Why it ended before its time. */
static void explain(struct trial_run *out, const struct session *session, bool is_held)
{
	enum stop_reason reason =
		(enum stop_reason)atomic_load_explicit(&session->stop_reason, memory_order_acquire);

	/* also in the last sync, when the stream is over */
	bool is_diskless = reason == STOP_LAST_DISK ||
			   atomic_load_explicit(&session->usable_count, memory_order_acquire) == 0;

	if (out->is_interrupted)
		say(out, 0, "interrupted");
	for (unsigned i = 0; i < session->disk_count; i++)
		if (session->disks[i].error[0] && is_diskless)
			say(out, 0, "%.*s", TRIAL_TEXT_LEN - 1, session->disks[i].error);
	if (reason == STOP_SOURCE_ERROR)
		say(out, 0, "%s", session->source->error);
	if (session->error[0])
		say(out, 0, "%.*s", TRIAL_TEXT_LEN - 1, session->error);
	for (unsigned i = 0; i < session->disk_count && is_held; i++)
		if (session->disks[i].has_writer || session->disks[i].is_held)
			say(out, 0, "%s does not answer: the kernel holds what was written to it",
			    session->disks[i].target.path);
	if (is_held)
		say(out, 0, "%s does not answer: the kernel holds what was asked of it",
		    session->has_reader ? session->source->name : "a disk");
	if (reason != STOP_DURATION && reason != STOP_BYTES && reason != STOP_NONE)
		say(out, 0, "the stream ended early: %s", session_reason_name(session));
	if (out->stream_bytes == 0)
		say(out, 0, "%s gave nothing", session->source->name);
}

static void take_results(struct run *run, bool is_held)
{
	struct trial_run *out = run->out;
	struct session *session = run->session;

	out->was_run = true;
	out->cpu_s = processor_time_s() - run->cpu_s;
	take_shape(run);
	take_times(out, session);
	take_totals(out, session);
	for (unsigned i = 0; i < out->part_count; i++) {
		take_part(&out->parts[i], session, i);
		out->parts[i].worst_at_ns = since_start(out, out->parts[i].worst_at_ns);
		out->parts[i].trace = take_trace(run->traces[i], is_held);
		run->traces[i] = NULL;
	}
	sampler_finish(&run->sampler, &out->series, out->start_ns);
	take_warnings(out, session);
	explain(out, session, is_held);
	run->files->stream_bytes = out->stream_bytes;
}

/* ---- the whole ---- */

static void take_interference(struct run *run, unsigned index, const struct interfere_counts *counts)
{
	struct trial_run *out = run->out;

	if (index < out->part_count) {
		out->parts[index].random_due_count = counts->due_count;
		out->parts[index].random_done_count = counts->read_count + counts->write_count;
	}
	if (counts->error && out->warning_count < WARNINGS_MAX)
		snprintf(out->warnings[out->warning_count++], TRIAL_TEXT_LEN,
			 "%.300s: %" PRIu64 " operations at random places failed, the first with: %s",
			 run->config->disks[index].target->path, counts->error_count,
			 strerror(-counts->error));
}

/* False: the kernel holds a thread of it. */
static bool stop_interference(struct run *run)
{
	bool is_free = true;

	for (unsigned i = 0; i < run->config->disk_count; i++) {
		struct interfere_counts counts;

		if (!run->interferes[i])
			continue;
		is_free = interfere_stop(run->interferes[i], &counts) && is_free;
		take_interference(run, i, &counts);
	}
	return is_free;
}

static void free_traces(struct run *run)
{
	for (unsigned i = 0; i < TARGET_MAX; i++)
		trace_free(run->traces[i]);
}

int run_execute(struct trial_run *out, const struct run_config *config, struct run_files **files)
{
	struct run *run = calloc(1, sizeof(*run));
	bool is_free = true;
	int ret;

	memset(out, 0, sizeof(*out));
	out->phase = config->phase;
	out->rate_bps = config->rate_bps;
	out->first_overflow_ns = -1;
	if (files)
		*files = NULL;
	if (!run)
		return say(out, -ENOMEM, "no memory for the run");
	run->out = out;
	run->config = config;
	sampler_init(&run->sampler, config->temperature, config->temperature_context);
	ret = set_up(run);
	if (ret == 0) {
		stay(run);
		is_free = session_end(run->session, END_NS);
		take_results(run, !is_free);
	}
	is_free = stop_interference(run) && is_free;
	if (!is_free)
		return 1; /* and all stays where it is: threads may use it */
	session_free(run->session);
	sampler_free(&run->sampler);
	free_traces(run);
	if (files && ret == 0)
		*files = run->files;
	else
		run_files_free(run->files);
	free(run);
	return ret;
}
