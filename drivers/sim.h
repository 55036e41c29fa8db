/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim.h - the simulator's pattern: fill it, recognise it, locate a fault in it
 *
 * The stream is a sequence of little-endian 64-bit words. Word i is an invertible mix of (i, seed), so
 *  - any word tells its own position: sim_position(word, seed) gives i back, and a loss, swap or repeat
 *    is found at the word where it happens and measured in words;
 *  - the bytes look like noise: no compressor and no deduplicating disk gains anything.
 * Threads: pure functions.
 */
#ifndef VSIB_DRIVERS_SIM_H
#define VSIB_DRIVERS_SIM_H

#include <stddef.h>
#include <stdint.h>

/** sim_fill() - bytes [offset, offset + len) of the stream; any offset, any length */
void sim_fill(void *buf, size_t len, uint64_t offset, uint64_t seed);

/** sim_position() - the word index whose value is @word under @seed (every 64-bit value has one) */
uint64_t sim_position(uint64_t word, uint64_t seed);

/** sim_seed() - the seed of the stream that begins with @word (every 64-bit value begins one) */
uint64_t sim_seed(uint64_t word);

/**
 * sim_verify() - length of the longest prefix of @buf that equals the stream at @offset
 * Return: @len when all is right, else the index of the first wrong byte.
 */
size_t sim_verify(const void *buf, size_t len, uint64_t offset, uint64_t seed);

#endif
