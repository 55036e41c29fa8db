/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/teller.h"

#include <stdio.h>

#include "drivers/units.h"

#define TELL_NS (UNITS_NS_PER_S / 10)

void teller_init(struct teller *teller, const struct trial_control *control, enum trial_phase phase,
		 int disk)
{
	*teller = (struct teller){
		.control = control,
		.progress = { .phase = phase, .disk = disk },
	};
}

void teller_begin(struct teller *teller, double from, double share, int64_t time_ns, const char *detail)
{
	teller->from = from;
	teller->share = share;
	teller->since_ns = units_monotonic_ns();
	teller->time_ns = time_ns;
	snprintf(teller->detail, sizeof(teller->detail), "%s", detail);
	teller->progress.detail = teller->detail;
	teller_turn(teller, teller->since_ns);
}

void teller_turn(struct teller *teller, int64_t now_ns)
{
	const struct trial_control *control = teller->control;
	double done = teller->time_ns > 0 ?
			      (double)(now_ns - teller->since_ns) / (double)teller->time_ns :
			      1;

	if (!control || !control->tell || now_ns - teller->told_ns < TELL_NS)
		return;
	teller->told_ns = now_ns;
	teller->progress.done = teller->from + teller->share * (done < 1 ? done : 1);
	control->tell(control, &teller->progress);
}

/* Relaxed: nothing else is seen by it. */
bool teller_is_cancelled(const struct teller *teller)
{
	return teller->control &&
	       atomic_load_explicit(&teller->control->is_cancelled, memory_order_relaxed);
}
