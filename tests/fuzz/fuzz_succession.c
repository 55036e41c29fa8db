/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The succession of frames (drivers/succession.h): any sequence, and one that is like a stream's beside a model that
 * remembers every frame.
 */
#include "tests/fuzz/input.h"

#include <string.h>

#include "drivers/succession.h"

#define PLACES 4096 /* that the model knows */
#define STEP_KINDS 6

struct counts {
	uint64_t of[STEP_KINDS];
	uint64_t frames;
};

static enum succession_step take(struct succession *s, struct counts *counts, uint64_t interval,
				 uint32_t number, uint32_t rate)
{
	struct succession_loss loss;
	enum succession_step step = succession_take(s, interval, number, rate, &loss);

	counts->of[step]++;
	counts->frames++;
	succession_lost(&loss, rate);
	return step;
}

/* Each frame is one thing, and the ones that were not believed were believed later, or were strays. */
static void check_counts(struct succession *s, const struct counts *counts, uint32_t rate)
{
	succession_end(s);
	input_expect(s->frame_count == counts->frames);
	input_expect(s->duplicate_count == counts->of[SUCCESSION_DUPLICATE]);
	input_expect(s->late_count == counts->of[SUCCESSION_LATE]);
	input_expect(s->back_count == counts->of[SUCCESSION_BACK]);
	input_expect(s->stray_count + s->back_count <= counts->of[SUCCESSION_FAR]);
	input_expect(s->stray_count + s->back_count + counts->of[SUCCESSION_LOST] >=
		     counts->of[SUCCESSION_FAR]);
	input_expect(succession_missing(s, rate) <= INT64_MAX);
}

static void try_anything(struct input *input)
{
	struct succession s = { 0 };
	struct counts counts = { 0 };
	uint32_t rate = (uint32_t)input_take_number(input, 4);

	while (input->len > 0) {
		uint64_t interval = input_take_number(input, 8);

		take(&s, &counts, interval, (uint32_t)input_take_number(input, 4), rate);
	}
	check_counts(&s, &counts, rate);
}

/*
 * Each byte is a step from the frame before: mostly to the next one, sometimes some on or back. Without a stream that
 * goes back, the frames from the first to the newest are there, or missing.
 */
static void try_stream(struct input *input)
{
	static uint8_t is_there[PLACES];
	struct succession s = { 0 };
	struct counts counts = { 0 };
	uint32_t rate = 1 + input_take_below(input, 200);
	uint32_t first = PLACES / 2, place = first, newest = first, there = 0;
	uint64_t missing;
	bool has_far = false;

	memset(is_there, 0, sizeof(is_there));
	do {
		enum succession_step step = take(&s, &counts, place / rate, place % rate, rate);

		has_far |= step == SUCCESSION_FAR;
		if (!has_far && step != SUCCESSION_DUPLICATE)
			is_there[place] = 1;
		newest = place > newest ? place : newest;
		place += (uint32_t)(int8_t)input_take_number(input, 1);
		place = place % PLACES;
	} while (input->len > 0);
	check_counts(&s, &counts, rate);
	for (uint32_t i = first; i <= newest; i++)
		there += is_there[i];
	missing = succession_missing(&s, rate);
	if (!has_far)
		input_expect(missing == newest - first + 1 - there);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);

	if (input_take_number(&input, 1) & 1)
		try_anything(&input);
	else
		try_stream(&input);
	return 0;
}
