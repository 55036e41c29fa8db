/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processor_time.h - what this process has cost so far
 *
 * Threads: any.
 */
#ifndef VSIB_TOOLS_QUALIFY_PROCESSOR_TIME_H
#define VSIB_TOOLS_QUALIFY_PROCESSOR_TIME_H

/** processor_time_s() - of all its threads, for itself and in the kernel; to be subtracted from a later one */
double processor_time_s(void);

#endif
