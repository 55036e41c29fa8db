/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * baseline.h - a former run on the same disks, to draw and compare with
 *
 *   baseline_read() -> look at the fields -> baseline_free()
 *
 * The file is a report of schema vsib-qualify/1. It is input from outside: nothing in it makes this crash, hang or
 * allocate more than some times its size, and what is in it and isn't a plausible number is left out.
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_QUALIFY_BASELINE_H
#define VSIB_TOOLS_QUALIFY_BASELINE_H

#include "tools/qualify/curve.h"
#include "tools/qualify/judge.h"

#define BASELINE_FILE_MAX ((size_t)64 << 20)
#define BASELINE_POINTS_MAX 4096 /* of a curve */
#define BASELINE_ERROR_LEN 1024

struct baseline_disk {
	struct curve rate;           /* bytes, bit/s: the full-speed run */
	struct curve position;       /* share of the device, bit/s: read */
	struct curve blocks, depths; /* bytes or writes in flight, bit/s */
};

struct baseline {
	char utc[40];          /* when; "" = not said */
	char result[16];       /* PASS ...; "" = not said */
	double rate_bps;       /* that was judged; -1 = not known */
	double capability_bps; /* -1 = not known */
	double capability_low_bps;
	double high_water_bytes;
	struct curve ring;           /* s, bytes: the paced run */
	struct curve needed;         /* bit/s, bytes: ring against rate */
	struct baseline_disk *disks; /* as in the trial */
	unsigned disk_count;
};

/**
 * baseline_read() - the report of a former run on the disks of this trial
 * @error: BASELINE_ERROR_LEN: what is wrong, and what to do
 *
 * A disk is known by its serial number; one that tells none, by its file system's UUID.
 * Return: 0; -EBADMSG: no such report, or damaged; -ENODEV: of other disks; -EFBIG; -ENOMEM; -errno of the file.
 */
int baseline_read(struct baseline **out, const char *path, const struct trial *trial, char *error);

/** baseline_free() - NULL is fine */
void baseline_free(struct baseline *baseline);

/**
 * baseline_compare() - the capability then and now in one sentence
 * @text: TRIAL_TEXT_LEN bytes
 */
void baseline_compare(char *text, const struct baseline *baseline, const struct judgement *judgement);

#endif
