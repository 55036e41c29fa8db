/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/qualify_progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/line.h"

#define LINE_NS (UNITS_NS_PER_S / 4)
#define LOG_NS (10 * UNITS_NS_PER_S)
#define BAR 10

void qualify_progress_init(struct qualify_progress *progress, enum live_mode mode,
			   const struct plan *plan, const struct trial *trial)
{
	memset(progress, 0, sizeof(*progress));
	progress->plan = plan;
	progress->trial = trial;
	progress->is_line = mode == LIVE_LINE || (mode == LIVE_AUTO && isatty(STDERR_FILENO));
	progress->is_log = mode == LIVE_LOG || (mode == LIVE_AUTO && !progress->is_line);
	progress->begin_ns = units_monotonic_ns();
}

static double left_s(const struct qualify_progress *p, double done)
{
	return (double)plan_left_ns(p->plan, p->step, done) / 1e9;
}

static const char *disk_name(const struct qualify_progress *p, int disk)
{
	return disk >= 0 && (unsigned)disk < p->trial->disk_count ? p->trial->disks[disk].target.path :
								    NULL;
}

static void live_line(struct qualify_progress *p, const struct trial_progress *told)
{
	const char *disk = disk_name(p, told->disk);
	char left[UNITS_TEXT_LEN], lost[UNITS_TEXT_LEN];
	struct line line;

	line_begin(&line, true);
	line_add(&line, "%u/%u %s", p->step + 1, p->plan->count, trial_phase_name(told->phase));
	if (disk && p->trial->disk_count > 1)
		line_add(&line, " %.40s", disk);
	if (told->detail)
		line_add(&line, " %s", told->detail);
	line_add(&line, " %.0f%% left %s", told->done * 100,
		 units_format_time(left, (int64_t)(left_s(p, told->done) * 1e9)));
	if (told->rate_bps > 0)
		line_add(&line, " %.1f Mbit/s (%.1f MiB/s)", told->rate_bps / 1e6,
			 told->rate_bps / 8 / 1048576);
	if (told->ring_capacity_bytes) {
		double share = (double)told->ring_bytes / (double)told->ring_capacity_bytes;
		unsigned bar = (unsigned)((share < 1 ? share : 1) * BAR + 0.5);

		line_add(&line, " ring [%.*s%.*s] max %.0f%%", (int)bar, "##########",
			 (int)(BAR - bar), "..........",
			 (double)told->ring_high_bytes / (double)told->ring_capacity_bytes * 100);
	}
	line_add(&line, " worst %.3f s", (double)p->worst_ns / 1e9);
	if (told->overflow_bytes)
		line_add(&line, " LOST %s", units_format_bytes(lost, told->overflow_bytes));
	if (line_put(&line))
		p->is_line_shown = true;
}

static void log_line(struct qualify_progress *p, const struct trial_progress *told, int64_t now)
{
	const char *disk = disk_name(p, told->disk);
	struct line line;

	line_begin(&line, p->is_line_shown);
	p->is_line_shown = false;
	line_add(&line, "t=%.1f step=%u/%u phase=%s", (double)(now - p->begin_ns) / 1e9,
		 p->step + 1, p->plan->count, trial_phase_name(told->phase));
	if (disk)
		line_add(&line, " disk=%.300s", disk);
	line_add(&line,
		 " done=%.3f left_s=%.0f rate_mbps=%.3f ring_bytes=%" PRIu64
		 " ring_max_bytes=%" PRIu64 " worst_write_s=%.3f overflow_bytes=%" PRIu64 "\n",
		 told->done, left_s(p, told->done), told->rate_bps / 1e6, told->ring_bytes,
		 p->ring_high_bytes, (double)p->worst_ns / 1e9, told->overflow_bytes);
	line_put(&line);
}

void qualify_progress_tell(struct qualify_progress *progress, const struct trial_progress *told,
			   bool is_asked)
{
	int64_t now = units_monotonic_ns();

	if (told->worst_ns > progress->worst_ns)
		progress->worst_ns = told->worst_ns;
	if (told->ring_high_bytes > progress->ring_high_bytes)
		progress->ring_high_bytes = told->ring_high_bytes;
	if (is_asked || (progress->is_log && now - progress->shown_ns >= LOG_NS))
		log_line(progress, told, now);
	else if (progress->is_line && now - progress->shown_ns >= LINE_NS)
		live_line(progress, told);
	else
		return;
	progress->shown_ns = now;
}

void qualify_progress_step(struct qualify_progress *progress, unsigned step)
{
	progress->step = step;
	progress->ring_high_bytes = 0; /* at full speed any ring is full */
	if (step < progress->plan->count) {
		const struct trial_progress told = { .phase = progress->plan->steps[step].phase,
						     .disk = progress->plan->steps[step].disk };

		progress->shown_ns = 0;
		qualify_progress_tell(progress, &told, false);
	}
}

void qualify_progress_end(struct qualify_progress *progress)
{
	struct line line;

	if (!progress->is_line_shown)
		return;
	line_begin(&line, true);
	line_put(&line);
	progress->is_line_shown = false;
}
