/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/errands.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define GRACE_NS \
	(UNITS_NS_PER_S / 25) /* twice, for the last write and for clearing up: within 100 ms */
#define SLICE_NS (UNITS_NS_PER_S / 100)

int errands_open(struct errands *errands, const struct engine_config *config, struct teller *teller)
{
	struct engine_config ours = *config;
	int ret;

	memset(errands, 0, sizeof(*errands));
	errands->teller = teller;
	bell_init(&errands->bell);
	ours.bell = &errands->bell;
	ret = engine_open(&errands->engine, &ours);
	if (ret == 0)
		ret = engine_start(errands->engine);
	if (ret < 0) {
		engine_close(errands->engine);
		errands->engine = NULL;
	}
	return ret;
}

int errands_close(struct errands *errands)
{
	if (errands->out > 0)
		return -EBUSY;
	engine_close(errands->engine);
	errands->engine = NULL;
	return 0;
}

static void go_out(struct errands *errands)
{
	if (errands->out++ == 0)
		errands->moved_ns = units_monotonic_ns();
}

void errands_write(struct errands *errands, struct engine_op *op)
{
	go_out(errands);
	engine_write(errands->engine, op);
}

static int look(struct errands *errands)
{
	int64_t now_ns = units_monotonic_ns();

	teller_turn(errands->teller, now_ns);
	if (!teller_is_cancelled(errands->teller))
		return now_ns - errands->moved_ns > ERRANDS_GIVE_UP_NS ? -ETIMEDOUT : 0;
	if (!errands->cancelled_ns)
		errands->cancelled_ns = now_ns;
	return now_ns - errands->cancelled_ns > GRACE_NS ? -ECANCELED : 0;
}

int errands_next(struct errands *errands, struct engine_op **op)
{
	assert(errands->out > 0);
	for (;;) {
		uint32_t ticket = bell_listen(&errands->bell);
		int ret;

		*op = engine_next(errands->engine);
		if (*op) {
			errands->out--;
			errands->moved_ns = (*op)->ended_ns;
			teller_turn(errands->teller, errands->moved_ns);
			return 0;
		}
		ret = look(errands);
		if (ret < 0)
			return ret;
		engine_wait(errands->engine, ticket, units_monotonic_ns() + SLICE_NS);
	}
}

int errands_run(struct errands *errands, struct engine_op *op, bool is_last)
{
	struct engine_op *back;
	int ret;

	assert(errands->out == 0);
	if (is_last)
		errands->cancelled_ns = 0;
	else if (teller_is_cancelled(errands->teller))
		return -ECANCELED;
	go_out(errands);
	engine_call(errands->engine, op);
	ret = errands_next(errands, &back);
	assert(ret < 0 || back == op);
	return ret;
}
