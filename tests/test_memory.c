/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What root may change for these tests (reserved huge pages, cgroups) is put back by a helper process that sees this one
 * end, however it ends.
 *
 * alone: yes
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <numa.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ringbuf/memory.h"

#define MIB ((size_t)1 << 20)
#define HUGE_POOL "/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define HUGE_WANTED 8
#define NOBODY 65534

static const struct memory_config anything = { .bytes = 5 * MIB, .numa_node = MEMORY_ANY_NODE };

/* ---- small helpers ---- */

static bool read_text(const char *path, char *text, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, len - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got >= 0;
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t put = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return put == (ssize_t)strlen(text);
}

static long read_count(const char *path)
{
	char text[64];

	return read_text(path, text, sizeof(text)) ? atol(text) : -1;
}

static size_t free_huge_pages(void)
{
	long count = read_count(HUGE_POOL "free_hugepages");

	return count > 0 ? (size_t)count : 0;
}

/* A number behind a key in a file of /proc, such as VmLck. */
static long proc_number(const char *path, const char *key)
{
	char line[256];
	long number = -1;
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			number = atol(line + strlen(key) + 1);
	if (f)
		fclose(f);
	return number;
}

/* The kernel's page size of the range that holds @address. */
static long kernel_page_kib(const void *address)
{
	unsigned long from, to, at = (unsigned long)(uintptr_t)address;
	bool is_it = false;
	char line[512];
	long kib = -1;
	FILE *f = fopen("/proc/self/smaps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			is_it = from <= at && at < to;
		else if (is_it)
			sscanf(line, "KernelPageSize: %ld", &kib);
	}
	if (f)
		fclose(f);
	return kib;
}

static bool is_all_there(const struct memory *memory)
{
	size_t count = memory->bytes / 4096;
	unsigned char *pages = malloc(count);
	bool is_there = pages && mincore(memory->base, memory->bytes, pages) == 0;

	for (size_t i = 0; is_there && i < count; i++)
		is_there = pages[i] & 1;
	free(pages);
	return is_there;
}

static void assert_usable(const struct memory *memory, size_t wanted)
{
	char *base = memory->base;

	assert_non_null(base);
	assert_true(memory->bytes >= wanted);
	assert_int_equal((uintptr_t)base % 4096, 0);
	assert_true(is_all_there(memory));
	base[0] = base[memory->bytes - 1] = 1;
	assert_string_equal(memory->error, "");
}

static void assert_says(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("\"%s\" doesn't say \"%s\"", text, what);
}

/* The sanitizers' libraries take mlock() away and say that it worked. */
static void skip_without_lock(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("skipped: no mlock() under this sanitizer\n");
	skip();
#endif
}

/* ---- a child that is limited, and what came of it ---- */

struct outcome {
	const char *skipped; /* why it could not be tried */
	int allowed, refused, mapped;
	bool is_all_there;
	struct memory memory;
	char error[MEMORY_TEXT_LEN]; /* of memory_allow() */
};

static struct outcome *outcome;

static void in_child(void (*what)(void))
{
	int status;
	pid_t pid;

	memset(outcome, 0, sizeof(*outcome));
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("killed by signal %d", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	if (outcome->skipped) {
		print_message("skipped: %s\n", outcome->skipped);
		skip();
	}
}

static void map_in_child(const struct memory_config *config)
{
	outcome->mapped = memory_map(&outcome->memory, config);
	outcome->is_all_there = outcome->mapped == 0 && is_all_there(&outcome->memory);
}

/* ---- putting back ---- */

/* Shared with the helper that puts back. */
static struct {
	long huge_before; /* -1 = not changed */
	bool has_enabled_hugetlb;
	char unified[64];    /* where cgroup version 2 is mounted */
	char groups[2][128]; /* "" = not made */
} * changed;
static int life_line[2];
static pid_t helper;

static void put_back(void)
{
	char path[256], number[32];

	for (int i = 0; i < 2; i++)
		for (int patience = 0; changed->groups[i][0] && patience < 100; patience++) {
			if (rmdir(changed->groups[i]) == 0 || errno != EBUSY)
				break;
			usleep(10000); /* the child that was in there is on its way out */
		}
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", changed->unified);
	if (changed->has_enabled_hugetlb)
		write_text(path, "-hugetlb");
	snprintf(number, sizeof(number), "%ld", changed->huge_before);
	if (changed->huge_before >= 0)
		write_text(HUGE_POOL "nr_hugepages", number);
}

static void *share(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int start(void **state)
{
	char byte;

	(void)state;
	outcome = share(sizeof(*outcome));
	changed = share(sizeof(*changed));
	if (!outcome || !changed || pipe2(life_line, O_CLOEXEC) < 0)
		return -1;
	changed->huge_before = -1;
	fflush(NULL);
	helper = fork();
	if (helper == 0) {
		setsid(); /* what stops the test must not stop this */
		close(life_line[1]);
		while (read(life_line[0], &byte, 1) < 0 && errno == EINTR)
			;
		put_back();
		_exit(0);
	}
	close(life_line[0]);
	return helper < 0 ? -1 : 0;
}

static int stop(void **state)
{
	long before = changed->huge_before;
	int status;

	(void)state;
	close(life_line[1]);
	waitpid(helper, &status, 0);
	if (before >= 0 && read_count(HUGE_POOL "nr_hugepages") != before)
		return -1;
	return 0;
}

/* Return: NULL, or why there are none. */
static const char *reserve_huge_pages(void)
{
	long before = read_count(HUGE_POOL "nr_hugepages");
	char number[32];

	if (before < 0)
		return "this kernel has no reserved huge pages of 2 MiB";
	if (free_huge_pages() >= HUGE_WANTED)
		return NULL;
	if (geteuid() != 0)
		return "reserving huge pages takes root";
	changed->huge_before = before;
	snprintf(number, sizeof(number), "%ld", before + HUGE_WANTED);
	write_text(HUGE_POOL "nr_hugepages", number);
	if (free_huge_pages() < HUGE_WANTED)
		return "the kernel reserves no huge pages now";
	return NULL;
}

static void unreserve_huge_pages(void)
{
	char number[32];

	snprintf(number, sizeof(number), "%ld", changed->huge_before);
	if (changed->huge_before >= 0)
		write_text(HUGE_POOL "nr_hugepages", number);
}

/* ---- tests ---- */

static void impossible_sizes_are_refused(void **state)
{
	struct memory memory;
	struct memory_config config = anything;

	(void)state;
	config.bytes = 0;
	assert_int_equal(memory_map(&memory, &config), -EINVAL);
	assert_says(memory.error, "impossible ring size 0");
	assert_null(memory.base);
	config.bytes = SIZE_MAX - 1;
	assert_int_equal(memory_map(&memory, &config), -EINVAL);
	assert_says(memory.error, "impossible ring size 18446744073709551614");
	memory_unmap(&memory);
	memset(&memory, 0, sizeof(memory));
	memory_unmap(&memory);
}

static void more_than_the_machine_has_is_refused_with_numbers(void **state)
{
	struct memory_config config = anything;
	struct memory memory = { 0 };
	char wanted[64];

	(void)state;
	config.bytes = (size_t)proc_number("/proc/meminfo", "MemTotal") * 1024;
	assert_int_equal(memory_allow(&memory, &config), -ENOMEM);
	snprintf(wanted, sizeof(wanted), "a ring of %zu MiB doesn't fit", config.bytes / MIB);
	assert_says(memory.error, wanted);
	assert_says(memory.error, "the largest ring here is");
	config.bytes = 16 * MIB;
	assert_int_equal(memory_allow(&memory, &config), 0);
}

static void more_than_there_are_addresses_is_an_error_not_a_crash(void **state)
{
	struct memory_config config = anything;
	struct memory memory;

	(void)state;
	config.bytes = SIZE_MAX / 4;
	assert_int_equal(memory_map(&memory, &config), -ENOMEM);
	assert_says(memory.error, "can't map");
	assert_null(memory.base);
}

static void plain_memory_is_whole_touched_and_named_as_it_is(void **state)
{
	char thp[64] = "";
	struct memory memory;

	(void)state;
	read_text("/sys/kernel/mm/transparent_hugepage/enabled", thp, sizeof(thp));
	assert_int_equal(memory_map(&memory, &anything), 0);
	assert_usable(&memory, anything.bytes);
	assert_int_equal(kernel_page_kib(memory.base), 4);
	if (!strstr(thp, "[always]"))
		assert_int_equal(memory.pages, MEMORY_PAGES_4K);
	assert_string_equal(memory.note, "");
	assert_false(memory.is_locked);
	memory_unmap(&memory);
	assert_null(memory.base);
	assert_string_equal(memory_pages_name(MEMORY_PAGES_2M), "2M");
	assert_string_equal(memory_pages_name(MEMORY_PAGES_THP), "thp");
	assert_string_equal(memory_pages_name(MEMORY_PAGES_4K), "4k");
}

static void without_reserved_pages_it_is_thp_or_a_note_with_numbers(void **state)
{
	struct memory_config config = anything;
	char thp[64] = "";
	struct memory memory;

	(void)state;
	config.use_huge_pages = true;
	config.bytes = (free_huge_pages() * 2 + 16) * MIB;
	if (config.bytes > 1024 * MIB)
		skip();
	read_text("/sys/kernel/mm/transparent_hugepage/enabled", thp, sizeof(thp));
	assert_int_equal(memory_map(&memory, &config), 0);
	assert_usable(&memory, config.bytes);
	assert_int_not_equal(memory.pages, MEMORY_PAGES_2M);
	if (memory.pages == MEMORY_PAGES_THP) {
		assert_null(strstr(thp, "[never]"));
		assert_string_equal(memory.note, "");
	} else {
		assert_says(memory.note, "no reserved huge pages: ");
		assert_says(memory.note, " of 2 MiB wanted, ");
	}
	memory_unmap(&memory);
}

static void required_huge_pages_that_are_missing_are_an_error(void **state)
{
	struct memory_config config = anything;
	struct memory memory;
	char numbers[64];

	(void)state;
	config.require_huge_pages = true;
	config.bytes = (free_huge_pages() + 3) * 2 * MIB;
	assert_int_equal(memory_map(&memory, &config), -ENOMEM);
	snprintf(numbers, sizeof(numbers), "%zu of 2 MiB wanted, %zu free",
		 config.bytes / (2 * MIB), free_huge_pages());
	assert_says(memory.error, "huge pages are required");
	assert_says(memory.error, numbers);
	assert_null(memory.base);
}

static void reserved_huge_pages_are_used_and_given_back(void **state)
{
	struct memory_config config = anything;
	const char *reason = reserve_huge_pages();
	struct memory memory;
	size_t free_before;

	(void)state;
	if (reason) {
		print_message("skipped: %s\n", reason);
		unreserve_huge_pages();
		skip();
	}
	free_before = free_huge_pages();
	config.require_huge_pages = true;
	config.numa_node = 0;
	assert_int_equal(memory_allow(&memory, &config), 0);
	assert_int_equal(memory_map(&memory, &config), 0);
	assert_usable(&memory, config.bytes);
	assert_int_equal(memory.pages, MEMORY_PAGES_2M);
	assert_int_equal(memory.bytes, 6 * MIB);
	assert_int_equal(kernel_page_kib(memory.base), 2048);
	assert_int_equal(memory.numa_node, numa_available() < 0 ? MEMORY_ANY_NODE : 0);
	assert_string_equal(memory.note, "");
	assert_int_equal(free_huge_pages(), free_before - 3);
	memory_unmap(&memory);
	assert_int_equal(free_huge_pages(), free_before);
	unreserve_huge_pages();
}

static void a_lock_is_the_kernels_lock(void **state)
{
	struct memory_config config = anything;
	long before_kib = proc_number("/proc/self/status", "VmLck:");
	struct memory memory;

	(void)state;
	skip_without_lock();
	config.bytes = 2 * MIB; /* below the usual limit of 8 MiB */
	config.use_lock = true;
	assert_int_equal(memory_map(&memory, &config), 0);
	assert_usable(&memory, config.bytes);
	if (memory.is_locked) {
		assert_int_equal(proc_number("/proc/self/status", "VmLck:"), before_kib + 2048);
		assert_string_equal(memory.note, "");
	} else {
		assert_says(memory.note, "not locked in memory");
	}
	memory_unmap(&memory);
}

static void lock_with_little_allowed(void)
{
	const struct rlimit little = { 65536, 65536 };
	struct memory_config config = anything;

	config.use_lock = true;
	if (setrlimit(RLIMIT_MEMLOCK, &little) < 0)
		outcome->skipped = "can't lower RLIMIT_MEMLOCK";
	else if (geteuid() == 0 &&
		 (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
		outcome->skipped = "can't stop being root";
	else
		map_in_child(&config);
}

static void a_refused_lock_is_noted_and_the_memory_stays(void **state)
{
	(void)state;
	skip_without_lock();
	in_child(lock_with_little_allowed);
	assert_int_equal(outcome->mapped, 0);
	assert_true(outcome->is_all_there);
	assert_false(outcome->memory.is_locked);
	assert_says(outcome->memory.note, "not locked in memory: ");
	assert_says(outcome->memory.note, "RLIMIT_MEMLOCK");
}

static void the_node_is_the_one_the_kernel_names(void **state)
{
	struct memory_config config = anything;
	struct memory memory;

	(void)state;
	if (numa_available() < 0) {
		print_message("skipped: this kernel has no NUMA calls\n");
		skip();
	}
	config.numa_node = 0;
	assert_int_equal(memory_map(&memory, &config), 0);
	assert_usable(&memory, config.bytes);
	assert_int_equal(memory.numa_node, 0);
	assert_string_equal(memory.note, "");
	memory_unmap(&memory);
}

static void a_node_that_is_not_there_is_noted(void **state)
{
	struct memory_config config = anything;
	struct memory memory;

	(void)state;
	if (numa_available() >= 0 && numa_max_node() >= 7) {
		print_message("skipped: this machine has a node 7\n");
		skip();
	}
	config.numa_node = 7;
	assert_int_equal(memory_map(&memory, &config), 0);
	assert_usable(&memory, config.bytes);
	assert_int_not_equal(memory.numa_node, 7);
	assert_says(memory.note, "wanted NUMA node 7");
	memory_unmap(&memory);
	assert_int_equal(memory_device_node(4095, 1048575), MEMORY_ANY_NODE);
}

/* ---- what containers refuse ---- */

#define REFUSE(number, error)                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

static bool filter_calls(struct sock_filter *filter, unsigned short count)
{
	struct sock_fprog program = { .len = count, .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return true;
	outcome->skipped = "this kernel has no seccomp filters";
	return false;
}

static void map_without_numa_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(SYS_mbind, EPERM),
		REFUSE(SYS_get_mempolicy, EPERM),
		REFUSE(SYS_set_mempolicy, EPERM),
		REFUSE(SYS_move_pages, EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct memory_config config = anything;

	config.numa_node = 0;
	if (filter_calls(filter, sizeof(filter) / sizeof(filter[0])))
		map_in_child(&config);
}

static void refused_numa_calls_are_noted(void **state)
{
	(void)state;
	in_child(map_without_numa_calls);
	assert_int_equal(outcome->mapped, 0);
	assert_true(outcome->is_all_there);
	assert_int_equal(outcome->memory.numa_node, MEMORY_ANY_NODE);
	assert_says(outcome->memory.note, "NUMA node 0");
	assert_null(strstr(outcome->memory.note, "on -1"));
}

static void map_without_populate(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		REFUSE(MADV_POPULATE_WRITE, EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	if (filter_calls(filter, sizeof(filter) / sizeof(filter[0])))
		map_in_child(&anything);
}

static void a_kernel_that_does_not_populate_is_touched_by_hand(void **state)
{
	(void)state;
	in_child(map_without_populate);
	assert_int_equal(outcome->mapped, 0);
	assert_true(outcome->is_all_there);
}

/* What a machine without /proc and /sys is like, for a program that opens files by openat() alone. */
static void ask_without_files(bool has_sysinfo)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(SYS_openat, ENOENT),
		REFUSE(has_sysinfo ? SYS_openat : SYS_sysinfo, EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct memory_config config = anything;

	if (!filter_calls(filter, sizeof(filter) / sizeof(filter[0])))
		return;
	outcome->allowed = memory_allow(&outcome->memory, &config);
	config.bytes = SIZE_MAX / 4;
	outcome->refused = memory_allow(&outcome->memory, &config);
	outcome->mapped = memory_largest(&config) == SIZE_MAX;
}

static void ask_with_sysinfo_alone(void)
{
	ask_without_files(true);
}

static void ask_with_nothing(void)
{
	ask_without_files(false);
}

static void without_proc_the_kernel_is_asked_and_silence_allows_all(void **state)
{
	(void)state;
	in_child(ask_with_sysinfo_alone);
	assert_int_equal(outcome->allowed, 0);
	assert_int_equal(outcome->refused, -ENOMEM);
	assert_false(outcome->mapped);
	in_child(ask_with_nothing);
	assert_int_equal(outcome->allowed, 0);
	assert_int_equal(outcome->refused, 0);
	assert_true(outcome->mapped);
}

static void the_tables_beside_the_ring_count_too(void **state)
{
	struct memory_config config = anything;
	struct memory memory = { 0 };
	size_t largest = memory_largest(&config);

	(void)state;
	assert_true(largest > 64 * MIB && largest < SIZE_MAX);
	config.table_bytes = 32 * MIB;
	assert_true(memory_largest(&config) < largest - 16 * MIB);
	config.bytes = 2 * MIB;
	assert_int_equal(memory_allow(&memory, &config), 0);
	config.table_bytes = (size_t)proc_number("/proc/meminfo", "MemTotal") * 1024;
	assert_int_equal(memory_allow(&memory, &config), -ENOMEM);
}

/* Return: whether we are in it. */
static bool enter_group(int which, const char *root, const char *limit, const char *value)
{
	char path[256], pid[32];

	snprintf(changed->groups[which], sizeof(changed->groups[which]), "%s/vsib-test-%d", root,
		 (int)getppid());
	if (mkdir(changed->groups[which], 0755) < 0) {
		changed->groups[which][0] = '\0';
		return false;
	}
	snprintf(path, sizeof(path), "%s/%s", changed->groups[which], limit);
	if (!write_text(path, value))
		return false;
	snprintf(path, sizeof(path), "%s/cgroup.procs", changed->groups[which]);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return write_text(path, pid);
}

static void fit_into_a_small_group(void)
{
	struct memory_config config = anything;

	if (!enter_group(0, "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "268435456") &&
	    !enter_group(0, "/sys/fs/cgroup", "memory.max", "268435456")) {
		outcome->skipped =
			"no memory cgroup can be made here (root, and a memory controller to hand on)";
		return;
	}
	config.bytes = 512 * MIB;
	outcome->refused = memory_allow(&outcome->memory, &config);
	memcpy(outcome->error, outcome->memory.error, sizeof(outcome->error));
	config.bytes = 64 * MIB;
	outcome->allowed = memory_allow(&outcome->memory, &config);
	map_in_child(&config);
}

static void a_memory_group_too_small_is_refused_with_numbers(void **state)
{
	unsigned long room_mib = 0;
	char *number;

	(void)state;
	in_child(fit_into_a_small_group);
	assert_int_equal(outcome->refused, -ENOMEM);
	assert_says(outcome->error, "a ring of 512 MiB doesn't fit");
	assert_says(outcome->error, "the memory cgroup's limit leaves ");
	number = strstr(outcome->error, "leaves ");
	room_mib = strtoul(number + strlen("leaves "), NULL, 10);
	assert_in_range(room_mib, 150, 256);
	assert_int_equal(outcome->allowed, 0);
	assert_int_equal(outcome->mapped, 0);
	assert_true(outcome->is_all_there);
}

static void map_huge_where_the_group_has_none(void)
{
	struct memory_config config = anything;
	char path[128], text[256];

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", changed->unified);
	if (!read_text(path, text, sizeof(text))) {
		outcome->skipped = "no cgroup version 2";
		return;
	}
	if (!strstr(text, "hugetlb")) {
		changed->has_enabled_hugetlb = write_text(path, "+hugetlb");
		if (!changed->has_enabled_hugetlb) {
			outcome->skipped = "no hugetlb cgroup (root, and a controller to hand on)";
			return;
		}
	}
	if (!enter_group(1, changed->unified, "hugetlb.2MB.max", "0")) {
		outcome->skipped = "no hugetlb cgroup can be made here";
		return;
	}
	config.use_huge_pages = true;
	map_in_child(&config);
}

static void a_huge_page_limit_lowers_the_service_and_kills_nobody(void **state)
{
	const char *reason = reserve_huge_pages();

	(void)state;
	if (reason) {
		print_message("skipped: %s\n", reason);
		unreserve_huge_pages();
		skip();
	}
	snprintf(changed->unified, sizeof(changed->unified), "%s",
		 access("/sys/fs/cgroup/unified/cgroup.procs", F_OK) == 0 ? "/sys/fs/cgroup/unified" :
									    "/sys/fs/cgroup");
	in_child(map_huge_where_the_group_has_none);
	assert_int_equal(outcome->mapped, 0);
	assert_true(outcome->is_all_there);
	assert_int_not_equal(outcome->memory.pages, MEMORY_PAGES_2M);
	if (outcome->memory.pages == MEMORY_PAGES_4K)
		assert_says(outcome->memory.note, "reserved huge pages refused when touched");
	unreserve_huge_pages();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(more_than_the_machine_has_is_refused_with_numbers),
		cmocka_unit_test(more_than_there_are_addresses_is_an_error_not_a_crash),
		cmocka_unit_test(plain_memory_is_whole_touched_and_named_as_it_is),
		cmocka_unit_test(without_reserved_pages_it_is_thp_or_a_note_with_numbers),
		cmocka_unit_test(required_huge_pages_that_are_missing_are_an_error),
		cmocka_unit_test(reserved_huge_pages_are_used_and_given_back),
		cmocka_unit_test(a_lock_is_the_kernels_lock),
		cmocka_unit_test(a_refused_lock_is_noted_and_the_memory_stays),
		cmocka_unit_test(the_node_is_the_one_the_kernel_names),
		cmocka_unit_test(a_node_that_is_not_there_is_noted),
		cmocka_unit_test(refused_numa_calls_are_noted),
		cmocka_unit_test(a_kernel_that_does_not_populate_is_touched_by_hand),
		cmocka_unit_test(without_proc_the_kernel_is_asked_and_silence_allows_all),
		cmocka_unit_test(the_tables_beside_the_ring_count_too),
		cmocka_unit_test(a_memory_group_too_small_is_refused_with_numbers),
		cmocka_unit_test(a_huge_page_limit_lowers_the_service_and_kills_nobody),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
