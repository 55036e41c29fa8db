/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/blkpg.h>
#include <linux/loop.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/made_sysroot.h"
#include "tests/scratch.h"
#include "tools/qualify/block_device.h"
#include "tools/qualify/device_check.h"

#define IMAGE_BYTES (16 << 20)
#define TRIES 20 /* for a loop device that others want too */

static char root[64];
static char error[TARGET_ERROR_LEN];
static char image[96], device[32]; /* a loop device's file, and its name */
static int loop_fd = -1;

static int setup(void **state)
{
	(void)state;
	if (scratch_make(root, sizeof(root), NULL) < 0)
		return -1;
	snprintf(image, sizeof(image), "%s/image", root);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (loop_fd >= 0)
		close(loop_fd); /* with its last descriptor the device lets go of its file */
	loop_fd = -1;
	return scratch_remove(root);
}

static void expect(int ret, int expected, const char *words)
{
	if (ret != expected || (ret < 0 && !strstr(error, words)))
		fail_msg("%d and not %d: %s", ret, expected, ret < 0 ? error : "");
	error[0] = '\0';
}

/* ---- on a machine that isn't there ---- */

/* A descriptor counts as 0, and is closed again. */
static void expect_open(int fd, int expected, const char *words)
{
	if (fd >= 0)
		close(fd);
	expect(fd < 0 ? fd : 0, expected, words);
}

static void expect_use(const char *disk, bool force, int expected, const char *words)
{
	char path[64], directory[SYSFS_PATH_LEN];
	struct sysfs sysfs;

	assert_int_equal(sysfs_init(&sysfs, root), 0);
	snprintf(path, sizeof(path), "sys/class/block/%s", disk);
	assert_int_equal(sysfs_resolve(&sysfs, path, directory), 0);
	expect(device_check_use(&sysfs, directory, force, error), expected, words);
}

static void write_file(const char *path, const char *text)
{
	assert_int_equal(made_sysroot_write(root, path, text), 0);
}

static void what_is_mounted_protects_all_disks_below_it(void **state)
{
	(void)state;
	assert_int_equal(made_sysroot(root), 0);
	expect_use("vda", true, -EBUSY, "mounted at / lies on it, the running system");
	expect_use("sda", true, -EBUSY, "/media/");
	expect_use("sdb", true, -EBUSY, "/media/usb1"); /* its partition */
	expect_use("sdd", true, -EBUSY, "/media/md");   /* a member */
	expect_use("sde", true, -EBUSY, "/media/md");
	expect_use("loop0", true, -EBUSY, "/media/loop");
	expect_use("nvme0n1", true, -EBUSY, "/media/nvme");
	expect_use("sdi", false, 0, "");
}

static void the_running_system_protects_its_disk_through_mapping_and_loop(void **state)
{
	(void)state;
	assert_int_equal(made_sysroot(root), 0);
	write_file("proc/self/mountinfo", "20 1 253:0 / / rw - ext4 /dev/mapper/secret rw\n");
	expect_use("sda", true, -EBUSY, "the running system");
	write_file("proc/self/mountinfo", "20 1 7:0 / / rw - ext4 /dev/loop0 rw\n"
					  "22 20 8:1 / /media/sata rw - ext4 /dev/sda1 rw\n");
	expect_use("sda", true, -EBUSY, "the running system");
	write_file("proc/self/mountinfo", "20 1 0:40 / / rw - btrfs /dev/sdc rw\n"); /* a number of its own */
	expect_use("sdc", true, -EBUSY, "the running system");
}

static void what_lies_on_a_disk_protects_it_without_being_mounted(void **state)
{
	(void)state;
	assert_int_equal(made_sysroot(root), 0);
	write_file("proc/self/mountinfo", "20 1 254:0 / / rw - ext4 /dev/vda rw\n");
	expect_use("sdd", true, -EBUSY, "md0 lies on it");
	expect_use("sda", true, -EBUSY, "dm-0 lies on it"); /* on a partition of it */
}

static void a_partition_is_overwritten_by_force_only(void **state)
{
	(void)state;
	assert_int_equal(made_sysroot(root), 0);
	write_file("proc/self/mountinfo", "20 1 254:0 / / rw - ext4 /dev/vda rw\n");
	expect_use("sdb", false, -EEXIST, "has a partition (sdb1)");
	expect_use("sdb", true, 0, "");
}

static void swap_protects_its_disk(void **state)
{
	(void)state;
	assert_int_equal(made_sysroot(root), 0);
	write_file("proc/swaps", "Filename Type Size Used Priority\n/dev/sdc partition 1000 0 -2\n");
	expect_use("sdc", true, -EBUSY, "/dev/sdc on it is swap");
	expect_use("sdi", true, 0, "");
	write_file("proc/swaps", "Filename Type Size Used Priority\n/swapfile file 1000 0 -2\n");
	write_file("proc/self/mountinfo", "20 1 8:128 / / rw - ext4 /dev/sdi rw\n");
	expect_use("sdi", true, -EBUSY, "the running system");
}

static void in_doubt_a_disk_is_in_use(void **state)
{
	char path[128];

	(void)state;
	assert_int_equal(made_sysroot(root), 0);
	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	assert_int_equal(unlink(path), 0);
	expect_use("sdi", true, -EBUSY, "may be in use");
}

/* ---- on real devices ---- */

static void make_image(void)
{
	int fd = open(image, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, IMAGE_BYTES), 0);
	close(fd);
}

static int attach(int control, struct loop_config *config)
{
	int number = ioctl(control, LOOP_CTL_GET_FREE), fd;

	if (number < 0)
		return -errno;
	snprintf(device, sizeof(device), "/dev/loop%d", number);
	fd = open(device, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, LOOP_CONFIGURE, config) < 0) {
		int ret = -errno;

		close(fd);
		return ret;
	}
	return fd;
}

/* The device goes with its last descriptor, however the test ends. */
static void attach_or_skip(unsigned flags)
{
	int file = open(image, O_RDWR | O_CLOEXEC),
	    control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config config = { .fd = (unsigned)file,
				      .info = { .lo_flags = LO_FLAGS_AUTOCLEAR | flags } };

	loop_fd = control < 0 ? -errno : -EBUSY;
	for (int i = 0; i < TRIES && loop_fd == -EBUSY; i++)
		loop_fd = attach(control, &config);
	close(file);
	if (control >= 0)
		close(control);
	if (loop_fd < 0) {
		print_message("there is no loop device for us: %s\n", strerror(-loop_fd));
		skip();
	}
}

static void make_file_system(void)
{
	char command[256];

	snprintf(command, sizeof(command), "mkfs.ext4 -q -F %s >/dev/null 2>&1", image);
	if (system(command) != 0) {
		print_message("mkfs.ext4 (package e2fsprogs) does not work here\n");
		skip();
	}
}

static void an_empty_disk_may_be_destroyed_under_its_own_name_only(void **state)
{
	(void)state;
	make_image();
	attach_or_skip(0);
	expect_open(device_open_to_read(device, error), 0, "");
	expect_open(device_open_to_destroy(device, image, false, error), 0, "");
	expect_open(device_open_to_destroy(device, "another", true, error), -EINVAL, image);
	expect_open(device_open_to_destroy(device, "", true, error), -EINVAL,
		    "not the disk that was meant");
	expect_open(device_open_to_destroy(device, NULL, true, error), -EINVAL,
		    "--device-serial says ''");
}

static void a_file_system_is_overwritten_by_force_only(void **state)
{
	(void)state;
	make_image();
	make_file_system();
	attach_or_skip(0);
	expect_open(device_open_to_destroy(device, image, false, error), -EEXIST, "signature of ext4");
	expect_open(device_open_to_destroy(device, image, true, error), 0, "");
}

/* A table of partitions is seen even where the kernel does not read it. */
static void a_partition_table_is_overwritten_by_force_only(void **state)
{
	static const unsigned char table[] = { 0x00, 0x00, 0x02, 0x00, 0x83, 0x00, 0x00, 0x00,
					       0x00, 0x08, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00 };
	int fd;

	(void)state;
	make_image();
	fd = open(image, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, table, sizeof(table), 446), sizeof(table));
	assert_int_equal(pwrite(fd, "\x55\xaa", 2, 510), 2);
	close(fd);
	attach_or_skip(0);
	expect_open(device_open_to_destroy(device, image, false, error), -EEXIST, "signature of dos");
	expect_open(device_open_to_destroy(device, image, true, error), 0, "");
}

/* Said to the kernel directly, which may not know any kind of table. */
static void a_disk_with_partitions_is_overwritten_by_force_only(void **state)
{
	struct blkpg_partition first = { .start = 1 << 20, .length = 8 << 20, .pno = 1 };
	struct blkpg_ioctl_arg add = { .op = BLKPG_ADD_PARTITION,
				       .datalen = sizeof(first),
				       .data = &first };
	char partition[48];

	(void)state;
	make_image();
	attach_or_skip(LO_FLAGS_PARTSCAN); /* so they go with it */
	snprintf(partition, sizeof(partition), "%sp1", device);
	if (ioctl(loop_fd, BLKPG, &add) < 0 || access(partition, F_OK) < 0) {
		print_message("loop devices have no partitions here\n");
		skip();
	}
	expect_open(device_open_to_destroy(device, image, false, error), -EEXIST, "has a partition");
	expect_open(device_open_to_destroy(device, image, true, error), 0, "");
	expect_open(device_open_to_destroy(partition, image, true, error), -ENOTBLK,
		    "is a partition of loop");
	expect_open(device_open_to_read(partition, error), 0, "");
}

static void a_disk_that_somebody_holds_is_never_overwritten(void **state)
{
	int holder;

	(void)state;
	make_image();
	attach_or_skip(0);
	holder = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);
	assert_true(holder >= 0);
	expect_open(device_open_to_destroy(device, image, true, error), -EBUSY, "is in use");
	expect_open(device_open_to_read(device, error), 0, "");
	close(holder);
	expect_open(device_open_to_destroy(device, image, true, error), 0, "");
}

static void a_read_only_disk_is_never_overwritten(void **state)
{
	(void)state;
	make_image();
	attach_or_skip(LO_FLAGS_READ_ONLY);
	expect_open(device_open_to_destroy(device, image, true, error), -EROFS, "read-only");
}

static void the_disk_of_this_system_is_never_overwritten(void **state)
{
	char path[96], directory[SYSFS_PATH_LEN], serial[TARGET_TEXT_LEN];
	struct sysfs sysfs;
	struct stat st;

	(void)state;
	assert_int_equal(sysfs_init(&sysfs, NULL), 0);
	assert_int_equal(stat("/", &st), 0);
	if (!block_find(&sysfs, st.st_dev, directory)) {
		print_message("the system lies on no disk\n");
		skip();
	}
	block_whole(&sysfs, directory);
	snprintf(path, sizeof(path), "%s/node", root);
	if (!block_serial(&sysfs, directory, serial, sizeof(serial)) ||
	    mknod(path, S_IFBLK | 0600, block_number(&sysfs, directory)) < 0) {
		print_message("making a device node needs root, and the disk a serial number\n");
		skip();
	}
	expect_open(device_open_to_destroy(path, serial, true, error), -EBUSY, "the running system");
	expect_open(device_open_to_destroy(path, "x", true, error), -EINVAL, serial);
}

static void what_is_no_block_device_is_refused(void **state)
{
	(void)state;
	make_image();
	expect_open(device_open_to_destroy(image, image, true, error), -ENOTBLK, "not a block device");
	expect_open(device_open_to_read(image, error), -ENOTBLK, "not a block device");
	expect_open(device_open_to_read("/dev/null", error), -ENOTBLK, "not a block device");
	expect_open(device_open_to_read("/dev/nonexistent", error), -ENOENT, "can't be opened");
	expect_open(device_open_to_destroy("/dev/nonexistent", "x", true, error), -ENOENT,
		    "can't be opened");
}

static void a_mounted_disk_is_never_overwritten(void **state)
{
	char point[96];

	(void)state;
	make_image();
	make_file_system();
	attach_or_skip(0);
	snprintf(point, sizeof(point), "%s/mounted", root);
	assert_int_equal(mkdir(point, 0700), 0);
	/* in a name space of our own: whatever becomes of the test, nothing stays mounted */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(device, point, "ext4", 0, NULL) < 0) {
		print_message("mounting needs root\n");
		skip();
	}
	expect_open(device_open_to_destroy(device, image, true, error), -EBUSY, point);
	expect_open(device_open_to_read(device, error), 0, "");
	assert_int_equal(umount(point), 0);
	expect_open(device_open_to_destroy(device, image, true, error), 0, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_mounted_protects_all_disks_below_it),
		TEST(the_running_system_protects_its_disk_through_mapping_and_loop),
		TEST(what_lies_on_a_disk_protects_it_without_being_mounted),
		TEST(a_partition_is_overwritten_by_force_only),
		TEST(swap_protects_its_disk),
		TEST(in_doubt_a_disk_is_in_use),
		TEST(an_empty_disk_may_be_destroyed_under_its_own_name_only),
		TEST(a_file_system_is_overwritten_by_force_only),
		TEST(a_partition_table_is_overwritten_by_force_only),
		TEST(a_disk_with_partitions_is_overwritten_by_force_only),
		TEST(a_disk_that_somebody_holds_is_never_overwritten),
		TEST(a_read_only_disk_is_never_overwritten),
		TEST(the_disk_of_this_system_is_never_overwritten),
		TEST(what_is_no_block_device_is_refused),
		TEST(a_mounted_disk_is_never_overwritten), /* last: it leaves the common name space */
	};

	return cmocka_run_group_tests_name("device_check", tests, NULL, NULL);
}
