/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/sim_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drivers/mark5b.h"
#include "drivers/units.h"
#include "tools/replay/play_block.h"

#define RAW_BYTES 8000
#define VDIF_BYTES 8032
#define VDIF_SHORT_BYTES 1032 /* where longer ones would go out in fragments */
#define RAW_SHORT_BYTES 1000
#define STATION "VS"
#define BLOCK_BYTES_USUAL ((size_t)1 << 20)
#define PAGE_BYTES ((size_t)4096)
#define AHEAD_NS INT64_C(200000000) /* the ring is filled before the first frame is due */
#define LUMP_NS INT64_C(1000000)    /* what is sent at a time, as a stream and paced */

static int refuse(char *error, const char *sentence)
{
	snprintf(error, MADE_ERROR_LEN, "%s", sentence);
	return -EINVAL;
}

size_t sim_plan_block_bytes(const struct sim_options *options)
{
	size_t need = options->frame_bytes < MARK5B_FRAME_BYTES ? MARK5B_FRAME_BYTES :
								  options->frame_bytes;

	/* also as the halves of a frame, each with a header of its own */
	need = (need + 2 * sizeof(struct block_packet) + PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES;
	return need > BLOCK_BYTES_USUAL ? need : BLOCK_BYTES_USUAL;
}

/* ---- what goes out at a time ---- */

static bool fits(const struct destination *destination, size_t bytes)
{
	return !destination->frame_bytes_max || bytes <= destination->frame_bytes_max;
}

/* What was asked for here, or behind the destination's name; else what needs no fragments. */
static uint32_t choose_unit(const struct sim_options *options, const struct destination *destination)
{
	if (options->frame_bytes)
		return options->frame_bytes;
	if (destination->takes != DESTINATION_BYTES && destination->frame_bytes)
		return (uint32_t)destination->frame_bytes;
	switch (options->format) {
	case MADE_VDIF:
		return fits(destination, VDIF_BYTES) ? VDIF_BYTES : VDIF_SHORT_BYTES;
	case MADE_MARK5B:
		return fits(destination, MARK5B_FRAME_BYTES) ? MARK5B_FRAME_BYTES : MARK5B_HALF_BYTES;
	default:
		return fits(destination, RAW_BYTES) ? RAW_BYTES : RAW_SHORT_BYTES;
	}
}

static int find_units(struct sim_plan *plan, const struct sim_options *options,
		      const struct destination *destination, char *error)
{
	uint32_t unit_bytes = choose_unit(options, destination);

	plan->is_units = destination->takes != DESTINATION_BYTES;
	if (plan->is_units && options->frame_bytes && destination->frame_bytes &&
	    options->frame_bytes != destination->frame_bytes)
		return refuse(error, "--frame and the destination's frame= differ; give one of them");
	if (destination->frame_bytes > MADE_FRAME_BYTES_MAX)
		return refuse(error, "the destination's frame= is too long");
	plan->unit_bytes = unit_bytes;
	plan->layout.frame_bytes = unit_bytes;
	if (options->format == MADE_MARK5B && unit_bytes == MARK5B_HALF_BYTES && plan->is_units)
		plan->layout.frame_bytes = MARK5B_FRAME_BYTES;
	return 0;
}

/* ---- when ---- */

static bool begins_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* A file is of use when it is whole: who wants to see it grow says so. */
static bool is_store(const char *name)
{
	return begins_with(name, "file:") || begins_with(name, "pcapfile:");
}

static int find_pace(struct sim_plan *plan, const struct sim_options *options,
		     const struct destination *destination, char *error)
{
	bool is_wanted = options->pace == SIM_PACE_AUTO ? !is_store(destination->name) :
							  options->pace != SIM_PACE_NONE;

	plan->is_paced = is_wanted && options->rate_bps;
	if (plan->is_paced)
		return 0;
	if (options->pace == SIM_PACE_SLEEP || options->pace == SIM_PACE_PRECISE)
		return refuse(error, "--pace needs a rate: -r RATE");
	if (options->ppm != 0 || options->faults.jitter_ns || options->faults.stall_ns)
		return refuse(
			error,
			"--ppm, --jitter and --stall need a pace: -r RATE, and with file: and pcapfile: --pace sleep");
	return 0;
}

static void find_start(struct sim_plan *plan, const struct sim_options *options, int64_t now_utc_ns)
{
	int64_t next = now_utc_ns + AHEAD_NS + UNITS_NS_PER_S - 1;

	plan->layout.start_utc_ns = options->start_utc_ns ? options->start_utc_ns :
				    options->is_start_now || options->format == MADE_RAW ?
							    now_utc_ns :
							    next / UNITS_NS_PER_S * UNITS_NS_PER_S;
}

/* ---- how much ---- */

static int find_count(struct sim_plan *plan, const struct sim_options *options, char *error)
{
	uint64_t bytes = options->bytes ? options->bytes : UINT64_MAX;

	if (options->duration_ns && plan->layout.stream_bps) {
		uint64_t in_time = units_bytes_at(plan->layout.stream_bps, options->duration_ns);

		bytes = in_time < bytes ? in_time : bytes;
	} else {
		plan->limit_ns = options->duration_ns;
	}
	if (bytes == UINT64_MAX)
		return 0;
	if (options->format != MADE_RAW || plan->is_units)
		bytes -= bytes % plan->layout.frame_bytes;
	plan->stream_bytes = bytes;
	return bytes ? 0 : refuse(error, "-d or -n is less than one frame");
}

static size_t lump_bytes(const struct sim_plan *plan, const struct sim_options *options)
{
	uint64_t bytes;

	if (sim_options_has_faults(options)) /* one frame is one unit, which may have a fault */
		return plan->unit_bytes;
	if (!plan->is_paced)
		return BLOCK_BYTES_USUAL;
	bytes = units_bytes_at(plan->layout.stream_bps, LUMP_NS);
	return bytes < PAGE_BYTES        ? PAGE_BYTES :
	       bytes > BLOCK_BYTES_USUAL ? BLOCK_BYTES_USUAL :
					   (size_t)(bytes / PAGE_BYTES * PAGE_BYTES);
}

/* ---- in words ---- */

static void describe(struct sim_plan *plan)
{
	const struct made_layout *layout = &plan->layout;
	char utc[UNITS_UTC_LEN];

	if (layout->format == MADE_RAW)
		snprintf(plan->text, sizeof(plan->text), "the pattern");
	else
		snprintf(plan->text, sizeof(plan->text),
			 "%s frames of %" PRIu32 " bytes, %" PRIu32 " a second%s from %s on",
			 layout->format == MADE_VDIF ? "VDIF" : "Mark5B", layout->frame_bytes,
			 layout->frame_rate, layout->thread_count > 1 ? " and thread" : "",
			 units_format_utc(utc, layout->start_utc_ns));
}

static int fill_in_vdif(struct made_layout *layout, const struct sim_options *options)
{
	struct vdif_header *vdif = &layout->vdif;
	unsigned channels = options->channels ? options->channels : 1;

	layout->thread_count = options->thread_count ? options->thread_count : 1;
	layout->is_edv_free = options->edv < 0;
	vdif->edv = (uint8_t)(options->edv < 0 ? 0 : options->edv);
	vdif->bits = (uint8_t)(options->bits ? options->bits : 2);
	vdif->channels_log2 = (uint8_t)__builtin_ctz(channels);
	return vdif_station_of(options->station ? options->station : STATION, &vdif->station) ?
		       0 :
		       -EINVAL;
}

int sim_plan_make(struct sim_plan *plan, const struct sim_options *options,
		  const struct destination *destination, int64_t now_utc_ns, char *error)
{
	int ret;

	memset(plan, 0, sizeof(*plan));
	plan->layout.format = options->format;
	plan->layout.rate_bps = options->rate_bps;
	ret = fill_in_vdif(&plan->layout, options);
	if (ret == 0)
		ret = find_units(plan, options, destination, error);
	if (ret == 0)
		ret = find_pace(plan, options, destination, error);
	if (ret < 0)
		return ret;
	find_start(plan, options, now_utc_ns);
	ret = made_layout_complete(&plan->layout, error);
	if (ret == 0)
		ret = find_count(plan, options, error);
	if (ret < 0)
		return ret;
	if (plan->is_paced && !options->is_start_now &&
	    (options->format != MADE_RAW || options->start_utc_ns))
		plan->start_utc_ns = plan->layout.start_utc_ns;
	plan->lump_bytes = lump_bytes(plan, options);
	describe(plan);
	return 0;
}

int sim_plan_check(const struct sim_options *options, int64_t now_utc_ns, char *error)
{
	const struct destination store = {
		.name = (char *)options->destination,
		.takes = begins_with(options->destination, "file:") ? DESTINATION_BYTES :
								      DESTINATION_PACKETS,
	};
	struct sim_plan plan;

	return is_store(options->destination) ?
		       sim_plan_make(&plan, options, &store, now_utc_ns, error) :
		       0;
}
