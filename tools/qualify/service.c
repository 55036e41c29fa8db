/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_return(const void *a, const void *b)
{
	const struct service *left = a, *right = b;

	if (left->to_ns != right->to_ns)
		return left->to_ns < right->to_ns ? -1 : 1;
	return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

/* Now from_ns is the submission. From the last one on: the earliest of what is not back before this one. */
static void look_ahead(struct services *services)
{
	int64_t earliest_ns = INT64_MAX;

	for (size_t i = services->count; i-- > 0;) {
		struct service *service = &services->items[i];

		if (service->from_ns < earliest_ns)
			earliest_ns = service->from_ns;
		service->from_ns = earliest_ns;
	}
}

static void cut_apart(struct services *services)
{
	for (size_t i = 1; i < services->count; i++) {
		struct service *service = &services->items[i];

		if (service->from_ns < service[-1].to_ns)
			service->from_ns = service[-1].to_ns;
	}
}

int services_make(struct services *services, const struct trace *trace, int64_t start_ns)
{
	size_t count = trace ? trace_count(trace) : 0;

	memset(services, 0, sizeof(*services));
	if (count == 0)
		return 0;
	services->items = calloc(count, sizeof(services->items[0]));
	if (!services->items)
		return -ENOMEM;
	services->count = count;
	for (size_t i = 0; i < count; i++) {
		const struct trace_write *write = &trace->writes[i];

		services->items[i] = (struct service){
			.from_ns = write->started_ns - start_ns,
			.to_ns = write->ended_ns - start_ns,
			.waited_ns = write->ended_ns - write->started_ns,
			.bytes = write->bytes,
		};
	}
	qsort(services->items, count, sizeof(services->items[0]), by_return);
	look_ahead(services);
	cut_apart(services);
	return 0;
}

void services_free(struct services *services)
{
	free(services->items);
	memset(services, 0, sizeof(*services));
}
