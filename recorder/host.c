/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 2000 /* for the child to end after its report */
#define HELD_MS 100      /* the same, when it said that it is held */
#define INSIST_NS \
	INT64_C(2500000000) /* from the second signal to the end, whatever the child does */
#define DEBOUNCE_NS INT64_C(200000000) /* a signal to a process and to its group is one */

static int report_pipe = -1; /* the child's end */

static const struct host_child *about; /* constant from host_run() on */

static pid_t user_pid; /* 0 = not in a child of host_run() */

int host_pid(void)
{
	return (int)(user_pid ? user_pid : getpid());
}

void host_report(int exit_status, bool is_held)
{
	unsigned char report[2] = { (unsigned char)exit_status, is_held };

	if (report_pipe < 0)
		return;
	while (write(report_pipe, report, sizeof(report)) < 0 && errno == EINTR)
		;
	close(report_pipe);
	report_pipe = -1;
}

/*
 * A descriptor 0, 1 or 2 that the caller closed would be given to the next file that is opened,
 * and words for stderr would end up in a recording. So the gap is filled with something on which
 * the intended use still fails.
 */
static void fill_standard_descriptors(void)
{
	static const int wrong_way[3] = { O_WRONLY, O_RDONLY, O_RDWR };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", wrong_way[fd]) != fd)
			return;
}

/*
 * HUP that the caller ignores (nohup) stays ignored: blocked, it would come by the signalfd all
 * the same. INT is taken even if it is ignored: a shell does that to what it starts with &, and a
 * script's kill -INT is the way to end such a recording.
 */
void host_signals(sigset_t *set)
{
	struct sigaction action;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGUSR1);
	if (sigaction(SIGHUP, NULL, &action) < 0 || action.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
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
	signal(SIGTTIN, SIG_IGN); /* and may fail to read from it, but not be stopped */
	signal(SIGTTOU, SIG_IGN); /* a group of its own may still write to the terminal */
	status = work(context);
	host_report(status, false);
	return status;
}

static int child_status(int wait_status)
{
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	fprintf(stderr, "vsib: the %s was killed by signal %d (%s); %s\n", about->name,
		WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)), about->remains);
	return about->killed_status;
}

/* The report stands; gives the child a moment to end, then leaves it to the kernel. */
static int leave_child(pid_t child, int exit_status, bool is_held)
{
	int wait_status;

	for (int i = 0; i < (is_held ? HELD_MS : PATIENCE_MS) / 10; i++) {
		pid_t gone = waitpid(child, &wait_status, WNOHANG);

		if (gone == child || (gone < 0 && errno == ECHILD))
			return exit_status;
		usleep(10000);
	}
	fprintf(stderr,
		"vsib: process %d is still held by the kernel in a read, write or sync; its memory is freed when that returns\n",
		(int)child);
	return exit_status;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Passes a signal on. A second one that ends is a promise: the clock for it starts here. */
static void pass_signal(pid_t child, int signal_fd, int64_t *first_ns, int64_t *deadline_ns)
{
	struct signalfd_siginfo info;
	int64_t now = now_ns();

	if (read(signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	kill(child, (int)info.ssi_signo);
	if (info.ssi_signo == SIGUSR1)
		return;
	if (*first_ns == 0)
		*first_ns = now;
	else if (now - *first_ns > DEBOUNCE_NS && *deadline_ns == INT64_MAX)
		*deadline_ns = now + INSIST_NS;
}

static int give_up(pid_t child)
{
	fprintf(stderr, "vsib: the %s does not end by itself and is killed; %s\n", about->name,
		about->remains);
	kill(child, SIGKILL);
	return leave_child(child, about->killed_status, false);
}

static int watch_child(pid_t child, int pipe_fd, int signal_fd)
{
	struct pollfd polls[2] = {
		{ .fd = pipe_fd, .events = POLLIN },
		{ .fd = signal_fd, .events = POLLIN },
	};
	int64_t first_ns = 0, deadline_ns = INT64_MAX;
	unsigned char report[2];
	int wait_status;

	for (;;) {
		int64_t left_ms = deadline_ns == INT64_MAX ? -1 : (deadline_ns - now_ns()) / 1000000;

		if (deadline_ns != INT64_MAX && left_ms <= 0)
			return give_up(child);
		if (poll(polls, 2, (int)left_ms) < 0) {
			if (errno != EINTR)
				break;
			continue;
		}
		if (polls[1].revents)
			pass_signal(child, signal_fd, &first_ns, &deadline_ns);
		if (!polls[0].revents)
			continue;
		if (read(pipe_fd, report, sizeof(report)) == sizeof(report))
			return leave_child(child, report[0], report[1]);
		break; /* closed without a word */
	}
	while (waitpid(child, &wait_status, 0) < 0)
		if (errno != EINTR)
			return about->killed_status;
	return child_status(wait_status);
}

/*
 * A recording holds some five descriptors a disk; the soft limit is for programs that use select().
 */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int host_run(int (*work)(void *context), void *context, const struct host_child *child_about)
{
	pid_t parent = getpid(), child;
	sigset_t set;
	int fds[2], signal_fd, status;

	about = child_about;
	fill_standard_descriptors();
	host_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL); /* the child takes them by a signalfd as well */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* ignored, it would take the child's status away */
	raise_file_limit();
	if (pipe2(fds, O_CLOEXEC) < 0 || (signal_fd = signalfd(-1, &set, SFD_CLOEXEC)) < 0) {
		fprintf(stderr, "vsib: can't set up the %s's process: %s\n", about->name,
			strerror(errno));
		return EX_OSERR;
	}
	fflush(NULL);
	child = fork();
	if (child < 0) {
		fprintf(stderr, "vsib: can't start the %s's process: %s\n", about->name,
			strerror(errno));
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
