/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/made_sysroot.h"
#include "tests/scratch.h"
#include "tools/qualify/block_device.h"
#include "tools/qualify/device_path.h"
#include "tools/qualify/environment.h"
#include "tools/qualify/temperature.h"

static char shared_root[64], own_root[64];
static const char *root; /* the tree that is read: made once, or for a test that changes it */
static struct sysfs sysfs;
static struct trial_environment environment;

static int make_tree(char *path, size_t size)
{
	if (scratch_make(path, size, NULL) < 0 || made_sysroot(path) < 0)
		return -1;
	root = path;
	return sysfs_init(&sysfs, root);
}

static int setup_group(void **state)
{
	(void)state;
	return make_tree(shared_root, sizeof(shared_root));
}

static int teardown_group(void **state)
{
	(void)state;
	return scratch_remove(shared_root);
}

static int setup(void **state)
{
	(void)state;
	return make_tree(own_root, sizeof(own_root));
}

static int teardown(void **state)
{
	(void)state;
	root = shared_root;
	return scratch_remove(own_root) || sysfs_init(&sysfs, root);
}

static const struct trial_environment *look(const char *path, const char *device, dev_t disk, dev_t fs)
{
	struct target target;

	made_sysroot_target(&target, path, device, disk, fs);
	environment_look(&sysfs, &target, &environment);
	return &environment;
}

static void write_attribute(const char *path, const char *text)
{
	assert_int_equal(made_sysroot_write(root, path, text), 0);
}

static const struct trial_node *node_called(const struct trial_environment *of, const char *name)
{
	for (unsigned i = 0; i < of->path_count; i++)
		if (strcmp(of->path[i].name, name) == 0)
			return &of->path[i];
	fail_msg("%s is not on the path", name);
	return NULL;
}

static void assert_path(const struct trial_environment *of, const char *expected)
{
	char names[1024] = "";

	for (unsigned i = 0; i < of->path_count; i++) {
		strcat(names, i ? " " : "");
		strcat(names, of->path[i].name);
	}
	assert_string_equal(names, expected);
}

static bool has_note(const struct trial_environment *of, const char *words)
{
	for (unsigned i = 0; i < of->note_count; i++)
		if (strstr(of->notes[i], words))
			return true;
	return false;
}

static void assert_near(double value, double expected)
{
	if (value < expected * 0.999 || value > expected * 1.001)
		fail_msg("%g is not %g", value, expected);
}

/* ---- the seam ---- */

static void attributes_are_read_below_the_root_and_nothing_outside_of_it(void **state)
{
	char text[64], path[128];

	(void)state;
	assert_true(sysfs_line(&sysfs, "sys/block/none", "size", text, sizeof(text)) == false &&
		    !text[0]);
	assert_true(sysfs_line(&sysfs, "sys/class/block/sda", "queue/scheduler", text, sizeof(text)));
	assert_string_equal(text, "none [mq-deadline] kyber bfq");
	assert_int_equal(sysfs_number(&sysfs, "sys/class/block/sda", "size", -1), 1953525168);
	assert_int_equal(sysfs_number(&sysfs, "sys/class/block/sda", "queue/scheduler", -7), -7);
	assert_true(sysfs_link_name(&sysfs, "sys/class/block/sda1", "subsystem", text, sizeof(text)));
	assert_string_equal(text, "block");
	snprintf(path, sizeof(path), "%s/sys/leak", root);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_false(sysfs_has(&sysfs, "sys", "leak"));
	assert_false(sysfs_line(&sysfs, "sys", "leak", text, sizeof(text)));
}

static void a_list_of_roots_gives_the_first_that_has_a_file(void **state)
{
	char other[64], list[192], text[64];
	struct sysfs both;

	(void)state;
	assert_int_equal(scratch_make(other, sizeof(other), NULL), 0);
	assert_int_equal(made_sysroot_write(other, "sys/class/block/sda/size", "8\n"), 0);
	snprintf(list, sizeof(list), "%s:%s", other, root);
	assert_int_equal(sysfs_init(&both, list), 0);
	assert_int_equal(sysfs_number(&both, "sys/class/block/sda", "size", -1), 8);
	assert_true(sysfs_line(&both, "sys/class/block/sda", "dev", text, sizeof(text)));
	assert_int_equal(sysfs_init(&both, "/nonexistent"), -ENOENT);
	assert_int_equal(sysfs_init(&both, "/:/:/:/:/"), -E2BIG);
	assert_int_equal(scratch_remove(other), 0);
}

static void the_environment_variable_names_the_roots(void **state)
{
	struct sysfs named;

	(void)state;
	assert_int_equal(setenv("VSIB_SYSROOT", root, 1), 0);
	assert_int_equal(sysfs_init_from_environment(&named), 0);
	assert_true(sysfs_has(&named, "sys/class/block", "sdf"));
	assert_int_equal(unsetenv("VSIB_SYSROOT"), 0);
	assert_int_equal(sysfs_init_from_environment(&named), 0);
	assert_int_equal(named.root_count, 1);
	assert_string_equal(named.roots[0], "");
}

/* ---- disks ---- */

static void a_sata_disk_on_a_slow_link_is_described(void **state)
{
	const struct trial_environment *sata =
		look("/media/sata", "/dev/sda1", makedev(8, 0), makedev(8, 1));

	(void)state;
	assert_string_equal(sata->disk_name, "sda");
	assert_string_equal(sata->model, "Made Disk 1000");
	assert_string_equal(sata->firmware, "1A01");
	assert_string_equal(sata->transport, "sata");
	assert_int_equal(sata->is_rotational, 1);
	assert_int_equal(sata->size_bytes, UINT64_C(1000204886016));
	assert_string_equal(sata->fs, "ext4");
	assert_string_equal(sata->mount_point, "/media/sata");
	assert_non_null(strstr(sata->mount_options, "noatime"));
	assert_string_equal(sata->scheduler, "mq-deadline");
	assert_string_equal(sata->write_cache, "write back");
	assert_int_equal(sata->max_io_bytes, 1280 << 10);
	assert_int_equal(sata->queue_depth, 31);
	assert_int_equal(sata->free_bytes, UINT64_C(400) << 30);
	assert_int_equal(sata->reserve_bytes, 1 << 30);
	assert_path(sata, "sda ata1 0000:00:1f.2 pci0000:00");
	assert_near(sata->link_bps, 1.2e9);
	assert_near(sata->capable_bps, 4.8e9);
	assert_string_equal(sata->link_node, "ata1");
	assert_non_null(strstr(node_called(sata, "ata1")->text, "after errors"));
	assert_int_equal(sata->note_count, 0);
}

static void what_a_sata_disk_could_do_is_not_guessed(void **state)
{
	(void)state;
	write_attribute("sys/devices/pci0000:00/0000:00:1f.2/ata1/link1/dev1.0/ata_device/dev1.0/id",
			"");
	look("/media/sata", "/dev/sda1", makedev(8, 0), makedev(8, 1));
	assert_near(environment.link_bps, 1.2e9);
	assert_true(environment.capable_bps == -1);
}

static void a_usb_disk_behind_a_hub_shows_hub_speed_and_autosuspend(void **state)
{
	const struct trial_environment *usb =
		look("/media/usb1", "/dev/sdb1", makedev(8, 16), makedev(8, 17));

	(void)state;
	assert_string_equal(usb->transport, "usb");
	assert_string_equal(usb->serial, "0123456789AB");
	assert_string_equal(usb->model, "Made USB Disk");
	assert_path(usb, "sdb 1-1.2 1-1 usb1 0000:00:1d.7 pci0000:00");
	assert_near(usb->link_bps, 480e6);
	assert_near(usb->capable_bps, 480e6);
	assert_string_equal(node_called(usb, "1-1.2")->text,
			    "Made Enclosure, 480 Mbit/s (some 320 Mbit/s for a disk), usb-storage");
	assert_string_equal(node_called(usb, "0000:00:1d.7")->text, "USB controller 8086:27cc");
	assert_true(has_note(usb, "4 GiB"));
	assert_true(has_note(usb, "autosuspend is on for 1-1.2"));
}

static void a_usb_3_disk_that_came_up_as_usb_2_is_found(void **state)
{
	const struct trial_environment *usb = look("/x", "/dev/sdh", makedev(8, 112), 0);

	(void)state;
	assert_near(usb->link_bps, 480e6);
	assert_near(node_called(usb, "1-2")->capable_bps, 4e9);
	assert_non_null(strstr(node_called(usb, "1-2")->text, "device and port can do 5000"));
	assert_near(usb->capable_bps, 4e9);
}

/* A version of 2.1 may be either; since Linux 6.10 it is known what the device really can do. */
static void a_usb_version_of_2_1_is_usb_3_if_the_device_says_so(void **state)
{
	static const char disk[] = "sys/devices/pci0000:00/0000:00:1d.7/usb1/1-2";
	static const char *const bos[] = {
		"\x05\x0f\x0c\x01\x01\x07\x10\x02\x06\x01\x01\x01", /* LPM only */
		"\x05\x0f\x0f\x01\x01\x0a\x10\x03\x01\x0e\x01\x01\x0a\x20\x01"
	};
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/version", disk);
	write_attribute(path, " 2.10\n");
	assert_near(look("/x", "/dev/sdh", makedev(8, 112), 0)->capable_bps, 480e6);
	assert_true(has_note(&environment, "1-2 runs at USB 2 in a port for USB 3"));
	snprintf(path, sizeof(path), "%s/bos_descriptors", disk);
	write_attribute(path, bos[0]);
	assert_near(look("/x", "/dev/sdh", makedev(8, 112), 0)->capable_bps, 480e6);
	assert_false(has_note(&environment, "USB 3"));
	write_attribute(path, bos[1]);
	assert_near(look("/x", "/dev/sdh", makedev(8, 112), 0)->capable_bps, 4e9);
	/* the half of a hub whose other half is in the port of USB 3 */
	write_attribute("sys/devices/pci0000:00/0000:00:1d.7/usb2/2-0:1.0/usb2-port2/device/speed",
			"5000\n");
	assert_near(look("/x", "/dev/sdh", makedev(8, 112), 0)->capable_bps, 480e6);
}

static void an_nvme_disk_with_half_of_its_lanes_is_found(void **state)
{
	const struct trial_environment *nvme =
		look("/media/nvme", "/dev/nvme0n1", makedev(259, 0), makedev(259, 0));

	(void)state;
	assert_string_equal(nvme->transport, "nvme");
	assert_string_equal(nvme->serial, "S5GXNX0R");
	assert_string_equal(nvme->firmware, "2B2QEXM7");
	assert_string_equal(nvme->scheduler, "none");
	assert_int_equal(nvme->queue_depth, 1023);
	assert_path(nvme, "nvme0n1 nvme0 0000:02:00.0 0000:00:1c.0 pci0000:00");
	assert_near(nvme->link_bps, 8e9 * 2 * 128 / 130);
	assert_near(nvme->capable_bps, 8e9 * 4 * 128 / 130);
	assert_true(node_called(nvme, "0000:00:1c.0")->link_bps == -1); /* it has eight lanes for others */
	assert_true(has_note(nvme, "mount option discard"));
}

static void an_nvme_disk_of_a_subsystem_leads_to_its_controller(void **state)
{
	struct temperature temperature;

	(void)state;
	look("/x", "/dev/nvme1n1", makedev(259, 1), 0);
	assert_path(&environment, "nvme1n1 nvme0 0000:02:00.0 0000:00:1c.0 pci0000:00");
	assert_string_equal(environment.transport, "nvme");
	temperature_find(&temperature, &sysfs, makedev(259, 1));
	assert_near(temperature_read(&temperature, &sysfs), 52.85);
}

static void a_virtual_disk_has_no_link(void **state)
{
	const struct trial_environment *virtual = look("/", "/dev/vda", makedev(254, 0),
						       makedev(254, 0));

	(void)state;
	assert_string_equal(virtual->transport, "virtio");
	assert_string_equal(virtual->serial, "system");
	assert_string_equal(virtual->model, "");
	assert_true(virtual->link_bps == -1 && virtual->capable_bps == -1);
	assert_string_equal(virtual->link_node, "");
}

static void a_sas_port_adds_its_phys(void **state)
{
	const struct trial_environment *sas = look("/x", "/dev/sdi", makedev(8, 128), 0);

	(void)state;
	assert_string_equal(sas->transport, "sas");
	assert_string_equal(sas->serial, "ZC19YX");
	assert_near(sas->link_bps, 2 * 12e9 * 0.8);
}

/* ---- devices upon devices ---- */

static void a_raid5_has_what_its_members_have_in_common(void **state)
{
	const struct trial_environment *md =
		look("/media/md", "/dev/md0", makedev(9, 0), makedev(9, 0));

	(void)state;
	assert_string_equal(md->transport, "md");
	assert_string_equal(md->model, "raid5 of sdd, sde");
	assert_path(md, "md0 0000:00:1f.2 pci0000:00");
	assert_near(md->link_bps, 4.8e9);
	assert_true(has_note(md, "md0 is a raid5"));
	assert_true(has_note(md, "mount option barrier=0"));
	assert_false(has_note(md, "degraded"));
}

static void a_stripe_adds_its_members_and_names_the_slow_one(void **state)
{
	(void)state;
	write_attribute("sys/devices/virtual/block/md0/md/level", "raid0\n");
	write_attribute("sys/devices/pci0000:00/0000:00:1f.2/ata3/link3/ata_link/link3/sata_spd",
			"3.0 Gbps\n");
	look("/media/md", "/dev/md0", makedev(9, 0), makedev(9, 0));
	assert_near(environment.link_bps, 2 * 2.4e9);
	assert_near(environment.capable_bps, 2 * 4.8e9);
	assert_string_equal(environment.link_node, "md0");
	assert_true(has_note(&environment, "sde: the link of ata3 is slower"));
	assert_false(has_note(&environment, "raid5"));
	write_attribute("sys/devices/virtual/block/md0/md/degraded", "1\n");
	write_attribute("sys/devices/virtual/block/md0/md/sync_action", "recover\n");
	look("/media/md", "/dev/md0", makedev(9, 0), makedev(9, 0));
	assert_true(has_note(&environment, "is degraded"));
	assert_true(has_note(&environment, "is at a recover"));
}

static void an_encrypted_partition_is_its_disk_and_says_so(void **state)
{
	/* btrfs: the number of the file system is no block device's */
	const struct trial_environment *crypt =
		look("/media/crypt", "/dev/mapper/secret", 0, makedev(0, 41));

	(void)state;
	assert_string_equal(crypt->disk_name, "dm-0");
	assert_string_equal(crypt->model, "Made Disk 1000");
	assert_string_equal(crypt->transport, "sata");
	assert_string_equal(crypt->fs, "nfs4"); /* the made target's number is the network's */
	look("/media/crypt", "/dev/mapper/secret", 0, makedev(0, 99));
	assert_string_equal(environment.fs, "btrfs");
	assert_string_equal(environment.mount_point, "/media/crypt");
	assert_path(&environment, "dm-0 sda ata1 0000:00:1f.2 pci0000:00");
	assert_true(has_note(&environment, "secret is encrypted"));
	assert_true(has_note(&environment, "mount option compress"));
}

static void a_file_system_on_several_devices_says_so(void **state)
{
	struct target target;

	(void)state;
	write_attribute("sys/fs/btrfs/0123-abcd/devices/sdc/size", "1\n");
	made_sysroot_target(&target, "/media/crypt", "/dev/sdc", makedev(8, 32), makedev(0, 99));
	snprintf(target.fs_uuid, sizeof(target.fs_uuid), "0123-abcd");
	environment_look(&sysfs, &target, &environment);
	assert_false(has_note(&environment, "devices ("));
	write_attribute("sys/fs/btrfs/0123-abcd/devices/sdi/size", "1\n");
	environment_look(&sysfs, &target, &environment);
	assert_true(has_note(&environment, "lies on 2 devices (sdc, sdi)"));
}

static void a_loop_device_leads_to_the_disk_of_its_file(void **state)
{
	const struct trial_environment *loop =
		look("/media/loop", "/dev/loop0", makedev(7, 0), makedev(7, 0));

	(void)state;
	assert_string_equal(loop->transport, "loop");
	assert_string_equal(loop->serial, "/media/sata/image");
	assert_path(loop, "loop0 sda ata1 0000:00:1f.2 pci0000:00");
	assert_string_equal(loop->link_node, "ata1");
	assert_true(has_note(loop, "loop0 is a loop device"));
	assert_true(has_note(loop, "page cache"));
}

static void a_loop_device_is_memory_when_its_file_is(void **state)
{
	static const char file[] = "sys/devices/virtual/block/loop0/loop/backing_file";

	(void)state;
	assert_string_equal(look("/media/loop", "/dev/loop0", makedev(7, 0), makedev(7, 0))->memory,
			    "");
	write_attribute(file, "/media/memory/image\n");
	assert_string_equal(look("/media/loop", "/dev/loop0", makedev(7, 0), makedev(7, 0))->memory,
			    "loop0, a file on tmpfs");
	write_attribute(file, "/media/sata/image\n");
}

/* Where its node lies is not what is on it. */
static void a_device_has_the_file_system_that_is_mounted_from_it(void **state)
{
	struct target target;

	(void)state;
	made_sysroot_target(&target, "/dev/sdb", "/dev/sdb", makedev(8, 16), makedev(8, 16));
	target.kind = TARGET_DEVICE;
	environment_look(&sysfs, &target, &environment);
	assert_string_equal(environment.fs, "");
	assert_string_equal(environment.memory, "");
	made_sysroot_target(&target, "/dev/sda1", "/dev/sda1", makedev(8, 0), makedev(8, 1));
	target.kind = TARGET_DEVICE;
	environment_look(&sysfs, &target, &environment);
	assert_string_equal(environment.fs, "ext4");
}

static void file_systems_without_a_disk_are_noted(void **state)
{
	static const struct {
		const char *fs, *words;
	} cases[] = {
		{ "nfs", "another machine" },
		{ "tmpfs", "is memory" },
		{ "fuse.sshfs", "FUSE" },
		{ "fuseblk", "FUSE" },
		{ "overlay", "not seen from here" },
	};
	struct target target;

	(void)state;
	look("/media/net", "server:/data", 0, makedev(0, 41));
	assert_string_equal(environment.fs, "nfs4");
	assert_string_equal(environment.disk_name, "");
	assert_int_equal(environment.path_count, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		made_sysroot_target(&target, "/media/net", "", 0, makedev(0, 41));
		snprintf(target.fs, sizeof(target.fs), "%s", cases[i].fs);
		environment_look(&sysfs, &target, &environment);
		assert_int_equal(environment.note_count, 1);
		assert_true(has_note(&environment, cases[i].words));
	}
}

/* ---- what is shared ---- */

static const char *shared(const char *const *devices, unsigned count)
{
	static struct trial_disk disks[3];

	for (unsigned i = 0; i < count; i++) {
		struct target target;

		made_sysroot_target(&target, "/x", devices[i], 0, 0);
		environment_look(&sysfs, &target, &disks[i].environment);
	}
	return environment_shared_node(disks, count);
}

static void the_lowest_node_that_disks_share_is_named(void **state)
{
	static const char *const usb[] = { "/dev/sdb", "/dev/sdc", "/dev/sdh" };
	static const char *const partitions[] = { "/dev/sda1", "/dev/sda2" };
	static const char *const loop[] = { "/dev/loop0", "/dev/mapper/secret" };
	static const char *const apart[] = { "/dev/sdb1", "/dev/sdf" };
	static const char *const none[] = { "/dev/sda", "server:/data" };

	(void)state;
	assert_string_equal(shared(usb, 2), "1-1");
	assert_string_equal(shared(usb, 3), "usb1");
	assert_string_equal(shared(partitions, 2), "sda");
	assert_string_equal(shared(loop, 2), "sda");
	assert_string_equal(shared(apart, 2), "pci0000:00");
	assert_string_equal(shared(none, 2), "");
	assert_string_equal(shared(usb, 1), "");
}

static void firewire_and_the_board_share_a_parallel_bus(void **state)
{
	struct trial_node board[TRIAL_PATH_MAX];
	unsigned count = device_path_look(&sysfs, MADE_BOARD, board);
	const struct trial_environment *disk = look("/x", "/dev/sdf", makedev(8, 80), 0);
	const struct trial_node *both;

	(void)state;
	assert_string_equal(disk->transport, "firewire");
	assert_path(disk, "sdf fw1 0000:01:03.0 0000:00:1e.0 pci0000:00");
	assert_string_equal(node_called(disk, "fw1")->text, "Made FireDisk, FireWire");
	assert_near(disk->link_bps, 1056e6);
	assert_string_equal(disk->link_node, "0000:01:03.0");
	both = device_path_shared(disk->path, disk->path_count, board, count);
	assert_non_null(both);
	assert_string_equal(both->name, "0000:00:1e.0");
	assert_string_equal(both->text, "PCI bridge 8086:244e");
}

/* ---- heat, and the machine ---- */

static void temperatures_come_from_the_disks_own_sensors(void **state)
{
	struct temperature temperature;

	(void)state;
	temperature_find(&temperature, &sysfs, makedev(8, 0));
	assert_near(temperature_read(&temperature, &sysfs), 41);
	assert_near(temperature.limit_c, 60);
	temperature_find(&temperature, &sysfs, makedev(259, 0));
	assert_near(temperature_read(&temperature, &sysfs), 52.85);
	assert_near(temperature.limit_c, 84.85);
	temperature_find(&temperature, &sysfs, makedev(253, 0)); /* the disk below the mapping */
	assert_near(temperature_read(&temperature, &sysfs), 41);
	temperature_find(&temperature, &sysfs, makedev(8, 16));
	assert_true(temperature_read(&temperature, &sysfs) == TEMPERATURE_UNKNOWN);
	temperature_find(&temperature, &sysfs, 0);
	assert_true(temperature_read(&temperature, &sysfs) == TEMPERATURE_UNKNOWN);
}

static void the_machine_tells_its_limits_as_they_work_out(void **state)
{
	struct trial_host host;

	(void)state;
	host_look(&sysfs, &host);
	assert_string_equal(host.name, "made");
	assert_string_equal(host.kernel, "6.1.0-made");
	assert_int_equal(host.cpu_count, 4);
	assert_int_equal(host.memory_bytes, UINT64_C(8000000) << 10);
	assert_int_equal(host.dirty_bytes, (UINT64_C(4000000) << 10) / 100 * 20);
	assert_int_equal(host.dirty_background_bytes, 64 << 20);
	write_attribute("proc/sys/vm/dirty_bytes", "16777216\n");
	host_look(&sysfs, &host);
	assert_int_equal(host.dirty_bytes, 16 << 20);
	assert_int_equal(host.dirty_background_bytes, 8 << 20); /* never above the limit itself */
}

/* Whatever this machine has, it is told without contradiction. */
static void this_machine_can_be_looked_at(void **state)
{
	char error[TARGET_ERROR_LEN];
	struct target target;
	struct trial_host host;
	struct sysfs real;

	(void)state;
	assert_int_equal(sysfs_init(&real, NULL), 0);
	host_look(&real, &host);
	assert_int_equal(host.cpu_count, sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(host.name[0] && host.kernel[0] && host.memory_bytes > 0);
	assert_true(host.dirty_background_bytes <= host.dirty_bytes);
	assert_int_equal(target_open(&target, root, error), 0);
	environment_look(&real, &target, &environment);
	assert_string_equal(environment.fs, target.fs);
	assert_true(environment.mount_point[0] == '/');
	assert_true(environment.total_bytes == target.total_bytes && environment.reserve_bytes > 0);
	if (target.disk_device) {
		assert_true(environment.disk_name[0] && environment.size_bytes > 0);
		assert_true(environment.path_count > 0);
		assert_string_equal(environment.path[0].name, environment.disk_name);
	}
	target_close(&target);
}

#define CHANGING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHANGING_TEST(attributes_are_read_below_the_root_and_nothing_outside_of_it),
		cmocka_unit_test(a_list_of_roots_gives_the_first_that_has_a_file),
		cmocka_unit_test(the_environment_variable_names_the_roots),
		cmocka_unit_test(a_sata_disk_on_a_slow_link_is_described),
		CHANGING_TEST(what_a_sata_disk_could_do_is_not_guessed),
		cmocka_unit_test(a_usb_disk_behind_a_hub_shows_hub_speed_and_autosuspend),
		cmocka_unit_test(a_usb_3_disk_that_came_up_as_usb_2_is_found),
		CHANGING_TEST(a_usb_version_of_2_1_is_usb_3_if_the_device_says_so),
		cmocka_unit_test(an_nvme_disk_with_half_of_its_lanes_is_found),
		cmocka_unit_test(an_nvme_disk_of_a_subsystem_leads_to_its_controller),
		cmocka_unit_test(a_virtual_disk_has_no_link),
		cmocka_unit_test(a_sas_port_adds_its_phys),
		cmocka_unit_test(a_raid5_has_what_its_members_have_in_common),
		CHANGING_TEST(a_stripe_adds_its_members_and_names_the_slow_one),
		cmocka_unit_test(an_encrypted_partition_is_its_disk_and_says_so),
		CHANGING_TEST(a_file_system_on_several_devices_says_so),
		cmocka_unit_test(a_loop_device_leads_to_the_disk_of_its_file),
		cmocka_unit_test(a_loop_device_is_memory_when_its_file_is),
		cmocka_unit_test(a_device_has_the_file_system_that_is_mounted_from_it),
		cmocka_unit_test(file_systems_without_a_disk_are_noted),
		cmocka_unit_test(the_lowest_node_that_disks_share_is_named),
		cmocka_unit_test(firewire_and_the_board_share_a_parallel_bus),
		cmocka_unit_test(temperatures_come_from_the_disks_own_sensors),
		CHANGING_TEST(the_machine_tells_its_limits_as_they_work_out),
		cmocka_unit_test(this_machine_can_be_looked_at),
	};

	return cmocka_run_group_tests_name("environment", tests, setup_group, teardown_group);
}
