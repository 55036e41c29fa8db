/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/target.h"
#include "tests/scratch.h"

static char folder[64];
static char error[TARGET_ERROR_LEN];

static int setup(void **state)
{
	(void)state;
	return scratch_make(folder, sizeof(folder), NULL);
}

static int teardown(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

static const char *below(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_directory(const char *name)
{
	assert_int_equal(mkdir(below(name), 0755), 0);
}

static void a_directory_is_opened_and_described(void **state)
{
	struct target target;
	char slashes[80];

	(void)state;
	snprintf(slashes, sizeof(slashes), "%s///", folder);
	assert_int_equal(target_open(&target, slashes, error), 0);
	assert_string_equal(target.path, folder);
	assert_int_equal(target.kind, TARGET_DIRECTORY);
	assert_true(target.dir_fd >= 0);
	assert_true(target.total_bytes > 0 && target.free_bytes <= target.total_bytes);
	assert_true(target.fs[0]);
	assert_true(fcntl(target.dir_fd, F_GETFD) & FD_CLOEXEC);
	target_close(&target);
	assert_int_equal(target.dir_fd, -1);
	target_close(&target);
}

static void what_cannot_be_recorded_to_is_refused_with_the_reason(void **state)
{
	char path[5000];
	const struct {
		const char *text;
		int ret;
		const char *word;
	} cases[] = {
		{ "", -ENOENT, "empty" },
		{ "/nonexistent/x", -ENOENT, "mounted?" },
		{ "/dev/null", -ENOTDIR, "not a directory" },
		{ path, -ENAMETOOLONG, "too long" },
	};

	(void)state;
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct target target;

		error[0] = '\0';
		assert_int_equal(target_open(&target, cases[i].text, error), cases[i].ret);
		if (!strstr(error, cases[i].word))
			fail_msg("%s", error);
		target_close(&target);
	}
}

static void a_block_device_is_refused(void **state)
{
	struct target target;
	const char *path = below("disk");

	(void)state;
	if (mknod(path, S_IFBLK | 0600, makedev(7, 250)) < 0) {
		print_message("making a device node needs root\n");
		skip();
	}
	assert_int_equal(target_open(&target, path, error), -ENOTBLK);
	assert_non_null(strstr(error, "block device"));
}

static void a_directory_without_the_right_to_write_is_refused(void **state)
{
	struct target target;
	int ret;

	(void)state;
	if (geteuid() == 0) { /* root may write anywhere: become somebody for a moment */
		assert_int_equal(chmod(folder, 0755), 0);
		assert_int_equal(seteuid(65534), 0);
	} else {
		assert_int_equal(chmod(folder, 0555), 0);
	}
	ret = target_open(&target, folder, error);
	if (geteuid() == 65534)
		assert_int_equal(seteuid(0), 0);
	chmod(folder, 0755);
	assert_int_equal(ret, -EACCES);
	assert_non_null(strstr(error, folder));
}

static void the_kinds_without_files_are_known_by_name(void **state)
{
	struct target null, out;
	uint64_t free_bytes = 1, total_bytes = 2;

	(void)state;
	assert_int_equal(target_open(&null, "null:", error), 0);
	assert_int_equal(null.kind, TARGET_NULL);
	assert_int_equal(target_open(&out, "-", error), 0);
	assert_int_equal(out.kind, TARGET_STDOUT);
	assert_int_equal(target_room(&out, &free_bytes, &total_bytes), 0);
	assert_int_equal(free_bytes, 1);
	target_close(&null);
	target_close(&out);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* closing them closed nothing */
}

static void they_stand_alone(void **state)
{
	struct target targets[2];

	(void)state;
	assert_int_equal(target_open(&targets[0], folder, error), 0);
	assert_int_equal(target_open(&targets[1], "null:", error), 0);
	assert_int_equal(target_check_all(targets, 2, true, error), -EINVAL);
	assert_int_equal(target_check_all(&targets[1], 1, false, error), 0);
	assert_int_equal(target_open(&targets[1], "-", error), 0);
	assert_int_equal(target_check_all(targets, 2, true, error), -EINVAL);
	assert_non_null(strstr(error, "only target"));
	target_close(&targets[0]);
}

static void one_directory_twice_is_refused_by_whatever_name(void **state)
{
	struct target targets[3];
	char path[80];

	(void)state;
	make_directory("a");
	make_directory("b");
	snprintf(path, sizeof(path), "%.40s/b/../link", folder);
	assert_int_equal(symlink("a", below("link")), 0);
	assert_int_equal(target_open(&targets[0], below("a"), error), 0);
	assert_int_equal(target_open(&targets[1], below("b"), error), 0);
	assert_int_equal(target_open(&targets[2], path, error), 0);
	assert_int_equal(target_check_all(targets, 2, true, error), 0);
	assert_int_equal(target_check_all(targets, 3, true, error), -EEXIST);
	assert_non_null(strstr(error, "same directory"));
	for (unsigned i = 0; i < 3; i++)
		target_close(&targets[i]);
}

/* Whatever others write while the directories are opened one after the other. */
static void directories_on_one_file_system_have_the_same_room(void **state)
{
	struct target others[2] = { { .fs_device = 10, .free_bytes = 1000 },
				    { .fs_device = 11, .free_bytes = 500 } };
	struct target target = { .fs_device = 10, .free_bytes = 996 };

	(void)state;
	target_share_room(&target, others, 2);
	assert_int_equal(target.free_bytes, 1000);
	target.fs_device = 12;
	target.free_bytes = 7;
	target_share_room(&target, others, 2);
	assert_int_equal(target.free_bytes, 7);
}

/* The rules alone, without the machine's disks. */
static void devices_that_are_shared_are_refused_unless_allowed(void **state)
{
	struct target a = {
		.kind = TARGET_DIRECTORY, .path = "/a", .fs_device = 10, .disk_device = 80, .dir_fd = -1
	};
	struct target b = {
		.kind = TARGET_DIRECTORY, .path = "/b", .fs_device = 11, .disk_device = 81, .dir_fd = -1
	};
	struct target targets[2] = { a, b };

	(void)state;
	assert_int_equal(target_check_all(targets, 2, false, error), 0);
	targets[1].fs_device = 10; /* one file system */
	assert_int_equal(target_check_all(targets, 2, false, error), -EXDEV);
	assert_non_null(strstr(error, "--allow-same-device"));
	assert_int_equal(target_check_all(targets, 2, true, error), 0);
	targets[1] = b;
	targets[1].disk_device = 80; /* two partitions of one disk */
	assert_int_equal(target_check_all(targets, 2, false, error), -EXDEV);
	targets[0].disk_device = targets[1].disk_device = 0; /* neither known: not taken for the same */
	assert_int_equal(target_check_all(targets, 2, false, error), 0);
	targets[0] = a;
	targets[0].is_root_fs = true;
	assert_int_equal(target_check_all(targets, 1, false, error), -EXDEV);
	assert_non_null(strstr(error, "root file system"));
	assert_int_equal(target_check_all(targets, 1, true, error), 0);
}

static void the_root_file_system_is_known(void **state)
{
	struct target target;
	struct stat root, here;

	(void)state;
	assert_int_equal(stat("/", &root), 0);
	assert_int_equal(stat(folder, &here), 0);
	assert_int_equal(target_open(&target, folder, error), 0);
	assert_int_equal(target.is_root_fs, root.st_dev == here.st_dev);
	target_close(&target);
}

static void a_read_only_file_system_is_refused_and_room_is_told(void **state)
{
	struct target target;
	uint64_t free_bytes, total_bytes;

	(void)state;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		print_message("mounting a small file system needs root\n");
		skip();
	}
	assert_int_equal(mount("none", folder, "tmpfs", 0, "size=1m"), 0);
	assert_int_equal(target_open(&target, folder, error), 0);
	assert_int_equal(target.total_bytes, 1 << 20);
	assert_string_equal(target.fs, "tmpfs");
	assert_false(target.is_root_fs);
	assert_int_equal(target.disk_device, 0);
	assert_int_equal(close(openat(target.dir_fd, "x", O_WRONLY | O_CREAT, 0644)), 0);
	assert_int_equal(truncate(below("x"), 0), 0);
	assert_int_equal(target_room(&target, &free_bytes, &total_bytes), 0);
	assert_int_equal(total_bytes, 1 << 20);
	assert_true(free_bytes <= total_bytes && free_bytes > 0);
	target_close(&target);
	assert_int_equal(mount("none", folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	assert_int_equal(target_open(&target, folder, error), -EROFS);
	assert_int_equal(umount(folder), 0);
}

static void a_copy_outlives_the_first(void **state)
{
	struct target first, copy;
	uint64_t free_bytes, total_bytes = 0;

	(void)state;
	assert_int_equal(target_open(&first, folder, error), 0);
	assert_int_equal(target_copy(&copy, &first, error), 0);
	assert_int_not_equal(copy.dir_fd, first.dir_fd);
	target_close(&first);
	assert_int_equal(target_room(&copy, &free_bytes, &total_bytes), 0);
	assert_int_equal(total_bytes, copy.total_bytes);
	assert_int_equal(
		target_copy(&first, &(struct target){ .kind = TARGET_DIRECTORY, .dir_fd = -1 }, error),
		-EBADF);
	target_close(&copy);
}

/* The device itself is tried in test_run. */
static void what_is_no_block_device_is_not_adopted(void **state)
{
	struct target target;
	int fd;

	(void)state;
	fd = open(below("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(target_adopt_device(&target, below("file"), fd, error), -ENOTBLK);
	assert_non_null(strstr(error, "file"));
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* it was the target's */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_directory_is_opened_and_described),
		TEST(what_cannot_be_recorded_to_is_refused_with_the_reason),
		TEST(a_block_device_is_refused),
		TEST(a_copy_outlives_the_first),
		TEST(what_is_no_block_device_is_not_adopted),
		TEST(a_directory_without_the_right_to_write_is_refused),
		TEST(the_kinds_without_files_are_known_by_name),
		TEST(they_stand_alone),
		TEST(one_directory_twice_is_refused_by_whatever_name),
		TEST(directories_on_one_file_system_have_the_same_room),
		TEST(devices_that_are_shared_are_refused_unless_allowed),
		TEST(the_root_file_system_is_known),
		TEST(a_read_only_file_system_is_refused_and_room_is_told), /* last: it leaves the common name space */
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
