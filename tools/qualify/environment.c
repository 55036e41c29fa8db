/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/environment.h"

#include <inttypes.h>
#include <libmount/libmount.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qualify/block_device.h"
#include "tools/qualify/device_path.h"
#include "tools/qualify/environment_notes.h"
#include "tools/qualify/scratch.h"

#define SECTOR_BYTES 512 /* sysfs counts in these, whatever the disk has */

/* ---- the file system ---- */

/*
 * The mount that the path lies on; or any of the file system, when that is another one's or there is no such path. Of a
 * device only one of its own: where its node lies says nothing.
 */
static struct libmnt_fs *find_mount(struct libmnt_table *table, const struct target *target)
{
	char real[PATH_MAX];
	struct libmnt_fs *fs;

	if (target->kind == TARGET_DEVICE)
		return mnt_table_find_devno(table, target->fs_device, MNT_ITER_BACKWARD);
	if (!realpath(target->path, real))
		snprintf(real, sizeof(real), "%s", target->path);
	fs = block_find_mount(table, real);
	if (!fs || mnt_fs_get_devno(fs) != target->fs_device) {
		struct libmnt_fs *other =
			mnt_table_find_devno(table, target->fs_device, MNT_ITER_BACKWARD);

		fs = other ? other : fs; /* btrfs: st_dev is not the mount's number */
	}
	return fs;
}

static void look_at_mount(const struct sysfs *sysfs, const struct target *target,
			  struct trial_environment *environment)
{
	struct libmnt_table *table = NULL;
	struct libmnt_fs *fs = NULL;
	char path[PATH_MAX];

	snprintf(environment->fs, sizeof(environment->fs), "%.31s", target->fs);
	if (sysfs_path(sysfs, "proc/self/mountinfo", path) == 0)
		table = mnt_new_table_from_file(path);
	if (table)
		fs = find_mount(table, target);
	if (fs) {
		const char *point = mnt_fs_get_target(fs), *options = mnt_fs_get_options(fs);

		if (!environment->fs[0] && mnt_fs_get_fstype(fs))
			snprintf(environment->fs, sizeof(environment->fs), "%s", mnt_fs_get_fstype(fs));
		snprintf(environment->mount_point, sizeof(environment->mount_point), "%s",
			 point ? point : "");
		snprintf(environment->mount_options, sizeof(environment->mount_options), "%s",
			 options ? options : "");
	}
	mnt_unref_table(table);
}

static void look_at_room(const struct target *target, struct trial_environment *environment)
{
	environment->free_bytes = target->free_bytes;
	environment->total_bytes = target->total_bytes;
	target_room(target, &environment->free_bytes, &environment->total_bytes);
	environment->reserve_bytes = scratch_reserve_bytes(environment->total_bytes);
}

/* ---- the disk ---- */

/* "none [mq-deadline] kyber": the one in brackets */
static void look_at_scheduler(const struct sysfs *sysfs, const char *directory,
			      struct trial_environment *environment)
{
	char text[128], *begin, *end;

	sysfs_line(sysfs, directory, "queue/scheduler", text, sizeof(text));
	begin = strchr(text, '[');
	end = begin ? strchr(begin, ']') : NULL;
	if (end)
		*end = '\0';
	snprintf(environment->scheduler, sizeof(environment->scheduler), "%.31s",
		 end ? begin + 1 : text);
}

static void look_at_queue(const struct sysfs *sysfs, const char *directory,
			  struct trial_environment *environment)
{
	int64_t depth = sysfs_number(sysfs, directory, "device/queue_depth", 0);

	if (depth <= 0)
		depth = sysfs_number(sysfs, directory, "queue/nr_requests", 0);
	environment->queue_depth = depth > 0 ? (unsigned)depth : 0;
	environment->is_rotational = (int)sysfs_number(sysfs, directory, "queue/rotational", -1);
	sysfs_line(sysfs, directory, "queue/write_cache", environment->write_cache,
		   sizeof(environment->write_cache));
	look_at_scheduler(sysfs, directory, environment);
}

static void look_at_identity(const struct sysfs *sysfs, const char *directory,
			     struct trial_environment *environment)
{
	static const char *const firmware[] = { "device/rev", "device/firmware_rev", "device/fwrev" };

	block_model(sysfs, directory, environment->model, sizeof(environment->model));
	block_serial(sysfs, directory, environment->serial, sizeof(environment->serial));
	for (size_t i = 0; i < sizeof(firmware) / sizeof(firmware[0]); i++)
		if (sysfs_line(sysfs, directory, firmware[i], environment->firmware,
			       sizeof(environment->firmware)))
			break;
}

/* By what a person would call the disk: the first of these on its way up. */
static void name_transport(struct trial_environment *environment)
{
	static const struct {
		const char *kind, *transport;
	} names[] = {
		{ "loop", "loop" },     { "md", "md" },
		{ "memory", "memory" }, { "usb", "usb" },
		{ "ata", "sata" },      { "sas", "sas" },
		{ "nvme", "nvme" },     { "firewire", "firewire" },
		{ "mmc", "mmc" },       { "virtio", "virtio" },
		{ "iscsi", "iscsi" },
	};

	for (unsigned i = 0; i < environment->path_count; i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (strcmp(environment->path[i].kind, names[k].kind) == 0) {
				snprintf(environment->transport, sizeof(environment->transport),
					 "%s", names[k].transport);
				return;
			}
}

static void look_at_path(const struct sysfs *sysfs, const char *directory,
			 struct trial_environment *environment)
{
	const struct trial_node *narrowest;

	environment->path_count = device_path_look(sysfs, directory, environment->path);
	narrowest = device_path_narrowest(environment->path, environment->path_count);
	environment->capable_bps = device_path_capable(environment->path, environment->path_count);
	if (narrowest) {
		environment->link_bps = narrowest->link_bps;
		snprintf(environment->link_node, sizeof(environment->link_node), "%s", narrowest->name);
	}
	name_transport(environment);
}

static void look_at_disk(const struct sysfs *sysfs, const char *directory,
			 struct trial_environment *environment)
{
	char disk[SYSFS_PATH_LEN];

	snprintf(environment->disk_name, sizeof(environment->disk_name), "%.63s",
		 block_name(directory));
	environment->size_bytes = (uint64_t)sysfs_number(sysfs, directory, "size", 0) * SECTOR_BYTES;
	environment->max_io_bytes =
		(uint64_t)sysfs_number(sysfs, directory, "queue/max_sectors_kb", 0) << 10;
	look_at_path(sysfs, directory, environment);
	snprintf(disk, sizeof(disk), "%s", directory);
	block_mapped(sysfs, disk);
	look_at_queue(sysfs, disk, environment);
	look_at_identity(sysfs, disk, environment);
}

/* Return: false: it is on no block device. */
static bool find_disk(const struct sysfs *sysfs, const struct target *target, char *directory)
{
	if (!(target->disk_device && block_find(sysfs, target->disk_device, directory)) &&
	    !(target->device[0] && block_find_source(sysfs, target->device, directory)))
		return false;
	block_whole(sysfs, directory);
	return true;
}

static void look_for_memory(const struct sysfs *sysfs, const char *directory,
			    struct trial_environment *environment)
{
	if (block_fs_is_memory(environment->fs))
		snprintf(environment->memory, sizeof(environment->memory), "%s", environment->fs);
	else if (directory[0])
		block_memory(sysfs, directory, environment->memory, sizeof(environment->memory));
}

void environment_look(const struct sysfs *sysfs, const struct target *target,
		      struct trial_environment *environment)
{
	char directory[SYSFS_PATH_LEN] = "";

	memset(environment, 0, sizeof(*environment));
	environment->link_bps = environment->capable_bps = -1;
	environment->is_rotational = -1;
	if (target->fs_device) {
		look_at_mount(sysfs, target, environment);
		look_at_room(target, environment);
	}
	if (find_disk(sysfs, target, directory))
		look_at_disk(sysfs, directory, environment);
	look_for_memory(sysfs, directory, environment);
	environment_add_notes(sysfs, target, directory, environment);
}

/* Of @node and what is above it in @first, the lowest that @other has as well. */
static const struct trial_node *shared_from(const struct trial_environment *first,
					    const struct trial_node *node,
					    const struct trial_environment *other)
{
	unsigned left = first->path_count - (unsigned)(node - first->path);

	return device_path_shared(node, left, other->path, other->path_count);
}

const char *environment_shared_node(const struct trial_disk *disks, unsigned count)
{
	const struct trial_node *node = count > 1 ? disks[0].environment.path : NULL;

	for (unsigned i = 1; i < count && node; i++)
		node = shared_from(&disks[0].environment, node, &disks[i].environment);
	return node ? node->name : "";
}

/* ---- the machine ---- */

/* "0-3,8" */
static unsigned count_cpus(const struct sysfs *sysfs)
{
	char text[256], *at = text;
	unsigned count = 0;

	sysfs_line(sysfs, "sys/devices/system/cpu", "online", text, sizeof(text));
	while (*at >= '0' && *at <= '9') {
		unsigned long first = strtoul(at, &at, 10), last = first;

		if (*at == '-')
			last = strtoul(at + 1, &at, 10);
		count += last >= first ? (unsigned)(last - first) + 1 : 0;
		at += *at == ',';
	}
	return count;
}

struct meminfo {
	uint64_t total_bytes, dirtyable_bytes;
};

static void read_memory(const struct sysfs *sysfs, struct meminfo *memory)
{
	static const char *const dirtyable[] = { "MemFree", "Active(file)", "Inactive(file)" };
	FILE *f = sysfs_open(sysfs, "proc/meminfo");
	char line[128], name[64];
	uint64_t kib;

	memset(memory, 0, sizeof(*memory));
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63[^:]: %" SCNu64, name, &kib) != 2)
			continue;
		if (strcmp(name, "MemTotal") == 0)
			memory->total_bytes = kib << 10;
		for (size_t i = 0; i < sizeof(dirtyable) / sizeof(dirtyable[0]); i++)
			if (strcmp(name, dirtyable[i]) == 0)
				memory->dirtyable_bytes += kib << 10;
	}
	if (f)
		fclose(f);
}

static uint64_t dirty_limit(const struct sysfs *sysfs, const char *bytes_name,
			    const char *ratio_name, uint64_t dirtyable_bytes)
{
	int64_t bytes = sysfs_number(sysfs, "proc/sys/vm", bytes_name, 0);
	int64_t ratio = sysfs_number(sysfs, "proc/sys/vm", ratio_name, 0);

	if (bytes > 0)
		return (uint64_t)bytes;
	return ratio > 0 ? dirtyable_bytes / 100 * (uint64_t)ratio : 0;
}

void host_look(const struct sysfs *sysfs, struct trial_host *host)
{
	struct meminfo memory;

	memset(host, 0, sizeof(*host));
	sysfs_line(sysfs, "proc/sys/kernel", "hostname", host->name, sizeof(host->name));
	sysfs_line(sysfs, "proc/sys/kernel", "osrelease", host->kernel, sizeof(host->kernel));
	host->cpu_count = count_cpus(sysfs);
	read_memory(sysfs, &memory);
	host->memory_bytes = memory.total_bytes;
	host->dirty_bytes = dirty_limit(sysfs, "dirty_bytes", "dirty_ratio", memory.dirtyable_bytes);
	host->dirty_background_bytes = dirty_limit(sysfs, "dirty_background_bytes",
						   "dirty_background_ratio", memory.dirtyable_bytes);
	if (host->dirty_background_bytes >= host->dirty_bytes) /* as the kernel does */
		host->dirty_background_bytes = host->dirty_bytes / 2;
}
