/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_touch - maps memory, in huge pages where there are, touches all of it and ends
 *
 *   tool_touch BYTES
 *
 * What a ring of that size costs at the least.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXIT_USAGE 64

int main(int argc, char **argv)
{
	size_t bytes = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	char *base;

	if (bytes == 0) {
		fprintf(stderr, "tool_touch: usage: tool_touch BYTES\n");
		return EXIT_USAGE;
	}
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED) {
		fprintf(stderr, "tool_touch: %zu bytes: %s\n", bytes, strerror(errno));
		return EXIT_FAILURE;
	}
	madvise(base, bytes, MADV_HUGEPAGE); /* without it takes longer, no more */
	for (size_t i = 0; i < bytes; i += 4096)
		*(volatile char *)(base + i) = 1;
	return EXIT_SUCCESS;
}
