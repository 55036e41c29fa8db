/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recoveries (tools/recover.h) of recordings whose journals say anything: nothing that could be read before is lost, and a
 * second one finds nothing to do.
 */
#include "tests/fuzz/input.h"

#include <string.h>

#include "tests/fuzz/targets.h"
#include "tools/recover.h"

/* What is done changes something; what is kept does not. */
static void count_step(void *context, const struct recover_step *step)
{
	uint64_t *count = context;

	input_expect(step->target && step->file && strlen(recover_what_name(step->what)) > 0);
	input_expect(step->what != RECOVER_KEPT || step->reason);
	*count += step->what != RECOVER_KEPT;
}

static int recover(const struct recording_query *query, bool is_dry, uint64_t *steps)
{
	struct recover_config config = { .is_dry = is_dry, .say = count_step, .context = steps };
	struct recover_result result;
	int ret = recover_run(query, &config, &result);

	*steps = ret == 0 ? *steps : 0;
	input_expect(ret == 0 || result.error[0]);
	return ret;
}

/* Return: bytes that can be read; 0 it can't be opened. */
static uint64_t readable_bytes(const struct recording_query *query)
{
	struct recording *recording = NULL;
	uint64_t bytes =
		recording_open(&recording, query) == 0 ? recording_info(recording)->data_bytes : 0;

	recording_free(recording);
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	struct targets targets;
	const struct recording_query query = {
		.name = "scan", .targets = targets.list, .target_count = TARGETS, .needs_journal = true
	};
	uint64_t before, told = 0, done = 0, again = 0;

	targets_make(&targets, &input);
	before = readable_bytes(&query);
	if (recover(&query, true, &told) < 0)
		return 0;
	input_expect(readable_bytes(&query) == before);
	input_expect(recover(&query, false, &done) == 0 && done == told);
	input_expect(readable_bytes(&query) == before);
	input_expect(recover(&query, false, &again) == 0 && again == 0);
	return 0;
}
