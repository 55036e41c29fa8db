/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim.c - the simulator: its pattern (sim.h) and the source `sim:`
 *
 *   sim:rate=512,gap=64Ki@10M,stall=2@30,buffer=8M
 *
 *   rate=RATE      as -r; without either the data come as fast as they are asked for
 *   seed=N         another stream for each N
 *   bytes=SIZE     the stream ends at this position
 *   burst=SIZE     data come in lumps of this size, at the same mean rate
 *   gap=SIZE@AT    at position AT the device loses SIZE bytes and tells; may be repeated
 *   stall=TIME@AT  from AT after the start nothing comes for TIME, then all at once
 *   buffer=SIZE    the device keeps no more than the latest SIZE bytes; a reader that comes too
 *                  late loses the older ones, and is told
 *   silence=TIME   from this moment after the start nothing ever comes
 *   pattern=noise|zero|const
 *   stuck=BIT      this bit of each 32-bit word stays 0
 */
#include "drivers/sim.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/pace.h"
#include "drivers/source.h"
#include "drivers/units.h"

/* ---- the pattern ----------------------------------------------------------------------------- */

#define WORD_BYTES 8
#define STEP UINT64_C(0x9e3779b97f4a7c15)       /* fraction of the golden ratio, odd */
#define MULTIPLIER UINT64_C(0x6a09e667f3bcc909) /* fraction of the square root of two, odd */
#define CHUNK_BYTES 4096
#define BUFFER_MIN 4096

/*
 * The seed enters between the two shifts: were it only added to the index, one stream would be
 * another one moved.
 */
static inline uint64_t seed_key(uint64_t seed)
{
	return (seed + 1) * STEP;
}

static inline uint64_t mix(uint64_t stepped, uint64_t key)
{
	uint64_t x = stepped ^ stepped >> 32;

	x = (x + key) * MULTIPLIER;
	return x ^ x >> 29;
}

/*
 * The inverse of an odd number modulo 2^64: each round doubles the right bits, the number
 * itself has three.
 */
static uint64_t odd_inverse(uint64_t odd)
{
	uint64_t inverse = odd;

	for (int round = 0; round < 5; round++)
		inverse *= 2 - odd * inverse;
	return inverse;
}

/* mix(), turned round as far as the key goes. */
static uint64_t unmix(uint64_t word)
{
	return (word ^ word >> 29 ^ word >> 58) * odd_inverse(MULTIPLIER);
}

uint64_t sim_position(uint64_t word, uint64_t seed)
{
	uint64_t x = unmix(word) - seed_key(seed);

	x ^= x >> 32;
	return x * odd_inverse(STEP);
}

/* Word 0 is made of the key alone. */
uint64_t sim_seed(uint64_t word)
{
	return unmix(word) * odd_inverse(STEP) - 1;
}

/* Bytes [from, from + len) of word @index; for the ends that are no whole words. */
static void fill_part(unsigned char *out, size_t len, uint64_t index, size_t from, uint64_t key)
{
	uint64_t word = htole64(mix(index * STEP, key));

	memcpy(out, (const unsigned char *)&word + from, len);
}

void sim_fill(void *buf, size_t len, uint64_t offset, uint64_t seed)
{
	unsigned char *out = buf;
	uint64_t key = seed_key(seed), index = offset / WORD_BYTES, stepped;
	size_t from = offset % WORD_BYTES;

	if (from) {
		size_t part = WORD_BYTES - from < len ? WORD_BYTES - from : len;

		fill_part(out, part, index++, from, key);
		out += part;
		len -= part;
	}
	stepped = index * STEP;
	for (; len >= WORD_BYTES; len -= WORD_BYTES, out += WORD_BYTES, index++, stepped += STEP) {
		uint64_t word = htole64(mix(stepped, key));

		memcpy(out, &word, WORD_BYTES);
	}
	if (len)
		fill_part(out, len, index, 0, key);
}

size_t sim_verify(const void *buf, size_t len, uint64_t offset, uint64_t seed)
{
	const unsigned char *bytes = buf;
	unsigned char right[CHUNK_BYTES];

	for (size_t done = 0; done < len; done += CHUNK_BYTES) {
		size_t part = len - done < CHUNK_BYTES ? len - done : CHUNK_BYTES;
		size_t i = 0;

		sim_fill(right, part, offset + done, seed);
		if (!memcmp(bytes + done, right, part))
			continue;
		while (bytes[done + i] == right[i])
			i++;
		return done + i;
	}
	return len;
}

/* ---- the source: settings -------------------------------------------------------------------- */

enum sim_pattern { SIM_NOISE, SIM_ZERO, SIM_CONST };

struct sim_gap {
	uint64_t offset;
	uint64_t bytes;
};

struct sim {
	struct pace pace;
	int64_t wanted_start_utc_ns;
	uint64_t seed;
	uint64_t buffer_bytes; /* 0 = the device never loses by itself */
	enum sim_pattern pattern;
	int stuck_bit;        /* -1 = none */
	struct sim_gap *gaps; /* by offset, apart from each other */
	size_t gap_count;
	size_t gaps_passed;
	uint64_t position;     /* of the next byte to hand out */
	uint64_t untold_bytes; /* lost, not yet said in a mark */
};

static int by_offset(const void *a, const void *b)
{
	const struct sim_gap *left = a, *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

static int add_gap(struct source *source, struct sim *sim, struct sim_gap gap)
{
	struct sim_gap *more = realloc(sim->gaps, (sim->gap_count + 1) * sizeof(*more));

	if (!more)
		return source_fail(source, ENOMEM, "out of memory");
	sim->gaps = more;
	sim->gaps[sim->gap_count++] = gap;
	return 0;
}

/* "SIZE@SIZE" or "TIME@TIME": cuts the value, which lies in our own buffer, in two at the '@'. */
static int split_at(struct source *source, const struct source_detail *detail,
		    struct source_detail *what, struct source_detail *where)
{
	char *at = strchr(detail->value, '@');

	if (!at)
		return source_fail(source, EINVAL, "%s=%s: expected %s@AT", detail->key,
				   detail->value, detail->key[0] == 'g' ? "SIZE" : "TIME");
	*at = '\0';
	*what = *detail;
	*where = (struct source_detail){ detail->key, at + 1 };
	return 0;
}

static int take_gap(struct source *source, struct sim *sim, const struct source_detail *detail)
{
	struct source_detail what, where;
	struct sim_gap gap;
	int ret = split_at(source, detail, &what, &where);

	if (!ret)
		ret = source_detail_bytes(source, &what, &gap.bytes);
	if (!ret)
		ret = source_detail_bytes(source, &where, &gap.offset);
	if (!ret && gap.offset > UINT64_MAX - gap.bytes)
		ret = source_fail(source, ERANGE, "a gap reaches beyond 2^64 bytes");
	return ret ? ret : add_gap(source, sim, gap);
}

static int take_stall(struct source *source, struct sim *sim, const struct source_detail *detail)
{
	struct source_detail what, where;
	int ret = split_at(source, detail, &what, &where);

	if (!ret)
		ret = source_detail_time(source, &what, &sim->pace.stall_ns);
	if (!ret)
		ret = source_detail_time(source, &where, &sim->pace.stall_at_ns);
	if (!ret && sim->pace.stall_at_ns > INT64_MAX - sim->pace.stall_ns)
		ret = source_fail(source, ERANGE, "a stall of more than 292 years");
	return ret;
}

static int take_pattern(struct source *source, struct sim *sim, const char *name)
{
	static const char *const names[] = { "noise", "zero", "const" };

	for (int i = 0; i < 3; i++) {
		if (!strcmp(name, names[i])) {
			sim->pattern = (enum sim_pattern)i;
			return 0;
		}
	}
	return source_fail(source, EINVAL, "pattern=%s: expected noise, zero or const", name);
}

static int take_detail(struct source *source, struct sim *sim, const struct source_detail *detail)
{
	const char *key = detail->key;
	uint64_t bit;
	int ret;

	if (!strcmp(key, "rate"))
		return source_detail_rate(source, detail, &sim->pace.rate_bps);
	if (!strcmp(key, "seed"))
		return source_detail_count(source, detail, &sim->seed, UINT64_MAX);
	if (!strcmp(key, "bytes"))
		return source_detail_bytes(source, detail, &sim->pace.end);
	if (!strcmp(key, "burst"))
		return source_detail_bytes(source, detail, &sim->pace.burst_bytes);
	if (!strcmp(key, "buffer"))
		return source_detail_bytes(source, detail, &sim->buffer_bytes);
	if (!strcmp(key, "gap"))
		return take_gap(source, sim, detail);
	if (!strcmp(key, "stall"))
		return take_stall(source, sim, detail);
	if (!strcmp(key, "pattern"))
		return take_pattern(source, sim, detail->value);
	if (!strcmp(key, "stuck")) {
		ret = source_detail_count(source, detail, &bit, 31);
		sim->stuck_bit = ret ? -1 : (int)bit;
		return ret;
	}
	/* "silence": from the first moment on is a silence too, and 0 means none to the schedule */
	ret = source_detail_time(source, detail, &sim->pace.silence_at_ns);
	if (!ret && !sim->pace.silence_at_ns)
		sim->pace.silence_at_ns = 1;
	return ret;
}

/* What can only be judged when all details are known. */
static int check_settings(struct source *source, struct sim *sim, uint64_t given_bps)
{
	struct pace *pace = &sim->pace;

	if (given_bps && pace->rate_bps && given_bps != pace->rate_bps)
		return source_fail(source, EINVAL, "rate= and -r differ; give one of them");
	if (given_bps)
		pace->rate_bps = given_bps;
	if (!pace->rate_bps && (pace->burst_bytes || sim->buffer_bytes))
		return source_fail(source, EINVAL, "%s= needs a rate",
				   pace->burst_bytes ? "burst" : "buffer");
	if (sim->buffer_bytes && sim->buffer_bytes < BUFFER_MIN)
		return source_fail(source, EINVAL, "buffer= must be at least %d bytes", BUFFER_MIN);
	if (sim->gap_count)
		qsort(sim->gaps, sim->gap_count, sizeof(*sim->gaps), by_offset);
	for (size_t i = 1; i < sim->gap_count; i++)
		if (sim->gaps[i - 1].offset + sim->gaps[i - 1].bytes > sim->gaps[i].offset)
			return source_fail(source, EINVAL, "two gaps overlap");
	return 0;
}

static int sim_open(struct source *source, const struct source_config *config)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	char buf[SOURCE_DETAIL_LEN];
	struct source_detail detail;
	const char *cursor = NULL;
	int ret = 0;

	if (!sim)
		return source_fail(source, ENOMEM, "out of memory");
	source->state = sim;
	sim->stuck_bit = -1;
	sim->wanted_start_utc_ns = config->start_utc_ns;
	pace_init(&sim->pace, source);
	while (!ret && source_next_detail(source, &cursor, buf, sizeof(buf), &detail))
		ret = take_detail(source, sim, &detail);
	if (!ret)
		ret = check_settings(source, sim, config->rate_bps);
	source->rate_bps = sim->pace.rate_bps;
	source->can_wait = !sim->pace.rate_bps;
	source->is_paced_by_us = true;
	/* relaxed: a figure for display */
	atomic_store_explicit(&source->stats.device_ring_bytes, sim->buffer_bytes,
			      memory_order_relaxed);
	return ret;
}

static void sim_close(struct source *source)
{
	struct sim *sim = source->state;

	free(sim->gaps);
	free(sim);
}

/* ---- the source: running --------------------------------------------------------------------- */

static int sim_start(struct source *source)
{
	struct sim *sim = source->state;

	return pace_begin(&sim->pace, source, sim->wanted_start_utc_ns);
}

/* Everything up to @position is lost, and a gap that begins before it to the gap's end. */
static void skip_to(struct sim *sim, uint64_t position)
{
	uint64_t from = sim->position;

	for (; sim->gaps_passed < sim->gap_count; sim->gaps_passed++) {
		const struct sim_gap *gap = &sim->gaps[sim->gaps_passed];

		if (gap->offset > position)
			break;
		if (gap->offset + gap->bytes > position)
			position = gap->offset + gap->bytes;
	}
	if (position > sim->pace.end)
		position = sim->pace.end;
	sim->position = position;
	sim->untold_bytes += position - from;
}

/* True when the device's buffer ran over: what it no longer has is skipped, in whole words. */
static bool lose_overrun(struct source *source, struct sim *sim)
{
	uint64_t visible = pace_visible(&sim->pace, units_monotonic_ns());
	uint64_t fill = visible - sim->position;
	bool is_overrun = fill > sim->buffer_bytes;

	if (is_overrun) {
		uint64_t lost = fill - sim->buffer_bytes;

		lost += (WORD_BYTES - lost % WORD_BYTES) % WORD_BYTES;
		skip_to(sim, sim->position + lost);
		fill = sim->buffer_bytes;
	}
	source_tell_fill(source, fill);
	return is_overrun;
}

static void fill_const(unsigned char *out, size_t len, uint64_t offset)
{
	static const unsigned char word[] = { 0xa5, 0x5a, 0xa5, 0x5a };

	for (size_t i = 0; i < len; i++)
		out[i] = word[(offset + i) % sizeof(word)];
}

static void fill_samples(const struct sim *sim, unsigned char *out, size_t len)
{
	if (sim->pattern == SIM_NOISE)
		sim_fill(out, len, sim->position, sim->seed);
	else if (sim->pattern == SIM_ZERO)
		memset(out, 0, len);
	else
		fill_const(out, len, sim->position);
	if (sim->stuck_bit >= 0) {
		unsigned byte = (unsigned)sim->stuck_bit / 8;
		unsigned char mask = (unsigned char)~(1u << sim->stuck_bit % 8);

		for (size_t i = (byte + 4 - sim->position % 4) % 4; i < len; i += 4)
			out[i] &= mask;
	}
}

/* How far one read may go: @len, the next gap, the end. */
static size_t room_ahead(const struct sim *sim, size_t len)
{
	uint64_t room = sim->pace.end - sim->position;

	if (sim->gaps_passed < sim->gap_count &&
	    sim->gaps[sim->gaps_passed].offset - sim->position < room)
		room = sim->gaps[sim->gaps_passed].offset - sim->position;
	return room < len ? (size_t)room : len;
}

static ssize_t sim_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			struct source_mark *mark)
{
	struct sim *sim = source->state;
	bool is_again = false;
	size_t ready;

	/* judged once a turn: a fast stream overruns a small buffer again while we look */
	do {
		skip_to(sim, sim->position);
		if (sim->position >= sim->pace.end) {
			mark->lost_bytes = sim->untold_bytes;
			sim->untold_bytes = 0;
			return SOURCE_END;
		}
		ready = pace_wait(&sim->pace, sim->position, room_ahead(sim, len),
				  sim->buffer_bytes / 2, deadline_ns, &source->stats.wait_count);
		if (!ready)
			return SOURCE_NOT_YET;
		is_again = !is_again && sim->buffer_bytes && lose_overrun(source, sim);
	} while (is_again);

	fill_samples(sim, buf, ready);
	mark->lost_bytes = sim->untold_bytes;
	sim->untold_bytes = 0;
	if (sim->pace.rate_bps)
		mark->utc_ns =
			source->start_utc_ns + units_time_for(sim->position, sim->pace.rate_bps);
	sim->position += ready;
	return (ssize_t)ready;
}

const struct source_ops source_sim = {
	.prefix = "sim:",
	.summary = "sim:[rate=RATE,...]  the simulator: noise that tells its own position",
	.keys = "rate seed bytes burst gap stall buffer silence pattern stuck",
	.open = sim_open,
	.start = sim_start,
	.read = sim_read,
	.close = sim_close,
};
