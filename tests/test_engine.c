/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/sim.h"
#include "drivers/units.h"
#include "recorder/engine.h"
#include "recorder/sink.h"

#define BLOCK ((size_t)65536)
#define BLOCKS 48
#define MS INT64_C(1000000)

static const enum engine_kind kinds[] = { ENGINE_URING, ENGINE_PWRITE };

static struct bell bell;
static char *memory;
static char path[64];
static int fd;
static _Atomic int pauses; /* calls that are to wait until it is taken back */

static int setup(void **state)
{
	(void)state;
	strcpy(path, "/tmp/vsib_engine_XXXXXX");
	fd = mkstemp(path);
	bell_init(&bell);
	memory = mmap(NULL, BLOCK * BLOCKS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pauses = 0;
	if (fd < 0 || memory == MAP_FAILED)
		return -1;
	sim_fill(memory, BLOCK * BLOCKS, 0, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	munmap(memory, BLOCK * BLOCKS);
	close(fd);
	return unlink(path);
}

static struct engine *open_engine(enum engine_kind kind, unsigned depth, const struct engine *other)
{
	struct engine_config config = {
		.kind = kind,
		.depth = depth,
		.io = &sink_system_io,
		.bell = &bell,
		.memory = memory,
		.memory_bytes = BLOCK * BLOCKS,
		.block_bytes = BLOCK,
		.other = other,
	};
	struct engine *engine;
	int ret = engine_open(&engine, &config);

	if (kind == ENGINE_URING && (ret == -ENOSYS || ret == -EPERM)) {
		print_message("io_uring is refused here: %s\n", strerror(-ret));
		skip();
	}
	assert_int_equal(ret, 0);
	assert_string_equal(engine_name(engine), kind == ENGINE_URING ? "io_uring" : "pwrite");
	assert_int_equal(engine_start(engine), 0);
	return engine;
}

static ssize_t refuse_to_write(const struct sink_io *io, int file, const void *data, size_t bytes,
			       off_t offset)
{
	(void)io;
	(void)file;
	(void)data;
	(void)bytes;
	(void)offset;
	errno = EIO;
	return -1;
}

/* What a table opens, renames or removes is nothing to the engine: only who writes. */
static void the_kernel_writes_for_every_table_with_the_systems_write(void **state)
{
	struct sink_io own = { .write = sink_system_io.write };
	struct engine_config config = {
		.kind = ENGINE_URING,
		.depth = 1,
		.io = &own,
		.bell = &bell,
	};
	struct engine *engine;
	int ret = engine_open(&engine, &config);

	(void)state;
	if (ret == -ENOSYS || ret == -EPERM) {
		print_message("io_uring is refused here: %s\n", strerror(-ret));
		skip();
	}
	assert_int_equal(ret, 0);
	assert_string_equal(engine_name(engine), "io_uring");
	assert_int_equal(engine_close(engine), 0);
	own.write = refuse_to_write;
	assert_int_equal(engine_open(&engine, &config), 0);
	assert_string_equal(engine_name(engine), "pwrite");
	assert_int_equal(engine_close(engine), 0);
}

static struct engine_op *wait_for_one(struct engine *engine)
{
	int64_t deadline = units_monotonic_ns() + 10 * UNITS_NS_PER_S;

	for (;;) {
		uint32_t ticket = bell_listen(&bell);
		struct engine_op *op = engine_next(engine);

		if (op)
			return op;
		assert_true(units_monotonic_ns() < deadline);
		engine_wait(engine, ticket, deadline);
	}
}

static void aim(struct engine_op *op, unsigned block)
{
	*op = (struct engine_op){ .slot = 1,
				  .fd = fd,
				  .data = memory + block * BLOCK,
				  .bytes = BLOCK,
				  .offset = (off_t)(block * BLOCK),
				  .may_block = block % 3 == 0 };
}

/* Several in flight, in any order: each comes back once, with its bytes, and the file is whole. */
static void writes_come_back_once_and_the_file_is_whole(void **state)
{
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		for (unsigned depth = 1; depth <= 9; depth += 4) {
			struct engine *engine = open_engine(kinds[k], depth, NULL);
			struct engine_op ops[BLOCKS];
			bool is_back[BLOCKS] = { false };
			unsigned sent = 0, in_flight = 0;
			int64_t from_ns = units_monotonic_ns();
			char *found = malloc(BLOCK * BLOCKS);

			assert_int_equal(ftruncate(fd, 0), 0);
			engine_set_file(engine, 1, fd);
			while (sent < BLOCKS || in_flight > 0) {
				struct engine_op *op;

				while (sent < BLOCKS && in_flight < depth) {
					unsigned block = (sent++ * 7) % BLOCKS;

					aim(&ops[block], block);
					engine_write(engine, &ops[block]);
					in_flight++;
				}
				op = wait_for_one(engine);
				assert_false(is_back[op - ops]);
				is_back[op - ops] = true;
				assert_int_equal(op->result, BLOCK);
				assert_true(op->ended_ns >= from_ns &&
					    op->ended_ns <= units_monotonic_ns());
				in_flight--;
			}
			assert_null(engine_next(engine));
			engine_set_file(engine, 1, -1);
			assert_int_equal(engine_close(engine), 0);
			assert_int_equal(pread(fd, found, BLOCK * BLOCKS, 0), BLOCK * BLOCKS);
			assert_int_equal(sim_verify(found, BLOCK * BLOCKS, 0, 1), BLOCK * BLOCKS);
			free(found);
		}
	}
}

/* What was written is read back, several at a time, into its place; behind the end of the file there is nothing. */
static void reads_come_back_once_and_the_memory_is_whole(void **state)
{
	(void)state;
	assert_int_equal(write(fd, memory, BLOCK * BLOCKS), BLOCK * BLOCKS);
	for (size_t k = 0; k < 2; k++) {
		struct engine *engine = open_engine(kinds[k], 4, NULL);
		struct engine_op ops[BLOCKS];
		unsigned sent = 0, in_flight = 0;

		memset(memory, 0, BLOCK * BLOCKS);
		if (kinds[k] == ENGINE_URING)
			engine_set_file(engine, 1, fd);
		while (sent < BLOCKS || in_flight > 0) {
			while (sent < BLOCKS && in_flight < 4) {
				unsigned block = (sent++ * 7) % BLOCKS;

				aim(&ops[block], block);
				ops[block].room = memory + block * BLOCK;
				engine_read(engine, &ops[block]);
				in_flight++;
			}
			assert_int_equal(wait_for_one(engine)->result, BLOCK);
			in_flight--;
		}
		assert_int_equal(sim_verify(memory, BLOCK * BLOCKS, 0, 1), BLOCK * BLOCKS);
		aim(&ops[0], BLOCKS - 1);
		ops[0].room = memory;
		ops[0].offset += 1000;
		engine_read(engine, &ops[0]);
		assert_int_equal(wait_for_one(engine)->result, BLOCK - 1000);
		aim(&ops[0], BLOCKS);
		ops[0].room = memory;
		engine_read(engine, &ops[0]);
		assert_int_equal(wait_for_one(engine)->result, 0);
		assert_int_equal(engine_close(engine), 0);
		sim_fill(memory, BLOCK * BLOCKS, 0, 1);
	}
}

static void who_reads_only_is_named_so(void **state)
{
	struct engine_config config = {
		.kind = ENGINE_PWRITE,
		.is_for_reading = true,
		.depth = 1,
		.io = &sink_system_io,
		.bell = &bell,
	};
	struct engine *engine;

	(void)state;
	assert_int_equal(engine_open(&engine, &config), 0);
	assert_string_equal(engine_name(engine), "pread");
	assert_int_equal(engine_close(engine), 0);
}

static void an_error_comes_back_as_one(void **state)
{
	int readable = open(path, O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(readable >= 0);
	for (size_t k = 0; k < 2; k++) {
		struct engine *engine = open_engine(kinds[k], 2, NULL);
		struct engine_op op;

		engine_set_file(engine, 1, readable);
		aim(&op, 0);
		op.fd = readable;
		engine_write(engine, &op);
		assert_ptr_equal(wait_for_one(engine), &op);
		assert_int_equal(op.result, -EBADF);
		assert_int_equal(engine_close(engine), 0);
	}
	close(readable);
}

/* Since Linux 6.12 buffers can be shared; before, each engine registers them. */
static bool has_clone(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 12));
}

/* What the kernel has pinned for us, in kB; -1 = it doesn't say. */
static long pinned_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %ld kB", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static void two_engines_share_what_is_registered(void **state)
{
	long before_kb = pinned_kb(), first_kb;
	struct engine *first = open_engine(ENGINE_URING, 4, NULL), *second;
	struct engine_op op;

	(void)state;
	first_kb = pinned_kb();
	second = open_engine(ENGINE_URING, 4, first);
	if (first_kb - before_kb < (long)(BLOCK * BLOCKS / 1024))
		print_message("the kernel does not tell what is registered\n");
	else if (has_clone())
		assert_int_equal(pinned_kb(), first_kb); /* not pinned once more */
	assert_string_equal(engine_note(second), "");
	engine_set_file(second, 1, fd);
	aim(&op, 5);
	engine_write(second, &op);
	assert_ptr_equal(wait_for_one(second), &op);
	assert_int_equal(op.result, BLOCK);
	assert_int_equal(engine_close(first), 0);
	aim(&op, 6); /* what it shares outlives whom it shared it with */
	engine_write(second, &op);
	assert_ptr_equal(wait_for_one(second), &op);
	assert_int_equal(op.result, BLOCK);
	assert_int_equal(engine_close(second), 0);
}

/* ---- the hand ---- */

static void pause_and_count(struct engine_op *op)
{
	static _Atomic int counter;

	while (atomic_load(&pauses) > 0)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	op->result = atomic_fetch_add(&counter, 1);
}

/* One after the other, while writes go on; and nothing is closed under them. */
static void calls_are_made_in_order_and_hold_up_nothing(void **state)
{
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct engine *engine = open_engine(kinds[k], 2, NULL);
		struct engine_op calls[4] = { { 0 } }, write;
		ssize_t last = -1;

		atomic_store(&pauses, 1);
		for (unsigned i = 0; i < 4; i++) {
			calls[i].run = pause_and_count;
			engine_call(engine, &calls[i]);
		}
		engine_set_file(engine, 1, fd);
		for (unsigned block = 0; block < 10; block++) {
			aim(&write, block);
			engine_write(engine, &write);
			assert_ptr_equal(wait_for_one(engine), &write);
		}
		assert_int_equal(engine_stop(engine), -EBUSY);
		assert_int_equal(engine_close(engine), -EBUSY);
		atomic_store(&pauses, 0);
		for (unsigned i = 0; i < 4; i++) {
			assert_ptr_equal(wait_for_one(engine), &calls[i]);
			assert_true(calls[i].result > last);
			last = calls[i].result;
		}
		assert_int_equal(engine_close(engine), 0);
	}
}

/* ---- sleeping ---- */

static void *ring_it(void *arg)
{
	(void)arg;
	nanosleep(&(struct timespec){ .tv_nsec = 20 * 1000000 }, NULL);
	bell_ring(&bell);
	return NULL;
}

/* Also with a write in flight that does not come back: here to a pipe that is full. */
static void other_news_wake_it_while_a_write_is_in_flight(void **state)
{
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct engine *engine = open_engine(kinds[k], 2, NULL);
		struct engine_op op;
		char drain[BLOCK];
		pthread_t thread;
		uint32_t ticket;
		int64_t from;
		int pipes[2];

		assert_int_equal(pipe(pipes), 0);
		engine_set_file(engine, 1, pipes[1]);
		aim(&op, 0);
		op.may_block = true;
		op.fd = pipes[1];
		op.data = memory;
		op.bytes = BLOCK * 2; /* more than a pipe holds */
		op.offset = -1;
		if (kinds[k] == ENGINE_PWRITE)
			op.offset = 0; /* comes back at once: a pipe has no offsets */
		engine_write(engine, &op);
		ticket = bell_listen(&bell);
		assert_int_equal(pthread_create(&thread, NULL, ring_it, NULL), 0);
		from = units_monotonic_ns();
		engine_wait(engine, ticket, from + 10 * UNITS_NS_PER_S);
		assert_true(units_monotonic_ns() - from < 5 * UNITS_NS_PER_S);
		ticket = bell_listen(&bell); /* and the deadline does, too */
		from = units_monotonic_ns();
		engine_wait(engine, ticket, from + 10 * MS);
		assert_true(units_monotonic_ns() - from < 5 * UNITS_NS_PER_S);
		pthread_join(thread, NULL);
		fcntl(pipes[0], F_SETFL, O_NONBLOCK);
		while (!engine_next(engine)) {
			while (read(pipes[0], drain, sizeof(drain)) > 0)
				;
			engine_wait(engine, bell_listen(&bell), units_monotonic_ns() + MS);
		}
		assert_int_equal(engine_close(engine), 0);
		close(pipes[0]);
		close(pipes[1]);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writes_come_back_once_and_the_file_is_whole),
		TEST(the_kernel_writes_for_every_table_with_the_systems_write),
		TEST(reads_come_back_once_and_the_memory_is_whole),
		TEST(who_reads_only_is_named_so),
		TEST(an_error_comes_back_as_one),
		TEST(two_engines_share_what_is_registered),
		TEST(calls_are_made_in_order_and_hold_up_nothing),
		TEST(other_news_wake_it_while_a_write_is_in_flight),
	};

	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
