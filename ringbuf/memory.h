/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - the ring's memory: one mapping, in huge pages, on the right node, locked, touched
 *
 *   memory_allow() -> memory_map() -> ... -> memory_unmap()
 *
 * Each service is asked for and, where the machine refuses it, done without; what was really got
 * is asked back from the kernel and stands in struct memory. Nothing here may kill the recording:
 * limits of the container (huge pages, memory, locked memory, refused NUMA calls) lower the
 * service with one sentence in memory->note.
 *
 * Threads: set-up and tear-down by one thread; memory_map() uses helpers to touch pages in
 *          parallel, gone on return.
 */
#ifndef VSIB_RINGBUF_MEMORY_H
#define VSIB_RINGBUF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_TEXT_LEN 512
#define MEMORY_ANY_NODE (-1)

enum memory_pages {
	MEMORY_PAGES_4K,  /* plain pages */
	MEMORY_PAGES_THP, /* transparent huge pages, at least nine tenths of the mapping */
	MEMORY_PAGES_2M,  /* reserved huge pages of 2 MiB */
};

struct memory_config {
	size_t bytes;       /* wanted; rounded up to whole pages */
	size_t table_bytes; /* of plain memory, that the caller needs beside it: for memory_allow() */
	int numa_node;      /* node to take it from, as far as it has room; or MEMORY_ANY_NODE */
	bool use_huge_pages;     /* try huge pages, transparent ones, plain ones in this order */
	bool require_huge_pages; /* fail with -ENOMEM rather than do without reserved ones */
	bool use_lock;           /* keep it out of swap */
};

struct memory {
	void *base;              /* page aligned */
	size_t bytes;            /* length of the mapping, >= config.bytes */
	enum memory_pages pages; /* as the kernel says, after all pages were touched */
	int numa_node; /* node that really holds the pages; MEMORY_ANY_NODE = unknown or several */
	bool is_locked;
	char note[MEMORY_TEXT_LEN];  /* what was asked for and not got, "" = nothing */
	char error[MEMORY_TEXT_LEN]; /* the sentence when memory_map() or memory_allow() failed */
};

/**
 * memory_allow() - would this many bytes fit, without pushing the machine or the container into
 *                  its out-of-memory killer? Free huge pages that suffice are enough for the
 *                  ring; else it is compared with MemAvailable and with each memory cgroup above
 *                  us (both versions), less a reserve of 5 %, at least 64 MiB, at most half of
 *                  what is left. Without /proc what sysinfo(2) says is free counts; where nobody
 *                  says anything, everything is allowed.
 * Return: 0; -ENOMEM with the numbers in memory->error.
 */
int memory_allow(struct memory *memory, const struct memory_config *config);

/**
 * memory_largest() - the most bytes that memory_allow() would allow beside @config's tables now;
 * SIZE_MAX = nobody says
 */
size_t memory_largest(const struct memory_config *config);

/**
 * memory_map() - map, bind, touch every page, lock, and look at what was got
 * Return: 0; -ENOMEM, -EINVAL with the sentence in memory->error.
 */
int memory_map(struct memory *memory, const struct memory_config *config);

/** memory_unmap() - a zeroed or failed struct is fine */
void memory_unmap(struct memory *memory);

/** memory_pages_name() - "2M", "thp", "4k": the words of the report */
const char *memory_pages_name(enum memory_pages pages);

/**
 * memory_device_node() - NUMA node of a character device's bus device, by sysfs
 * @major, @minor: of the device
 * Return: node, or MEMORY_ANY_NODE when the machine has one node or doesn't say.
 */
int memory_device_node(unsigned major, unsigned minor);

#endif
