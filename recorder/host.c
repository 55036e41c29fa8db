/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#define PATIENCE_MS 2000        /* for the child to end after its report */
#define EXIT_STOPPED 2

static int report_pipe = -1;    /* the child's end */

static pid_t user_pid;          /* 0 = not in a child of host_run() */

int host_pid(void)
{
	return (int)(user_pid ? user_pid : getpid());
}

void host_report(int exit_status)
{
	unsigned char byte = (unsigned char)exit_status;

	if (report_pipe < 0)
		return;
	while (write(report_pipe, &byte, 1) < 0 && errno == EINTR)
		;
	close(report_pipe);
	report_pipe = -1;
}

/*
 * A descriptor 0, 1 or 2 that the caller closed would be given to the next file that is opened, and words for stderr
 * would end up in a recording. So the gap is filled with something on which the intended use still fails.
 */
static void fill_standard_descriptors(void)
{
	static const int wrong_way[3] = { O_WRONLY, O_RDONLY, O_RDWR };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", wrong_way[fd]) != fd)
			return;
}

static void passed_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGUSR1);
}

static int run_child(int (*work)(void *context), void *context, pid_t parent)
{
	int status;

	user_pid = parent;
	setpgid(0, 0);
	/* a parent that is killed takes nothing with it: the recording ends in order */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		raise(SIGTERM);
	signal(SIGTTOU, SIG_IGN); /* a group of its own may still write to the terminal */
	status = work(context);
	host_report(status);
	return status;
}

static int child_status(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	fprintf(stderr, "vsib: the recorder was killed by signal %d (%s); what its journal calls durable is on the disks\n",
		WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
	return EXIT_STOPPED;
}

/* The report stands; gives the child a moment to end, then leaves it to the kernel. */
static int leave_child(pid_t child, int exit_status)
{
	int wait_status;

	for (int i = 0; i < PATIENCE_MS / 10; i++) {
		if (waitpid(child, &wait_status, WNOHANG) == child)
			return exit_status;
		usleep(10000);
	}
	fprintf(stderr, "vsib: process %d is still held by the kernel in a write or sync; its memory is freed when that returns\n",
		(int)child);
	return exit_status;
}

static int watch_child(pid_t child, int pipe_fd, int signal_fd)
{
	struct pollfd polls[2] = {
		{ .fd = pipe_fd, .events = POLLIN },
		{ .fd = signal_fd, .events = POLLIN },
	};
	unsigned char byte;
	int wait_status;

	for (;;) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			break;
		if (polls[1].revents) {
			struct signalfd_siginfo info;

			if (read(signal_fd, &info, sizeof(info)) == sizeof(info))
				kill(child, (int)info.ssi_signo);
		}
		if (!polls[0].revents)
			continue;
		if (read(pipe_fd, &byte, 1) == 1)
			return leave_child(child, byte);
		break; /* closed without a word */
	}
	while (waitpid(child, &wait_status, 0) < 0)
		if (errno != EINTR)
			return EXIT_STOPPED;
	return child_status(wait_status);
}

int host_run(int (*work)(void *context), void *context)
{
	pid_t parent = getpid(), child;
	sigset_t set;
	int fds[2], signal_fd, status;

	fill_standard_descriptors();
	passed_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL); /* the child takes them by a signalfd as well */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (pipe2(fds, O_CLOEXEC) < 0 || (signal_fd = signalfd(-1, &set, SFD_CLOEXEC)) < 0) {
		fprintf(stderr, "vsib: can't set up the recorder process: %s\n", strerror(errno));
		return EX_OSERR;
	}
	fflush(NULL);
	child = fork();
	if (child < 0) {
		fprintf(stderr, "vsib: can't start the recorder process: %s\n", strerror(errno));
		return EX_OSERR;
	}
	if (child == 0) {
		close(fds[0]);
		close(signal_fd);
		report_pipe = fds[1];
		exit(run_child(work, context, parent));
	}
	setpgid(child, child); /* both do it, so that it is done before either goes on */
	close(fds[1]);
	status = watch_child(child, fds[0], signal_fd);
	close(fds[0]);
	close(signal_fd);
	return status;
}
