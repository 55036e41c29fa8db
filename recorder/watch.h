/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch.h - a sampler that is dead looks good: watches for data that never change
 *
 *   watch_init() -> watch_look() at each block -> watch_verdict() now and then
 *
 * Shape:   Of each block WATCH_WORDS words are looked at, in stretches at places that wander, so
 *          that the period of a frame or of a scan does not matter. A bit that had only one value
 *          in all words of a whole second is stuck; if all bits are, the data are constant.
 * Threads: watch_look() by the reader; watch_verdict() by any thread.
 */
#ifndef VSIB_RECORDER_WATCH_H
#define VSIB_RECORDER_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCH_WORDS 1024 /* 32-bit words looked at in a block */
#define WATCH_NS INT64_C(1000000000)
#define WATCH_PAUSE_NS INT64_C(500000) /* blocks that come faster are not all looked at */
#define WATCH_TEXT_LEN 160

struct watch {
	uint32_t word_bits;   /* 8, 16 or 32: constant */
	uint32_t seed;        /* reader: where to look next */
	uint32_t ones, zeros; /* reader: bits seen as 1, as 0, in this second */
	uint64_t word_count;  /* reader: in this second */
	int64_t since_ns;     /* reader: when this second began */
	int64_t looked_ns;    /* reader: when a block was looked at last */
	_Atomic uint64_t stuck; /* verdict of the last whole second: high half = bits stuck at 1, low half = at 0 */
};

/** watch_init() - @word_bytes: of a sample word: 1, 2 or 4 */
void watch_init(struct watch *watch, uint32_t word_bytes);

/** watch_look() - @data: a block, word aligned; @now_ns: CLOCK_MONOTONIC */
void watch_look(struct watch *watch, const void *data, size_t bytes, int64_t now_ns);

/**
 * watch_verdict() - what was wrong with the last whole second
 * @text: WATCH_TEXT_LEN, a sentence when something was
 * Return: true when a bit was stuck or all data constant.
 */
bool watch_verdict(const struct watch *watch, char *text);

#endif
