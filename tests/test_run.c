/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tests/fake_disk.h"
#include "tests/scratch.h"
#include "tests/trial_kit.h"
#include "tools/qualify/read_back.h"
#include "tools/qualify/run_sample.h"

#define MS INT64_C(1000000)

static struct fake_disk fake;

static uint64_t traced_bytes(const struct trace *trace)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < trace_count(trace); i++)
		bytes += trace->writes[i].bytes;
	return bytes;
}

static uint64_t histogram_sum(const struct trial_part *part)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < SESSION_HISTOGRAM; i++)
		count += part->histogram[i];
	return count;
}

/* What must be so of every run that came to its end. */
static void check_run(const struct trial_kit *kit)
{
	const struct trial_run *run = &kit->run;
	uint64_t traced = 0;

	assert_true(run->was_run);
	assert_string_equal(run->error, "");
	assert_false(run->is_interrupted);
	assert_int_equal(run->written_bytes + run->overflow_bytes, run->stream_bytes);
	assert_int_equal(run->lost_bytes, 0);
	assert_true(run->start_ns > 0 && run->duration_ns > 0);
	assert_true(run->synced_ns >= run->written_ns && run->synced_ns >= run->duration_ns);
	assert_true(run->high_water_bytes > 0 && run->high_water_bytes <= run->ring_bytes);
	assert_int_equal(run->block_bytes, TRIAL_KIT_BLOCK);
	assert_true(run->series.count > 0);
	assert_true(run->cpu_s > 0);
	assert_int_equal(run->part_count, kit->config.disk_count);
	for (unsigned i = 0; i < run->part_count; i++) {
		const struct trial_part *part = &run->parts[i];

		assert_int_equal(part->disk, kit->disks[i].number);
		assert_int_equal(part->state, DISK_OK);
		assert_int_equal(part->written_bytes, part->durable_bytes);
		assert_int_equal(histogram_sum(part), trace_count(part->trace));
		assert_true(part->worst_ns > 0 && part->worst_at_ns <= run->written_ns);
		traced += traced_bytes(part->trace);
	}
	assert_int_equal(traced, run->written_bytes);
	assert_true(trial_kit_is_empty(kit));
}

static void execute(struct trial_kit *kit)
{
	assert_int_equal(run_execute(&kit->run, &kit->config, &kit->files), 0);
}

/* ---- good disks ---- */

static void a_paced_run_is_whole_and_leaves_nothing(void **state)
{
	struct trial_kit kit;
	bool is_refused = false;

	(void)state;
	trial_kit_open(&kit, 1);
	kit.config.rate_bps = 64000000;
	kit.config.duration_ns = UNITS_NS_PER_S;
	kit.config.limit_bytes = 0;
	execute(&kit);
	check_run(&kit);
	assert_int_equal(kit.run.stream_bytes, 8000000);
	assert_string_equal(kit.run.source, "sim:");
	assert_int_equal(kit.run.rate_bps, 64000000);
	assert_int_equal(kit.run.first_overflow_ns, -1);
	assert_string_equal(kit.run.io, "direct");
	for (unsigned i = 0; i < kit.run.warning_count; i++)
		is_refused = is_refused || strstr(kit.run.warnings[i], "io_uring is refused");
	assert_string_equal(kit.run.engine, is_refused ? "pwrite" : "io_uring");
	assert_true(kit.run.series.count > 10);
	for (size_t i = 1; i < kit.run.series.count; i++) {
		const struct trial_sample *sample = &kit.run.series.samples[i];

		assert_true(sample->at_ns > sample[-1].at_ns);
		assert_true(sample->received_bytes >= sample[-1].received_bytes);
		assert_true(sample->ring_bytes <= kit.run.high_water_bytes);
		assert_true(sample->temperature_c == -1000.0);
	}
	trial_kit_close(&kit);
}

static void two_disks_share_the_stream_as_chunks(void **state)
{
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 2);
	kit.config.limit_bytes = 30000000;
	execute(&kit);
	check_run(&kit);
	assert_int_equal(kit.run.stream_bytes, 30000000);
	trial_kit_close(&kit);
}

static void buffered_it_is_the_same_stream(void **state)
{
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	kit.config.use_direct = false;
	execute(&kit);
	check_run(&kit);
	assert_string_equal(kit.run.io, "buffered");
	trial_kit_close(&kit);
}

static void nothing_stays_when_nothing_is_to_be_read(void **state)
{
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	assert_int_equal(run_execute(&kit.run, &kit.config, NULL), 0);
	check_run(&kit);
	trial_kit_close(&kit);
}

/* ---- the budget ---- */

#define INODES_MAX 64

static uint64_t most_bytes;
static dev_t watched;

/* What files without a name, open here, have of the file system. */
static void watch_room(const struct trial_control *control, const struct trial_progress *progress)
{
	ino_t inodes[INODES_MAX];
	unsigned count = 0;
	uint64_t bytes = 0;

	(void)control;
	assert_int_equal(progress->disk, 3);
	for (int fd = 3; fd < 256; fd++) {
		struct stat st;
		unsigned i = 0;
		char path[64];

		/* by its name: the descriptor is not ours, and may be closed just now */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 0 ||
		    st.st_dev != watched)
			continue;
		while (i < count && inodes[i] != st.st_ino)
			i++;
		if (i < count || count == INODES_MAX)
			continue;
		inodes[count++] = st.st_ino;
		bytes += (uint64_t)st.st_blocks * 512;
	}
	most_bytes = bytes > most_bytes ? bytes : most_bytes;
}

static void old_files_go_so_that_the_budget_is_kept(void **state)
{
	struct trial_control control = { .tell = watch_room };
	struct trial_read_back found;
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	watched = kit.targets[0].fs_device;
	most_bytes = 0;
	kit.config.control = &control;
	kit.config.rate_bps = UINT64_C(1200) * 1000000;
	kit.config.limit_bytes = 5 * TRIAL_KIT_BUDGET;
	kit.config.ring_bytes = UINT64_C(64) << 20;
	execute(&kit);
	check_run(&kit);
	assert_true(most_bytes > 0 && most_bytes <= TRIAL_KIT_BUDGET + TRIAL_KIT_BUDGET / 8);
	assert_int_equal(read_back(&found, &(struct read_back_config){ .files = kit.files,
								       .index = 0,
								       .number = 0,
								       .control = NULL,
								       .end_ns = INT64_MAX }),
			 0);
	assert_int_equal(found.wrong_bytes, 0);
	assert_true(found.bytes >= TRIAL_KIT_BUDGET / 2 && found.bytes <= TRIAL_KIT_BUDGET);
	assert_int_equal(found.bytes + scratch_io_gone_bytes(run_files_of(kit.files, 0)),
			 kit.run.written_bytes);
	trial_kit_close(&kit);
}

/* Rate and time say how much comes: no more is taken, and nothing is let go. */
static void what_has_room_is_one_file(void **state)
{
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	kit.config.rate_bps = 64000000;
	kit.config.duration_ns = 200 * MS;
	kit.config.limit_bytes = 0;
	kit.disks[0].budget_bytes = UINT64_C(2) << 20;
	execute(&kit);
	check_run(&kit);
	assert_int_equal(scratch_io_count(run_files_of(kit.files, 0)), 1);
	assert_int_equal(scratch_io_gone_bytes(run_files_of(kit.files, 0)), 0);
	trial_kit_close(&kit);
}

/* What the process, or FAT, allows of a file is less than the stream. */
static void a_limit_of_files_makes_several(void **state)
{
	struct rlimit limit, ours;
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	kit.config.rate_bps = 64000000;
	kit.config.duration_ns = 500 * MS;
	kit.config.limit_bytes = 0;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	ours = (struct rlimit){ .rlim_cur = 1 << 20, .rlim_max = limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &ours), 0);
	execute(&kit);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	check_run(&kit);
	assert_true(scratch_io_count(run_files_of(kit.files, 0)) >= 4);
	trial_kit_close(&kit);
}

static void without_room_it_does_not_begin(void **state)
{
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	kit.disks[0].budget_bytes = 3 * TRIAL_KIT_BLOCK; /* four files at a time are needed */
	assert_true(run_execute(&kit.run, &kit.config, &kit.files) < 0);
	assert_false(kit.run.was_run);
	assert_null(kit.files);
	assert_non_null(strstr(kit.run.error, kit.paths[0]));
	trial_kit_close(&kit);
}

/* ---- bad disks ---- */

static void a_stall_is_in_the_trace(void **state)
{
	struct spoiled_disk spoiled;
	int64_t worst = 0;
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	spoiled_disk_init(&spoiled);
	spoiled.stall_at = 20;
	spoiled.stall_ns = 300 * MS;
	kit.disks[0].lower = &spoiled.io;
	execute(&kit);
	check_run(&kit);
	for (size_t i = 0; i < trace_count(kit.run.parts[0].trace); i++) {
		const struct trace_write *write = &kit.run.parts[0].trace->writes[i];

		if (write->ended_ns - write->started_ns > worst)
			worst = write->ended_ns - write->started_ns;
	}
	assert_true(worst >= 300 * MS);
	assert_int_equal(kit.run.parts[0].worst_ns, worst);
	trial_kit_close(&kit);
}

static void a_disk_that_is_too_slow_shows_its_overflow(void **state)
{
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	fake_disk_init(&fake);
	fake.delay_ns[FAKE_WRITE] = 40 * MS;
	kit.disks[0].lower = &fake.io;
	kit.config.depth = 1;
	kit.config.ring_bytes = UINT64_C(1) << 20;
	kit.config.rate_bps = 64000000;
	kit.config.duration_ns = UNITS_NS_PER_S;
	kit.config.limit_bytes = 0;
	execute(&kit);
	check_run(&kit);
	assert_true(kit.run.overflow_bytes > 0 && kit.run.overflow_count > 0);
	assert_true(kit.run.first_overflow_ns >= 0 && kit.run.first_overflow_ns <= kit.run.duration_ns);
	assert_true(kit.run.high_water_bytes + 4 * TRIAL_KIT_BLOCK >= kit.run.ring_bytes);
	trial_kit_close(&kit);
	fake_disk_free(&fake);
}

static void a_disk_that_fails_ends_the_run_with_its_sentence(void **state)
{
	static const struct {
		int error, state;
	} cases[] = { { EIO, DISK_FAILED }, { ENOSPC, DISK_FULL }, { EROFS, DISK_READONLY } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trial_kit kit;

		trial_kit_open(&kit, 1);
		fake_disk_init(&fake);
		fake_disk_fail(&fake, FAKE_WRITE, 10, 0, cases[i].error);
		kit.disks[0].lower = &fake.io;
		kit.config.limit_bytes = UINT64_C(100000000);
		execute(&kit);
		assert_true(kit.run.was_run);
		assert_int_equal(kit.run.parts[0].state, cases[i].state);
		assert_non_null(strstr(kit.run.parts[0].error, strerror(cases[i].error)));
		assert_string_equal(kit.run.error, kit.run.parts[0].error);
		assert_true(kit.run.lost_bytes > 0);
		assert_true(trial_kit_is_empty(&kit));
		trial_kit_close(&kit);
		fake_disk_free(&fake);
	}
}

static void a_disk_that_fails_in_its_last_sync_is_told(void **state)
{
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	fake_disk_init(&fake);
	fake_disk_fail(&fake, FAKE_SYNC, 1, 0, EIO);
	kit.disks[0].lower = &fake.io;
	execute(&kit);
	assert_int_equal(kit.run.parts[0].state, DISK_FAILED);
	assert_int_equal(kit.run.parts[0].durable_bytes, 0);
	assert_string_not_equal(kit.run.error, "");
	trial_kit_close(&kit);
	fake_disk_free(&fake);
}

/*
 * In a process of its own, as the program is the child of a host: it can't give back what a thread holds. Exit status 0:
 * all as it should be.
 */
static int run_stuck(void)
{
	struct trial_kit kit;
	const struct trial_part *part;
	size_t count;

	trial_kit_open(&kit, 1);
	fake_disk_init(&fake);
	fake.stuck_at[FAKE_WRITE] = 10;
	kit.disks[0].lower = &fake.io;
	kit.config.depth = 1;
	kit.config.rate_bps = 64000000;
	kit.config.duration_ns = 200 * MS;
	kit.config.limit_bytes = 0;
	kit.config.patience_ns = 500 * MS;
	if (run_execute(&kit.run, &kit.config, &kit.files) != 1 || kit.files)
		return 1;
	part = &kit.run.parts[0];
	if (!kit.run.was_run || part->state != DISK_STUCK || !kit.run.error[0])
		return 2;
	count = trace_count(part->trace);
	/* what is still out stands last, as long as it has been */
	if (count < 2 ||
	    part->trace->writes[count - 1].ended_ns - part->trace->writes[count - 1].started_ns <
		    500 * MS)
		return 3;
	if (part->worst_ns < 500 * MS)
		return 4;
	if (!trial_kit_is_empty(&kit))
		return 5;
	scratch_remove(kit.root);
	return 0;
}

static void a_stuck_disk_ends_the_run_all_the_same(void **state)
{
	pid_t child;
	int status;

	(void)state;
	child = fork();
	if (child == 0)
		_exit(run_stuck());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- cancelling, telling ---- */

struct listener {
	struct trial_control control; /* the first member */
	unsigned count, cancel_at;
	struct trial_progress last;
};

static void listen_to(const struct trial_control *control, const struct trial_progress *progress)
{
	struct listener *listener = (struct listener *)control;

	listener->last = *progress;
	if (++listener->count == listener->cancel_at)
		atomic_store(&listener->control.is_cancelled, true);
}

static void a_cancelled_run_ends_and_leaves_nothing(void **state)
{
	struct listener listener = { .control = { .tell = listen_to }, .cancel_at = 3 };
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	kit.config.control = &listener.control;
	kit.config.rate_bps = 64000000;
	kit.config.duration_ns = 3600 * UNITS_NS_PER_S;
	kit.config.limit_bytes = 0;
	execute(&kit);
	assert_true(kit.run.was_run && kit.run.is_interrupted);
	assert_string_equal(kit.run.error, "interrupted");
	assert_true(kit.run.stream_bytes > 0 && kit.run.duration_ns < 600 * UNITS_NS_PER_S);
	assert_true(trial_kit_is_empty(&kit));
	assert_int_equal(listener.last.phase, PHASE_PACED);
	assert_int_equal(listener.last.disk, 3);
	assert_true(listener.last.done > 0 && listener.last.done < 0.5);
	assert_int_equal(listener.last.ring_capacity_bytes, kit.run.ring_bytes);
	trial_kit_close(&kit);
}

static double one_degree_more(void *context)
{
	double *temperature = context;

	return *temperature += 1;
}

static void temperatures_stand_in_the_series(void **state)
{
	double temperature = 40;
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	kit.config.rate_bps = 64000000;
	kit.config.limit_bytes = 2000000;
	kit.config.temperature = one_degree_more;
	kit.config.temperature_context = &temperature;
	execute(&kit);
	check_run(&kit);
	assert_true(kit.run.series.samples[kit.run.series.count - 1].temperature_c == 41.0);
	trial_kit_close(&kit);
}

static void somebody_elses_io_is_made_and_counted(void **state)
{
	struct trial_kit kit;

	(void)state;
	trial_kit_open(&kit, 1);
	kit.config.has_interference = true;
	kit.config.rate_bps = 256000000;
	kit.config.limit_bytes = 24000000;
	execute(&kit);
	check_run(&kit);
	assert_in_range(kit.run.parts[0].random_due_count, 1,
			kit.config.limit_bytes / INTERFERE_EVERY_BYTES);
	assert_in_range(kit.run.parts[0].random_done_count, 1, kit.run.parts[0].random_due_count);
	trial_kit_close(&kit);
}

static int told_fd;

static void say_that_it_runs(const struct trial_control *control, const struct trial_progress *progress)
{
	(void)control;
	if (progress->done > 0 && write(told_fd, "", 1) < 0)
		_exit(1);
}

static void killed_it_leaves_nothing_either(void **state)
{
	struct trial_control control = { .tell = say_that_it_runs };
	struct trial_kit kit;
	int pipes[2], status;
	pid_t child;
	char told;

	(void)state;
	trial_kit_open(&kit, 2);
	kit.config.control = &control;
	kit.config.has_interference = true;
	kit.config.limit_bytes = UINT64_MAX;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	told_fd = pipes[1];
	child = fork();
	if (child == 0)
		_exit(run_execute(&kit.run, &kit.config, NULL));
	assert_true(child > 0);
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &told, 1), 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	close(pipes[0]);
	assert_true(trial_kit_is_empty(&kit));
	trial_kit_close(&kit);
}

/* ---- the series ---- */

static void a_thinned_series_keeps_the_highest_level(void **state)
{
	struct trial_series series = { 0 };

	(void)state;
	for (int i = 0; i < 1001; i++) {
		struct trial_sample sample = { .at_ns = i, .ring_bytes = 5, .temperature_c = 20 };

		sample.ring_bytes = i == 500 || i == 333 ? 77 : 5;
		sample.temperature_c = i == 332 ? 60 : 20;
		assert_int_equal(trial_series_add(&series, &sample), 0);
	}
	sampler_thin(&series);
	assert_int_equal(series.count, 501);
	assert_int_equal(series.samples[250].at_ns, 500);
	assert_int_equal(series.samples[166].at_ns, 333);
	assert_int_equal(series.samples[166].ring_bytes, 77);
	assert_true(series.samples[166].temperature_c == 60);
	for (size_t i = 1; i < series.count; i++)
		assert_true(series.samples[i].at_ns > series.samples[i - 1].at_ns);
	free(series.samples);
}

/* ---- a device ---- */

/* Return: its path in @path; false: no loop device can be had here. */
static bool make_device(const char *root, char *path, size_t len)
{
	char command[256];
	FILE *pipe;
	bool is_made;

	snprintf(command, sizeof(command),
		 "truncate -s 24M %s/disk && losetup --find --show %s/disk 2>/dev/null", root, root);
	pipe = popen(command, "re");
	is_made = pipe && fgets(path, (int)len, pipe);
	if (pipe)
		pclose(pipe);
	if (is_made)
		path[strcspn(path, "\n")] = '\0';
	return is_made;
}

static void remove_device(const char *path)
{
	char command[128];

	snprintf(command, sizeof(command), "losetup --detach %s", path);
	assert_int_equal(system(command), 0);
}

static void a_device_is_written_from_end_to_end_and_again(void **state)
{
	char path[64], error[TARGET_ERROR_LEN];
	struct trial_read_back found;
	struct target device;
	struct trial_kit kit;
	int fd;

	(void)state;
	trial_kit_open(&kit, 1);
	if (!make_device(kit.root, path, sizeof(path))) {
		trial_kit_close(&kit);
		print_message("no loop device can be had here\n");
		skip();
	}
	fd = open(path, O_RDWR | O_EXCL | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(target_adopt_device(&device, path, fd, error), 0);
	assert_int_equal(device.total_bytes, 24 << 20);
	kit.disks[0] = (struct run_disk){ .target = &device };
	kit.config.limit_bytes = UINT64_C(100) << 20;
	execute(&kit);
	check_run(&kit);
	assert_int_equal(read_back(&found, &(struct read_back_config){ .files = kit.files,
								       .index = 0,
								       .number = 0,
								       .control = NULL,
								       .end_ns = INT64_MAX }),
			 0);
	assert_int_equal(found.wrong_bytes, 0);
	assert_true(found.bytes > 12 << 20 && found.bytes <= 24 << 20);
	target_close(&device);
	remove_device(path);
	trial_kit_close(&kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_paced_run_is_whole_and_leaves_nothing),
		cmocka_unit_test(two_disks_share_the_stream_as_chunks),
		cmocka_unit_test(buffered_it_is_the_same_stream),
		cmocka_unit_test(nothing_stays_when_nothing_is_to_be_read),
		cmocka_unit_test(old_files_go_so_that_the_budget_is_kept),
		cmocka_unit_test(what_has_room_is_one_file),
		cmocka_unit_test(a_limit_of_files_makes_several),
		cmocka_unit_test(without_room_it_does_not_begin),
		cmocka_unit_test(a_stall_is_in_the_trace),
		cmocka_unit_test(a_disk_that_is_too_slow_shows_its_overflow),
		cmocka_unit_test(a_disk_that_fails_ends_the_run_with_its_sentence),
		cmocka_unit_test(a_disk_that_fails_in_its_last_sync_is_told),
		cmocka_unit_test(a_stuck_disk_ends_the_run_all_the_same),
		cmocka_unit_test(a_cancelled_run_ends_and_leaves_nothing),
		cmocka_unit_test(temperatures_stand_in_the_series),
		cmocka_unit_test(somebody_elses_io_is_made_and_counted),
		cmocka_unit_test(killed_it_leaves_nothing_either),
		cmocka_unit_test(a_thinned_series_keeps_the_highest_level),
		cmocka_unit_test(a_device_is_written_from_end_to_end_and_again),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
