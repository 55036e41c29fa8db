/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/qualify_signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/host.h"
#include "recorder/line.h"
#include "recorder/supervise.h"

static void say(const char *text)
{
	struct line line;

	line_begin(&line, isatty(STDERR_FILENO));
	line_add(&line, "vsib-qualify: %s\n", text);
	line_put(&line);
}

static void *take_signals(void *context)
{
	struct qualify_signals *signals = context;
	struct signalfd_siginfo info;
	int64_t first_ns = 0;

	while (read(signals->fd, &info, sizeof(info)) == sizeof(info)) {
		int64_t now = units_monotonic_ns();

		if (info.ssi_signo == SIGUSR1) {
			atomic_store_explicit(&signals->is_asked, true, memory_order_relaxed);
		} else if (first_ns == 0) {
			first_ns = now;
			atomic_store_explicit(signals->is_cancelled, true, memory_order_relaxed);
			say("ending: the report is of what was measured so far; a second signal ends at once");
		} else if (now - first_ns > SUPERVISE_DEBOUNCE_NS) {
			say("ended by a second signal, without a report");
			host_report(signals->exit_status, true);
			_exit(signals->exit_status);
		}
	}
	return NULL;
}

int qualify_signals_start(struct qualify_signals *signals)
{
	pthread_t thread;
	int flags, ret;

	signals->fd = supervise_signals();
	if (signals->fd < 0)
		return signals->fd;
	flags = fcntl(signals->fd, F_GETFL);
	fcntl(signals->fd, F_SETFL, flags & ~O_NONBLOCK); /* a thread may wait */
	ret = pthread_create(&thread, NULL, take_signals, signals);
	if (ret == 0)
		pthread_detach(thread);
	return -ret;
}
