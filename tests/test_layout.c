/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/layout.h"

#define MI (UINT64_C(1) << 20)
#define GI (UINT64_C(1) << 30)

static char error[LAYOUT_ERROR_LEN];

static struct layout_request vbs(unsigned disk_count, uint64_t ring_bytes)
{
	return (struct layout_request){ .kind = LAYOUT_VBS,
					.disk_count = disk_count,
					.ring_bytes = ring_bytes };
}

static struct layout_plan plan_of(const struct layout_request *request)
{
	struct layout_plan plan;

	if (layout_plan(&plan, request, error) != 0)
		fail_msg("refused: %s", error);
	return plan;
}

/* A refusal with a sentence that has @word in it. */
static void assert_refused(const struct layout_request *request, const char *word)
{
	struct layout_plan plan;

	error[0] = '\0';
	assert_int_equal(layout_plan(&plan, request, error), -EINVAL);
	if (!strstr(error, word))
		fail_msg("'%s' is not in: %s", word, error);
}

static void blocks_are_whole_frames_and_whole_pages(void **state)
{
	static const struct {
		uint64_t frame, quantum;
	} cases[] = { { 8032, 1028096 }, { 5032, 2576384 }, { 8224, 1052672 },
		      { 4096, 4096 },    { 0, 4096 },       { 10000, 2560000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct layout_request request = vbs(2, 256 * MI);
		struct layout_plan plan;

		request.frame_bytes = cases[i].frame;
		plan = plan_of(&request);
		/* 2 MiB, or a quantum that is larger */
		assert_int_equal(plan.block_bytes,
				 cases[i].quantum > 2 * MI ?
					 cases[i].quantum :
					 2 * MI / cases[i].quantum * cases[i].quantum);
		request.block_bytes = cases[i].quantum; /* exactly one */
		assert_int_equal(plan_of(&request).block_bytes, cases[i].quantum);
		request.block_bytes = cases[i].quantum + 1; /* rounded down */
		assert_int_equal(plan_of(&request).block_bytes, cases[i].quantum);
		request.block_bytes = cases[i].quantum - 1;
		assert_refused(&request, "must be a multiple");
	}
}

static void a_ring_is_whole_blocks(void **state)
{
	struct layout_request request = vbs(1, 100 * MI + 12345);
	struct layout_plan plan = plan_of(&request);

	(void)state;
	assert_int_equal(plan.ring_bytes, plan.block_bytes * plan.block_count);
	assert_true(plan.ring_bytes <= request.ring_bytes);
	assert_true(request.ring_bytes - plan.ring_bytes < plan.block_bytes);
	/* 2 MiB, but in a small ring so small that there are 32 */
	assert_int_equal(plan.block_bytes, 2 * MI);
	request.ring_bytes = 30 * MI;
	assert_int_equal(plan_of(&request).block_bytes, 30 * MI / 32 / 4096 * 4096);
	request.ring_bytes = 16 * GI;
	assert_int_equal(plan_of(&request).block_bytes, 2 * MI);
	assert_int_equal(plan_of(&request).block_count, 8192);
	request.ring_bytes = 8192;
	assert_int_equal(plan_of(&request).block_count, 2);
	request.ring_bytes = 4096;
	assert_refused(&request, "needed");
	request.ring_bytes = 0;
	assert_refused(&request, "needed");
	request = vbs(4, 4 * 4096);
	assert_refused(&request, "larger --ring");
	request = vbs(1, 16 * GI);
	request.block_bytes = 2 * GI;
	assert_refused(&request, "below 2 GiB");
}

static void a_chunk_is_a_fourth_of_each_disks_share_of_the_ring(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 64; disks++) {
		for (uint64_t ring = 256 * MI; ring <= 512 * GI; ring *= 2) {
			struct layout_request request = vbs(disks, ring);
			struct layout_plan plan = plan_of(&request);
			uint64_t share = plan.ring_bytes / 4 / disks;

			share = share < LAYOUT_CHUNK_MAX ? share : LAYOUT_CHUNK_MAX;
			share = share / plan.block_bytes * plan.block_bytes;
			/* never less than a block */
			assert_int_equal(plan.chunk_bytes, share ? share : plan.block_bytes);
			assert_int_equal(plan.file_bytes, plan.chunk_bytes);
			assert_int_equal(plan.run_bytes, plan.chunk_bytes);
			assert_true(plan.is_run_a_file);
			assert_int_equal(plan.is_held, disks > 1);
			assert_true(disks == 1 || plan.chunk_bytes * (disks + 1) <= plan.ring_bytes);
		}
	}
}

static void a_given_chunk_must_fit(void **state)
{
	struct layout_request request = vbs(2, 256 * MI);

	(void)state;
	request.chunk_bytes = 64 * MI + 1;
	assert_int_equal(plan_of(&request).chunk_bytes, 64 * MI);
	request.chunk_bytes = 1;
	assert_refused(&request, "no whole block");
	request.chunk_bytes = 128 * MI;
	assert_refused(&request, "larger --ring or a smaller --chunk");
	/* three times these wrap round in 64 bits */
	request.chunk_bytes = UINT64_C(1) << 63;
	assert_refused(&request, "smaller --chunk");
	request.chunk_bytes = UINT64_MAX / 3 + 4096;
	assert_refused(&request, "smaller --chunk");
	request.disk_count = 3;
	request.chunk_bytes = UINT64_C(1) << 62;
	assert_refused(&request, "smaller --chunk");
	request = vbs(1, 256 * MI); /* nothing is held for one disk */
	request.chunk_bytes = 4 * GI;
	assert_int_equal(plan_of(&request).chunk_bytes, 4 * GI);
	request.file_bytes = GI;
	assert_refused(&request, "--chunk");
}

static void raw_on_several_targets_needs_a_file_size_or_round(void **state)
{
	struct layout_request request = { .kind = LAYOUT_RAW, .disk_count = 2, .ring_bytes = 256 * MI };
	struct layout_plan plan;

	(void)state;
	assert_refused(&request, "--file-size");
	request.file_bytes = GI;
	plan = plan_of(&request);
	assert_int_equal(plan.file_bytes, GI);
	assert_int_equal(plan.run_bytes, plan.chunk_bytes);
	assert_int_equal(plan.unit_bytes, 0);
	assert_false(plan.is_run_a_file);
	request.file_bytes = 0;
	request.file_ns = 1;
	plan = plan_of(&request);
	assert_int_equal(plan.file_ns, 1);
	assert_int_equal(plan.run_bytes, plan.chunk_bytes);
	request.stripe = STRIPE_ROUND;
	assert_refused(&request, "not with --stripe round");
	request.stripe = STRIPE_ANY;
	request.kind = LAYOUT_VBS;
	assert_refused(&request, "--file-time is for layout raw");
	request.kind = LAYOUT_RAW;
	request.file_ns = 0;
	request.file_bytes = MI; /* smaller than a chunk: it is written whole */
	plan = plan_of(&request);
	assert_int_equal(plan.run_bytes, MI);
	assert_true(plan.is_run_a_file);
	request.file_bytes = 0;
	request.stripe = STRIPE_ROUND;
	plan = plan_of(&request);
	assert_int_equal(plan.unit_bytes, plan.block_bytes);
	assert_int_equal(plan.file_bytes, 0);
	request.unit_bytes = 123456;
	assert_int_equal(plan_of(&request).unit_bytes, 123456);
}

static void one_target_holds_nothing(void **state)
{
	struct layout_request request = { .kind = LAYOUT_RAW, .disk_count = 1, .ring_bytes = 256 * MI };
	struct layout_plan plan = plan_of(&request);

	(void)state;
	assert_false(plan.is_held);
	assert_int_equal(plan.run_bytes, 0);
	assert_int_equal(plan.file_bytes, 0);
	request.file_bytes = 12345;
	assert_int_equal(plan_of(&request).file_bytes, 12345);
	request.is_stream = true;
	request.block_bytes = 4 * MI;
	assert_int_equal(plan_of(&request).file_bytes, 0);
	assert_int_equal(plan_of(&request).data_bytes, 4 * MI);
	request.is_dropped = true; /* a part will do */
	assert_int_equal(plan_of(&request).data_bytes, MI);
}

static void small_units_have_room_for_their_extents(void **state)
{
	struct layout_request request = { .kind = LAYOUT_RAW,
					  .stripe = STRIPE_ROUND,
					  .disk_count = 2,
					  .is_historical = true,
					  .ring_bytes = 256 * MI,
					  .unit_bytes = 16000 };
	struct layout_plan plan = plan_of(&request);

	(void)state;
	assert_false(plan.is_held);
	assert_true(plan.extent_max > plan.block_bytes / 16000 + 1);
	request.unit_bytes = 1;
	assert_refused(&request, "too small");
	request.unit_bytes = 512;
	plan_of(&request);
}

static void templates_have_one_number_and_nothing_else(void **state)
{
	static const char *const good[] = { "a.%d",       "a.%06d",    "%01d",
					    "100%%.%09d", "%%%012d%%", "a b %d" };
	static const char *const bad[] = { "",     "a",     "%",      "a%",    "%s",       "%n",
					   "%d%d", "%5d",   "%12d",   "%99d",  "%-5d",     "%0d",
					   "%00d", "%000d", "%0100d", "%ld",   "%lld",     "%i",
					   "%u",   "%x",    "%*d",    "%1$d",  "%06",      "%0",
					   "% d",  "%+d",   "a/%d",   "../%d", "%d/",      "%%d",
					   "%.3d", "%d%",   "%d%s",   "%d%n",  "%\xc3\xa4" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (layout_check_template(good[i], true, error) != 0)
			fail_msg("'%s': %s", good[i], error);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		error[0] = '\0';
		if (layout_check_template(bad[i], true, error) != -EINVAL || !error[0])
			fail_msg("'%s' was taken", bad[i]);
	}
	assert_int_equal(layout_check_template("plain", false, error), 0);
	assert_int_equal(layout_check_template("%099d", true, error), 0);
	assert_int_equal(layout_check_template("plain%s", false, error), -EINVAL);
	assert_int_equal(layout_check_template(".", false, error), -EINVAL);
	assert_int_equal(layout_check_template("..", false, error), -EINVAL);
	assert_int_equal(layout_check_template("scan\xff.%d", true, error), -EINVAL);
	assert_non_null(strstr(error, "UTF-8"));
}

static void templates_that_make_too_long_names_are_refused(void **state)
{
	char name[300];

	(void)state;
	for (size_t len = 1; len < sizeof(name); len++) {
		char made[LAYOUT_NAME_LEN];

		memset(name, 'a', len);
		name[len] = '\0';
		if (layout_check_template(name, false, error) == 0) {
			layout_file_name(made, name, UINT64_MAX, UINT64_MAX);
			assert_true(strlen(made) + strlen(".part") <= 255);
		} else {
			assert_true(len > 200);
			assert_non_null(strstr(error, "too long"));
		}
	}
}

static void names_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *name, *word;
	} cases[] = { { "", "empty" },      { "a.b", "'.'" },      { ".", "'.'" },
		      { "a/b", "path" },    { "a\nb", "control" }, { "a\x7f", "control" },
		      { "Me\xdf", "UTF-8" } };
	char name[LAYOUT_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(layout_check_name(cases[i].name, error), -EINVAL);
		if (!strstr(error, cases[i].word))
			fail_msg("%s", error);
	}
	assert_int_equal(layout_check_name("vsib_20261130T081500Z", error), 0);
	assert_int_equal(layout_check_name("Me\xc3\x9fung 50%", error), 0);
	memset(name, 'a', sizeof(name));
	name[LAYOUT_NAME_MAX + 1] = '\0';
	assert_int_equal(layout_check_name(name, error), -EINVAL);
	name[LAYOUT_NAME_MAX] = '\0';
	assert_int_equal(layout_check_name(name, error), 0);
}

static void files_are_named_as_their_readers_expect(void **state)
{
	struct layout_plan plan = { .kind = LAYOUT_VBS };
	char template[LAYOUT_NAME_LEN], name[LAYOUT_NAME_LEN];

	(void)state;
	layout_default_template(template, &plan, "scan");
	layout_file_name(name, template, 0, 0);
	assert_string_equal(name, "scan/scan.00000000");
	layout_file_name(name, template, 123456789, 0);
	assert_string_equal(name, "scan/scan.123456789");
	plan.kind = LAYOUT_RAW;
	layout_default_template(template, &plan, "scan");
	layout_file_name(name, template, 0, 0);
	assert_string_equal(name, "scan.raw");
	layout_file_name(name, template, 0, 4096);
	assert_string_equal(name, "scan.raw@4096");
	plan.file_bytes = 1;
	layout_default_template(template, &plan, "50%d");
	layout_file_name(name, template, 7, 0);
	assert_string_equal(name, "50%d.000007");
	layout_file_name(name, "%%%03d%%", 4, UINT64_MAX);
	assert_string_equal(name, "%004%@18446744073709551615");
	layout_file_name(name, "%d", UINT64_MAX, 0);
	assert_string_equal(name, "4611686018427387903");
	layout_file_name(name, "%099d", 1, 0);
	assert_int_equal(strlen(name), 99);
}

/* One endless file on each of several targets: a file that moves to another target must not meet a namesake there. */
static void files_of_several_targets_always_have_a_number(void **state)
{
	struct layout_request request = {
		.kind = LAYOUT_RAW, .stripe = STRIPE_ROUND, .disk_count = 2, .ring_bytes = 256 * MI
	};
	struct layout_plan plan = plan_of(&request);
	char template[LAYOUT_NAME_LEN];

	(void)state;
	layout_default_template(template, &plan, "scan");
	assert_string_equal(template, "scan.%06d");
}

static void the_longest_name_is_never_cut(void **state)
{
	struct layout_plan plan = { .kind = LAYOUT_VBS };
	char name[LAYOUT_NAME_MAX + sizeof(LAYOUT_COPY_SUFFIX)], template[LAYOUT_NAME_LEN],
		made[LAYOUT_NAME_LEN], expected[LAYOUT_NAME_LEN];

	(void)state;
	for (unsigned is_second = 0; is_second < 2; is_second++) {
		memset(name, '%', LAYOUT_NAME_MAX);
		strcpy(name + LAYOUT_NAME_MAX, is_second ? LAYOUT_COPY_SUFFIX : "");
		snprintf(expected, sizeof(expected), "%s/%s.00000012", name, name);
		layout_default_template(template, &plan, name);
		layout_file_name(made, template, 12, 0);
		assert_string_equal(made, expected);
	}
}

/* ---- mark6 ---- */

static struct layout_request mark6(unsigned disk_count, uint64_t ring_bytes, uint64_t packet_bytes)
{
	return (struct layout_request){ .kind = LAYOUT_MARK6,
					.disk_count = disk_count,
					.ring_bytes = ring_bytes,
					.packet_bytes = packet_bytes };
}

/* 10000000 bytes with their header, as Mark6 itself has them, where the ring is large enough. */
static void mark6_blocks_are_as_many_whole_packets_as_mark6_has_in_one(void **state)
{
	static const struct {
		uint64_t packet, data;
	} cases[] = { { 8032, 1245 * 8032 },  { 5032, 1987 * 5032 }, { 8224, 1215 * 8224 },
		      { 10016, 998 * 10016 }, { 1000, 9999 * 1000 }, { 10000000, 10000000 },
		      { 9999992, 9999992 },   { 1, 9999992 },        { 30000000, 30000000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned disks = 1; disks <= 8; disks++) {
			struct layout_request request = mark6(disks, GI, cases[i].packet);
			struct layout_plan plan = plan_of(&request);

			assert_int_equal(plan.data_bytes, cases[i].data);
			assert_int_equal(plan.packet_bytes, cases[i].packet);
			assert_int_equal(plan.block_bytes % 4096, 0);
			assert_true(plan.head_bytes + plan.data_bytes <= plan.block_bytes);
			assert_true(plan.block_bytes - plan.head_bytes - plan.data_bytes < 4096);
			assert_true(plan.head_bytes >=
				    MARK6_FILE_HEADER_BYTES + MARK6_BLOCK_HEADER_BYTES);
			assert_int_equal(plan.head_bytes % 64, 0);
		}
	}
}

static void mark6_blocks_leave_room_for_others_in_a_small_ring(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= 64; disks++) {
		for (uint64_t ring = 16 * MI; ring <= 4 * GI; ring *= 2) {
			struct layout_request request = mark6(disks, ring, 8032);
			struct layout_plan plan = plan_of(&request);

			assert_true(plan.data_bytes > 0);
			assert_int_equal(plan.data_bytes % 8032, 0);
			assert_true(plan.data_bytes + 8 <= MARK6_BLOCK_BYTES_CLASSIC);
			assert_true(plan.block_count >= 4 * disks && plan.block_count >= 16);
			assert_true(disks == 1 || plan.chunk_bytes * (disks + 1) <= plan.ring_bytes);
		}
	}
}

static void a_given_mark6_block_has_what_fits_behind_its_headers(void **state)
{
	struct layout_request request = mark6(2, 256 * MI, 8032);

	(void)state;
	request.block_bytes = 65536;
	assert_int_equal(plan_of(&request).block_bytes, 65536);
	assert_int_equal(plan_of(&request).data_bytes, 8 * 8032);
	request.frame_bytes = 8032; /* the block is no multiple of it here */
	assert_int_equal(plan_of(&request).block_bytes, 65536);
	request.packet_bytes = 4096 - 64; /* exactly one */
	request.block_bytes = 4096;
	assert_int_equal(plan_of(&request).data_bytes, 4032);
	request.packet_bytes++;
	assert_refused(&request, "holds no packet of 4033 bytes");
}

static void mark6_files_go_on_and_each_run_finds_its_disk(void **state)
{
	struct layout_request request = mark6(3, 256 * MI, 8032);
	struct layout_plan plan = plan_of(&request);

	(void)state;
	assert_true(plan.is_appended && plan.is_held && !plan.is_run_a_file);
	assert_int_equal(plan.file_bytes, 0);
	assert_int_equal(plan.unit_bytes, 0);
	assert_true(plan.run_bytes > 0 && plan.run_bytes == plan.chunk_bytes);
	request.stripe = STRIPE_ROUND;
	plan = plan_of(&request);
	assert_int_equal(plan.unit_bytes, plan.data_bytes);
	request.disk_count = 1;
	plan = plan_of(&request);
	assert_true(plan.is_appended && !plan.is_held);
	assert_int_equal(plan.unit_bytes, 0);
	assert_int_equal(plan.run_bytes, 0); /* each block */
}

static void what_does_not_go_with_mark6_is_refused(void **state)
{
	struct layout_request request = mark6(2, 256 * MI, 0);

	(void)state;
	request.frame_bytes = 8032; /* whose default that is decides who asks */
	assert_refused(&request, "--packet-size");
	request.packet_bytes = 8032;
	request.file_bytes = GI;
	assert_refused(&request, "--file-size");
	request.file_bytes = 0;
	request.unit_bytes = MI;
	assert_refused(&request, "--unit");
	request.unit_bytes = 0;
	request.copies = 2;
	assert_refused(&request, "not with layout mark6");
	request.copies = 0;
	request.has_parity = true;
	request.disk_count = 3;
	assert_refused(&request, "only with layout raw");
	request.has_parity = false;
	request.chunk_bytes = 200 * MI;
	assert_refused(&request, "don't fit into a ring");
}

/* A stream has no files, and so no headers. */
static void without_files_mark6_is_nothing_special(void **state)
{
	struct layout_request request = mark6(1, 256 * MI, 0);
	struct layout_plan plan;

	(void)state;
	request.is_stream = true;
	plan = plan_of(&request);
	assert_false(plan.is_appended);
	assert_int_equal(plan.head_bytes, 0);
	assert_int_equal(plan.packet_bytes, 0);
	assert_int_equal(plan.data_bytes, plan.block_bytes);
}

static void mark6_files_are_named_by_their_format(void **state)
{
	struct layout_plan plan = { .kind = LAYOUT_MARK6, .is_appended = true, .is_held = true };
	char template[LAYOUT_NAME_LEN], name[LAYOUT_NAME_LEN];

	(void)state;
	layout_default_template(template, &plan, "50%d");
	layout_file_name(name, template, 0, 0);
	assert_string_equal(name, "50%d.vdif");
	plan.packet_format = MARK6_MARK5B;
	layout_default_template(template, &plan, "scan");
	assert_string_equal(template, "scan.m5b");
	plan.packet_format = MARK6_UNKNOWN;
	layout_default_template(template, &plan, "scan");
	assert_string_equal(template, "scan.mark6");
	assert_string_equal(layout_kind_name(LAYOUT_RAW), "raw");
	assert_string_equal(layout_kind_name(LAYOUT_VBS), "vbs");
	assert_string_equal(layout_kind_name(LAYOUT_MARK6), "mark6");
}

static void savefiles_of_packets_have_whole_blocks(void **state)
{
	struct layout_request request = { .kind = LAYOUT_PCAP, .disk_count = 1, .ring_bytes = 64 * MI };
	struct layout_plan plan = plan_of(&request);
	char template[LAYOUT_NAME_LEN];

	(void)state;
	assert_true(plan.is_lent && plan.is_borrowed);
	layout_default_template(template, &plan, "scan");
	assert_string_equal(template, "scan.pcapng");
	request.file_bytes = GI;
	plan = plan_of(&request);
	layout_default_template(template, &plan, "scan");
	assert_string_equal(template, "scan.%06d.pcapng");
	request.file_bytes = 0;
	request.file_ns = 1;
	plan = plan_of(&request);
	layout_default_template(template, &plan, "scan");
	assert_string_equal(template, "scan.%06d.pcapng");
	request.file_ns = 0;
	request.file_bytes = plan.block_bytes - 1;
	assert_refused(&request, "whole blocks");
	request.file_bytes = GI;
	request.disk_count = 2;
	plan = plan_of(&request);
	assert_true(plan.is_lent && !plan.is_borrowed);
	request.stripe = STRIPE_ROUND;
	assert_refused(&request, "no --stripe round");
	request.stripe = STRIPE_ANY;
	request.unit_bytes = MI;
	assert_refused(&request, "no --unit");
	request.unit_bytes = 0;
	request.file_bytes = 0;
	assert_refused(&request, "layout pcap on several targets");
	assert_string_equal(layout_kind_name(LAYOUT_PCAP), "pcap");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_whole_frames_and_whole_pages),
		cmocka_unit_test(a_ring_is_whole_blocks),
		cmocka_unit_test(a_chunk_is_a_fourth_of_each_disks_share_of_the_ring),
		cmocka_unit_test(a_given_chunk_must_fit),
		cmocka_unit_test(raw_on_several_targets_needs_a_file_size_or_round),
		cmocka_unit_test(one_target_holds_nothing),
		cmocka_unit_test(small_units_have_room_for_their_extents),
		cmocka_unit_test(templates_have_one_number_and_nothing_else),
		cmocka_unit_test(templates_that_make_too_long_names_are_refused),
		cmocka_unit_test(names_are_refused_with_the_reason),
		cmocka_unit_test(files_are_named_as_their_readers_expect),
		cmocka_unit_test(files_of_several_targets_always_have_a_number),
		cmocka_unit_test(the_longest_name_is_never_cut),
		cmocka_unit_test(mark6_blocks_are_as_many_whole_packets_as_mark6_has_in_one),
		cmocka_unit_test(mark6_blocks_leave_room_for_others_in_a_small_ring),
		cmocka_unit_test(a_given_mark6_block_has_what_fits_behind_its_headers),
		cmocka_unit_test(mark6_files_go_on_and_each_run_finds_its_disk),
		cmocka_unit_test(what_does_not_go_with_mark6_is_refused),
		cmocka_unit_test(without_files_mark6_is_nothing_special),
		cmocka_unit_test(mark6_files_are_named_by_their_format),
		cmocka_unit_test(savefiles_of_packets_have_whole_blocks),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
