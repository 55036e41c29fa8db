/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sim.c - the simulator's pattern and the source `sim:`
 *
 * Times are asserted as a mean schedule (bytes against clock) and as generous upper limits: the
 * machine may be busy.
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/sim.h"
#include "drivers/source.h"
#include "drivers/units.h"

#define MS INT64_C(1000000)
#define BUF_BYTES ((size_t)1 << 20)

static unsigned char buf[BUF_BYTES];

/* ---- the pattern ----------------------------------------------------------------------------- */

static uint64_t word_at(uint64_t index, uint64_t seed)
{
	uint64_t word;

	sim_fill(&word, sizeof(word), index * 8, seed);
	return le64toh(word);
}

static void every_word_tells_its_position(void **state)
{
	static const uint64_t seeds[] = { 0, 1, 2, 12345, UINT64_MAX };
	uint64_t index = 0;

	(void)state;
	for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++)
		for (int i = 0; i < 10000; i++, index = index * 3 + 1)
			/* byte offsets have 64 bits, so word indexes have 61 */
			assert_int_equal(sim_position(word_at(index >> 3, seeds[s]), seeds[s]),
					 index >> 3);
}

static void the_first_word_tells_the_seed(void **state)
{
	static const uint64_t seeds[] = { 0, 1, 2, 12345, UINT64_MAX };

	(void)state;
	for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++)
		assert_int_equal(sim_seed(word_at(0, seeds[s])), seeds[s]);
}

static void any_offset_and_length_is_exact(void **state)
{
	unsigned char whole[256], part[256];
	const uint64_t base = UINT64_C(5000000000) * 8;

	(void)state;
	sim_fill(whole, sizeof(whole), base, 7);
	for (size_t offset = 0; offset < 40; offset++) {
		for (size_t len = 0; len < 100; len++) {
			memset(part, 0xee, sizeof(part));
			sim_fill(part + 3, len, base + offset, 7);
			assert_memory_equal(part + 3, whole + offset, len);
			assert_int_equal(part[2], 0xee);
			assert_int_equal(part[3 + len], 0xee);
			assert_int_equal(sim_verify(whole + offset, len, base + offset, 7), len);
		}
	}
}

static void the_first_wrong_byte_is_found(void **state)
{
	(void)state;
	sim_fill(buf, 20000, 13, 1);
	for (size_t at = 0; at < 20000; at += 611) {
		buf[at] ^= 0x10;
		assert_int_equal(sim_verify(buf, 20000, 13, 1), at);
		buf[at] ^= 0x10;
	}
	assert_int_equal(sim_verify(buf, 20000, 13, 1), 20000);
	assert_true(sim_verify(buf, 20000, 13, 2) < 4);
}

static void another_seed_is_not_the_same_stream_moved(void **state)
{
	uint64_t first = sim_position(word_at(0, 1), 0);
	int same_count = 0;

	(void)state;
	for (uint64_t i = 1; i < 1000; i++)
		same_count += sim_position(word_at(i, 1), 0) - first == i;
	assert_int_equal(same_count, 0);
}

static void a_loss_a_swap_and_a_repeat_are_located(void **state)
{
	static const size_t BLOCK = 4096, WORDS = 4096 / 8;
	static const uint64_t order[] = { 0, 1, 3, 5, 4, 6, 6, 7 }; /* 2 lost, 4 and 5 swapped, 6 repeated */

	(void)state;
	for (size_t i = 0; i < 8; i++)
		sim_fill(buf + i * BLOCK, BLOCK, order[i] * BLOCK, 9);
	for (size_t i = 0; i < 8 * WORDS; i++) {
		uint64_t word;

		memcpy(&word, buf + i * 8, sizeof(word));
		assert_int_equal(sim_position(le64toh(word), 9), order[i / WORDS] * WORDS + i % WORDS);
	}
}

static void gzip_gains_nothing(void **state)
{
	char name[] = "/tmp/test_sim_XXXXXX", command[128];
	unsigned long long packed = 0;
	int fd = mkstemp(name);
	FILE *pipe;

	(void)state;
	assert_true(fd >= 0);
	sim_fill(buf, sizeof(buf), 0, 0);
	assert_int_equal(write(fd, buf, sizeof(buf)), sizeof(buf));
	close(fd);
	snprintf(command, sizeof(command), "gzip -9 -c %s 2>/dev/null | wc -c", name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%llu", &packed), 1);
	pclose(pipe);
	unlink(name);
	if (!packed) {
		print_message("gzip is missing\n");
		skip();
	}
	assert_true(packed > sizeof(buf) * 99 / 100);
}

/* ---- helpers --------------------------------------------------------------------------------- */

static struct source *open_sim(const char *name, uint64_t rate_bps)
{
	struct source_config config = { .rate_bps = rate_bps };
	struct source *source;
	int ret = source_open(&source, name, &config);

	if (ret)
		fail_msg("%s", source->error);
	assert_int_equal(source_start(source), 0);
	return source;
}

static int64_t soon(void)
{
	return units_monotonic_ns() + 5000 * MS;
}

/* One read of a stream whose bytes all tell their place; keeps the position. */
static ssize_t read_at(struct source *source, uint64_t *position, size_t len, int64_t deadline_ns,
		       struct source_mark *mark)
{
	ssize_t got = source_read(source, buf, len, deadline_ns, mark);

	*position += mark->lost_bytes;
	if (got > 0) {
		assert_int_equal(sim_verify(buf, (size_t)got, *position, 0), got);
		*position += (uint64_t)got;
	}
	return got;
}

/* Reads to the end in odd pieces; returns the end's position. */
static uint64_t read_all(struct source *source)
{
	struct source_mark mark;
	uint64_t position = 0;
	size_t len = 1;

	for (;;) {
		ssize_t got = read_at(source, &position, len, soon(), &mark);

		if (got == SOURCE_END)
			break;
		assert_true(got > 0);
		len = (len * 7 + 11) % 70001 + 1;
	}
	assert_int_equal(position, atomic_load(&source->stats.received_bytes) +
					   atomic_load(&source->stats.lost_bytes));
	return position;
}

static int64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * UNITS_NS_PER_S + used.tv_nsec;
}

/* ---- the source ------------------------------------------------------------------------------ */

static void without_a_rate_it_waits_for_its_reader(void **state)
{
	struct source *source = open_sim("sim:,bytes=3000001", 0);

	(void)state;
	assert_true(source->can_wait);
	assert_true(source->is_paced_by_us);
	assert_int_equal(source->rate_bps, 0);
	assert_int_equal(source->word_bytes, 4);
	assert_int_equal(read_all(source), 3000001);
	source_close(source);
}

static void it_ends_in_the_middle_of_a_block_and_stays_ended(void **state)
{
	struct source *source = open_sim("sim:bytes=1000", 0);
	struct source_mark mark;

	(void)state;
	assert_int_equal(source_read(source, buf, 4096, soon(), &mark), 1000);
	assert_int_equal(source_read(source, buf, 4096, soon(), &mark), SOURCE_END);
	assert_int_equal(source_read(source, buf, 4096, soon(), &mark), SOURCE_END);
	source_close(source);

	source = open_sim("sim:bytes=0", 0);
	assert_int_equal(source_read(source, buf, 4096, soon(), &mark), SOURCE_END);
	source_close(source);
}

static void gaps_are_lost_and_told_to_the_byte(void **state)
{
	struct source *source;
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	source = open_sim(
		"sim:gap=5@2000,gap=64Ki@1M,gap=100@0,bytes=2M,gap=1k@2105,gap=7@1999990,gap=50@1999999",
		0);
	assert_int_equal(read_at(source, &position, 5000, soon(), &mark), 1900);
	assert_int_equal(mark.lost_bytes, 100);
	assert_false(mark.is_estimated);
	assert_int_equal(read_at(source, &position, 5000, soon(), &mark), 100);
	assert_int_equal(mark.lost_bytes, 5);
	assert_int_equal(read_at(source, &position, 5000, soon(), &mark), 5000);
	assert_int_equal(mark.lost_bytes, 1000);
	while (read_at(source, &position, 70000, soon(), &mark) > 0)
		;
	/* the last gap reaches beyond the end: what is left of it is told with the end */
	assert_int_equal(mark.lost_bytes, 1);
	assert_int_equal(position, 2000000);
	assert_int_equal(atomic_load(&source->stats.lost_bytes), 100 + 5 + 1000 + 65536 + 7 + 1);
	assert_int_equal(atomic_load(&source->stats.estimated_bytes), 0);
	source_close(source);
}

static void bytes_follow_the_clock_without_drift(void **state)
{
	const uint64_t bps = 512000000;
	int64_t opened = units_monotonic_ns();
	struct source *source = open_sim("sim:", bps);
	int64_t before = units_monotonic_ns(), end = before + 400 * MS;
	uint64_t position = 0, wait_count;
	struct source_mark mark;

	(void)state;
	assert_false(source->can_wait);
	assert_int_equal(source->rate_bps, bps);
	while (units_monotonic_ns() < end) {
		assert_true(read_at(source, &position, sizeof(buf), end, &mark) > 0);
		/* never ahead of the clock */
		assert_true(position <= units_bytes_at(bps, units_monotonic_ns() - opened));
	}
	/* nothing is left behind of what was due at the deadline */
	while (read_at(source, &position, sizeof(buf), 0, &mark) == sizeof(buf))
		;
	assert_true(position >= units_bytes_at(bps, end - before));
	wait_count = atomic_load(&source->stats.wait_count);
	assert_true(wait_count > 0 && wait_count < 200 * 4 / 10);
	source_close(source);
}

static void a_read_at_its_deadline_gives_what_is_there(void **state)
{
	struct source *source = open_sim("sim:rate=80kbps", 0); /* 10 bytes a millisecond */
	int64_t before = units_monotonic_ns();
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	assert_int_equal(read_at(source, &position, 4096, 0, &mark), SOURCE_NOT_YET);
	assert_true(read_at(source, &position, 65536, before + 60 * MS, &mark) >= 590);
	assert_true(position < 4096);
	source_close(source);
}

static void bursts_come_whole_at_the_mean_rate(void **state)
{
	const uint64_t bps = 400000000, burst = 300000; /* 6 ms */
	struct source *source = open_sim("sim:burst=300k,rate=400", 0);
	int64_t before = units_monotonic_ns(), end = before + 200 * MS;
	struct source_mark mark;
	uint64_t position = 0;
	ssize_t got;

	(void)state;
	while ((got = read_at(source, &position, 70000, end, &mark)) > 0)
		;
	/* between two bursts there is nothing */
	assert_int_equal(got, SOURCE_NOT_YET);
	assert_int_equal(position % burst, 0);
	assert_true(position + burst >= units_bytes_at(bps, end - before));
	source_close(source);
}

static void a_stall_without_a_buffer_loses_nothing(void **state)
{
	struct source *source = open_sim("sim:rate=400,stall=400ms@50ms,bytes=10M", 0);
	int64_t before = units_monotonic_ns();
	struct source_mark mark;
	uint64_t position = 0;
	ssize_t got;

	(void)state;
	/* stalled from 50 to 450 ms: at 100 ms there are the bytes of 50 ms */
	do {
		got = read_at(source, &position, 1000000, before + 100 * MS, &mark);
	} while (got > 0);
	assert_int_equal(got, SOURCE_NOT_YET);
	assert_true(position <= 2500000);
	while ((got = read_at(source, &position, 1000000, soon(), &mark)) > 0)
		assert_int_equal(mark.lost_bytes, 0);
	assert_int_equal(got, SOURCE_END);
	assert_int_equal(position, 10000000);
	source_close(source);
}

static void a_stall_longer_than_the_buffer_loses_what_did_not_fit(void **state)
{
	/* 50 MB/s; the stall makes 5 MB, of which 1 MB fits */
	struct source *source = open_sim("sim:rate=400,stall=100ms@50ms,bytes=10M,buffer=1M", 0);
	struct source_mark mark;
	uint64_t position = 0, lost = 0;
	ssize_t got;

	(void)state;
	while ((got = read_at(source, &position, 500000, soon(), &mark)) > 0)
		lost += mark.lost_bytes;
	assert_int_equal(got, SOURCE_END);
	assert_int_equal(position, 10000000);
	assert_true(lost >= 4000000);
	assert_int_equal(lost % 8, 0);
	assert_int_equal(atomic_load(&source->stats.lost_bytes), lost);
	assert_int_equal(atomic_load(&source->stats.device_ring_bytes), 1000000);
	assert_int_equal(atomic_load(&source->stats.device_fill_max_bytes), 1000000);
	source_close(source);
}

static void a_reader_that_comes_too_late_loses_what_did_not_fit(void **state)
{
	struct source *source = open_sim("sim:rate=8G,buffer=64Ki", 0); /* full after 66 us */
	struct source_mark mark;
	uint64_t position = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		usleep(2000);
		assert_true(read_at(source, &position, 70000, soon(), &mark) > 0);
		assert_true(mark.lost_bytes > 1000000);
	}
	source_close(source);
}

static void a_silent_source_ends_its_reads_at_the_deadline(void **state)
{
	static const char *const names[] = { "sim:silence=0", "sim:silence=0,rate=512" };
	struct source_mark mark;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct source *source = open_sim(names[i], 0);
		int64_t cpu = cpu_ns(), before = units_monotonic_ns();

		assert_int_equal(source_read(source, buf, 4096, before + 150 * MS, &mark),
				 SOURCE_NOT_YET);
		assert_true(units_monotonic_ns() >= before + 150 * MS);
		assert_true(cpu_ns() - cpu < 20 * MS);
		source_close(source);
	}
}

static void *interrupt_later(void *source)
{
	usleep(50000);
	source_interrupt(source);
	return NULL;
}

static void an_interrupt_ends_a_read_and_a_start(void **state)
{
	struct source_config config = { .start_utc_ns = units_realtime_ns() + 3600 * UNITS_NS_PER_S };
	struct source *source = open_sim("sim:silence=0", 0);
	int64_t before = units_monotonic_ns();
	struct source_mark mark;
	pthread_t thread;

	(void)state;
	pthread_create(&thread, NULL, interrupt_later, source);
	assert_int_equal(source_read(source, buf, 4096, before + 60000 * MS, &mark), SOURCE_NOT_YET);
	pthread_join(thread, NULL);
	assert_true(units_monotonic_ns() - before < 5000 * MS);
	source_close(source);

	assert_int_equal(source_open(&source, "sim:", &config), 0);
	pthread_create(&thread, NULL, interrupt_later, source);
	assert_int_equal(source_start(source), -EINTR);
	pthread_join(thread, NULL);
	assert_true(units_monotonic_ns() - before < 10000 * MS);
	/* what is there is handed over all the same */
	assert_int_equal(source_read(source, buf, 4096, soon(), &mark), 4096);
	source_close(source);
}

static void it_starts_when_it_is_told_to(void **state)
{
	struct source_config config = { .rate_bps = 8000000 };
	struct source *source;
	struct source_mark mark;

	(void)state;
	config.start_utc_ns = units_realtime_ns() + 100 * MS;
	assert_int_equal(source_open(&source, "sim:", &config), 0);
	assert_int_equal(source_start(source), 0);
	assert_true(units_realtime_ns() >= config.start_utc_ns);
	assert_int_equal(source->start_utc_ns, config.start_utc_ns);
	assert_string_equal(source->note, "");
	assert_true(source_read(source, buf, 4096, soon(), &mark) > 0);
	assert_int_equal(mark.utc_ns, config.start_utc_ns);
	source_close(source);

	config.start_utc_ns = UNITS_NS_PER_S;
	assert_int_equal(source_open(&source, "sim:", &config), 0);
	assert_int_equal(source_start(source), 0);
	assert_non_null(strstr(source->note, "past"));
	assert_true(source->start_utc_ns > config.start_utc_ns);
	source_close(source);
}

static void dead_samplers_can_be_simulated(void **state)
{
	struct source *source = open_sim("sim:pattern=zero", 0);
	unsigned char right[1003];
	struct source_mark mark;

	(void)state;
	assert_int_equal(source_read(source, buf, 1003, soon(), &mark), 1003);
	for (int i = 0; i < 1003; i++)
		assert_int_equal(buf[i], 0);
	source_close(source);

	source = open_sim("sim:pattern=const", 0);
	assert_int_equal(source_read(source, buf, 1003, soon(), &mark), 1003);
	assert_int_equal(source_read(source, buf + 1003, 1001, soon(), &mark), 1001);
	for (int i = 4; i < 2004; i++)
		assert_int_equal(buf[i], buf[i - 4]);
	source_close(source);

	source = open_sim("sim:stuck=13", 0);
	assert_int_equal(source_read(source, buf, 3, soon(), &mark), 3);
	assert_int_equal(source_read(source, buf, 1003, soon(), &mark), 1003);
	sim_fill(right, sizeof(right), 3, 0);
	for (unsigned i = 0; i < 1003; i++)
		assert_int_equal(buf[i], (i + 3) % 4 == 1 ? right[i] & ~0x20 : right[i]);
	source_close(source);
}

static void refuse(const char *name, uint64_t rate_bps, const char *reason)
{
	struct source_config config = { .rate_bps = rate_bps };
	struct source *source;
	int ret = source_open(&source, name, &config);

	assert_true(ret == -EINVAL || ret == -ERANGE);
	assert_non_null(source);
	if (!strstr(source->error, reason) || !strstr(source->error, name))
		fail_msg("%s lacks \"%s\": %s", name, reason, source->error);
	source_close(source);
}

static void settings_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	refuse("sim:sed=1", 0, "unknown detail \"sed\"; sim: knows rate seed bytes burst");
	refuse("sim:rate=0", 0, "expected a rate");
	refuse("sim:rate=1G", 512000000, "differ");
	refuse("sim:burst=1k", 0, "burst= needs a rate");
	refuse("sim:buffer=1M", 0, "buffer= needs a rate");
	refuse("sim:buffer=1,rate=1", 0, "at least 4096");
	refuse("sim:gap=5", 0, "expected SIZE@AT");
	refuse("sim:gap=5@x", 0, "expected a size");
	refuse("sim:gap=10@5,gap=10@14", 0, "overlap");
	refuse("sim:gap=15E@15E", 0, "beyond");
	refuse("sim:stall=5", 0, "expected TIME@AT");
	refuse("sim:pattern=pink", 0, "noise, zero or const");
	refuse("sim:stuck=32", 0, "more than 31");
	refuse("sim:seed=99999999999999999999", 0, "too large");
	refuse("sim:seed", 0, "expected a whole number");
}

static void the_same_rate_may_be_said_twice(void **state)
{
	struct source *source = open_sim("sim:rate=512", 512000000);

	(void)state;
	assert_int_equal(source->rate_bps, 512000000);
	source_close(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_tells_its_position),
		cmocka_unit_test(the_first_word_tells_the_seed),
		cmocka_unit_test(any_offset_and_length_is_exact),
		cmocka_unit_test(the_first_wrong_byte_is_found),
		cmocka_unit_test(another_seed_is_not_the_same_stream_moved),
		cmocka_unit_test(a_loss_a_swap_and_a_repeat_are_located),
		cmocka_unit_test(gzip_gains_nothing),
		cmocka_unit_test(without_a_rate_it_waits_for_its_reader),
		cmocka_unit_test(it_ends_in_the_middle_of_a_block_and_stays_ended),
		cmocka_unit_test(gaps_are_lost_and_told_to_the_byte),
		cmocka_unit_test(bytes_follow_the_clock_without_drift),
		cmocka_unit_test(a_read_at_its_deadline_gives_what_is_there),
		cmocka_unit_test(bursts_come_whole_at_the_mean_rate),
		cmocka_unit_test(a_stall_without_a_buffer_loses_nothing),
		cmocka_unit_test(a_stall_longer_than_the_buffer_loses_what_did_not_fit),
		cmocka_unit_test(a_reader_that_comes_too_late_loses_what_did_not_fit),
		cmocka_unit_test(a_silent_source_ends_its_reads_at_the_deadline),
		cmocka_unit_test(an_interrupt_ends_a_read_and_a_start),
		cmocka_unit_test(it_starts_when_it_is_told_to),
		cmocka_unit_test(dead_samplers_can_be_simulated),
		cmocka_unit_test(settings_that_make_no_sense_are_refused),
		cmocka_unit_test(the_same_rate_may_be_said_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
