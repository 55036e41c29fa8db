/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/end_signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/line.h"
#include "recorder/supervise.h"

void end_signals_say(const char *program, const char *text)
{
	struct line line;

	line_begin(&line, isatty(STDERR_FILENO));
	line_add(&line, "%s: %s\n", program, text);
	line_put(&line);
}

static void *take_signals(void *context)
{
	struct end_signals *signals = context;
	struct signalfd_siginfo info;
	int64_t first_ns = 0;
	bool is_aborted = false;

	while (read(signals->fd, &info, sizeof(info)) == sizeof(info)) {
		int64_t now = units_monotonic_ns();

		if (info.ssi_signo == SIGUSR1) {
			atomic_store_explicit(&signals->is_asked, true, memory_order_relaxed);
		} else if (first_ns == 0) {
			first_ns = now;
			signals->end(signals->context);
		} else if (now - first_ns > SUPERVISE_DEBOUNCE_NS && !is_aborted) {
			is_aborted = true;
			signals->abort(signals->context);
		}
	}
	return NULL;
}

int end_signals_start(struct end_signals *signals)
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
