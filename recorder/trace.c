/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int trace_create(struct trace **out, size_t capacity)
{
	struct trace *trace = calloc(1, sizeof(*trace));

	*out = NULL;
	if (!trace)
		return -ENOMEM;
	trace->writes = calloc(capacity, sizeof(trace->writes[0]));
	if (!trace->writes) {
		free(trace);
		return -ENOMEM;
	}
	/* calloc()'s pages are not there yet, and the first write is no time to wait for one */
	memset(trace->writes, 1, capacity * sizeof(trace->writes[0]));
	trace->capacity = capacity;
	*out = trace;
	return 0;
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	free(trace->writes);
	free(trace);
}

void trace_add(struct trace *trace, const struct trace_write *write)
{
	/* relaxed: only we write both counters */
	size_t count = atomic_load_explicit(&trace->count, memory_order_relaxed);

	if (count == trace->capacity) {
		uint64_t untraced = atomic_load_explicit(&trace->untraced_count, memory_order_relaxed);

		atomic_store_explicit(&trace->untraced_count, untraced + 1, memory_order_relaxed);
		return;
	}
	trace->writes[count] = *write;
	/* pairs with trace_count(): the write is whole before it is counted */
	atomic_store_explicit(&trace->count, count + 1, memory_order_release);
}

size_t trace_count(const struct trace *trace)
{
	return atomic_load_explicit(&trace->count, memory_order_acquire);
}
