/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Savefiles as a feed: datagrams or whole packets with their stamps, from several files, from a start to a stop, in a loop;
 * a file that is cut gives what is whole; kinds that don't go together, and what is no savefile, are refused.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/feed_kit.h"
#include "tests/sample.h"
#include "tests/scratch.h"
#include "tools/replay/packet_feed.h"

#define BLOCK_BYTES 65536
#define FRAME 5032
#define COUNT 16

static char dir[PATH_MAX], one[PATH_MAX + 16], cut[PATH_MAX + 16], other[PATH_MAX + 16];
static struct feed_kit kit;

static void put_file(char *path, size_t size, const char *name, const void *data, size_t len)
{
	FILE *file;

	snprintf(path, size, "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
	(void)state;
	return scratch_make(dir, sizeof(dir), NULL);
}

/* The test that needs them is skipped where the samples are not there. */
static void need_files(void)
{
	size_t len;
	unsigned char *data = sample_read("derived/vdif_5032_udp6.pcap", &len);

	put_file(one, sizeof(one), "one.pcap", data, len);
	put_file(cut, sizeof(cut), "cut.pcap", data, len - 100);
	data[20] = 113; /* its link type: Linux cooked */
	put_file(other, sizeof(other), "other.pcap", data, len);
	free(data);
}

static int remove_files(void **state)
{
	(void)state;
	return scratch_remove(dir);
}

static void drain(const struct packet_feed_config *packets, int result, size_t count,
		  struct packet_counts *counts)
{
	struct feed_config config;
	struct feed *feed;

	feed_kit_open(&kit, BLOCK_BYTES, 3);
	config = feed_kit_config(&kit);
	assert_int_equal(packet_feed_create(&feed, &config, packets), 0);
	feed_kit_drain(&kit, feed, SIZE_MAX);
	assert_int_equal(kit.result, result);
	assert_int_equal(kit.packet_count, count);
	assert_int_equal(atomic_load(&feed->stats.data_bytes), kit.bytes);
	if (counts)
		packet_feed_counts(feed, counts);
	assert_true(result == 0 || feed->error[0]);
	feed_free(feed);
}

static struct packet_feed_config usual(const char *const *files, size_t count)
{
	return (struct packet_feed_config){
		.files = files, .file_count = count, .stop_offset = UINT64_MAX, .loop_count = 1
	};
}

static void test_datagrams(void **state)
{
	const char *files[] = { one };
	struct packet_feed_config config = usual(files, 1);
	struct packet_counts counts;

	(void)state;
	need_files();
	drain(&config, 0, COUNT, &counts);
	assert_int_equal(kit.bytes, COUNT * FRAME);
	assert_int_equal(counts.packets[PACKET_DATAGRAM], COUNT);
	assert_int_equal(kit.packets[0].bytes, FRAME);
	assert_int_equal(kit.packets[0].utc_ns, INT64_C(1429177262000000000));
	assert_int_equal(kit.packets[COUNT - 1].utc_ns, INT64_C(1429177262001875000));
	feed_kit_close(&kit);
}

static void test_whole_packets(void **state)
{
	const char *files[] = { one, one };
	struct packet_feed_config config = usual(files, 2);

	(void)state;
	need_files();
	config.is_whole = true;
	drain(&config, 0, 2 * COUNT, NULL);
	assert_int_equal(kit.packets[0].bytes, FRAME + 14 + 40 + 8);
	assert_int_equal(kit.packets[0].wire_bytes, FRAME + 14 + 40 + 8);
	assert_memory_equal(kit.data, kit.data + kit.bytes / 2, kit.bytes / 2);
	feed_kit_close(&kit);
}

static void test_places(void **state)
{
	const char *files[] = { one };
	struct packet_feed_config config = usual(files, 1);
	int64_t first = INT64_C(1429177262000000000);

	(void)state;
	need_files();
	config.start_offset = FRAME;
	config.stop_offset = 3 * FRAME;
	drain(&config, 0, 2, NULL);
	assert_int_equal(kit.packets[0].utc_ns, first + 125000);
	feed_kit_close(&kit);
	config.loop_count = 3;
	drain(&config, 0, 6, NULL);
	assert_int_equal(kit.packets[2].utc_ns, first + 125000);
	feed_kit_close(&kit);
	config = usual(files, 1);
	config.start_ns = 125001;
	config.stop_ns = 500000;
	drain(&config, 0, 2, NULL);
	assert_int_equal(kit.packets[0].utc_ns, first + 250000);
	feed_kit_close(&kit);
	config = usual(files, 1);
	config.start_utc_ns = first + 1875000;
	drain(&config, 0, 1, NULL);
	feed_kit_close(&kit);
}

/* The port of nobody: nothing is given, and a loop for ever ends. */
static void test_nothing_wanted(void **state)
{
	const char *files[] = { one };
	struct packet_feed_config config = usual(files, 1);
	struct packet_counts counts;

	(void)state;
	need_files();
	config.port = 1;
	config.loop_count = 0;
	drain(&config, 0, 0, &counts);
	assert_int_equal(counts.packets[PACKET_OTHER_PORT], COUNT);
	feed_kit_close(&kit);
	config = usual(files, 1);
	config.filter = "tcp";
	drain(&config, 0, 0, &counts);
	assert_int_equal(counts.packets[PACKET_FILTERED], COUNT);
	feed_kit_close(&kit);
}

static void test_cut_file(void **state)
{
	const char *files[] = { cut, one };
	struct packet_feed_config config = usual(files, 2);

	(void)state;
	need_files();
	drain(&config, -EBADMSG, COUNT - 1, NULL);
	feed_kit_close(&kit);
}

static void test_other_kind(void **state)
{
	const char *files[] = { one, other };
	struct packet_feed_config config = usual(files, 2);

	(void)state;
	need_files();
	config.is_whole = true;
	drain(&config, -EBADMSG, COUNT, NULL);
	feed_kit_close(&kit);
}

static void test_refused(void **state)
{
	static const char *const wrong[] = { "/dev/null", "/nowhere/at/all" };
	struct feed_config config;
	struct feed *feed;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct packet_feed_config packets = usual(&wrong[i], 1);

		feed_kit_open(&kit, BLOCK_BYTES, 3);
		config = feed_kit_config(&kit);
		assert_true(packet_feed_create(&feed, &config, &packets) < 0);
		assert_non_null(strstr(feed->error, wrong[i]));
		feed_free(feed);
		feed_kit_close(&kit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_datagrams), cmocka_unit_test(test_whole_packets),
		cmocka_unit_test(test_places),    cmocka_unit_test(test_nothing_wanted),
		cmocka_unit_test(test_cut_file),  cmocka_unit_test(test_other_kind),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_files);
}
