/* SPDX-License-Identifier: BSD-2-Clause */
#include "ringbuf/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define HUGE_BYTES ((size_t)2 << 20)
#define TOUCH_BYTES ((size_t)64 << 20) /* one helper populates this much a call */
#define TOUCHER_MAX 16
#define RESERVE_MIN (UINT64_C(64) << 20)
#define MIB(bytes) ((uint64_t)(bytes) >> 20)

#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif

static void note(struct memory *memory, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct memory *memory, const char *format, ...)
{
	size_t used = strlen(memory->note);
	va_list ap;

	if (used > 0 && used + 2 < sizeof(memory->note)) {
		memcpy(memory->note + used, "; ", 3);
		used += 2;
	}
	va_start(ap, format);
	vsnprintf(memory->note + used, sizeof(memory->note) - used, format, ap);
	va_end(ap);
}

/*
 * A single number from a file, e.g. of sysfs or a cgroup; "max" and anything unreadable give
 * @otherwise.
 */
static uint64_t read_number(const char *path, uint64_t otherwise)
{
	uint64_t value = otherwise;
	FILE *f = fopen(path, "re");

	if (!f)
		return otherwise;
	if (fscanf(f, "%" SCNu64, &value) != 1)
		value = otherwise;
	fclose(f);
	return value;
}

static uint64_t meminfo_bytes(const char *key)
{
	char line[128];
	uint64_t kib = 0;
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
			kib = strtoull(line + strlen(key) + 1, NULL, 10);
	if (f)
		fclose(f);
	return kib << 10;
}

static uint64_t free_huge_bytes(void)
{
	return read_number("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", 0) * HUGE_BYTES;
}

/*
 * Room under the memory cgroups from @path up to the root of the hierarchy mounted at @root. File
 * cache can be dropped, so what counts as used is anonymous memory, as far as the usage file and
 * memory.stat tell.
 */
static uint64_t cgroup_room(const char *root, char *path, const char *limit_name, const char *usage_name)
{
	uint64_t room = UINT64_MAX;

	for (;;) {
		char file[1200], line[128];
		uint64_t limit, usage, cache = 0, value;
		FILE *f;

		snprintf(file, sizeof(file), "%s%s/%s", root, path, limit_name);
		limit = read_number(file, UINT64_MAX);
		snprintf(file, sizeof(file), "%s%s/%s", root, path, usage_name);
		usage = read_number(file, 0);
		snprintf(file, sizeof(file), "%s%s/memory.stat", root, path);
		f = fopen(file, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "total_inactive_file %" SCNu64, &value) == 1 ||
			    sscanf(line, "inactive_file %" SCNu64, &value) == 1)
				cache = value > cache ? value : cache;
		if (f)
			fclose(f);
		usage = usage > cache ? usage - cache : 0;
		if (limit != UINT64_MAX && (limit > usage ? limit - usage : 0) < room)
			room = limit > usage ? limit - usage : 0;
		if (!path[0] || strcmp(path, "/") == 0)
			return room;
		*strrchr(path, '/') = '\0';
	}
}

static uint64_t all_cgroups_room(void)
{
	uint64_t room = UINT64_MAX, here;
	char line[1024];
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		line[strcspn(line, "\n")] = '\0';
		*path++ = '\0';
		if (strcmp(names + 1, "memory") == 0)
			here = cgroup_room("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes",
					   "memory.usage_in_bytes");
		else if (names[1] == '\0')
			here = cgroup_room("/sys/fs/cgroup", path, "memory.max", "memory.current");
		else
			continue;
		room = here < room ? here : room;
	}
	if (f)
		fclose(f);
	return room;
}

/* What the machine and its containers leave for plain memory. */
struct room {
	const char *what; /* leaves so much */
	uint64_t bytes;   /* UINT64_MAX = nobody says */
	uint64_t reserve; /* of it not for us */
};

static struct room find_room(void)
{
	uint64_t total = meminfo_bytes("MemTotal"), available = meminfo_bytes("MemAvailable");
	uint64_t group = all_cgroups_room();
	struct room room = { .what = "available memory" };
	struct sysinfo info;

	if (available == 0 && sysinfo(&info) == 0) { /* no /proc; or a kernel before 3.14 */
		total = (uint64_t)info.totalram * info.mem_unit;
		available = ((uint64_t)info.freeram + info.bufferram) * info.mem_unit;
	}
	room.bytes = available ? available : UINT64_MAX;
	if (group < room.bytes) {
		room.bytes = group;
		total = group;
		room.what = "the memory cgroup's limit";
	}
	room.reserve = total / 20 > RESERVE_MIN ? total / 20 : RESERVE_MIN;
	if (room.reserve > room.bytes / 2) /* little is left: a small ring may still have its half of it */
		room.reserve = room.bytes / 2;
	return room;
}

static uint64_t usable_huge_bytes(const struct memory_config *config)
{
	return config->use_huge_pages || config->require_huge_pages ? free_huge_bytes() : 0;
}

static uint64_t largest_plain(const struct room *room, const struct memory_config *config)
{
	uint64_t plain = room->bytes - room->reserve;

	return plain > config->table_bytes ? plain - config->table_bytes : 0;
}

size_t memory_largest(const struct memory_config *config)
{
	struct room room = find_room();
	uint64_t plain = largest_plain(&room, config), huge = usable_huge_bytes(config);

	if (room.bytes == UINT64_MAX)
		return SIZE_MAX;
	return plain > huge ? plain : huge;
}

int memory_allow(struct memory *memory, const struct memory_config *config)
{
	struct room room = find_room();
	uint64_t largest = largest_plain(&room, config);

	/* set aside already: takes nothing from anybody */
	if (room.bytes == UINT64_MAX || config->bytes <= largest ||
	    (usable_huge_bytes(config) >= config->bytes &&
	     config->table_bytes <= room.bytes - room.reserve))
		return 0;
	snprintf(memory->error, sizeof(memory->error),
		 "a ring of %" PRIu64 " MiB doesn't fit: %s leaves %" PRIu64 " MiB, of which %" PRIu64
		 " MiB stay reserved; the largest ring here is %" PRIu64 " MiB",
		 MIB(config->bytes), room.what, MIB(room.bytes), MIB(room.reserve), MIB(largest));
	return -ENOMEM;
}

struct toucher {
	pthread_t thread;
	char *base;
	size_t bytes;
	int error;
};

/*
 * MADV_POPULATE_WRITE tells by an error what touching would tell by SIGBUS (a huge page that the
 * container's limit refuses) or not at all. Kernels before 5.14 don't have it: there the pages
 * are written to, which is only done for plain memory.
 */
static void *touch_main(void *arg)
{
	struct toucher *t = arg;
	size_t done = 0;

	while (done < t->bytes) {
		size_t len = t->bytes - done < TOUCH_BYTES ? t->bytes - done : TOUCH_BYTES;

		if (madvise(t->base + done, len, MADV_POPULATE_WRITE) == 0) {
			done += len;
			continue;
		}
		if (errno == EINTR || errno == EAGAIN)
			continue;
		t->error = -errno;
		return NULL;
	}
	return NULL;
}

static void touch_plainly(char *base, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4096)
		*(volatile char *)(base + i) = 0;
}

static int touch(char *base, size_t bytes, bool is_hugetlb)
{
	struct toucher touchers[TOUCHER_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = cpus < 1 ? 1 : (size_t)cpus, started = 0;
	size_t share;
	int ret = 0;

	count = count < TOUCHER_MAX ? count : TOUCHER_MAX;
	/* bytes is a whole number of huge pages, so this makes at most count shares */
	share = (bytes / count + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	for (size_t at = 0; at < bytes; at += share) {
		struct toucher *t = &touchers[started];

		t->base = base + at;
		t->bytes = bytes - at < share ? bytes - at : share;
		t->error = 0;
		if (pthread_create(&t->thread, NULL, touch_main, t) != 0) {
			t->bytes = bytes - at; /* no helper to be had: the rest is ours */
			touch_main(t);
			ret = t->error;
			break;
		}
		started++;
	}
	for (size_t i = 0; i < started; i++) {
		pthread_join(touchers[i].thread, NULL);
		if (touchers[i].error)
			ret = touchers[i].error;
	}
	if (ret == -EINVAL && !is_hugetlb) {
		touch_plainly(base, bytes);
		ret = 0;
	}
	return ret;
}

/*
 * Asks the kernel directly: libnuma's wrapper prints to stderr by itself when a container refuses
 * the call, and returns memory in every case, so its answer would prove nothing. Preferred, not
 * bound: on a node that is too full a bound mapping is touched until the out-of-memory killer
 * comes; this one goes on elsewhere, and
 * memory_map() says so.
 */
static void bind_to_node(struct memory *memory, int node)
{
	unsigned long mask[16] = { 0 };
	size_t bits = sizeof(mask[0]) * 8;

	if (node < 0 || (size_t)node >= bits * 16 || numa_available() < 0)
		return;
	mask[(size_t)node / bits] = 1UL << ((size_t)node % bits);
	if (mbind(memory->base, memory->bytes, MPOL_PREFERRED, mask, bits * 16, 0) < 0)
		note(memory, "no memory from NUMA node %d: %s", node, strerror(errno));
}

/*
 * Which node holds the pages: sampled at up to 64 places; MEMORY_ANY_NODE when they differ or
 * nobody tells.
 */
static int find_node(const struct memory *memory)
{
	enum { PLACES = 64 };
	void *places[PLACES];
	int nodes[PLACES];
	size_t stride = memory->bytes / PLACES / 4096 * 4096;
	unsigned long count = stride ? PLACES : 1;

	for (unsigned long i = 0; i < count; i++)
		places[i] = (char *)memory->base + i * stride;
	if (move_pages(0, count, places, NULL, nodes, 0) < 0)
		return MEMORY_ANY_NODE;
	for (unsigned long i = 0; i < count; i++)
		if (nodes[i] < 0 || nodes[i] != nodes[0])
			return MEMORY_ANY_NODE;
	return nodes[0];
}

/*
 * Bytes of our mapping in transparent huge pages, by /proc/self/smaps. It may be shown as several
 * ranges, or as one with its neighbours.
 */
static uint64_t thp_bytes(const struct memory *memory)
{
	uint64_t from, to, kib, sum = 0;
	uint64_t base = (uint64_t)(uintptr_t)memory->base;
	bool is_ours = false;
	char line[512];
	FILE *f = fopen("/proc/self/smaps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
			is_ours = from < base + memory->bytes && to > base;
		else if (is_ours && sscanf(line, "AnonHugePages: %" SCNu64, &kib) == 1)
			sum += kib << 10;
	}
	if (f)
		fclose(f);
	return sum < memory->bytes ? sum : memory->bytes;
}

static int map_reserved_huge(struct memory *memory, const struct memory_config *config)
{
	size_t bytes = (config->bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	int ret;

	memory->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
	if (memory->base == MAP_FAILED) {
		memory->base = NULL;
		ret = -errno;
		note(memory, "no reserved huge pages: %zu of 2 MiB wanted, %" PRIu64 " free",
		     bytes / HUGE_BYTES, free_huge_bytes() / HUGE_BYTES);
		return ret;
	}
	memory->bytes = bytes;
	bind_to_node(memory, config->numa_node);
	ret = touch(memory->base, bytes, true);
	if (ret < 0) {
		munmap(memory->base, bytes);
		memory->base = NULL;
		note(memory, "reserved huge pages refused when touched (%s): a limit of the container?",
		     strerror(-ret));
		return ret;
	}
	memory->pages = MEMORY_PAGES_2M;
	return 0;
}

static int map_plain(struct memory *memory, const struct memory_config *config)
{
	size_t bytes = (config->bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	char *raw, *base;
	int ret;

	raw = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw == MAP_FAILED) {
		ret = -errno;
		snprintf(memory->error, sizeof(memory->error),
			 "can't map %" PRIu64 " MiB for the ring: %s", MIB(bytes), strerror(-ret));
		return ret;
	}
	/* cut to a whole number of huge pages at a huge-page limit, else THP can't use the ends */
	base = raw + (HUGE_BYTES - (uintptr_t)raw % HUGE_BYTES) % HUGE_BYTES;
	if (base > raw)
		munmap(raw, (size_t)(base - raw));
	munmap(base + bytes, (size_t)(raw + HUGE_BYTES - base));
	memory->base = base;
	memory->bytes = bytes;
	if (config->use_huge_pages && madvise(base, bytes, MADV_HUGEPAGE) < 0)
		note(memory, "no transparent huge pages: %s", strerror(errno));
	bind_to_node(memory, config->numa_node);
	ret = touch(base, bytes, false);
	if (ret < 0) {
		snprintf(memory->error, sizeof(memory->error),
			 "can't touch %" PRIu64 " MiB for the ring: %s", MIB(bytes), strerror(-ret));
		memory_unmap(memory);
		return ret;
	}
	memory->pages = thp_bytes(memory) / 9 >= bytes / 10 ? MEMORY_PAGES_THP : MEMORY_PAGES_4K;
	return 0;
}

static void lock(struct memory *memory)
{
	if (mlock(memory->base, memory->bytes) == 0) {
		memory->is_locked = true;
		return;
	}
	note(memory, "not locked in memory: %s (RLIMIT_MEMLOCK, CAP_IPC_LOCK)", strerror(errno));
}

int memory_map(struct memory *memory, const struct memory_config *config)
{
	struct memory_config plain = *config;
	int ret;

	memset(memory, 0, sizeof(*memory));
	memory->numa_node = MEMORY_ANY_NODE;
	if (config->bytes == 0 || config->bytes > SIZE_MAX / 2) {
		snprintf(memory->error, sizeof(memory->error), "impossible ring size %zu",
			 config->bytes);
		return -EINVAL;
	}
	plain.use_huge_pages = false;
	ret = config->use_huge_pages || config->require_huge_pages ?
		      map_reserved_huge(memory, config) :
		      -ENOSYS;
	if (ret < 0 && config->require_huge_pages) {
		snprintf(memory->error, sizeof(memory->error), "huge pages are required: %.400s",
			 memory->note);
		return -ENOMEM;
	}
	if (ret < 0) {
		char refusal[MEMORY_TEXT_LEN];

		memcpy(refusal, memory->note, sizeof(refusal));
		memory->note[0] = '\0';
		/*
		 * memory_allow() may have counted on the huge pages; what they were to save must
		 * not kill us
		 */
		if (refusal[0] && memory_allow(memory, &plain) < 0)
			return -ENOMEM;
		ret = map_plain(memory, config);
		if (ret < 0)
			return ret;
		if (refusal[0] && memory->pages == MEMORY_PAGES_4K) /* THP is nearly as good */
			note(memory, "%s", refusal);
	}
	if (config->use_lock)
		lock(memory);
	madvise(memory->base, memory->bytes, MADV_DONTDUMP); /* gigabytes of samples explain no crash */
	memory->numa_node = find_node(memory);
	if (config->numa_node != MEMORY_ANY_NODE && memory->numa_node == MEMORY_ANY_NODE)
		note(memory, "wanted NUMA node %d, the pages are on several or the kernel doesn't say",
		     config->numa_node);
	else if (config->numa_node != MEMORY_ANY_NODE && memory->numa_node != config->numa_node)
		note(memory, "wanted NUMA node %d, the pages are on %d", config->numa_node,
		     memory->numa_node);
	return 0;
}

void memory_unmap(struct memory *memory)
{
	if (memory->base)
		munmap(memory->base, memory->bytes);
	memory->base = NULL;
}

const char *memory_pages_name(enum memory_pages pages)
{
	switch (pages) {
	case MEMORY_PAGES_2M:
		return "2M";
	case MEMORY_PAGES_THP:
		return "thp";
	default:
		return "4k";
	}
}

int memory_device_node(unsigned major, unsigned minor)
{
	char path[128];
	uint64_t node;

	if (numa_available() < 0 || numa_max_node() == 0)
		return MEMORY_ANY_NODE;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device/numa_node", major, minor);
	node = read_number(path, UINT64_MAX);
	return node <= (uint64_t)numa_max_node() ? (int)node : MEMORY_ANY_NODE;
}
