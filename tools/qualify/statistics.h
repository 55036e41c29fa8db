/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * statistics.h - medians, quantiles and trends that a few wild values do not bend
 *
 * Threads: any; the functions have no state.
 */
#ifndef VSIB_TOOLS_QUALIFY_STATISTICS_H
#define VSIB_TOOLS_QUALIFY_STATISTICS_H

#include <stddef.h>

#define STATISTICS_TREND_MAX 256 /* points of a trend; more are thinned out first */

/** statistics_quantile() - @share 0 .. 1, interpolated; sorts @values. Return: 0 for none. */
double statistics_quantile(double *values, size_t count, double share);

/**
 * statistics_trend() - Theil and Sen's slope: the median of the slopes of all pairs of points
 * @count: at most STATISTICS_TREND_MAX
 * @slope: y per x; 0 when fewer than three points differ in x
 *
 * A quarter of the points may be anything. Return: 0; -ENOMEM.
 */
int statistics_trend(const double *x, const double *y, size_t count, double *slope);

#endif
