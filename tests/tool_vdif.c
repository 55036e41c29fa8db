/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_vdif - writes VDIF frames in order to standard output: a long file for benchmarks
 *
 *   tool_vdif FRAMES      frames of 8224 bytes, eight threads, 1000 frames a second of each
 *
 * Status: 0; 1 the output can't be written; 64 usage.
 */
#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define FRAME_BYTES 8224
#define THREADS 8
#define RATE 1000

int main(int argc, char **argv)
{
	static uint32_t frame[FRAME_BYTES / 4];
	unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (count == 0) {
		fprintf(stderr, "tool_vdif: expected the number of frames\n");
		return EX_USAGE;
	}
	memset(frame, 0x5a, sizeof(frame));
	memset(frame, 0, 32);
	frame[2] = htole32(FRAME_BYTES / 8);
	for (unsigned long i = 0; i < count; i++) {
		unsigned long position = i / THREADS;

		frame[0] = htole32((uint32_t)(position / RATE));
		frame[1] = htole32((uint32_t)(position % RATE) | UINT32_C(50) << 24);
		frame[3] = htole32(UINT32_C(1) << 26 | (uint32_t)(i % THREADS) << 16 | 0x4566);
		if (fwrite(frame, sizeof(frame), 1, stdout) != 1)
			return 1;
	}
	return fflush(stdout) ? 1 : 0;
}
