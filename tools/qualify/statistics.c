/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/statistics.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

double statistics_quantile(double *values, size_t count, double share)
{
	double place, part;
	size_t below;

	if (count == 0)
		return 0;
	qsort(values, count, sizeof(values[0]), by_value);
	place = share * (double)(count - 1);
	below = (size_t)place;
	if (below + 1 >= count)
		return values[count - 1];
	part = place - (double)below;
	return values[below] * (1 - part) + values[below + 1] * part;
}

int statistics_trend(const double *x, const double *y, size_t count, double *slope)
{
	double *slopes;
	size_t found = 0;

	assert(count <= STATISTICS_TREND_MAX);
	*slope = 0;
	if (count < 3)
		return 0;
	slopes = calloc(count * (count - 1) / 2, sizeof(slopes[0]));
	if (!slopes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			if (x[j] != x[i])
				slopes[found++] = (y[j] - y[i]) / (x[j] - x[i]);
	if (found >= 3)
		*slope = statistics_quantile(slopes, found, 0.5);
	free(slopes);
	return 0;
}
