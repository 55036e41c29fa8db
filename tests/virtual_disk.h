/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * virtual_disk.h - disks that exist on paper, and recordings to them in virtual time: hours in milliseconds
 *
 *   virtual_trial_make() -> virtual_record() for each run of it -> judge() -> virtual_trial_free()
 *
 * A source of constant rate fills the blocks of a ring; each disk has several writes in flight and serves one after
 * the other; a block's room is free when its write is back; without room the source's bytes are lost. What the
 * recorder would have traced and counted is put into the run.
 * Threads: one.
 */
#ifndef VSIB_TESTS_VIRTUAL_DISK_H
#define VSIB_TESTS_VIRTUAL_DISK_H

#include "tools/qualify/trial.h"

struct virtual_disk {
	double rate_bps;
	double cliff_bps;     /* the rate from then on; 0 = there is no cliff */
	double cliff_bytes;   /* after so many bytes, or */
	double cliff_s;       /* then; whichever isn't 0 */
	double stall_s;       /* it stands still for so long; 0 = never */
	double stall_at_s;    /* the first time */
	double stall_every_s; /* again and again; 0 = once */
	double stall_until_s; /* none begins then or later; 0 = to the end */
	double latency_s; /* from a write's submission to its first byte; those of several overlap */
	double bunch_s; /* writes come back at multiples of this only, as from a throttle; 0 = when they are done */
	double zone_bytes;  /* its size, over which the rate falls evenly; 0 = it doesn't */
	double inner_ratio; /* innermost to outermost rate */
};

struct virtual_setup {
	const struct virtual_disk *disks;
	unsigned disk_count;
	double rate_bps; /* 0 = as fast as it goes */
	double ring_bytes;
	double block_bytes;
	unsigned depth;
	double duration_s;
	enum stripe_policy stripe;
	unsigned only; /* disk number + 1: only this one; 0 = all */
};

/** virtual_trial_make() - what is asked is as @setup has it, for @horizon_s; the targets are /media/disk0 ... */
void virtual_trial_make(struct trial *trial, const struct virtual_setup *setup, double horizon_s);

/** virtual_record() - into @run, which is trial.paced, trial.disks[0].full or another of a trial */
void virtual_record(struct trial_run *run, const struct virtual_setup *setup, enum trial_phase phase);

void virtual_trial_free(struct trial *trial);

#endif
