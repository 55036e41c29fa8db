/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_cpu - what a command costs: runs it and prints key=value on standard error
 *
 *   tool_cpu [-f FILE] COMMAND [ARGUMENT]...
 *
 *   wall_s=12.003 user_s=0.310 sys_s=0.842 cpu_s=1.152 max_rss_bytes=283115520 status=0
 *
 * The times are of the command and of everything it started and waited for; the memory is of the largest of
 * these processes. With -f the line goes to FILE. Ends with the command's status.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE 64
#define EXIT_NO_FILE 73

static double monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static int run(char **command)
{
	int wait_status;
	pid_t pid = fork();

	if (pid < 0) {
		perror("tool_cpu: fork");
		return EXIT_FAILURE;
	}
	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		execvp(command[0], command);
		fprintf(stderr, "tool_cpu: %s: %s\n", command[0], strerror(errno));
		_exit(127);
	}
	while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

static void print_cost(FILE *out, double wall_s, int status)
{
	struct rusage usage;
	double user_s, sys_s;

	getrusage(RUSAGE_CHILDREN, &usage);
	user_s = seconds(usage.ru_utime);
	sys_s = seconds(usage.ru_stime);
	fprintf(out,
		"wall_s=%.3f user_s=%.3f sys_s=%.3f cpu_s=%.3f max_rss_bytes=%" PRIu64 " status=%d\n",
		wall_s, user_s, sys_s, user_s + sys_s, (uint64_t)usage.ru_maxrss * 1024, status);
}

int main(int argc, char **argv)
{
	FILE *out = stderr;
	double start_s;
	int status, option;

	while ((option = getopt(argc, argv, "+f:")) != -1) {
		if (option != 'f')
			return EXIT_USAGE;
		out = fopen(optarg, "we");
		if (!out) {
			fprintf(stderr, "tool_cpu: %s: %s\n", optarg, strerror(errno));
			return EXIT_NO_FILE;
		}
	}
	if (optind == argc) {
		fprintf(stderr, "usage: tool_cpu [-f FILE] COMMAND [ARGUMENT]...\n");
		return EXIT_USAGE;
	}
	/* ^C is for the command; its cost is still told. */
	signal(SIGINT, SIG_IGN);
	start_s = monotonic_s();
	status = run(argv + optind);
	print_cost(out, monotonic_s() - start_s, status);
	return status;
}
