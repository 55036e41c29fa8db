/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_nonblock - runs a command whose standard input does not wait, as some shells and ssh leave it behind
 *
 *   tool_nonblock COMMAND [ARGUMENT]...
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 64

int main(int argc, char **argv)
{
	int flags = fcntl(STDIN_FILENO, F_GETFL);

	if (argc < 2)
		return EXIT_USAGE;
	if (flags >= 0 && fcntl(STDIN_FILENO, F_SETFL, flags | O_NONBLOCK) == 0)
		execvp(argv[1], argv + 1);
	fprintf(stderr, "tool_nonblock: %s\n", strerror(errno));
	return 127;
}
