/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/sim.h"
#include "recorder/sink.h"
#include "tests/fake_disk.h"
#include "tests/scratch.h"

#define ROOM ((size_t)32768)

static char folder[64];
static struct target target;
static struct sink *sink;
static unsigned char *data; /* page aligned, ROOM */
static struct fake_disk disk;
static const struct sink_io *current_io; /* of the sink; NULL = the system's */

/* The kernel tells an error of written back pages to the first who waits for them, and to no other of this descriptor. */
static int range_error;

int sync_file_range(int fd, off_t offset, off_t bytes, unsigned flags)
{
	if (range_error == 0)
		return (int)syscall(SYS_sync_file_range, fd, offset, bytes, flags);
	errno = range_error;
	range_error = 0;
	return -1;
}

static int setup(void **state)
{
	char error[TARGET_ERROR_LEN];

	(void)state;
	data = aligned_alloc(4096, ROOM);
	fake_disk_init(&disk);
	return scratch_make(folder, sizeof(folder), NULL) < 0 || !data ||
	       target_open(&target, folder, error) < 0;
}

static int teardown(void **state)
{
	(void)state;
	sink_close(sink);
	sink = NULL;
	target_close(&target);
	fake_disk_free(&disk);
	free(data);
	return scratch_remove(folder);
}

static const struct sink_head *current_head; /* of the sinks opened from now on */

static void open_sink_in(const char *name_template, uint64_t file_bytes, bool is_direct,
			 const struct sink_io *io)
{
	struct sink_config config = { .target = &target,
				      .name_template = name_template,
				      .file_bytes = file_bytes,
				      .is_part_first = file_bytes > 0,
				      .use_direct = is_direct,
				      .head = current_head,
				      .io = io };

	sink_close(sink);
	current_io = io;
	assert_int_equal(sink_open(&sink, &config), 0);
}

static void open_sink(uint64_t file_bytes, bool is_direct, const struct sink_io *io)
{
	open_sink_in("f.%03d", file_bytes, is_direct, io);
}

static void renew_disk(void)
{
	fake_disk_free(&disk);
	fake_disk_init(&disk);
}

/* As a writer does it, with one write at a time. */
static int write_data(size_t bytes)
{
	const struct sink_io *io = current_io ? current_io : &sink_system_io;
	uint64_t offset = sink_file_bytes(sink);
	struct sink_piece piece;
	int ret;

	sink_make_room(sink, offset + (bytes + 4095) / 4096 * 4096);
	ret = sink_prepare(sink, data, bytes, ROOM, offset, true, &piece);
	assert_int_equal(ret, 0);
	do {
		ssize_t n = io->write(io, sink_fd(sink), piece.data, piece.bytes, (off_t)piece.offset);

		ret = sink_continue(sink, &piece, n < 0 ? -errno : n);
	} while (ret > 0);
	if (ret == 0)
		sink_written(sink, bytes);
	return ret;
}

static void write_piece(uint64_t stream_offset, size_t bytes)
{
	memset(data, 0xee, ROOM);
	sim_fill(data, bytes, stream_offset, 1);
	if (write_data(bytes) != 0)
		fail_msg("%s", sink_error(sink));
}

static off_t size_of(const char *name)
{
	struct stat st;

	return fstatat(target.dir_fd, name, &st, 0) < 0 ? -1 : st.st_size;
}

static uint64_t inode_of(const char *name)
{
	struct stat st;

	return fstatat(target.dir_fd, name, &st, 0) < 0 ? 0 : st.st_ino;
}

/* The file has exactly the stream's first @bytes. */
static void assert_file(const char *name, size_t bytes)
{
	unsigned char *found = malloc(bytes + 1);
	int fd = openat(target.dir_fd, name, O_RDONLY);

	assert_non_null(found);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, found, bytes + 1), bytes);
	close(fd);
	assert_int_equal(sim_verify(found, bytes, 0, 1), bytes);
	free(found);
}

static void finish(void)
{
	if (sink_finish_file(sink) != 0)
		fail_msg("%s", sink_error(sink));
}

/* ---- lengths ---- */

/* Every 500th length, and all that lie beside a limit. */
static bool is_wanted(int bytes)
{
	static const int around[] = { 1, 512, 4096, 8192, 12288, 16384 };

	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++)
		if (abs(bytes - around[i]) <= 1)
			return true;
	return bytes % 500 == 0;
}

static void a_tail_of_any_length_is_written_exactly(void **state)
{
	char name[32];
	uint64_t number = 0;

	(void)state;
	for (int is_direct = 0; is_direct < 2; is_direct++) {
		open_sink(20000, is_direct, NULL);
		for (int bytes = 1; bytes <= 20000; bytes++) {
			if (!is_wanted(bytes))
				continue;
			snprintf(name, sizeof(name), "f.%03d", (int)number);
			assert_int_equal(sink_begin_file(sink, number++, 0), 0);
			write_piece(0, (size_t)bytes);
			assert_int_equal(sink_file_bytes(sink), bytes);
			finish();
			assert_file(name, (size_t)bytes);
			assert_int_equal(unlinkat(target.dir_fd, name, 0), 0);
		}
	}
}

/* ---- heads ---- */

static void make_test_head(const struct sink_head *head, const struct sink_file *file, char *buf)
{
	memset(buf, '.', head->bytes);
	sprintf(buf, "%s %d %d %d", file->name, (int)file->number, (int)file->stream_offset,
		(int)file->bytes);
}

static const struct sink_head test_head = { .bytes = 4096, .make = make_test_head };

static void assert_head(const char *name, const char *head)
{
	char found[4096];
	int fd = openat(target.dir_fd, name, O_RDONLY);

	assert_int_equal(read(fd, found, sizeof(found)), sizeof(found));
	close(fd);
	assert_string_equal(found, head);
}

/* Behind the head. */
static void assert_data(const char *name, size_t bytes)
{
	unsigned char *found = malloc(bytes + 1);
	int fd = openat(target.dir_fd, name, O_RDONLY);

	assert_non_null(found);
	assert_int_equal(pread(fd, found, bytes + 1, 4096), bytes);
	close(fd);
	assert_int_equal(sim_verify(found, bytes, 0, 1), bytes);
	free(found);
}

static void a_head_stands_in_front_and_is_not_counted(void **state)
{
	(void)state;
	current_head = &test_head;
	for (int is_direct = 0; is_direct < 2; is_direct++) {
		for (uint64_t file_bytes = 0; file_bytes <= 20000; file_bytes += 20000) {
			open_sink(file_bytes, is_direct, NULL);
			sink_set_start(sink, 777);
			assert_int_equal(sink_begin_file(sink, 5, 0), 0);
			assert_head(file_bytes ? "f.005.part" : "f.005", "f.005 5 777 0");
			assert_int_equal(sink_head_bytes(sink), 4096);
			assert_int_equal(sink_file_bytes(sink), 0);
			write_piece(0, 12288);
			write_piece(12288, 4097);
			assert_int_equal(sink_file_bytes(sink), 16385);
			finish();
			assert_head("f.005", "f.005 5 777 16385");
			assert_data("f.005", 16385);
			assert_int_equal(unlinkat(target.dir_fd, "f.005", 0), 0);
		}
	}
	current_head = NULL;
}

static void what_is_cut_left_or_taken_back_keeps_its_head(void **state)
{
	(void)state;
	current_head = &test_head;
	open_sink(20000, true, NULL);
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	write_piece(0, 12288);
	assert_int_equal(sink_cut_file(sink, 4096), 0);
	finish();
	assert_data("f.000", 4096);
	assert_head("f.000", "f.000 0 0 4096");
	sink_take_back_file(sink, 100);
	assert_data("f.000", 100);
	sink_take_back_file(sink, 0);
	assert_int_equal(size_of("f.000"), -1);
	assert_int_equal(sink_begin_file(sink, 1, 0), 0);
	write_piece(0, 5000);
	sink_leave_file(sink);
	assert_data("f.001.part", 5000);
	assert_head("f.001.part", "f.001 1 0 0");
	current_head = NULL;
}

static void what_goes_on_with_a_file_and_parity_have_no_head(void **state)
{
	(void)state;
	current_head = &test_head;
	open_sink(20000, true, NULL);
	assert_int_equal(sink_begin_file(sink, 0, 8192), 0);
	assert_int_equal(sink_head_bytes(sink), 0);
	write_piece(0, 5000);
	finish();
	assert_file("f.000@8192", 5000);
	current_head = NULL;
}

static void a_head_that_can_not_be_completed_costs_no_data(void **state)
{
	(void)state;
	renew_disk();
	current_head = &test_head;
	open_sink(20000, true, &disk.io);
	disk.faults[FAKE_WRITE] = (struct fake_fault){ .at = 3, .error = ENOSPC };
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	write_piece(0, 5000);
	finish();
	assert_data("f.000", 5000);
	assert_head("f.000", "f.000 0 0 0");
	assert_non_null(strstr(sink_note(sink), "no file size"));
	/* where there is no room for it at all, no file is left */
	assert_int_equal(sink_begin_file(sink, 1, 0), -ENOSPC);
	assert_false(sink_is_file_open(sink));
	assert_int_equal(size_of("f.001.part"), -1);
	current_head = NULL;
}

static void pieces_of_any_length_follow_one_another(void **state)
{
	static const size_t lengths[] = { 4096, 8192, 1000, 4096, 1, 511, 513, 12288, 4097, 20000 };

	(void)state;
	for (int is_direct = 0; is_direct < 2; is_direct++) {
		for (uint64_t file_bytes = 0; file_bytes <= 100000; file_bytes += 100000) {
			char name[32];
			uint64_t done = 0, number = (uint64_t)is_direct * 2 + file_bytes / 100000;

			open_sink(file_bytes, is_direct, NULL);
			assert_int_equal(sink_begin_file(sink, number, 0), 0);
			for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
				write_piece(done, lengths[i]);
				done += lengths[i];
				assert_int_equal(sink_sync(sink), 0);
			}
			finish();
			snprintf(name, sizeof(name), "f.%03d", (int)number);
			assert_file(name, done);
		}
	}
}

static void an_endless_file_grows_ahead_and_is_trimmed(void **state)
{
	(void)state;
	open_sink(0, true, NULL);
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	write_piece(0, 4096);
	if (size_of("f.000") == 4096)
		print_message("this file system does not preallocate\n");
	write_piece(4096, 5);
	finish();
	assert_int_equal(size_of("f.000"), 4101);
	assert_file("f.000", 4101);
}

static void a_short_file_is_cut_to_its_bytes(void **state)
{
	(void)state;
	open_sink(1 << 20, true, NULL);
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	assert_int_equal(size_of("f.000.part"), 1 << 20);
	write_piece(0, 8192);
	finish();
	assert_file("f.000", 8192);
	assert_int_equal(size_of("f.000.part"), -1);
}

/* ---- names ---- */

static void a_file_has_its_name_only_when_it_is_whole(void **state)
{
	(void)state;
	open_sink(8192, true, NULL);
	assert_false(sink_is_file_open(sink));
	assert_int_equal(sink_begin_file(sink, 7, 4096), 0);
	assert_true(sink_is_file_open(sink));
	assert_int_equal(sink_file_number(sink), 7);
	assert_int_equal(sink_file_base(sink), 4096);
	write_piece(0, 4096);
	assert_true(size_of("f.007@4096.part") >= 0);
	assert_int_equal(size_of("f.007@4096"), -1);
	finish();
	assert_false(sink_is_file_open(sink));
	assert_file("f.007@4096", 4096);
}

static void an_existing_file_is_never_overwritten(void **state)
{
	int fd = openat(target.dir_fd, "f.000", O_WRONLY | O_CREAT, 0644);

	(void)state;
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	open_sink(4096, true, NULL);
	assert_int_equal(sink_begin_file(sink, 0, 0), 0); /* f.000.part is free */
	write_piece(0, 4096);
	assert_int_equal(sink_finish_file(sink), -EEXIST);
	assert_non_null(strstr(sink_error(sink), "f.000"));
	assert_int_equal(size_of("f.000"), 8);
	assert_int_equal(size_of("f.000.part"), 4096);
	open_sink(4096, true, NULL);
	assert_int_equal(sink_begin_file(sink, 0, 0), -EEXIST);
	assert_int_equal(size_of("f.000.part"), 4096);
	open_sink(0, true, NULL);
	assert_int_equal(sink_begin_file(sink, 0, 0), -EEXIST);
	assert_int_equal(size_of("f.000"), 8);
}

static void a_dangling_link_is_not_followed(void **state)
{
	(void)state;
	assert_int_equal(symlinkat("elsewhere", target.dir_fd, "f.000"), 0);
	open_sink(0, true, NULL);
	assert_int_equal(sink_begin_file(sink, 0, 0), -EEXIST);
	assert_int_equal(size_of("elsewhere"), -1);
}

/* ---- cut, abandon, leave ---- */

static void what_was_cut_is_gone_and_writing_goes_on_there(void **state)
{
	(void)state;
	for (int is_direct = 0; is_direct < 2; is_direct++) {
		open_sink(65536, is_direct, NULL);
		assert_int_equal(sink_begin_file(sink, 0, 0), 0);
		write_piece(0, 8192);
		write_piece(99999, 8192); /* to be forgotten */
		assert_int_equal(sink_cut_file(sink, 8192), 0);
		assert_int_equal(sink_file_bytes(sink), 8192);
		write_piece(8192, 5000);
		finish();
		assert_file("f.000", 13192);
		assert_int_equal(unlinkat(target.dir_fd, "f.000", 0), 0);
	}
}

static void an_abandoned_file_is_gone_and_a_left_one_stays_as_it_is(void **state)
{
	(void)state;
	open_sink(65536, true, NULL);
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	write_piece(0, 4096);
	sink_abandon_file(sink);
	assert_false(sink_is_file_open(sink));
	assert_int_equal(size_of("f.000.part"), -1);
	sink_abandon_file(sink);                          /* nothing is open: nothing happens */
	assert_int_equal(sink_begin_file(sink, 0, 0), 0); /* the name is free again */
	write_piece(0, 4096);
	sink_leave_file(sink);
	assert_int_equal(size_of("f.000.part"), 4096); /* without what was preallocated for it */
	assert_int_equal(sink_finish_file(sink), 0);   /* nothing is open */
}

/* Whatever name it has reached: another disk gets the same file whole. */
static void a_file_that_fails_in_finishing_can_be_abandoned(void **state)
{
	static const enum fake_call calls[] = { FAKE_CUT, FAKE_SYNC, FAKE_RENAME, FAKE_SYNC_DIRECTORY };

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		renew_disk();
		fake_disk_fail(&disk, calls[i], 1, 0, EIO);
		open_sink(20000, true, &disk.io);
		assert_int_equal(sink_begin_file(sink, 0, 0), 0);
		write_piece(0, 4096);
		assert_int_equal(sink_finish_file(sink), -EIO);
		assert_true(size_of(calls[i] == FAKE_SYNC_DIRECTORY ? "f.000" : "f.000.part") > 0);
		sink_abandon_file(sink);
		assert_false(sink_is_file_open(sink));
		assert_int_equal(size_of("f.000.part"), -1);
		assert_int_equal(size_of("f.000"), -1);
		assert_int_equal(sink_finish_file(sink), -EIO);
	}
}

/* Nobody knows how it got there, but it is not ours. */
static void a_file_in_the_way_survives_when_ours_is_abandoned(void **state)
{
	int fd = openat(target.dir_fd, "f.000", O_WRONLY | O_CREAT, 0644);

	(void)state;
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	open_sink(4096, true, NULL);
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	write_piece(0, 4096);
	assert_int_equal(sink_finish_file(sink), -EEXIST);
	sink_abandon_file(sink);
	assert_int_equal(size_of("f.000.part"), -1);
	assert_int_equal(size_of("f.000"), 8);
}

static void a_file_that_fails_in_finishing_can_be_cut(void **state)
{
	static const enum fake_call calls[] = { FAKE_SYNC, FAKE_RENAME, FAKE_SYNC_DIRECTORY };

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const char *name = calls[i] == FAKE_SYNC_DIRECTORY ? "f.000" : "f.000.part";

		renew_disk();
		open_sink(20000, true, &disk.io);
		assert_int_equal(sink_begin_file(sink, 0, 0), 0);
		write_piece(0, 4096);
		assert_int_equal(sink_sync(sink), 0);
		write_piece(4096, 4096);
		fake_disk_fail(&disk, calls[i], calls[i] == FAKE_RENAME ? 1 : 2, 0, EIO);
		assert_int_equal(sink_finish_file(sink), -EIO);
		assert_int_equal(sink_cut_file(sink, 4096), 0); /* back to what was promised */
		sink_leave_file(sink);
		assert_file(name, 4096);
		assert_int_equal(unlinkat(target.dir_fd, name, 0), 0);
	}
}

/* ---- the directory ---- */

/* Descriptors are the process's: that they are used up says nothing about the disk. */
static void a_process_out_of_descriptors_still_syncs_and_finishes(void **state)
{
	static const char *const templates[] = { "f.%03d", "d/f.%03d" };
	struct rlimit old, limit;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &old);
	limit = old;
	limit.rlim_cur = 3;
	for (size_t i = 0; i < 2; i++) {
		int synced, finished;

		open_sink_in(templates[i], 20000, true, NULL);
		if (i == 1) /* made after the sink */
			assert_int_equal(mkdirat(target.dir_fd, "d", 0755), 0);
		assert_int_equal(sink_begin_file(sink, 0, 0), 0);
		write_piece(0, 4096);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		synced = sink_sync(sink);
		finished = sink_finish_file(sink);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_int_equal(synced, 0);
		assert_int_equal(finished, 0);
		assert_file(i == 1 ? "d/f.000" : "f.000", 4096);
	}
}

static void the_directory_the_files_lie_in_is_the_one_synced(void **state)
{
	(void)state;
	open_sink(20000, true, &disk.io);
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	assert_int_equal(sink_sync(sink), 0);
	assert_int_equal(disk.synced_inode, inode_of("."));
	open_sink_in("d/f.%03d", 20000, true, &disk.io);
	assert_int_equal(sink_begin_file(sink, 0, 0), -ENOENT);
	assert_non_null(strstr(sink_error(sink), "/d: "));
	assert_int_equal(mkdirat(target.dir_fd, "d", 0755), 0);
	for (uint64_t i = 0; i < 2; i++) {
		disk.synced_inode = 0;
		assert_int_equal(sink_begin_file(sink, i, 0), 0);
		write_piece(0, 4096);
		finish();
		assert_int_equal(disk.synced_inode, inode_of("d"));
	}
}

/* One sink writes files of both, in turn. */
static void each_copy_has_its_own_directory_synced(void **state)
{
	struct sink_config config = { .target = &target,
				      .name_template = "first/f.%03d",
				      .other_template = "second/f.%03d",
				      .file_bytes = 20000,
				      .is_part_first = true,
				      .io = &disk.io };

	(void)state;
	assert_int_equal(mkdirat(target.dir_fd, "first", 0755), 0);
	assert_int_equal(mkdirat(target.dir_fd, "second", 0755), 0);
	assert_int_equal(sink_open(&sink, &config), 0);
	current_io = &disk.io;
	for (uint64_t i = 0; i < 4; i++) {
		disk.synced_inode = 0;
		assert_int_equal(sink_begin_file(sink, i % 2 ? i | LAYOUT_SECOND : i, 0), 0);
		write_piece(0, 4096);
		finish();
		assert_int_equal(disk.synced_inode, inode_of(i % 2 ? "second" : "first"));
	}
}

/* The entry that lasts is the final one; one that nobody asked to be durable before that needs no sync of its own. */
static void a_file_costs_one_sync_of_its_directory(void **state)
{
	(void)state;
	for (uint64_t file_bytes = 0; file_bytes <= 20000; file_bytes += 20000) {
		renew_disk();
		open_sink(file_bytes, true, &disk.io);
		assert_int_equal(sink_begin_file(sink, file_bytes, 0), 0);
		write_piece(0, 4096);
		finish();
		assert_int_equal(disk.calls[FAKE_SYNC], 1);
		assert_int_equal(disk.calls[FAKE_SYNC_DIRECTORY], 1);
	}
	renew_disk();
	open_sink(20000, true, &disk.io);
	assert_int_equal(sink_begin_file(sink, 1, 0), 0);
	for (uint64_t i = 0; i < 3; i++) {
		write_piece(4096 * i, 4096);
		assert_int_equal(sink_sync(sink), 0);
	}
	assert_int_equal(disk.calls[FAKE_SYNC_DIRECTORY], 1);
	finish();
	assert_int_equal(disk.calls[FAKE_SYNC_DIRECTORY], 2); /* it has another name now */
}

/* ---- errors ---- */

static void a_file_too_large_is_an_error_and_no_signal(void **state)
{
	struct rlimit old, limit;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 8192;
	for (int is_direct = 0; is_direct < 2; is_direct++) {
		open_sink(16384, is_direct, NULL);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		assert_int_equal(sink_begin_file(sink, 0, 0), 0);
		write_piece(0, 8192);
		assert_int_equal(write_data(4096), -EFBIG);
		assert_non_null(strstr(sink_error(sink), "at offset 8192"));
		assert_int_equal(sink_file_bytes(sink), 8192);
		finish(); /* what fitted is kept */
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		assert_file("f.000", 8192);
		assert_int_equal(unlinkat(target.dir_fd, "f.000", 0), 0);
	}
}

static void a_full_disk_keeps_what_fitted(void **state)
{
	char error[TARGET_ERROR_LEN], path[128];

	(void)state;
	/* in a name space of its own: the mount goes with this process */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		print_message("mounting a small file system needs root\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/small", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(mount("none", path, "tmpfs", 0, "size=64k"), 0);
	target_close(&target);
	assert_int_equal(target_open(&target, path, error), 0);
	for (int is_direct = 0; is_direct < 2; is_direct++) {
		uint64_t done = 0;
		int ret;

		open_sink(is_direct ? 1 << 20 : 0, is_direct, NULL);
		assert_int_equal(sink_begin_file(sink, 0, 0),
				 0); /* preallocation can't have it all, and says nothing */
		for (ret = 0; ret == 0 && done < 1 << 20; done += ret == 0 ? 4096 : 0) {
			sim_fill(data, 4096, done, 1);
			ret = write_data(4096);
		}
		assert_int_equal(ret, -ENOSPC);
		assert_in_range(done, 8192, 65536);
		assert_int_equal(sink_file_bytes(sink), done);
		finish();
		assert_file("f.000", done);
		assert_int_equal(unlinkat(target.dir_fd, "f.000", 0), 0);
	}
	target_close(&target);
	assert_int_equal(umount(path), 0);
}

static void short_writes_and_interruptions_are_continued(void **state)
{
	static const size_t maxima[] = { 4096, 1000, 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(maxima) / sizeof(maxima[0]); i++) {
		for (int is_direct = 0; is_direct < 2; is_direct++) {
			open_sink(20000, is_direct, &disk.io);
			disk.write_max = maxima[i];
			disk.calls[FAKE_WRITE] = disk.calls[FAKE_SYNC] = 0;
			fake_disk_fail(&disk, FAKE_WRITE, 2, 3, i ? EINTR : EAGAIN);
			fake_disk_fail(&disk, FAKE_SYNC, 1, 2, EINTR);
			assert_int_equal(sink_begin_file(sink, 0, 0), 0);
			write_piece(0, 12288);
			write_piece(12288, 7000);
			finish();
			assert_file("f.000", 19288);
			assert_int_equal(unlinkat(target.dir_fd, "f.000", 0), 0);
		}
	}
}

static void a_disk_that_refuses_direct_writes_gets_buffered_ones(void **state)
{
	(void)state;
	open_sink(20000, true, &disk.io);
	fake_disk_fail(&disk, FAKE_OPEN, 1, 1, EINVAL);
	assert_string_equal(sink_io_name(sink), "direct");
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	assert_string_equal(sink_io_name(sink), "buffered");
	assert_non_null(strstr(sink_note(sink), "refuses direct"));
	write_piece(0, 5000);
	finish();
	assert_file("f.000", 5000);
	open_sink(20000, true, &disk.io); /* accepted at open, refused at the second write */
	disk.calls[FAKE_WRITE] = 0;
	fake_disk_fail(&disk, FAKE_WRITE, 2, 1, EINVAL);
	assert_int_equal(sink_begin_file(sink, 1, 0), 0);
	write_piece(0, 4096);
	write_piece(4096, 4096);
	assert_string_equal(sink_io_name(sink), "buffered");
	finish();
	assert_file("f.001", 8192);
}

static size_t prepared_bytes(size_t bytes)
{
	struct sink_piece piece;

	assert_int_equal(sink_prepare(sink, data, bytes, ROOM, 0, true, &piece), 0);
	assert_true(piece.is_direct);
	return piece.bytes;
}

static void a_tail_is_padded_as_the_file_system_wants_it(void **state)
{
	static const uint32_t told[] = { 1, 512, 4096 };

	(void)state;
	renew_disk();
	open_sink(20000, true, &disk.io);
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	assert_int_equal(prepared_bytes(5000), 8192); /* it doesn't tell */
	sink_abandon_file(sink);
	disk.tells_alignment = true;
	disk.alignment.memory_bytes = 4096;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		disk.alignment.offset_bytes = told[i];
		assert_int_equal(sink_begin_file(sink, 0, 0), 0);
		assert_int_equal(prepared_bytes(5000), (5000 + told[i] - 1) / told[i] * told[i]);
		sink_abandon_file(sink);
	}
	assert_string_equal(sink_note(sink), "");
}

static void where_more_alignment_is_wanted_than_ours_writes_are_buffered(void **state)
{
	static const struct {
		struct sink_alignment wanted;
		const char *says;
	} cases[] = {
		{ { 4096, 8192 }, "multiples of 8192 bytes in the file" },
		{ { 65536, 512 }, "65536 in memory" },
		{ { 512, 1536 }, "multiples of 1536 bytes" },
		{ { 0, 0 }, "has no direct I/O" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		renew_disk();
		disk.tells_alignment = true;
		disk.alignment = cases[i].wanted;
		open_sink(20000, true, &disk.io);
		assert_int_equal(sink_begin_file(sink, 0, 0), 0);
		assert_true(sink_is_buffered(sink));
		assert_string_equal(sink_io_name(sink), "buffered");
		assert_non_null(strstr(sink_note(sink), cases[i].says));
		write_piece(0, 5000);
		finish();
		assert_file("f.000", 5000);
		assert_int_equal(unlinkat(target.dir_fd, "f.000", 0), 0);
	}
}

static void a_disk_without_preallocation_works(void **state)
{
	(void)state;
	fake_disk_fail(&disk, FAKE_ALLOCATE, 1, 0, EOPNOTSUPP);
	open_sink(20000, true, &disk.io);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(sink_begin_file(sink, i, 0), 0);
		write_piece(0, 5000);
		finish();
	}
	assert_file("f.001", 5000);
	assert_int_equal(disk.calls[FAKE_ALLOCATE], 1); /* asked once */
}

/* ---- preallocation ---- */

static void a_file_larger_than_the_free_space_is_preallocated_in_steps(void **state)
{
	(void)state;
	disk.allocate_max = UINT64_C(256) << 20;
	open_sink(UINT64_C(1) << 30, true, &disk.io);
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	assert_int_equal(size_of("f.000.part"), 0); /* what the file system had got for it was given back */
	for (uint64_t i = 0; i < 4; i++)
		write_piece(4096 * i, 4096);
	assert_int_equal(size_of("f.000.part"), 256 << 20);
	assert_int_equal(disk.calls[FAKE_ALLOCATE], 2);
	finish();
	assert_file("f.000", 4 * 4096);
}

static void a_step_that_fails_is_the_last(void **state)
{
	(void)state;
	disk.allocate_max = UINT64_C(100) << 20;
	for (uint64_t i = 0; i < 2; i++) { /* asked again for the next file */
		disk.calls[FAKE_ALLOCATE] = 0;
		open_sink(i ? UINT64_C(1) << 30 : 0, true, &disk.io);
		assert_int_equal(sink_begin_file(sink, i, 0), 0);
		write_piece(0, 4096);
		write_piece(4096, 4096);
		assert_int_equal(disk.calls[FAKE_ALLOCATE], i + 1);
		assert_int_equal(size_of(i ? "f.001.part" : "f.000"), 8192);
		finish();
		assert_file(i ? "f.001" : "f.000", 8192);
	}
}

static void steps_end_where_the_file_will_end(void **state)
{
	(void)state;
	fake_disk_fail(&disk, FAKE_ALLOCATE, 1, 2, EINTR); /* the whole, and the first step */
	open_sink(20000, true, &disk.io);
	assert_int_equal(sink_begin_file(sink, 0, 4096), 0);
	write_piece(0, 4096);
	assert_int_equal(size_of("f.000@4096.part"), 4096);
	write_piece(4096, 4096);
	assert_int_equal(size_of("f.000@4096.part"), 16384);
	assert_int_equal(disk.calls[FAKE_ALLOCATE], 3);
	finish();
	assert_file("f.000@4096", 8192);
}

static void a_file_size_beyond_all_numbers_is_fine(void **state)
{
	static const uint64_t sizes[] = { INT64_MAX - 4096, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX };

	(void)state;
	/* the file system's own limit is below all of them */
	fake_disk_fail(&disk, FAKE_ALLOCATE, 1, 1, EFBIG);
	for (uint64_t i = 0; i < 4; i++) {
		char name[16];

		disk.calls[FAKE_ALLOCATE] = 0;
		open_sink(sizes[i], true, &disk.io);
		assert_int_equal(sink_begin_file(sink, i, 0), 0);
		write_piece(0, 4096);
		snprintf(name, sizeof(name), "f.%03d.part", (int)i);
		assert_int_equal(size_of(name), 256 << 20);
		finish();
	}
	disk.calls[FAKE_ALLOCATE] = 0; /* what is left of it from a base on */
	open_sink(UINT64_MAX, true, &disk.io);
	assert_int_equal(sink_begin_file(sink, 9, UINT64_MAX - 5000), 0);
	write_piece(0, 4096);
	assert_int_equal(sink_finish_file(sink), 0);
}

/* ---- a sync error is kept ---- */

static void a_failed_sync_is_never_repeated_into_a_success(void **state)
{
	(void)state;
	open_sink(20000, true, &disk.io);
	fake_disk_fail(&disk, FAKE_SYNC, 1, 1, EIO);
	assert_int_equal(sink_begin_file(sink, 0, 0), 0);
	write_piece(0, 4096);
	assert_int_equal(sink_sync(sink), -EIO);
	assert_non_null(strstr(sink_error(sink), "fdatasync"));
	assert_int_equal(sink_sync(sink), -EIO);
	assert_int_equal(sink_finish_file(sink), -EIO);
	assert_int_equal(disk.calls[FAKE_SYNC], 1);
	assert_int_equal(disk.calls[FAKE_RENAME], 0);
	assert_true(sink_is_file_open(sink)); /* unfinished: to be cut, left or abandoned */
	sink_leave_file(sink);
	assert_false(sink_is_file_open(sink));
	/* nothing is open any more, but it was not finished either */
	assert_int_equal(sink_finish_file(sink), -EIO);
	assert_int_equal(sink_sync(sink), -EIO);
	assert_non_null(strstr(sink_error(sink), "fdatasync"));
}

static void an_error_told_in_writing_back_is_a_failed_sync(void **state)
{
	static const int errors[] = { EIO, ENOSPC, EDQUOT };

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		open_sink_in("back.%03d", ROOM, false, NULL);
		assert_int_equal(sink_begin_file(sink, i, 0), 0);
		write_piece(0, ROOM);
		range_error = errors[i];
		sink_write_back(sink, 0, ROOM);
		assert_int_equal(sink_sync(sink), -errors[i]);
		assert_non_null(strstr(sink_error(sink), "not safely on disk"));
		assert_int_equal(sink_finish_file(sink), -errors[i]);
	}
}

static void whatever_fails_in_finishing_is_kept(void **state)
{
	static const enum fake_call calls[] = { FAKE_CUT, FAKE_SYNC, FAKE_RENAME, FAKE_SYNC_DIRECTORY };

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		renew_disk();
		fake_disk_fail(&disk, calls[i], 1, 1, EIO);
		open_sink(20000, true, &disk.io);
		assert_int_equal(sink_begin_file(sink, i, 0), 0);
		write_piece(0, 4096);
		assert_int_equal(sink_finish_file(sink), -EIO);
		assert_non_null(strstr(sink_error(sink), strerror(EIO)));
		assert_int_equal(sink_sync(sink), -EIO);
		assert_int_equal(sink_finish_file(sink), -EIO);
		assert_int_equal(disk.calls[FAKE_SYNC], calls[i] == FAKE_CUT ? 0 : 1);
	}
}

static void a_file_has_its_true_size_also_after_a_failed_sync(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 2; i++) {
		const char *name = i ? "f.001" : "f.000";

		renew_disk();
		disk.is_forgetful = false;
		fake_disk_fail(&disk, FAKE_SYNC, 1, 0, EIO);
		open_sink(0, true, &disk.io);
		assert_int_equal(sink_begin_file(sink, i, 0), 0);
		write_piece(0, 5000);
		assert_int_equal(size_of(name), 256 << 20);
		assert_int_equal(sink_sync(sink), -EIO);
		if (i) /* not even finished */
			sink_leave_file(sink);
		else
			assert_int_equal(sink_finish_file(sink), -EIO);
		assert_file(name, 5000);
	}
}

/* ---- no files ---- */

static void null_has_no_files_and_stdout_is_a_stream(void **state)
{
	struct sink_config config = { .target = &(struct target){ .kind = TARGET_NULL, .dir_fd = -1 } };
	int kept = dup(STDOUT_FILENO), pipes[2];
	unsigned char found[8192];
	ssize_t written;

	(void)state;
	assert_int_equal(sink_open(&sink, &config), 0);
	assert_false(sink_has_files(sink));
	assert_string_equal(sink_io_name(sink), "none");
	assert_int_equal(sink_sync(sink), 0);
	assert_int_equal(sink_finish_file(sink), 0);
	sink_close(sink);
	config.target = &(struct target){ .kind = TARGET_STDOUT, .dir_fd = -1 };
	assert_int_equal(sink_open(&sink, &config), 0);
	assert_string_equal(sink_io_name(sink), "stream");
	assert_int_equal(pipe(pipes), 0);
	sim_fill(data, 8000, 0, 1);
	fflush(stdout);
	signal(SIGPIPE, SIG_IGN);
	dup2(pipes[1], STDOUT_FILENO);
	close(pipes[1]);
	written = sink_write_stream(data, 8000);
	dup2(kept, STDOUT_FILENO);
	assert_int_equal(written, 8000);
	assert_int_equal(read(pipes[0], found, sizeof(found)), 8000);
	assert_int_equal(sim_verify(found, 8000, 0, 1), 8000);
	close(pipes[0]);
	assert_int_equal(pipe(pipes), 0);
	close(pipes[0]); /* nobody reads */
	dup2(pipes[1], STDOUT_FILENO);
	written = sink_write_stream(data, 8000);
	dup2(kept, STDOUT_FILENO);
	assert_int_equal(written, -EPIPE);
	close(pipes[1]);
	close(kept);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_tail_of_any_length_is_written_exactly),
		TEST(pieces_of_any_length_follow_one_another),
		TEST(an_endless_file_grows_ahead_and_is_trimmed),
		TEST(a_short_file_is_cut_to_its_bytes),
		TEST(a_file_has_its_name_only_when_it_is_whole),
		TEST(an_existing_file_is_never_overwritten),
		TEST(a_dangling_link_is_not_followed),
		TEST(what_was_cut_is_gone_and_writing_goes_on_there),
		TEST(an_abandoned_file_is_gone_and_a_left_one_stays_as_it_is),
		TEST(a_file_that_fails_in_finishing_can_be_abandoned),
		TEST(a_file_in_the_way_survives_when_ours_is_abandoned),
		TEST(a_file_that_fails_in_finishing_can_be_cut),
		TEST(a_process_out_of_descriptors_still_syncs_and_finishes),
		TEST(the_directory_the_files_lie_in_is_the_one_synced),
		TEST(each_copy_has_its_own_directory_synced),
		TEST(a_file_costs_one_sync_of_its_directory),
		TEST(a_file_too_large_is_an_error_and_no_signal),
		TEST(short_writes_and_interruptions_are_continued),
		TEST(a_disk_that_refuses_direct_writes_gets_buffered_ones),
		TEST(a_tail_is_padded_as_the_file_system_wants_it),
		TEST(where_more_alignment_is_wanted_than_ours_writes_are_buffered),
		TEST(a_disk_without_preallocation_works),
		TEST(a_file_larger_than_the_free_space_is_preallocated_in_steps),
		TEST(a_step_that_fails_is_the_last),
		TEST(steps_end_where_the_file_will_end),
		TEST(a_file_size_beyond_all_numbers_is_fine),
		TEST(a_failed_sync_is_never_repeated_into_a_success),
		TEST(an_error_told_in_writing_back_is_a_failed_sync),
		TEST(whatever_fails_in_finishing_is_kept),
		TEST(a_file_has_its_true_size_also_after_a_failed_sync),
		TEST(null_has_no_files_and_stdout_is_a_stream),
		TEST(a_head_stands_in_front_and_is_not_counted),
		TEST(what_is_cut_left_or_taken_back_keeps_its_head),
		TEST(what_goes_on_with_a_file_and_parity_have_no_head),
		TEST(a_head_that_can_not_be_completed_costs_no_data),
		TEST(a_full_disk_keeps_what_fitted), /* last: it leaves the common name space */
	};

	return cmocka_run_group_tests_name("sink", tests, NULL, NULL);
}
