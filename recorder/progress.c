/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/disk.h"
#include "recorder/host.h"
#include "recorder/line.h"
#include "recorder/version.h"

#define TREND 8 /* seconds of ring levels kept */
#define STEP_NS \
	INT64_C(500000000) /* the wall clock has been stepped when it moved by more in a second */
#define CLOCK_LINE_NS (INT64_C(10) * UNITS_NS_PER_S)
#define TICK_SLACK_NS INT64_C(400000000) /* ticks come each second, about */
#define SPACE_WARN_S 300                 /* warn when a disk will be full in so many seconds */
#define BAR 10

struct progress {
	struct session *session;
	bool is_line; /* a live line on a terminal */
	bool is_log;  /* a log line each interval */
	bool is_line_shown;
	bool is_draining;
	int64_t interval_ns;
	int64_t last_log_ns, last_clock_ns, last_tick_ns;
	int64_t wall_offset_ns;     /* CLOCK_REALTIME - CLOCK_MONOTONIC at the last tick */
	uint64_t last_in, last_out; /* bytes at the last tick */
	double in_bps, out_bps;
	uint64_t last_disk[TARGET_MAX];
	double disk_bps[TARGET_MAX];
	uint64_t levels[TREND]; /* of the ring, newest last */
	unsigned level_count;
	bool has_warned_space[TARGET_MAX];
	bool has_warned_data;
	int64_t event_second;
	unsigned event_count;  /* shown in this second */
	uint64_t hidden_count; /* not shown since the last mention */
};

static double mbps(double bps)
{
	return bps / 1e6;
}

static uint64_t accepted_bytes(const struct session *session)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < session->disk_count; i++)
		sum += account_get(&session->disks[i].accepted_bytes);
	return sum;
}

static uint64_t lost_bytes(const struct session *session)
{
	const struct account *account = &session->account;
	struct account_sum sum = session_sum(session);

	return account_get(&account->overflow_bytes) + account_get(&account->source_lost_bytes) +
	       sum.disk_bytes + sum.aborted_bytes;
}

/* ---- events ---- */

static void begin(struct progress *p, struct line *line)
{
	line_begin(line, p->is_line_shown);
	p->is_line_shown = false;
}

static void show(struct progress *p, const char *text)
{
	struct line line;

	begin(p, &line);
	line_add(&line, "vsib: %.3900s\n", text);
	if (!line_put(&line))
		p->hidden_count++;
}

/* What was left out is mentioned once a second, when there is room. */
static void mention_hidden(struct progress *p)
{
	struct line line;

	if (p->hidden_count == 0)
		return;
	begin(p, &line);
	line_add(&line, "vsib: (%" PRIu64 " more events not shown)\n", p->hidden_count);
	if (line_put(&line))
		p->hidden_count = 0;
}

void progress_events(struct progress *progress)
{
	int64_t second = units_monotonic_ns() / UNITS_NS_PER_S;
	uint64_t hidden;
	char *text;

	if (second != progress->event_second) {
		mention_hidden(progress);
		progress->event_second = second;
		progress->event_count = 0;
	}
	while ((text = session_take_event(progress->session, &hidden)) != NULL) {
		progress->hidden_count += hidden;
		if (progress->event_count++ < PROGRESS_EVENTS)
			show(progress, text);
		else
			progress->hidden_count++;
		free(text);
	}
	progress->hidden_count += hidden;
}

int progress_create(struct progress **out, struct session *session, enum live_mode mode,
		    int64_t interval_ns)
{
	struct progress *p = calloc(1, sizeof(*p));

	*out = p;
	if (!p)
		return -ENOMEM;
	p->session = session;
	p->is_line = mode == LIVE_LINE || (mode == LIVE_AUTO && isatty(STDERR_FILENO));
	p->is_log = mode == LIVE_LOG || (mode == LIVE_AUTO && !p->is_line);
	p->interval_ns = interval_ns;
	p->last_log_ns = p->last_tick_ns = p->last_clock_ns = units_monotonic_ns();
	p->wall_offset_ns = units_realtime_ns() - p->last_tick_ns;
	return 0;
}

void progress_free(struct progress *progress)
{
	free(progress);
}

/* ---- at the start ---- */

/* Targets on one file system share its room. */
static unsigned sharers(const struct session *session, const struct target *target)
{
	unsigned count = 0;

	for (unsigned i = 0; i < session->disk_count; i++)
		count += session->disks[i].target.fs_device == target->fs_device;
	return count ? count : 1;
}

/* Disks for which there is something new: copies take twice as many, parity one more. */
static double stream_disks(const struct session *session)
{
	return session->plan.has_second ? session->disk_count / 2.0 :
					  session->disk_count - session->plan.has_parity;
}

static void describe_target(const struct progress *p, const struct disk *disk, struct line *line)
{
	const struct session *session = p->session;
	char free_text[UNITS_TEXT_LEN], time_text[UNITS_TEXT_LEN];
	uint64_t rate = session->source->rate_bps;

	line_begin(line, false);
	if (disk->target.kind != TARGET_DIRECTORY) {
		line_add(line, "  target %s\n",
			 disk->target.kind == TARGET_NULL ? "null: (bytes are counted and dropped)" :
							    "stdout");
		return;
	}
	line_add(line, "  target %.1000s: %s%s%s, %s free", disk->target.path,
		 disk->target.device[0] ? disk->target.device : "unknown device",
		 disk->target.fs[0] ? " " : "", disk->target.fs,
		 units_format_bytes(free_text, disk->target.free_bytes));
	if (rate)
		line_add(line, ", full in %s at this rate",
			 units_format_time(
				 time_text,
				 units_time_for(
					 disk->target.free_bytes / sharers(session, &disk->target),
					 (uint64_t)((double)rate / stream_disks(session)) + 1)));
	line_add(line, "\n");
}

/* What is asked for may be more than the disks have. */
static void warn_if_too_small(struct session *session)
{
	const struct session_config *config = &session->config;
	uint64_t wanted = config->limit_bytes, room = 0;
	char wanted_text[UNITS_TEXT_LEN], room_text[UNITS_TEXT_LEN];

	if (!wanted)
		wanted = units_bytes_at(session->source->rate_bps, config->duration_ns);
	for (unsigned i = 0; i < session->disk_count; i++) {
		const struct target *target = &session->disks[i].target;

		if (target->kind != TARGET_DIRECTORY)
			return;
		room += target->free_bytes / sharers(session, target);
	}
	room = (uint64_t)((double)room * stream_disks(session) / session->disk_count);
	if (wanted > room)
		session_warn(session,
			     "%s are wanted, %s are free: the disks will be full before the end",
			     units_format_bytes(wanted_text, wanted),
			     units_format_bytes(room_text, room));
}

void progress_armed(struct progress *progress)
{
	struct session *session = progress->session;
	const struct layout_plan *plan = &session->plan;
	struct line line;
	char ring[UNITS_TEXT_LEN], block[UNITS_TEXT_LEN], chunk[UNITS_TEXT_LEN];

	line_begin(&line, false);
	line_add(&line, "vsib: ARMED %s from %s", session->config.name, session->source->name);
	if (session->source->rate_bps)
		line_add(&line, " at %.3f Mbit/s", mbps((double)session->source->rate_bps));
	line_add(&line,
		 ", %.3f s after start-up\n  ring %s (asked for %" PRIu64 " bytes, got %" PRIu64
		 ") = %" PRIu32 " blocks of %s, pages %s%s",
		 (double)(session->armed_ns - session->created_ns) / 1e9,
		 units_format_size(ring, plan->ring_bytes), session->config.ring_bytes,
		 plan->ring_bytes, plan->block_count, units_format_size(block, plan->block_bytes),
		 memory_pages_name(session->memory.pages),
		 session->memory.is_locked ? ", locked" : ", not locked");
	if (session->memory.numa_node != MEMORY_ANY_NODE)
		line_add(&line, ", node %d", session->memory.numa_node);
	if (plan->chunk_bytes)
		line_add(&line, ", chunk %s", units_format_size(chunk, plan->chunk_bytes));
	if (plan->has_second)
		line_add(&line, ", two copies");
	if (plan->has_parity)
		line_add(&line, ", parity on the last target");
	line_add(&line, "; full ring: %s\n",
		 session->config.on_overflow == OVERFLOW_STOP ? "stop" :
		 session->can_drop                            ? "drop and count" :
								"the source waits");
	line_put(&line);
	for (unsigned i = 0; i < session->disk_count; i++) {
		describe_target(progress, &session->disks[i], &line);
		line_put(&line);
	}
	warn_if_too_small(session);
}

/* ---- each second ---- */

static void measure(struct progress *p, int64_t now)
{
	const struct session *session = p->session;
	double seconds = (double)(now - p->last_tick_ns) / 1e9;
	uint64_t in = account_get(&session->account.received_bytes), out = accepted_bytes(session);

	if (seconds < 0.05)
		return;
	p->in_bps = (double)(in - p->last_in) * 8 / seconds;
	p->out_bps = (double)(out - p->last_out) * 8 / seconds;
	p->last_in = in;
	p->last_out = out;
	for (unsigned i = 0; i < session->disk_count; i++) {
		uint64_t bytes = account_get(&session->disks[i].accepted_bytes);

		p->disk_bps[i] = (double)(bytes - p->last_disk[i]) * 8 / seconds;
		p->last_disk[i] = bytes;
	}
	memmove(p->levels, p->levels + 1, sizeof(p->levels) - sizeof(p->levels[0]));
	p->levels[TREND - 1] = ring_level(session->ring).held_bytes;
	p->level_count += p->level_count < TREND;
	p->last_tick_ns = now;
}

/*
 * Seconds until the ring is full at its present rise; negative when it isn't rising or is far
 * from full.
 */
static double full_in_s(const struct progress *p)
{
	double level = (double)p->levels[TREND - 1], capacity = (double)p->session->plan.ring_bytes,
	       rise;

	if (p->level_count < TREND || level < capacity / 4)
		return -1;
	rise = (level - (double)p->levels[0]) / (TREND - 1);
	return rise > 0 ? (capacity - level) / rise : -1;
}

/* The slowest disk that is still in: most of the ring waits for it. */
static unsigned find_culprit(const struct progress *p)
{
	unsigned culprit = 0;
	bool is_found = false;

	for (unsigned i = 0; i < p->session->disk_count; i++) {
		if (!disk_is_usable(&p->session->disks[i]))
			continue;
		if (!is_found || p->disk_bps[i] < p->disk_bps[culprit])
			culprit = i;
		is_found = true;
	}
	return culprit;
}

static void watch_data(struct progress *p)
{
	char text[WATCH_TEXT_LEN];
	bool is_dead = watch_verdict(&p->session->watch, text);

	if (is_dead && !p->has_warned_data)
		session_event(p->session, "data-constant", -1, "%s", text);
	p->has_warned_data = is_dead;
}

static void watch_space(struct progress *p)
{
	struct session *session = p->session;

	for (unsigned i = 0; i < session->disk_count; i++) {
		struct disk *disk = &session->disks[i];
		uint64_t room = atomic_load_explicit(&disk->free_bytes, memory_order_relaxed);
		double left = p->disk_bps[i] > 0 ? (double)room * 8 / p->disk_bps[i] : 1e9;

		if (disk->target.kind != TARGET_DIRECTORY || p->has_warned_space[i] ||
		    left > SPACE_WARN_S)
			continue;
		p->has_warned_space[i] = true;
		session_event(session, "disk-space", (int)i, "%s will be full in about %.0f %s",
			      disk->target.path, left < 60 ? left : left / 60,
			      left < 60 ? "s" : "min");
	}
}

static void watch_clock(struct progress *p, int64_t now)
{
	struct session *session = p->session;
	int64_t wall = units_realtime_ns(), offset = wall - now;
	struct timex timex = { .modes = 0 };
	char utc[UNITS_UTC_LEN];
	int state;

	if (llabs(offset - p->wall_offset_ns) > STEP_NS)
		session_event(session, "clock-step", -1,
			      "the wall clock was stepped by %.3f s; times in this recording go on unstepped",
			      (double)(offset - p->wall_offset_ns) / 1e9);
	p->wall_offset_ns = offset;
	if (!session->journal || now - p->last_clock_ns < CLOCK_LINE_NS - TICK_SLACK_NS)
		return;
	p->last_clock_ns += (now + TICK_SLACK_NS - p->last_clock_ns) / CLOCK_LINE_NS * CLOCK_LINE_NS;
	state = adjtimex(&timex);
	journal_say(session->journal,
		    json_pack("{ss sI ss sI sb sf}", "type", "clock", "stream_offset",
			      (json_int_t)account_stream_bytes(&session->account), "utc",
			      units_format_utc(utc, wall), "monotonic_ns", (json_int_t)now,
			      "synchronized", state >= 0 && state != TIME_ERROR, "offset_s",
			      (double)timex.offset / (timex.status & STA_NANO ? 1e9 : 1e6)));
}

static double seconds_left(const struct session *session)
{
	const struct session_config *config = &session->config;
	int64_t now = units_monotonic_ns();
	int64_t from = atomic_load_explicit(&session->started_ns, memory_order_relaxed);
	double left = -1;

	if (from == 0) /* not begun: a start time may lie ahead */
		from = config->start_utc_ns ? now + config->start_utc_ns - session_utc(session, now) :
					      now;
	else if (!config->start_utc_ns && account_get(&session->source->stats.device_ring_bytes) == 0)
		from = session->armed_ns;
	if (config->duration_ns)
		left = (double)(from - now) / 1e9 + (double)config->duration_ns / 1e9;
	if (config->limit_bytes && session->source->rate_bps) {
		uint64_t stream = account_stream_bytes(&session->account);
		double by_bytes = stream < config->limit_bytes ?
					  (double)(config->limit_bytes - stream) * 8 /
						  (double)session->source->rate_bps :
					  0;

		left = left < 0 || by_bytes < left ? by_bytes : left;
	}
	return left < 0 ? (config->duration_ns ? 0 : -1) : left;
}

static int64_t worst_write_ns(const struct session *session, unsigned *disk)
{
	int64_t worst = 0;

	*disk = 0;
	for (unsigned i = 0; i < session->disk_count; i++) {
		int64_t ns =
			atomic_load_explicit(&session->disks[i].worst_write_ns, memory_order_relaxed);

		if (ns > worst) {
			worst = ns;
			*disk = i;
		}
	}
	return worst;
}

static void live_line(struct progress *p)
{
	const struct session *session = p->session;
	struct ring_level level = ring_level(session->ring);
	double capacity = (double)session->plan.ring_bytes, left = seconds_left(session),
	       full = full_in_s(p);
	int64_t elapsed = (units_monotonic_ns() - session->armed_ns) / UNITS_NS_PER_S;
	unsigned bar = (unsigned)((double)level.held_bytes / capacity * BAR + 0.5), worst_disk;
	char lost[UNITS_TEXT_LEN];
	struct line line;
	int64_t worst = worst_write_ns(session, &worst_disk);

	line_begin(&line, false);
	line_add(&line,
		 "\r\033[K%02" PRId64 ":%02" PRId64
		 " in %.1f out %.1f Mbit/s ring [%.*s%.*s] max %.0f%%",
		 elapsed / 60, elapsed % 60, mbps(p->in_bps), mbps(p->out_bps), (int)bar, "##########",
		 (int)(BAR - bar), "..........", (double)level.high_water_bytes / capacity * 100);
	for (unsigned i = 0; i < session->disk_count && i < 8; i++)
		line_add(&line, " d%u %s%.0f", i, disk_is_usable(&session->disks[i]) ? "" : "OUT ",
			 mbps(p->disk_bps[i]));
	line_add(&line, " worst %.3f s lost %s", (double)worst / 1e9,
		 units_format_bytes(lost, lost_bytes(session)));
	if (p->is_draining)
		line_add(&line, " DRAINING %.0f s",
			 p->out_bps > 0 ? (double)level.held_bytes * 8 / p->out_bps : 0.0);
	else if (left >= 0)
		line_add(&line, " left %.0f s", left);
	if (full >= 0 && full < 60 && !p->is_draining) {
		unsigned culprit = find_culprit(p);

		line_add(&line, " RING FULL IN %.0f s: %s slow (%.0f Mbit/s)", full,
			 session->disks[culprit].target.path, mbps(p->disk_bps[culprit]));
	}
	if (line_put(&line))
		p->is_line_shown = true;
}

static void log_line(struct progress *p)
{
	const struct session *session = p->session;
	struct ring_level level = ring_level(session->ring);
	double full = full_in_s(p);
	unsigned worst_disk;
	struct line line;
	int64_t worst = worst_write_ns(session, &worst_disk);

	begin(p, &line);
	line_add(&line,
		 "t=%.1f state=%s in_mbps=%.3f out_mbps=%.3f stream_bytes=%" PRIu64
		 " written_bytes=%" PRIu64 " ring_bytes=%" PRIu64 " ring_max_bytes=%" PRIu64
		 " lost_bytes=%" PRIu64 " worst_write_s=%.3f",
		 (double)(units_monotonic_ns() - session->armed_ns) / 1e9,
		 p->is_draining ? "draining" : "recording", mbps(p->in_bps), mbps(p->out_bps),
		 account_stream_bytes(&session->account), session_written_bytes(session),
		 level.held_bytes, level.high_water_bytes, lost_bytes(session), (double)worst / 1e9);
	for (unsigned i = 0; i < session->disk_count; i++)
		line_add(&line, " disk%u_mbps=%.3f", i, mbps(p->disk_bps[i]));
	if (p->is_draining && p->out_bps > 0)
		line_add(&line, " drain_left_s=%.0f", (double)level.held_bytes * 8 / p->out_bps);
	if (full >= 0)
		line_add(&line, " ring_full_in_s=%.0f culprit=%s", full,
			 session->disks[find_culprit(p)].target.path);
	line_add(&line, "\n");
	line_put(&line);
}

void progress_tick(struct progress *progress)
{
	int64_t now = units_monotonic_ns();

	measure(progress, now);
	watch_data(progress);
	watch_space(progress);
	watch_clock(progress, now);
	progress_events(progress);
	if (progress->is_line) {
		live_line(progress);
	} else if (progress->is_log &&
		   now - progress->last_log_ns >= progress->interval_ns - TICK_SLACK_NS) {
		/* on its own grid: a tick that is a hair early must not cost a second */
		progress->last_log_ns += (now + TICK_SLACK_NS - progress->last_log_ns) /
					 progress->interval_ns * progress->interval_ns;
		log_line(progress);
	}
}

void progress_now(struct progress *progress)
{
	measure(progress, units_monotonic_ns());
	log_line(progress);
}

void progress_draining(struct progress *progress)
{
	progress->is_draining = true;
}

void progress_clear(struct progress *progress)
{
	struct line line;

	mention_hidden(progress);
	begin(progress, &line);
	if (line.len)
		line_put(&line);
}

/* ---- for vsib-status ---- */

static json_t *disks_snapshot(const struct progress *p)
{
	json_t *disks = json_array();

	for (unsigned i = 0; i < p->session->disk_count; i++) {
		const struct disk *disk = &p->session->disks[i];

		json_array_append_new(
			disks,
			json_pack("{ss* ss sI sI sf sf sI sI}", "target", disk->target.path, "state",
				  session_disk_state_name((enum disk_state)atomic_load_explicit(
					  &disk->state, memory_order_acquire)),
				  "written_bytes",
				  (json_int_t)atomic_load_explicit(&disk->durable_bytes,
								   memory_order_relaxed),
				  "accepted_bytes", (json_int_t)account_get(&disk->accepted_bytes),
				  "rate_bps", p->disk_bps[i], "worst_write_s",
				  (double)atomic_load_explicit(&disk->worst_write_ns,
							       memory_order_relaxed) /
					  1e9,
				  "free_bytes",
				  (json_int_t)(atomic_load_explicit(&disk->free_bytes,
								    memory_order_relaxed) &
					       INT64_MAX),
				  "files", (json_int_t)account_get(&disk->file_count)));
	}
	return disks;
}

static json_t *warnings_snapshot(const struct session *session)
{
	json_t *warnings = json_array();

	pthread_mutex_lock((pthread_mutex_t *)&session->lock);
	for (unsigned i = 0; i < session->warning_count; i++)
		json_array_append_new(warnings, json_string(session->warnings[i]));
	pthread_mutex_unlock((pthread_mutex_t *)&session->lock);
	return warnings;
}

json_t *progress_snapshot(const struct progress *progress)
{
	const struct session *session = progress->session;
	const struct account *account = &session->account;
	struct ring_level level = ring_level(session->ring);
	struct account_sum sum = session_sum(session);
	int64_t now = units_monotonic_ns();
	double left = seconds_left(session);
	const char *state = progress->is_draining ? "draining" :
			    atomic_load_explicit(&session->started_ns, memory_order_relaxed) ?
						    "recording" :
						    "armed";
	char utc[UNITS_UTC_LEN];
	json_t *o = json_pack("{ss ss si ss ss ss ss* sI ss sf}", "schema", "vsib-status/1", "name",
			      session->config.name, "pid", host_pid(), "program",
			      session->config.program, "version", VSIB_VERSION, "state", state,
			      "source", session->source->name, "rate_bps",
			      (json_int_t)session->source->rate_bps, "utc",
			      units_format_utc(utc, units_realtime_ns()), "elapsed_s",
			      (double)(now - session->armed_ns) / 1e9);

	if (!o)
		return NULL;
	json_object_set_new(o, "left_s", left < 0 ? json_null() : json_real(left));
	json_object_set_new(o, "stream_bytes", json_integer((json_int_t)account_stream_bytes(account)));
	json_object_set_new(o, "received_bytes",
			    json_integer((json_int_t)account_get(&account->received_bytes)));
	json_object_set_new(o, "written_bytes", json_integer((json_int_t)sum.written_bytes));
	json_object_set_new(o, "accepted_bytes", json_integer((json_int_t)accepted_bytes(session)));
	json_object_set_new(o, "rate_in_bps", json_real(progress->in_bps));
	json_object_set_new(o, "rate_out_bps", json_real(progress->out_bps));
	json_object_set_new(o, "lost",
			    json_pack("{sI sI sI sI}", "overflow_bytes",
				      (json_int_t)account_get(&account->overflow_bytes), "source_bytes",
				      (json_int_t)account_get(&account->source_lost_bytes),
				      "filled_bytes", (json_int_t)account_get(&account->filled_bytes),
				      "disk_bytes", (json_int_t)sum.disk_bytes));
	json_object_set_new(o, "ring",
			    json_pack("{sI sI sI}", "capacity_bytes",
				      (json_int_t)session->plan.ring_bytes, "held_bytes",
				      (json_int_t)level.held_bytes, "high_water_bytes",
				      (json_int_t)level.high_water_bytes));
	json_object_set_new(o, "disks", disks_snapshot(progress));
	json_object_set_new(o, "warnings", warnings_snapshot(session));
	return o;
}
