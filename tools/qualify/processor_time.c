/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/processor_time.h"

#include <sys/resource.h>

double processor_time_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}
