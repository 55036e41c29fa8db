/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pcapfile.c - captures of every kind, in any pieces, at any pace; what is lost is told where it was */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/source.h"
#include "drivers/units.h"
#include "tests/made_packet.h"
#include "tests/scratch.h"

#define MS INT64_C(1000000)
#define PORT 46227
#define START_S 1500000000
#define LINK_TYPE_IPV4 228

enum kind { MICRO, NANO, MODIFIED, NG, KIND_COUNT };

static struct {
	enum kind kind;
	bool is_big_endian;
	unsigned char bytes[400000];
	size_t len;
} capture;

static struct made_packet made;
static unsigned char stream[200000], got[200000];
static size_t stream_len;
static char folder[100], name[200];
static int kept_stdin = -1;

/* ---- making captures ----------------------------------------------------------------------------- */

static void put32(uint32_t value)
{
	for (int i = 0; i < 4; i++) {
		int shift = (capture.is_big_endian ? 3 - i : i) * 8;

		capture.bytes[capture.len++] = (unsigned char)(value >> shift);
	}
}

static void put16(unsigned value)
{
	capture.bytes[capture.len++] = (unsigned char)(capture.is_big_endian ? value >> 8 : value);
	capture.bytes[capture.len++] = (unsigned char)(capture.is_big_endian ? value : value >> 8);
}

/* Time stamps in nanoseconds. */
static void add_interface(void)
{
	put32(1);
	put32(32);
	put16(LINK_TYPE_IPV4);
	put16(0);
	put32(262144);
	put16(9);
	put16(1);
	put32(capture.is_big_endian ? 9U << 24 : 9);
	put32(0);
	put32(32);
}

static void begin_capture(enum kind kind, bool is_big_endian)
{
	static const uint32_t magic[] = { 0xa1b2c3d4, 0xa1b23c4d, 0xa1b2cd34 };

	capture.kind = kind;
	capture.is_big_endian = is_big_endian;
	capture.len = stream_len = 0;
	if (kind == NG) {
		put32(0x0a0d0d0a);
		put32(28);
		put32(0x1a2b3c4d);
		put16(1);
		put16(0);
		put32(UINT32_MAX);
		put32(UINT32_MAX);
		put32(28);
		add_interface();
		return;
	}
	put32(magic[kind]);
	put16(2);
	put16(4);
	put32(0);
	put32(0);
	put32(262144);
	put32(LINK_TYPE_IPV4);
}

/* made, as it was captured @ns after the start; @caplen bytes of it. */
static void add_packet(int64_t ns, size_t caplen)
{
	uint64_t utc_ns = (uint64_t)(START_S * UNITS_NS_PER_S + ns);
	size_t padded = (caplen + 3) / 4 * 4;

	if (capture.kind == NG) {
		put32(6);
		put32((uint32_t)(32 + padded));
		put32(0);
		put32((uint32_t)(utc_ns >> 32));
		put32((uint32_t)utc_ns);
	} else {
		put32((uint32_t)(utc_ns / 1000000000));
		put32((uint32_t)(utc_ns % 1000000000 / (capture.kind == NANO ? 1 : 1000)));
	}
	put32((uint32_t)caplen);
	put32((uint32_t)made_len(&made));
	if (capture.kind == MODIFIED) {
		put32(1);
		put32(0);
	}
	memcpy(capture.bytes + capture.len, made.at, caplen);
	capture.len += caplen;
	if (capture.kind == NG) {
		memset(capture.bytes + capture.len, 0, padded - caplen);
		capture.len += padded - caplen;
		put32((uint32_t)(32 + padded));
	}
}

static void make_datagram(size_t len, unsigned port, unsigned seed)
{
	made_payload(&made, len, seed);
	made_udp(&made, port);
	made_ipv4(&made, 17, seed, 0);
}

/* One that belongs to the stream. */
static void add_datagram(int64_t ns, size_t len)
{
	static unsigned seed;

	made_payload(&made, len, ++seed);
	memcpy(stream + stream_len, made.at, len);
	stream_len += len;
	make_datagram(len, PORT, seed);
	add_packet(ns, made_len(&made));
}

static void save(void)
{
	FILE *file;

	snprintf(name, sizeof(name), "%s/capture,1", folder);
	file = fopen(name, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(capture.bytes, 1, capture.len, file), capture.len);
	assert_int_equal(fclose(file), 0);
}

/* ---- reading ------------------------------------------------------------------------------------- */

static struct source *open_with(const char *details, const struct source_config *config)
{
	struct source *source;
	char text[400];

	save();
	snprintf(text, sizeof(text), "pcapfile:%s/capture,,1%s", folder, details);
	if (source_open(&source, text, config) || source_start(source))
		fail_msg("%s", source->error);
	return source;
}

static ssize_t read_once(struct source *source, void *to, size_t len, struct source_mark *mark)
{
	return source_read(source, to, len, units_monotonic_ns() + 5000 * MS, mark);
}

/* In pieces of @piece bytes. */
static void assert_stream(struct source *source, size_t piece)
{
	struct source_mark mark;
	size_t done = 0;
	ssize_t n;

	while ((n = read_once(source, got + done, piece, &mark)) > 0) {
		assert_true((size_t)n <= piece);
		assert_int_equal(mark.lost_bytes, 0);
		done += (size_t)n;
		assert_true(done <= stream_len);
	}
	if (n != SOURCE_END)
		fail_msg("%s", source->error);
	assert_int_equal(done, stream_len);
	assert_memory_equal(got, stream, done);
	assert_int_equal(read_once(source, got, piece, &mark), SOURCE_END); /* and remains so */
}

static void every_kind_in_any_pieces(void **state)
{
	static const size_t pieces[] = { 1, 100, 4096, sizeof(got) / 2 };

	(void)state;
	for (int kind = 0; kind < KIND_COUNT * 2; kind++) {
		begin_capture((enum kind)(kind / 2), kind % 2);
		add_datagram(0, 1000);
		add_datagram(1000, 0);
		if (kind / 2 == NG)
			add_interface();
		add_datagram(2000, 9000);
		add_datagram(3000, 17);
		for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
			struct source *source = open_with("", NULL);

			assert_true(source->can_wait);
			assert_stream(source, pieces[i]);
			assert_string_equal(source->note, "");
			assert_false(atomic_load(&source->is_incomplete));
			source_close(source);
		}
	}
}

static void marks_have_the_time_of_their_first_byte(void **state)
{
	struct source_mark mark;
	struct source *source;

	(void)state;
	begin_capture(NANO, false);
	add_datagram(7, 1000);
	add_datagram(1000009, 1000);
	source = open_with("", NULL);
	assert_int_equal(read_once(source, got, 500, &mark), 500);
	assert_int_equal(mark.utc_ns, START_S * UNITS_NS_PER_S + 7);
	assert_int_equal(read_once(source, got, 600, &mark), 600);
	assert_int_equal(mark.utc_ns, START_S * UNITS_NS_PER_S + 7);
	assert_int_equal(read_once(source, got, 900, &mark), 900);
	assert_int_equal(mark.utc_ns, START_S * UNITS_NS_PER_S + 1000009);
	source_close(source);
}

/* ---- what is not taken --------------------------------------------------------------------------- */

static void what_was_cut_short_is_lost_where_it_was(void **state)
{
	struct packet_counts counts;
	struct source_mark mark;
	struct source *source;

	(void)state;
	begin_capture(MICRO, false);
	add_datagram(0, 1000);
	make_datagram(5000, PORT, 1);
	add_packet(1, 500);
	add_packet(2, 500);
	add_datagram(3, 800);
	add_datagram(3, 20);
	make_datagram(300, PORT, 1);
	add_packet(4, 100);
	source = open_with("", NULL);
	assert_int_equal(read_once(source, got, sizeof(got), &mark), 1000);
	assert_int_equal(mark.lost_bytes, 0);
	assert_int_equal(read_once(source, got + 1000, sizeof(got) - 1000, &mark), 820);
	assert_int_equal(mark.lost_bytes, 10000);
	assert_int_equal(read_once(source, got + 1820, 1, &mark), SOURCE_END);
	assert_int_equal(mark.lost_bytes, 300);
	assert_memory_equal(got, stream, 1820);
	assert_true(atomic_load(&source->is_incomplete));
	assert_true(source_capture(source, &counts));
	assert_int_equal(counts.packets[PACKET_CUT], 3);
	assert_int_equal(counts.packets[PACKET_DATAGRAM], 3);
	assert_int_equal(counts.first_utc_ns, START_S * UNITS_NS_PER_S);
	source_close(source);
}

/* Wherever the file ends: whole packets, one sentence, and never an error. */
static void a_file_may_be_cut_anywhere(void **state)
{
	(void)state;
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		size_t begin, first, whole;

		begin_capture((enum kind)kind, false);
		begin = capture.len;
		add_datagram(0, 20);
		first = capture.len;
		add_datagram(0, 40);
		whole = capture.len;
		for (size_t len = begin; len <= whole; len++) {
			struct source_mark mark;
			struct source *source;
			ssize_t expected = len == whole ? 60 : len >= first ? 20 : 0;
			ssize_t n;

			capture.len = len;
			source = open_with("", NULL);
			n = read_once(source, got, sizeof(got), &mark);
			assert_int_equal(n, expected);
			if (n > 0 && !source->note[0])
				assert_int_equal(read_once(source, got, 1, &mark), SOURCE_END);
			assert_int_equal(atomic_load(&source->is_incomplete),
					 len != begin && len != first && len != whole);
			if (len != begin && len != first && len != whole)
				assert_non_null(strstr(source->note, "the file is cut at byte"));
			if (expected == 0)
				assert_non_null(strstr(source->note,
						       "no UDP datagram is in it: 0 packets"));
			source_close(source);
			capture.len = whole;
		}
	}
}

static void ports_and_filters_choose(void **state)
{
	struct packet_counts counts;
	struct source *source;

	(void)state;
	begin_capture(MICRO, false);
	add_datagram(0, 1000);
	make_datagram(500, PORT + 1, 1);
	add_packet(1, made_len(&made));
	add_datagram(2, 700);
	source = open_with(",port=46227", NULL);
	assert_stream(source, sizeof(got));
	assert_true(source_capture(source, &counts));
	assert_int_equal(counts.packets[PACKET_OTHER_PORT], 1);
	source_close(source);
	source = open_with(",filter=udp dst port 46227 and not net 10.1.0.0/16", NULL);
	assert_stream(source, sizeof(got));
	assert_true(source_capture(source, &counts));
	assert_int_equal(counts.packets[PACKET_FILTERED], 1);
	source_close(source);
}

static void what_cannot_be_is_refused_in_words(void **state)
{
	static const struct {
		const char *details;
		uint64_t rate_bps;
		int error;
		const char *words;
	} list[] = {
		{ ",port=0", 0, EINVAL, "1 to 65535" },
		{ ",port=65536", 0, ERANGE, "65535" },
		{ ",port=", 0, EINVAL, "whole number" },
		{ ",filter=prot udp", 0, EINVAL, "the filter \"prot udp\" is not understood" },
		{ ",as-recorded=1", 0, EINVAL, "no value" },
		{ ",as-recorded", 1000, EINVAL, "exclude each other" },
		{ ",psm=le", 0, EINVAL, "unknown detail" },
	};

	(void)state;
	begin_capture(MICRO, false);
	save();
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		const struct source_config config = { .rate_bps = list[i].rate_bps };
		struct source *source;
		char text[400];

		snprintf(text, sizeof(text), "pcapfile:%s/capture,,1%s", folder, list[i].details);
		assert_int_equal(source_open(&source, text, &config), -list[i].error);
		if (!strstr(source->error, list[i].words))
			fail_msg("%s: %s", list[i].details, source->error);
		source_close(source);
	}
}

static void other_sources_have_no_time_stamps(void **state)
{
	const struct source_config config = { .is_as_recorded = true };
	struct source *source;

	(void)state;
	assert_int_equal(source_open(&source, "sim:", &config), -EINVAL);
	assert_non_null(strstr(source->error, "has no time stamps"));
	source_close(source);
}

static void what_is_no_capture_is_refused(void **state)
{
	struct source *source;
	char text[400];

	(void)state;
	snprintf(text, sizeof(text), "pcapfile:%s/capture,,1", folder);
	begin_capture(MICRO, false);
	capture.len = 10;
	save();
	assert_int_equal(source_open(&source, text, NULL), -EBADMSG);
	assert_non_null(strstr(source->error, "tried to read 24 file header bytes, only got"));
	source_close(source);
	assert_int_equal(source_open(&source, "pcapfile:/dev/null", NULL), -EINVAL);
	assert_non_null(strstr(source->error, "use pcapfile:- < /dev/null"));
	source_close(source);
	assert_int_equal(source_open(&source, "pcapfile:/nonexistent", NULL), -ENOENT);
	source_close(source);
}

/* ---- pace ---------------------------------------------------------------------------------------- */

/* Nothing comes before it is due; a step back is no reason to wait, nor to be late for the next. */
static void as_recorded_keeps_the_time(void **state)
{
	const struct source_config config = { .is_as_recorded = true };

	(void)state;
	for (int way = 0; way < 2; way++) {
		struct source_mark mark;
		struct source *source;
		int64_t began;

		begin_capture(NANO, false);
		add_datagram(0, 100);
		add_datagram(50 * MS, 200);
		add_datagram(20 * MS, 300);
		add_datagram(120 * MS, 400);
		began = units_monotonic_ns();
		source = open_with(way ? ",as-recorded" : "", way ? NULL : &config);
		assert_int_equal(read_once(source, got, sizeof(got), &mark), 100);
		assert_int_equal(source_read(source, got, 1, units_monotonic_ns() + MS, &mark),
				 SOURCE_NOT_YET);
		assert_int_equal(read_once(source, got, sizeof(got), &mark), 500);
		assert_true(units_monotonic_ns() - began >= 50 * MS);
		assert_int_equal(read_once(source, got, sizeof(got), &mark), 400);
		assert_true(units_monotonic_ns() - began >= 120 * MS);
		source_close(source);
	}
}

static void a_rate_paces(void **state)
{
	const struct source_config config = { .rate_bps = 8 * 100000 * 10 }; /* 100 ms for all */
	struct source *source;
	int64_t began = units_monotonic_ns();

	(void)state;
	begin_capture(MICRO, false);
	for (int i = 0; i < 100; i++)
		add_datagram(i, 1000);
	source = open_with("", &config);
	assert_true(source->is_paced_by_us);
	assert_stream(source, sizeof(got));
	assert_true(units_monotonic_ns() - began >= 90 * MS);
	source_close(source);
}

/* ---- pipes --------------------------------------------------------------------------------------- */

static void become_stdin(const int *ends)
{
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
}

static struct source *open_pipe(void)
{
	struct source *source;

	if (source_open(&source, "pcapfile:-", NULL) || source_start(source))
		fail_msg("%s", source->error);
	return source;
}

static void write_all(int fd, size_t from, size_t to)
{
	assert_int_equal(write(fd, capture.bytes + from, to - from), to - from);
}

/* A pipe that stands still after any byte: what is whole comes, the deadline is kept, and nothing is lost. */
static void a_pipe_may_stand_still_anywhere(void **state)
{
	(void)state;
	for (int kind = 0; kind < KIND_COUNT * 2; kind++) {
		size_t begin;

		begin_capture((enum kind)(kind / 2), kind % 2);
		begin = capture.len;
		add_datagram(0, 20);
		if (kind / 2 == NG)
			add_interface();
		add_datagram(1, 15);
		for (size_t at = begin; at < capture.len; at++) {
			struct source *source;
			struct source_mark mark;
			int ends[2];
			ssize_t n;

			assert_int_equal(pipe(ends), 0);
			become_stdin(ends);
			write_all(ends[1], 0, at);
			source = open_pipe();
			n = source_read(source, got, sizeof(got), 0, &mark);
			assert_true(n == SOURCE_NOT_YET || n == 20);
			if (n == 20)
				assert_int_equal(source_read(source, got + 20, 100, 0, &mark),
						 SOURCE_NOT_YET);
			write_all(ends[1], at, capture.len);
			close(ends[1]);
			n = n > 0 ? n : 0;
			assert_int_equal(read_once(source, got + n, sizeof(got) / 2, &mark), 35 - n);
			assert_memory_equal(got, stream, 35);
			assert_int_equal(read_once(source, got, 1, &mark), SOURCE_END);
			assert_false(atomic_load(&source->is_incomplete));
			source_close(source);
		}
	}
}

static void a_pipe_that_ends_in_a_packet_is_cut(void **state)
{
	struct source *source;
	struct source_mark mark;
	int ends[2];

	(void)state;
	begin_capture(MICRO, false);
	add_datagram(0, 20);
	add_datagram(1, 20);
	assert_int_equal(pipe(ends), 0);
	become_stdin(ends);
	write_all(ends[1], 0, capture.len - 1);
	close(ends[1]);
	source = open_pipe();
	assert_int_equal(read_once(source, got, sizeof(got), &mark), 20);
	assert_non_null(strstr(source->note, "behind packet 1: truncated dump file"));
	assert_int_equal(read_once(source, got, sizeof(got), &mark), SOURCE_END);
	assert_true(atomic_load(&source->is_incomplete));
	source_close(source);
}

static void an_interrupt_ends_the_wait_for_a_header(void **state)
{
	struct source *source;
	int ends[2];

	(void)state;
	begin_capture(MICRO, false);
	assert_int_equal(pipe(ends), 0);
	become_stdin(ends);
	write_all(ends[1], 0, 10);
	assert_int_equal(source_open(&source, "pcapfile:-", NULL), 0);
	source_interrupt(source);
	assert_int_equal(source_start(source), -EINTR);
	source_close(source);
	close(ends[1]);
}

struct pouring {
	struct source *source;
	int fd;
	size_t header_len;
};

/* Blocks again and again, the reader being interrupted behind the first ones: until he has gone, or there were many. */
static void *pour_blocks(void *arg)
{
	const struct pouring *pouring = arg;

	for (int i = 0; i < 300; i++) {
		if (write(pouring->fd, capture.bytes + pouring->header_len,
			  capture.len - pouring->header_len) < 0)
			break;
		source_interrupt(pouring->source);
	}
	close(pouring->fd);
	return NULL;
}

static void an_interrupt_ends_blocks_without_a_packet(void **state)
{
	struct pouring pouring;
	struct source_mark mark;
	pthread_t thread;
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	begin_capture(NG, false);
	pouring.header_len = capture.len;
	while (capture.len + 12 <= sizeof(capture.bytes)) {
		put32(0xbad);
		put32(12);
		put32(12);
	}
	assert_int_equal(pipe(ends), 0);
	become_stdin(ends);
	write_all(ends[1], 0, pouring.header_len);
	pouring.source = open_pipe();
	pouring.fd = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, pour_blocks, &pouring), 0);
	assert_int_equal(source_read(pouring.source, got, 100, INT64_MAX, &mark), SOURCE_NOT_YET);
	close(STDIN_FILENO);
	pthread_join(thread, NULL);
	source_close(pouring.source);
}

static int keep_stdin(void **state)
{
	(void)state;
	kept_stdin = dup(STDIN_FILENO);
	return 0;
}

static int restore_stdin(void **state)
{
	(void)state;
	dup2(kept_stdin, STDIN_FILENO);
	close(kept_stdin);
	return 0;
}

static int make_folder(void **state)
{
	(void)state;
	return scratch_make(folder, sizeof(folder), NULL);
}

static int remove_folder(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

#define STDIN_TEST(test) cmocka_unit_test_setup_teardown(test, keep_stdin, restore_stdin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_in_any_pieces),
		cmocka_unit_test(marks_have_the_time_of_their_first_byte),
		cmocka_unit_test(what_was_cut_short_is_lost_where_it_was),
		cmocka_unit_test(a_file_may_be_cut_anywhere),
		cmocka_unit_test(ports_and_filters_choose),
		cmocka_unit_test(what_cannot_be_is_refused_in_words),
		cmocka_unit_test(other_sources_have_no_time_stamps),
		cmocka_unit_test(what_is_no_capture_is_refused),
		cmocka_unit_test(as_recorded_keeps_the_time),
		cmocka_unit_test(a_rate_paces),
		STDIN_TEST(a_pipe_may_stand_still_anywhere),
		STDIN_TEST(a_pipe_that_ends_in_a_packet_is_cut),
		STDIN_TEST(an_interrupt_ends_the_wait_for_a_header),
		STDIN_TEST(an_interrupt_ends_blocks_without_a_packet),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
