/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/existing.h"
#include "tests/scratch.h"

static char folder[64];
static struct target target;
static char found[256];

static int setup(void **state)
{
	char error[TARGET_ERROR_LEN];

	(void)state;
	return scratch_make(folder, sizeof(folder), NULL) < 0 ||
	       target_open(&target, folder, error) < 0;
}

static int teardown(void **state)
{
	(void)state;
	target_close(&target);
	return scratch_remove(folder);
}

static void make(const char *name)
{
	int fd = openat(target.dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static bool is_there(const char *name)
{
	return faccessat(target.dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int find(const char *name, const char *name_template)
{
	found[0] = '\0';
	return existing_find(&target, name, name_template, found, sizeof(found));
}

static int check(const char *name, const char *name_template)
{
	found[0] = '\0';
	return existing_check(&target, name, name_template, found, sizeof(found));
}

/* A journal of two targets, of which @path is the second; @file is listed for both, one more for the other only. */
static void make_journal(const char *name, const char *path, const char *uuid, const char *file)
{
	int fd = openat(target.dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
	FILE *f = fdopen(fd, "w");

	assert_non_null(f);
	fprintf(f,
		"{\"type\":\"start\",\"targets\":[{\"path\":\"/elsewhere\",\"fs_uuid\":\"\"},"
		"{\"path\":\"%s\",\"fs_uuid\":\"%s\"}]}\n",
		path, uuid);
	fprintf(f, "{\"type\":\"segment\",\"target\":1,\"file\":\"%s\"}\n", file);
	fprintf(f, "{\"type\":\"segment\",\"target\":0,\"file\":\"t99\"}\n{\"type\":\"segm");
	fclose(f);
}

static void write_text(const char *name, const char *text)
{
	int fd = openat(target.dir_fd, name, O_WRONLY | O_TRUNC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void files_of_a_recording_are_found_one_by_one(void **state)
{
	static const char *const files[] = {
		"scan.raw",
		"scan.raw.part",
		"scan.raw@4096",
		"scan.raw@4096.part",
		"scan.vsib.jsonl",
		"scan.000000",
		"scan.000000.part",
		"scan.12345678",
		"scan.0",
		"scan.000001@77",
		"scan.000001@77.part",
		"x-1-y",
		"x-000123-y",
		"x-1-y.part",
		"x-1-y@5",
		"x-1-y@5.part",
		"scan.vdif",
		"scan.m5b",
		"scan.mark6",
		"scan.raw.sigmf-meta",
		"scan.000000.sigmf-meta",
		"scan.000000.sigmf-meta.part",
		"scan.000001@77.sigmf-meta",
		"x-1-y.sigmf-meta",
		"x-1-y.sigmf-meta.part",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(find("scan", "x-%d-y"), 0);
		make(files[i]);
		assert_int_equal(find("scan", "x-%d-y"), 1);
		assert_string_equal(found, files[i]);
		assert_int_equal(unlinkat(target.dir_fd, files[i], 0), 0);
	}
	assert_int_equal(mkdirat(target.dir_fd, "scan", 0755), 0);
	assert_int_equal(find("scan", "x-%d-y"), 1);
	assert_string_equal(found, "scan");
}

static void files_of_others_are_not(void **state)
{
	static const char *const files[] = {
		"scan2.raw",
		"scan.rawx",
		"scan.raw.txt",
		"scan.raw@",
		"scan.raw@x",
		"scan.raw@5x",
		"scan.",
		"scanx",
		"sca",
		"scan.x",
		"scan.1x",
		"scan.1.partx",
		"scan.1@2.parts",
		"scan.vsib.json",
		"scan.vsib.jsonl.bak",
		"x--y",
		"x-1-",
		"x-1-yy",
		"ax-1-y",
		"x-a-y",
		"other.000000",
		"scan.txt",
		"Scan.raw",
		".scan.raw",
		"scan.vdif@5",
		"scan.vdif.part",
		"scan.mark6x",
		"scan.cfg",
		"scan.sigmf-meta",
		"scan.raw.sigmf-metax",
		"x-a-y.sigmf-meta",
		"x-1.sigmf-meta",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make(files[i]);
	if (find("scan", "x-%d-y") != 0)
		fail_msg("%s was taken for a file of the recording", found);
	assert_int_equal(check("scan", "x-%d-y"), 0);
	assert_int_equal(existing_remove(&target, "scan"), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_true(is_there(files[i]));
}

static void metadata_go_with_their_data(void **state)
{
	static const char *const files[] = { "t0", "t0.sigmf-meta", "t1.sigmf-data",
					     "t1.sigmf-meta", "t1.sigmf-meta.part" };

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make(files[i]);
	make_journal("monday.vsib.jsonl", folder, "", "t0");
	assert_int_equal(find("tuesday", "t%d.sigmf-data"), 1);
	/* those of t1 belong to another recording */
	assert_int_equal(check("monday", "t%d.sigmf-data"), 1);
	assert_int_equal(check("monday", "t0"), 0);
	assert_int_equal(existing_remove(&target, "monday"), 0);
	assert_false(is_there("t0") || is_there("t0.sigmf-meta"));
	assert_true(is_there("t1.sigmf-data") && is_there("t1.sigmf-meta"));
	make_journal("friday.vsib.jsonl", folder, "", "t1.sigmf-data");
	assert_int_equal(check("friday", "t%d.sigmf-data"), 0);
	assert_int_equal(existing_remove(&target, "friday"), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_false(is_there(files[i]));
}

static void the_cfg_of_chunks_goes_with_them(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(target.dir_fd, "scan", 0755), 0);
	make("scan/scan.00000000");
	make("scan/scan.cfg");
	make("scan/scan.cfg.part");
	make("scan.cfg");
	assert_int_equal(check("scan", "scan/scan.%08d"), 0);
	assert_int_equal(existing_remove(&target, "scan"), 0);
	assert_false(is_there("scan"));
	assert_true(is_there("scan.cfg"));
}

static void a_percent_sign_is_just_one(void **state)
{
	(void)state;
	make("50%.7");
	assert_int_equal(find("other", "50%%.%02d"), 1);
	assert_int_equal(find("50%", "nothing"), 1);
	assert_int_equal(find("50", "51%%.%d"), 0);
	make("501");
	assert_int_equal(mkdirat(target.dir_fd, "50%", 0755), 0);
	make("50%/501"); /* where the name, taken for a template, has its '%' */
	make("50%/50%.00000000");
	assert_int_equal(check("50%", "50%%/50%%.%08d"), 1);
	assert_string_equal(found, "50%/501");
	assert_int_equal(existing_remove(&target, "50%"), -ENOTEMPTY);
	assert_false(is_there("50%/50%.00000000"));
	assert_true(is_there("50%/501"));
	assert_true(is_there("501"));
}

static void digits_behind_the_number_belong_to_the_text(void **state)
{
	(void)state;
	make("a51");
	assert_int_equal(find("scan", "a%d1"), 1);
	assert_int_equal(find("scan", "a%d51"), 0);
	assert_int_equal(find("scan", "a%d2"), 0);
	assert_int_equal(find("scan", "a%d"), 1);
}

static void removing_takes_all_of_it_and_nothing_else(void **state)
{
	(void)state;
	make("scan.raw");
	make("scan.000001.part");
	make_journal("scan.vsib.jsonl", folder, "", "t7");
	make("t7");
	make("t7.part");
	make("t8");
	make("keep.raw");
	assert_int_equal(mkdirat(target.dir_fd, "scan", 0755), 0);
	make("scan/scan.00000000");
	make("scan/scan.00000001.part");
	make("scan/scan.vsib.jsonl");
	assert_int_equal(check("scan", "u%d"), 0);
	assert_int_equal(existing_remove(&target, "scan"), 0);
	assert_int_equal(find("scan", "t7%d"), 0);
	assert_false(is_there("t7") || is_there("t7.part") || is_there("scan"));
	assert_true(is_there("keep.raw") && is_there("t8"));
	assert_int_equal(existing_remove(&target, "scan"), 0); /* nothing is there: nothing to do */
}

/* Recordings may share a directory, and their templates make the same names. */
static void a_file_of_the_template_that_is_not_listed_is_in_the_way_and_stays(void **state)
{
	(void)state;
	make_journal("monday.vsib.jsonl", folder, "", "t0");
	make("t0");
	assert_int_equal(check("monday", "t%d"), 0);
	assert_int_equal(check("tuesday", "t%d"), 1);
	assert_string_equal(found, "t0");
	assert_int_equal(existing_remove(&target, "tuesday"), 0);
	assert_true(is_there("t0") && is_there("monday.vsib.jsonl"));
	make("t99"); /* monday's on its other target: here it is somebody else's */
	assert_int_equal(check("monday", "t%d"), 1);
	assert_string_equal(found, "t99");
	assert_int_equal(existing_remove(&target, "monday"), 0);
	assert_true(is_there("t99"));
	assert_false(is_there("t0") || is_there("monday.vsib.jsonl"));
}

static void a_disk_mounted_elsewhere_is_known_by_its_file_system(void **state)
{
	(void)state;
	make_journal("monday.vsib.jsonl", "/where/it/was", "1234-ABCD", "t0");
	make("t0");
	strcpy(target.fs_uuid, "4321-DCBA");
	assert_int_equal(check("monday", "t%d"), 1);
	strcpy(target.fs_uuid, "1234-ABCD");
	assert_int_equal(check("monday", "t%d"), 0);
	assert_int_equal(existing_remove(&target, "monday"), 0);
	assert_false(is_there("t0"));
}

static void a_foreign_file_in_the_directory_stays_and_is_told(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(target.dir_fd, "scan", 0755), 0);
	make("scan/scan.00000000");
	assert_int_equal(check("scan", "scan/scan.%08d"), 0);
	make("scan/notes.txt");
	assert_int_equal(check("scan", "scan/scan.%08d"), 1);
	assert_string_equal(found, "scan/notes.txt");
	assert_int_equal(existing_remove(&target, "scan"), -ENOTEMPTY);
	assert_true(is_there("scan/notes.txt"));
}

/* A link of that name, to somewhere with files of the same names: nothing is removed over there. */
static void removing_does_not_follow_links(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(target.dir_fd, "elsewhere", 0755), 0);
	make("elsewhere/scan.00000000");
	assert_int_equal(symlinkat("elsewhere", target.dir_fd, "scan"), 0);
	assert_int_equal(find("scan", "scan/scan.%08d"), 1);
	assert_int_equal(check("scan", "scan/scan.%08d"), 1);
	existing_remove(&target, "scan");
	assert_true(is_there("elsewhere/scan.00000000"));
}

static void how_often_it_was_written_is_told_by_its_journal(void **state)
{
	(void)state;
	assert_int_equal(existing_copies(&target, "monday"), 0);
	make_journal("monday.vsib.jsonl", folder, "", "t0");
	assert_int_equal(existing_copies(&target, "monday"), 1);
	make("tuesday.vsib.jsonl"); /* empty */
	assert_int_equal(existing_copies(&target, "tuesday"), 0);
	assert_int_equal(mkdirat(target.dir_fd, "scan", 0755), 0);
	assert_int_equal(existing_copies(&target, "scan"), 0);
	make("scan/scan.vsib.jsonl");
	write_text("scan/scan.vsib.jsonl", "{\"type\":\"start\",\"copies\":2}\n{\"type\":\"segm");
	assert_int_equal(existing_copies(&target, "scan"), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_of_a_recording_are_found_one_by_one),
		TEST(files_of_others_are_not),
		TEST(metadata_go_with_their_data),
		TEST(the_cfg_of_chunks_goes_with_them),
		TEST(a_percent_sign_is_just_one),
		TEST(digits_behind_the_number_belong_to_the_text),
		TEST(removing_takes_all_of_it_and_nothing_else),
		TEST(a_file_of_the_template_that_is_not_listed_is_in_the_way_and_stays),
		TEST(a_disk_mounted_elsewhere_is_known_by_its_file_system),
		TEST(a_foreign_file_in_the_directory_stays_and_is_told),
		TEST(removing_does_not_follow_links),
		TEST(how_often_it_was_written_is_told_by_its_journal),
	};

	return cmocka_run_group_tests_name("existing", tests, NULL, NULL);
}
