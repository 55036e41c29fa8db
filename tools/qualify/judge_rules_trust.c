/* SPDX-License-Identifier: BSD-2-Clause */
/* What would make a PASS a lie although nothing has failed: runs that were asked for and did not happen, and the like. */
#include "tools/qualify/judge_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"

#define STREAM_LEAST 0.98   /* of the rate that was asked for */
#define UNTRACED_MOST 0.001 /* of the writes */

static void half_run(const struct trial_run *run, const char *what, struct judgement *judgement)
{
	struct judgement_reason *reason;

	if (!run->error[0])
		return;
	reason = reason_add(judgement, "NOT_RUN", VERDICT_INCONCLUSIVE, -1,
			    (struct reason_numbers){ 0, 1, "" });
	SAY(reason, "%s did not come to its end: %.350s.", what, run->error);
	ADVISE(reason, "do what it says, and test again");
}

void rule_further_runs(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial *trial = evidence->trial;

	for (unsigned i = 0; i < trial->repeat_count; i++)
		half_run(&trial->repeats[i], "A further run at the rate", judgement);
	half_run(&trial->source, "The run with the real source", judgement);
	half_run(&trial->interfered, "The run beside random I/O", judgement);
}

static void slow_stream(const struct trial_run *run, struct judgement *judgement)
{
	double asked_bytes = (double)run->rate_bps / 8 *
			     ((double)run->duration_ns / (double)UNITS_NS_PER_S),
	       share = (double)run->stream_bytes / fmax(asked_bytes, 1);
	struct judgement_reason *reason;

	if (!run->was_run || run->error[0] || run->rate_bps == 0 || share >= STREAM_LEAST)
		return;
	reason = reason_add(judgement, "SLOW_STREAM", VERDICT_INCONCLUSIVE, -1,
			    (struct reason_numbers){ share, STREAM_LEAST, "" });
	SAY(reason,
	    "The simulator gave only %.0f %% of the rate: the disks were never asked for all of it.",
	    share * 100);
	ADVISE(reason, "test a lower rate, or on a faster machine with nothing else to do");
}

void rule_slow_stream(const struct evidence *evidence, struct judgement *judgement)
{
	const struct trial *trial = evidence->trial;

	slow_stream(evidence->paced, judgement);
	for (unsigned i = 0; i < trial->repeat_count; i++)
		slow_stream(&trial->repeats[i], judgement);
}

void rule_not_read_back(const struct evidence *evidence, struct judgement *judgement)
{
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		const struct trial_read_back *back = &evidence->trial->disks[d].read_back;
		struct judgement_reason *reason;

		if (!back->has_failed)
			continue;
		reason = reason_add(judgement, "NOT_READ_BACK", VERDICT_INCONCLUSIVE, (int)d,
				    (struct reason_numbers){ (double)back->bytes, 1, "bytes" });
		SAY(reason, "%.150s: nobody knows whether it has what was written: %.300s.",
		    reason_path(evidence, (int)d), back->text);
		ADVISE(reason, "test again");
	}
}

/* What is slow only later is seen in the ring's level, but in none of the margins. */
void rule_untraced(const struct evidence *evidence, struct judgement *judgement)
{
	uint64_t untraced = 0, traced = 0;
	struct judgement_reason *reason;
	double share;

	for (unsigned i = 0; i < evidence->paced->part_count; i++) {
		const struct trace *trace = evidence->paced->parts[i].trace;

		if (!trace)
			continue;
		traced += trace_count(trace);
		/* relaxed: the run is over */
		untraced += atomic_load_explicit(&trace->untraced_count, memory_order_relaxed);
	}
	share = (double)untraced / fmax((double)(traced + untraced), 1);
	if (share <= UNTRACED_MOST)
		return;
	reason = reason_add(judgement, "UNTRACED", VERDICT_MARGINAL, -1,
			    (struct reason_numbers){ share, UNTRACED_MOST, "" });
	SAY(reason,
	    "The times of the last %.0f %% of the writes were not noted: of how fast the disks were then only the ring tells.",
	    share * 100);
	ADVISE(reason, "test with larger blocks, or for a shorter time");
}

void rule_memory(const struct evidence *evidence, struct judgement *judgement)
{
	for (unsigned d = 0; d < evidence->disk_count; d++) {
		const char *memory = evidence->trial->disks[d].environment.memory;
		struct judgement_reason *reason;

		if (!memory[0])
			continue;
		reason = reason_add(judgement, "CACHED", VERDICT_INCONCLUSIVE, (int)d,
				    (struct reason_numbers){ 1, 0, "" });
		SAY(reason, "%.150s is in memory (%.60s): no disk was measured.",
		    reason_path(evidence, (int)d), memory);
		ADVISE(reason, "give a directory on the disk that is to record");
	}
}
