/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/dry_run.h"

#include "drivers/units.h"

static int dry_open(struct destination *destination, const struct destination_config *config);

/* The bytes of a second are counted at its end: one that takes longer is a slow second all the same. */
static ssize_t dry_write(struct destination *destination, const void *data, size_t bytes,
			 int64_t deadline_ns)
{
	struct dry_run *dry_run = destination->state;
	int64_t now = units_monotonic_ns(), length;

	(void)data;
	(void)deadline_ns;
	if (dry_run->window_ns == 0)
		dry_run->window_ns = dry_run->begin_ns = now;
	length = now - dry_run->window_ns;
	if (length >= UNITS_NS_PER_S) {
		double bps = (double)dry_run->window_bytes * 8e9 / (double)length;

		if (dry_run->slowest_bps == 0 || bps < dry_run->slowest_bps) {
			dry_run->slowest_bps = bps;
			dry_run->slowest_at_s = (double)(dry_run->window_ns - dry_run->begin_ns) / 1e9;
		}
		dry_run->window_ns = now;
		dry_run->window_bytes = 0;
	}
	dry_run->window_bytes += bytes;
	destination_count(&destination->stats.sent_bytes, bytes);
	destination_count(&destination->stats.sent_count, 1);
	return (ssize_t)bytes;
}

static const struct destination_ops dry_ops = {
	.prefix = "dry-run:",
	.open = dry_open,
	.write = dry_write,
};

static int dry_open(struct destination *destination, const struct destination_config *config)
{
	(void)config;
	destination->takes = DESTINATION_BYTES;
	return 0;
}

int dry_run_destination(struct destination **out, struct dry_run *dry_run)
{
	const struct destination_config config = { .rate_bps = dry_run->wanted_bps };
	int ret = destination_open_with(out, &dry_ops, "dry-run:", &config);

	if (ret == 0)
		(*out)->state = dry_run;
	return ret;
}

void dry_run_judge(struct dry_run *dry_run, const struct feed *feed, int64_t duration_ns,
		   uint64_t ring_bytes)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < feed->disk_count; i++)
		bytes += atomic_load_explicit(&feed->disks[i].read_bytes, memory_order_relaxed);
	dry_run->read_bps = duration_ns > 0 ? (double)bytes * 8e9 / (double)duration_ns : 0;
	/* what a slow second lacks comes from the ring */
	dry_run->is_enough =
		dry_run->read_bps >= DRY_RUN_MARGIN * (double)dry_run->wanted_bps &&
		(dry_run->slowest_bps == 0 ||
		 dry_run->slowest_bps + (double)ring_bytes * 8 >= (double)dry_run->wanted_bps);
}
