/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/host.h"
#include "recorder/progress.h"
#include "recorder/status.h"

#define TICK_NS UNITS_NS_PER_S
#define HELD_NS (UNITS_NS_PER_S / 2) /* so long after the end of -d the reader is held */
#define LOOK_MS 50                   /* between looks while the session is ending */
#define PROGRESS_NS \
	(INT64_C(60) * UNITS_NS_PER_S)    /* a drain without any progress for so long is given up */
#define LAST_DISK_NS (UNITS_NS_PER_S / 2) /* the last disk is gone: 2 s in all, with END_NS */
#define END_NS UNITS_NS_PER_S

struct supervisor {
	struct session *session;
	struct progress *progress;
	struct status *status;
	int signal_fd;
	int64_t next_tick_ns;
	int64_t first_signal_ns; /* 0 = none yet */
	int64_t stopping_ns;     /* since when the session is stopping; 0 = it isn't */
	int64_t diskless_ns;     /* since when no disk can be written to; 0 = some can */
	uint64_t drained_bytes;  /* accepted and durable when progress was seen last */
	int64_t drained_ns;
};

int supervise_signals(void)
{
	sigset_t set;

	host_signals(&set);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
		return -EINVAL;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool supervise_is_cancelled(int signal_fd)
{
	struct signalfd_siginfo info;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGUSR1)
			return true;
	return false;
}

static void take_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		int64_t now = units_monotonic_ns();

		if (info.ssi_signo == SIGUSR1) {
			progress_now(s->progress);
		} else if (s->first_signal_ns == 0) {
			s->first_signal_ns = now;
			session_notice(
				s->session,
				"stopping: the source ends, the ring goes to the disks; a second signal gives up what is not written yet");
			session_stop(s->session, STOP_SIGNAL);
		} else if (now - s->first_signal_ns > SUPERVISE_DEBOUNCE_NS &&
			   !atomic_load_explicit(&s->session->is_aborting, memory_order_relaxed)) {
			session_warn(s->session,
				     "aborted by a second signal: what was not on the disks is lost");
			session_abort(s->session);
		}
	}
}

/*
 * False when the session should not be waited for any longer: the drain stands still, or was
 * aborted.
 */
static bool may_wait(struct supervisor *s, int64_t now)
{
	const struct session *session = s->session;
	uint64_t bytes = session_written_bytes(session);

	if (!atomic_load_explicit(&session->is_stopping, memory_order_acquire))
		return true;
	if (s->stopping_ns == 0) {
		s->stopping_ns = s->drained_ns = now;
		progress_draining(s->progress);
	}
	if (atomic_load_explicit(&session->is_aborting, memory_order_relaxed))
		return false;
	if (atomic_load_explicit(&session->usable_count, memory_order_acquire) == 0) {
		if (s->diskless_ns == 0)
			s->diskless_ns = now;
		return now - s->diskless_ns < LAST_DISK_NS;
	}
	for (unsigned i = 0; i < session->disk_count; i++)
		bytes += account_get(&session->disks[i].accepted_bytes);
	if (bytes != s->drained_bytes) {
		s->drained_bytes = bytes;
		s->drained_ns = now;
	}
	return now - s->drained_ns < PROGRESS_NS;
}

static void wait_and_serve(struct supervisor *s, int64_t now)
{
	struct pollfd polls[3] = {
		{ .fd = s->signal_fd, .events = POLLIN },
		{ .fd = status_fd(s->status), .events = POLLIN },
		{ .fd = s->session->wake_fd, .events = POLLIN },
	};
	int64_t left = s->next_tick_ns - now;
	int timeout = left > 0 ? (int)(left / 1000000) + 1 : 0;
	uint64_t ends;

	if (timeout > LOOK_MS && s->stopping_ns)
		timeout = LOOK_MS;
	if (poll(polls, 3, timeout) <= 0)
		return;
	if (polls[2].revents && read(s->session->wake_fd, &ends, sizeof(ends)) < 0)
		return;
	progress_events(s->progress);
	if (polls[0].revents)
		take_signals(s);
	if (polls[1].revents)
		status_answer(s->status, progress_snapshot(s->progress));
}

/* -d is the reader's to keep, but a device may hold it in a read() that knows no deadline. */
static void keep_duration(struct supervisor *s, int64_t now)
{
	/* relaxed: set once, and a look too early only comes again */
	int64_t deadline = atomic_load_explicit(&s->session->deadline_ns, memory_order_relaxed);

	if (deadline && s->stopping_ns == 0 && now - HELD_NS > deadline)
		session_stop(s->session, STOP_DURATION);
}

static void stay(struct supervisor *s)
{
	int64_t now = units_monotonic_ns();

	s->next_tick_ns = now + TICK_NS;
	while (!session_is_settled(s->session) && may_wait(s, now)) {
		wait_and_serve(s, now);
		now = units_monotonic_ns();
		keep_duration(s, now);
		if (s->stopping_ns)
			session_nudge(s->session);
		if (now < s->next_tick_ns)
			continue;
		progress_tick(s->progress);
		s->next_tick_ns += TICK_NS;
		if (s->next_tick_ns < now) /* this machine slept */
			s->next_tick_ns = now + TICK_NS;
	}
}

int supervise(struct session *session, int signal_fd, enum live_mode mode, int64_t log_interval_ns,
	      struct refusal *refusal)
{
	struct supervisor s = { .session = session, .signal_fd = signal_fd };
	char why[256];
	int ret = progress_create(&s.progress, session, mode, log_interval_ns);

	if (ret < 0)
		return ret;
	if (status_open(&s.status, session->config.name, why) < 0)
		session_notice(session, "%s", why);
	if (mode != LIVE_NONE)
		progress_armed(s.progress);
	progress_events(s.progress);
	if (session->source->note[0]) {
		session_warn(session, "%s", session->source->note);
		session->source->note[0] = '\0'; /* from here on it is the reader's */
	}
	ret = session_start(session, refusal);
	if (ret == 0) {
		stay(&s);
		ret = session_end(session, END_NS);
	}
	progress_events(s.progress);
	progress_clear(s.progress);
	status_close(s.status);
	progress_free(s.progress);
	return ret;
}
