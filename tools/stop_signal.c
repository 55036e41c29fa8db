/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/stop_signal.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/units.h"
#include "recorder/supervise.h"

static atomic_int first;
static _Atomic int64_t first_ns; /* when it came */

/* Only what a handler may call; a signal that has its own way again is taken when this returns. */
static void on_signal(int number)
{
	int none = 0;

	if (atomic_load_explicit(&first_ns, memory_order_relaxed) == 0)
		atomic_store_explicit(&first_ns, units_monotonic_ns(), memory_order_relaxed);
	if (atomic_compare_exchange_strong_explicit(&first, &none, number, memory_order_relaxed,
						    memory_order_relaxed) ||
	    units_monotonic_ns() - atomic_load_explicit(&first_ns, memory_order_relaxed) <
		    SUPERVISE_DEBOUNCE_NS)
		return;
	signal(number, SIG_DFL);
	raise(number);
}

void stop_signal_catch(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

const atomic_int *stop_signal(void)
{
	return &first;
}
