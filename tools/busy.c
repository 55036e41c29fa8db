/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/busy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/runtime.h"
#include "tools/history.h"
#include "tools/observe.h"
#include "tools/place.h"

#define WAIT_NS (3 * UNITS_NS_PER_S)
#define PAUSE_NS 20000000
#define FRESH_S 60 /* a running recorder adds a clock line every 10 s */

int busy_file(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return 0;
	}
	return errno == EAGAIN ? 1 : -errno;
}

static const char *start_text(const struct history *history, const char *key)
{
	const char *text = json_string_value(json_object_get(history->start, key));

	return text ? text : "";
}

static long start_pid(const struct history *history)
{
	return (long)json_integer_value(json_object_get(history->start, "pid"));
}

/* One file of the recording, by its descriptor, which is closed here. Return: as busy_file(). */
static int ask_file(int fd, int *doubt)
{
	int ret;

	if (fd < 0) /* not there, or not to be read: then nothing is done to it either */
		return 0;
	ret = busy_file(fd);
	close(fd);
	if (ret < 0)
		*doubt = ret;
	return ret;
}

static int open_unused(const struct recording *recording, const struct recording_unused *unused)
{
	struct recording_place found;
	struct stat st;

	for (size_t i = 0; recording_place(recording, i, &found); i++) {
		struct place place = { .path = (char *)found.path, .fd = found.fd };

		if (strcmp(found.path, unused->target) == 0)
			return place_open_file(&place, unused->file, &st);
	}
	return -ENOENT;
}

/* A file that isn't in the journal yet may be the one that is being written. */
static bool is_unused_open(const struct recording *recording, char *path, size_t len, int *doubt)
{
	const struct recording_unused *unused;
	size_t count;

	unused = recording_unused(recording, &count);
	for (size_t i = 0; i < count; i++)
		if (ask_file(open_unused(recording, &unused[i]), doubt) == 1) {
			snprintf(path, len, "%s/%s", unused[i].target, unused[i].file);
			return true;
		}
	return false;
}

static bool is_any_open(const struct recording *recording, char *path, size_t len, int *doubt)
{
	struct recording_journal journal;
	struct recording_file file;
	struct recording_place place;

	for (size_t i = 0; recording_journal(recording, i, &journal); i++)
		if (ask_file(recording_open_journal(recording, i), doubt) == 1) {
			snprintf(path, len, "%s", journal.path);
			return true;
		}
	for (size_t i = 0; recording_file(recording, i, &file); i++)
		if (file.place >= 0 && ask_file(recording_open_file(recording, i), doubt) == 1 &&
		    recording_place(recording, (size_t)file.place, &place)) {
			snprintf(path, len, "%s/%s", place.path, file.file);
			return true;
		}
	return is_unused_open(recording, path, len, doubt);
}

/* ---- the recorder itself ---- */

static bool is_of_this_host(const struct history *history)
{
	char own_host[256] = "";

	gethostname(own_host, sizeof(own_host) - 1);
	return strcmp(start_text(history, "host"), own_host) == 0;
}

/* A line of a file in /proc; "" = there is none. Return: 0; -errno. */
static int read_process(long pid, const char *name, char *line, int len)
{
	char path[64];
	FILE *file;

	line[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	if (!fgets(line, len, file))
		line[0] = '\0';
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* The process of the start line, and not another one that has its number now. */
static bool is_process_there(const struct history *history)
{
	char command[64], program[16];
	long pid = start_pid(history);
	int ret;

	if (pid <= 0 || (kill((pid_t)pid, 0) < 0 && errno == ESRCH))
		return false;
	ret = read_process(pid, "comm", command, sizeof(command));
	if (ret < 0)
		return ret != -ENOENT;
	/* the kernel keeps 15 bytes of a name */
	snprintf(program, sizeof(program), "%.15s", start_text(history, "program"));
	return strcmp(command, program) == 0;
}

/* Dead, though its parent may not have been told yet. */
static bool has_process_died(const struct history *history)
{
	char line[512];
	const char *behind_name;

	if (!is_of_this_host(history))
		return false;
	if (!is_process_there(history))
		return true;
	if (read_process(start_pid(history), "stat", line, sizeof(line)) < 0)
		return false;
	behind_name = strrchr(line, ')');
	return behind_name && strncmp(behind_name, ") Z", 3) == 0;
}

/*
 * The kernel keeps the files of a killed recorder open until the writes that it still has are done:
 * a moment, unless the disk holds them.
 */
static bool stays_open(const struct recording *recording, char *path, size_t len, int *doubt)
{
	const struct history *history = recording_info(recording)->history;
	int64_t deadline_ns = units_monotonic_ns() + WAIT_NS;

	while (is_any_open(recording, path, len, doubt)) {
		struct timespec pause = { .tv_nsec = PAUSE_NS };

		if (!has_process_died(history) || units_monotonic_ns() > deadline_ns)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* ---- where the kernel can't tell ---- */

static bool does_recorder_answer(const char *name)
{
	char dir[PATH_MAX];
	struct observed *list = NULL;
	size_t count = 0;
	bool is_there = false;

	if (runtime_dir(dir, sizeof(dir), false) < 0 || observe_all(dir, name, &list, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		is_there = is_there || list[i].error != -ECONNREFUSED;
	observe_free(list, count);
	return is_there;
}

static int64_t youngest_s(const struct recording *recording)
{
	int64_t now = units_realtime_ns() / UNITS_NS_PER_S, age = INT64_MAX;
	struct stat st;

	for (size_t i = 0; i < recording_info(recording)->journal_count; i++) {
		int fd = recording_open_journal(recording, i);

		if (fd < 0)
			continue;
		if (fstat(fd, &st) == 0 && now - st.st_mtime < age)
			age = now - st.st_mtime;
		close(fd);
	}
	return age;
}

static int ask_others(const struct recording *recording, int doubt, char *why, size_t len)
{
	const struct history *history = recording_info(recording)->history;
	const char *name = recording_info(recording)->name;
	int64_t age = youngest_s(recording);

	if (is_of_this_host(history) && is_process_there(history)) {
		snprintf(why, len, "its recorder, process %ld, is running", start_pid(history));
		return 1;
	}
	if (does_recorder_answer(name)) {
		snprintf(why, len, "a recorder answers under the name %s", name);
		return 1;
	}
	if (age < FRESH_S) {
		snprintf(why, len,
			 "its journal has changed %" PRId64
			 " s ago, and whether somebody has it open can't be found out on this file system (%s); wait a minute",
			 age, strerror(-doubt));
		return 1;
	}
	return 0;
}

int busy_recording(const struct recording *recording, char *why, size_t len)
{
	const struct history *history = recording_info(recording)->history;
	char path[PATH_MAX + NAME_MAX];
	int doubt = 0;

	if (!history) {
		if (!recording_info(recording)->mark6 ||
		    !is_any_open(recording, path, sizeof(path), &doubt))
			return 0;
		snprintf(why, len, "%s is open for writing", path);
		return 1;
	}
	if (stays_open(recording, path, sizeof(path), &doubt)) {
		snprintf(why, len, "%s is open for writing (by its recorder, process %ld on %s?)",
			 path, start_pid(history), start_text(history, "host"));
		return 1;
	}
	if (doubt == 0 || history->end)
		return 0;
	return ask_others(recording, doubt, why, len);
}
