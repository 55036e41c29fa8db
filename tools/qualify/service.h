/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service.h - from a trace of overlapping writes to what each of them took of the disk's time
 *
 *   services_make() -> stalls_find() marks the stalls -> capability, ring_model ... -> services_free()
 *
 * With several writes in flight the time from submission to return is mostly a wait behind the others. What tells
 * about the disk is how long it took from one return to the next while it had something to do: in the order of their
 * return, write i has the disk from the later of (return of i-1, the earliest submission of what was not back by then)
 * to its own return. These spans do not overlap, and together they are the time with a write in flight.
 * Threads: one.
 */
#ifndef VSIB_TOOLS_QUALIFY_SERVICE_H
#define VSIB_TOOLS_QUALIFY_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"

struct service {
	int64_t from_ns, to_ns; /* since the run's start */
	int64_t waited_ns;      /* submission to return, as the trace has it */
	int64_t stalled_ns; /* of its time: more than its bytes should have taken; stalls_find() writes */
	uint64_t bytes;
};

struct services {
	struct service *items; /* in the order in which they came back */
	size_t count;
};

/**
 * services_make() - @trace may be NULL: none
 * @start_ns: of the run, CLOCK_MONOTONIC as in the trace
 *
 * Return: 0; -ENOMEM.
 */
int services_make(struct services *services, const struct trace *trace, int64_t start_ns);

/** services_free() - a zeroed one is fine */
void services_free(struct services *services);

static inline int64_t service_ns(const struct service *service)
{
	return service->to_ns - service->from_ns;
}

#endif
