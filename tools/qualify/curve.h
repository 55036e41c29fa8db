/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * curve.h - what a trial has measured, as points to draw and to compare
 *
 *   curve_ring(), curve_rate() ... -> look at points -> curve_free()
 *
 * Each maker takes a curve that is empty (zeroed) and leaves it empty when there is nothing to show. They are made
 * short enough for a figure, and so that what matters stays: the ring's highest level, the slowest window, the
 * longest write.
 * Threads: pure.
 */
#ifndef VSIB_TOOLS_QUALIFY_CURVE_H
#define VSIB_TOOLS_QUALIFY_CURVE_H

#include "tools/qualify/trial.h"

#define CURVE_POINTS_MAX 600 /* of a series over time */

struct curve_point {
	double x, y;
};

struct curve {
	struct curve_point *points;
	size_t count;
};

/** curve_add() - a point behind the others; one that is not finite is left out. Return: 0; -ENOMEM. */
int curve_add(struct curve *curve, double x, double y);

/** curve_free() - its points; it is empty again */
void curve_free(struct curve *curve);

/**
 * curve_thin() - which samples of a series to keep
 * @kept: their indices, rising; room for @most, which is at least 4
 *
 * The first, the last, and of each stretch the one with the fullest ring and the last.
 * Return: how many.
 */
size_t curve_thin(const struct trial_series *series, size_t *kept, size_t most);

/** curve_ring() - s and bytes: the ring's level over time. Return: 0; -ENOMEM. */
int curve_ring(struct curve *curve, const struct trial_run *run);

/** curve_temperature() - s and degrees Celsius, where they are known. Return: 0; -ENOMEM. */
int curve_temperature(struct curve *curve, const struct trial_run *run);

/**
 * curve_rate() - bytes and bit/s: how fast a disk took what it was given, in windows of equal size
 *
 * Windows rest on the trace's writes. Return: 0; -ENOMEM.
 */
int curve_rate(struct curve *curve, const struct trial_part *part);

/** curve_survival() - s and share: so many of the writes took longer than that. Return: 0; -ENOMEM. */
int curve_survival(struct curve *curve, const struct trial_part *part);

struct worst_write {
	struct trace_write write;
	unsigned disk; /* index of trial.disks */
};

/**
 * curve_worst_writes() - of all disks of a run, the longest first
 * @least_ns: shorter ones don't count
 * Return: how many, up to @most.
 */
size_t curve_worst_writes(const struct trial_run *run, int64_t least_ns, struct worst_write *worst,
			  size_t most);

#endif
