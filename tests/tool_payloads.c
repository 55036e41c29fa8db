/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_payloads - takes frames from standard input and writes what lies in them to standard output
 *
 *   tool_payloads HEADER FRAME      bytes of the header, and of the frame with it
 *
 * Status: 0; 1 the input ends within a frame, or the output can't be written; 64 usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

int main(int argc, char **argv)
{
	size_t header = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	size_t bytes = argc == 3 ? strtoul(argv[2], NULL, 10) : 0, got;
	unsigned char *frame = bytes > header ? malloc(bytes) : NULL;
	int status = 0;

	if (!frame) {
		fprintf(stderr, "usage: tool_payloads HEADER FRAME\n");
		return EX_USAGE;
	}
	while ((got = fread(frame, 1, bytes, stdin)) == bytes)
		fwrite(frame + header, 1, bytes - header, stdout);
	if (got != 0 || fflush(stdout) != 0 || ferror(stdout))
		status = 1;
	free(frame);
	return status;
}
