/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/scratch.h"
#include "tools/qualify/scratch.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static char folder[64];
static int dir_fd;

static int setup(void **state)
{
	int ret = scratch_make(folder, sizeof(folder), NULL);

	(void)state;
	dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret < 0 || dir_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	close(dir_fd);
	return scratch_remove(folder);
}

static unsigned count_names(void)
{
	DIR *dir = opendir(folder);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2; /* . and .. */
}

/* Written, preallocated and read again, and nowhere to be found. Return: 0; else which step failed. */
static int use(int fd)
{
	char data[4096] = "scratch", found[4096];
	struct stat st;

	if (fd < 0)
		return 10;
	if (fstat(fd, &st) < 0 || st.st_nlink != 0)
		return 11;
	if ((st.st_mode & 0777) != 0600 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		return 12;
	if (pwrite(fd, data, sizeof(data), MIB) != sizeof(data) ||
	    pread(fd, found, sizeof(found), MIB) != sizeof(found) ||
	    memcmp(data, found, sizeof(data)) != 0)
		return 13;
	return ftruncate(fd, 8 * MIB) < 0 ? 14 : 0;
}

static void a_file_has_no_name(void **state)
{
	int fd = scratch_open(dir_fd, 0);

	(void)state;
	assert_int_equal(use(fd), 0);
	assert_int_equal(count_names(), 0);
	close(fd);
	assert_int_equal(scratch_open(-1, 0), -EBADF);
}

static void nothing_is_left_of_who_is_killed(void **state)
{
	int pipes[2], status;
	char ready = 0;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		ready = use(scratch_open(dir_fd, 0)) == 0;
		if (write(pipes[1], &ready, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(pipes[0], &ready, 1), 1);
	assert_true(ready);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(count_names(), 0);
	close(pipes[0]);
	close(pipes[1]);
}

/* From now on this process's kernel refuses nameless files, as many file systems do. */
static int refuse_nameless_files(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return -1;
	return openat(dir_fd, ".", O_TMPFILE | O_RDWR, 0600) < 0 && errno == EOPNOTSUPP ? 0 : -1;
}

static void without_nameless_files_the_name_is_gone_at_once(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		if (refuse_nameless_files() < 0)
			_exit(77);
		status = use(scratch_open(dir_fd, 0));
		_exit(status ? status : count_names() == 0 ? 0 : 15);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("system calls can't be filtered here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_others_need_stays_free(void **state)
{
	char error[TARGET_ERROR_LEN];
	struct target target;
	uint64_t room;

	(void)state;
	assert_int_equal(scratch_reserve_bytes(0), 0);
	assert_int_equal(scratch_reserve_bytes(100 * MIB), 2 * MIB);
	assert_int_equal(scratch_reserve_bytes(50 * GIB), GIB);
	assert_int_equal(scratch_reserve_bytes(UINT64_MAX), GIB);
	assert_int_equal(target_open(&target, folder, error), 0);
	room = scratch_room_bytes(&target, 0);
	assert_true(room + scratch_reserve_bytes(target.total_bytes) <= target.total_bytes);
	assert_true(scratch_room_bytes(&target, 4096) <= 4096);
	target_close(&target);
}

static void no_file_is_longer_than_it_may_be(void **state)
{
	struct rlimit limit, ours;
	struct target target = { .fs = "ext4" };

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	ours = (struct rlimit){ .rlim_cur = 5 * MIB + 5, .rlim_max = limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &ours), 0);
	assert_int_equal(scratch_file_most(&target), 5 * MIB);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	snprintf(target.fs, sizeof(target.fs), "vfat");
	assert_int_equal(scratch_file_most(&target),
			 limit.rlim_cur < 4 * GIB ? limit.rlim_cur : 4 * GIB - MIB);
	target.kind = TARGET_DEVICE;
	assert_true(scratch_file_most(&target) == UINT64_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_has_no_name),
		TEST(nothing_is_left_of_who_is_killed),
		TEST(without_nameless_files_the_name_is_gone_at_once),
		TEST(what_others_need_stays_free),
		TEST(no_file_is_longer_than_it_may_be),
	};

	return cmocka_run_group_tests_name("scratch", tests, NULL, NULL);
}
