/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/sim_report.h"

#include <inttypes.h>

#include "drivers/units.h"
#include "recorder/report_objects.h"

static uint64_t get(const _Atomic uint64_t *counter)
{
	/* relaxed: exact when the player has ended */
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void sim_report_text(FILE *out, const struct disturbance *disturbance)
{
	const struct disturbance_stats *stats;

	if (!disturbance)
		return;
	stats = disturbance_stats(disturbance);
	fprintf(out,
		"  faults   of %" PRIu64 " units %" PRIu64 " lost (%" PRIu64 " bytes), %" PRIu64
		" doubled, %" PRIu64 " reordered; %" PRIu64 " stalls\n",
		get(&stats->unit_count), get(&stats->lost_count), get(&stats->lost_bytes),
		get(&stats->duplicate_count), get(&stats->reordered_count), get(&stats->stall_count));
}

static json_t *json_faults(const struct disturbance *disturbance)
{
	const struct disturbance_stats *stats;
	json_t *o = json_object();

	if (!disturbance) {
		json_decref(o);
		return json_null();
	}
	stats = disturbance_stats(disturbance);
	json_object_set_new(o, "unit_count", report_object_number(get(&stats->unit_count)));
	json_object_set_new(o, "lost_count", report_object_number(get(&stats->lost_count)));
	json_object_set_new(o, "lost_bytes", report_object_number(get(&stats->lost_bytes)));
	json_object_set_new(o, "duplicate_count", report_object_number(get(&stats->duplicate_count)));
	json_object_set_new(o, "reordered_count", report_object_number(get(&stats->reordered_count)));
	json_object_set_new(o, "stall_count", report_object_number(get(&stats->stall_count)));
	return o;
}

static void add_vdif(json_t *o, const struct made_layout *layout)
{
	char station[VDIF_STATION_LEN];

	json_object_set_new(o, "threads", report_object_number(layout->thread_count));
	json_object_set_new(o, "station",
			    report_object_text(vdif_station_name(station, layout->vdif.station)));
	json_object_set_new(o, "bits", report_object_number(layout->vdif.bits));
	json_object_set_new(o, "channels",
			    report_object_number(UINT64_C(1) << layout->vdif.channels_log2));
	json_object_set_new(o, "edv", report_object_number(layout->vdif.edv));
	json_object_set_new(o, "sample_rate_hz", report_object_number(layout->vdif.sample_rate_hz));
}

static json_t *json_format(const struct sim_options *options, const struct sim_plan *plan)
{
	static const char *const names[] = { "raw", "vdif", "mark5b" };
	const struct made_layout *layout = &plan->layout;
	char utc[UNITS_UTC_LEN];
	json_t *o = json_pack("{ss}", "kind", names[layout->format]);

	json_object_set_new(o, "rate_bps", report_object_number(layout->rate_bps));
	json_object_set_new(o, "stream_bps", report_object_number(layout->stream_bps));
	json_object_set_new(o, "seed", report_object_number(options->seed));
	json_object_set_new(o, "ppm", json_real(options->ppm));
	if (layout->format == MADE_RAW)
		return o;
	json_object_set_new(o, "frame_bytes", report_object_number(layout->frame_bytes));
	json_object_set_new(o, "payload_bytes", report_object_number(layout->payload_bytes));
	json_object_set_new(o, "frame_rate", report_object_number(layout->frame_rate));
	json_object_set_new(o, "first_utc", json_string(units_format_utc(utc, layout->start_utc_ns)));
	if (layout->format == MADE_VDIF)
		add_vdif(o, layout);
	return o;
}

void sim_report_json(json_t *object, const struct sim_options *options, const struct sim_plan *plan,
		     const struct disturbance *disturbance)
{
	json_object_set_new(object, "format", json_format(options, plan));
	json_object_set_new(object, "faults", json_faults(disturbance));
}
