/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "tests/made_sysroot.h"
#include "tests/scratch.h"
#include "tools/qualify/pressure.h"

static char root[64];
static struct sysfs sysfs;
static struct pressure begun;
static struct trial_pressure result;

static int setup(void **state)
{
	(void)state;
	if (scratch_make(root, sizeof(root), NULL) < 0 || made_sysroot(root) < 0)
		return -1;
	return sysfs_init(&sysfs, root);
}

static int teardown(void **state)
{
	(void)state;
	return scratch_remove(root);
}

static void write_file(const char *path, const char *text)
{
	assert_int_equal(made_sysroot_write(root, path, text), 0);
}

static void assert_near(double value, double expected)
{
	if (value < expected - 0.001 || value > expected + 0.001)
		fail_msg("%g is not %g", value, expected);
}

/* 2000 + 6000 sectors before, 3000 + 7000 after: 2000 sectors, 1024000 bytes. */
static const char later[] = "   8       0 sda 110 0 3000 10 310 0 7000 20 0 30 40 0 0 0 0\n"
			    "   8       1 sda1 90 0 1900 10 300 0 6000 20 0 30 40 0 0 0 0\n"
			    " 253       0 dm-0 9 0 90 1 3 0 60 2 0 3 4 0 0 0 0\n"
			    "   7       0 loop0 20 0 200 1 40 0 1600 2 0 3 4 0 0 0 0\n";

static void sectors_that_are_not_our_own_are_somebody_elses(void **state)
{
	(void)state;
	pressure_begin(&begun, &sysfs, makedev(8, 0));
	write_file("proc/diskstats", later);
	pressure_end(&begun, &sysfs, 1024000, &result);
	assert_near(result.foreign_share, 0);
	pressure_end(&begun, &sysfs, 768000, &result);
	assert_near(result.foreign_share, 0.25);
	pressure_end(&begun, &sysfs, 0, &result);
	assert_near(result.foreign_share, 1);
	pressure_end(&begun, &sysfs, 9999999, &result); /* some of it is not on the disk yet */
	assert_near(result.foreign_share, 0);
}

static void the_disk_below_a_partition_and_below_a_mapping_counts(void **state)
{
	(void)state;
	pressure_begin(&begun, &sysfs, makedev(8, 1));
	assert_int_equal(begun.sectors, 8000);
	pressure_begin(&begun, &sysfs, makedev(253, 0));
	assert_int_equal(begun.sectors, 8000);
	assert_true(begun.disk == makedev(8, 0));
}

static void a_loop_device_is_counted_itself(void **state)
{
	(void)state;
	pressure_begin(&begun, &sysfs, makedev(7, 0));
	write_file("proc/diskstats", later);
	pressure_end(&begun, &sysfs, 256000, &result);
	assert_near(result.foreign_share, 0.5);
}

static void a_disk_that_was_idle_had_no_foreign_share(void **state)
{
	(void)state;
	pressure_begin(&begun, &sysfs, makedev(8, 0));
	pressure_end(&begun, &sysfs, 0, &result);
	assert_near(result.foreign_share, 0);
}

static void waiting_is_a_share_of_the_time(void **state)
{
	(void)state;
	pressure_begin(&begun, &sysfs, 0);
	begun.at_ns -= 1000 * UNITS_NS_PER_S; /* so that the test itself takes no time */
	write_file("proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=900000000\n"
				       "full avg10=0.00 avg60=0.00 avg300=0.00 total=501000000\n");
	write_file("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=102000000\n");
	write_file("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000\n"
					   "full avg10=0.00 avg60=0.00 avg300=0.00 total=999999999\n");
	pressure_end(&begun, &sysfs, 0, &result);
	assert_near(result.io_full_share, 0.5);
	assert_near(result.cpu_some_share, 0.1);
	assert_near(result.memory_some_share, 0);
	assert_near(result.foreign_share, -1); /* there was no disk */
}

static void what_the_kernel_does_not_tell_is_not_known(void **state)
{
	(void)state;
	write_file("proc/pressure/cpu", "");
	write_file("proc/diskstats", "");
	pressure_begin(&begun, &sysfs, makedev(8, 0));
	pressure_end(&begun, &sysfs, 0, &result);
	assert_near(result.foreign_share, -1);
	assert_near(result.cpu_some_share, -1);
	assert_near(result.io_full_share, 0);
}

static void numbers_that_no_disk_has_are_not_reckoned_with(void **state)
{
	(void)state;
	write_file("proc/diskstats",
		   "   8       0 sda 1 0 9223372036854775807 1 1 0 9223372036854775807 2 0 3 4 0 0 0 0\n");
	pressure_begin(&begun, &sysfs, makedev(8, 0));
	assert_int_equal(begun.sectors, -1);
	write_file("proc/diskstats",
		   "   8       0 sda 1 0 9223372036854775807 1 1 0 0 2 0 3 4 0 0 0 0\n");
	pressure_end(&begun, &sysfs, 0, &result);
	assert_near(result.foreign_share, -1);
}

static void this_machine_tells_a_share_or_nothing(void **state)
{
	struct sysfs real;

	(void)state;
	assert_int_equal(sysfs_init(&real, NULL), 0);
	pressure_begin(&begun, &real, 0);
	pressure_end(&begun, &real, 0, &result);
	assert_near(result.foreign_share, -1);
	assert_true(result.io_full_share == -1 || result.io_full_share >= 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sectors_that_are_not_our_own_are_somebody_elses),
		TEST(the_disk_below_a_partition_and_below_a_mapping_counts),
		TEST(a_loop_device_is_counted_itself),
		TEST(a_disk_that_was_idle_had_no_foreign_share),
		TEST(waiting_is_a_share_of_the_time),
		TEST(what_the_kernel_does_not_tell_is_not_known),
		TEST(numbers_that_no_disk_has_are_not_reckoned_with),
		TEST(this_machine_tells_a_share_or_nothing),
	};

	return cmocka_run_group_tests_name("pressure", tests, NULL, NULL);
}
