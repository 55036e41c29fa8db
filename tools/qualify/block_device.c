/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/block_device.h"

#include <libmount/libmount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define LEVELS_MAX 8 /* of devices upon devices */

/* ---- which device ---- */

bool block_find(const struct sysfs *sysfs, dev_t device, char *directory)
{
	char path[64];

	snprintf(path, sizeof(path), "sys/dev/block/%u:%u", major(device), minor(device));
	return sysfs_resolve(sysfs, path, directory) == 0;
}

static bool find_name(const struct sysfs *sysfs, const char *name, char *directory)
{
	char path[320];

	if (snprintf(path, sizeof(path), "sys/class/block/%s", name) >= (int)sizeof(path))
		return false;
	for (char *c = path + strlen("sys/class/block/"); *c; c++)
		if (*c == '/') /* as sysfs writes it: "cciss!c0d0" */
			*c = '!';
	return sysfs_resolve(sysfs, path, directory) == 0;
}

struct mapper_search {
	const struct sysfs *sysfs;
	const char *name;
	char *directory;
};

static int visit_mapper(void *context, const char *name)
{
	struct mapper_search *search = context;
	char directory[320], mapped[256];

	if (strncmp(name, "dm-", 3) != 0)
		return 0;
	snprintf(directory, sizeof(directory), "sys/class/block/%.255s", name);
	if (!sysfs_line(search->sysfs, directory, "dm/name", mapped, sizeof(mapped)) ||
	    strcmp(mapped, search->name) != 0)
		return 0;
	return find_name(search->sysfs, name, search->directory);
}

bool block_find_source(const struct sysfs *sysfs, const char *source, char *directory)
{
	static const char mapper[] = "/dev/mapper/", dev[] = "/dev/";
	struct mapper_search search = { sysfs, source + strlen(mapper), directory };
	struct stat st;

	if (strncmp(source, mapper, strlen(mapper)) == 0)
		return sysfs_scan(sysfs, "sys/class/block", visit_mapper, &search) == 1;
	if (strncmp(source, dev, strlen(dev)) == 0 && find_name(sysfs, source + strlen(dev), directory))
		return true;
	return source[0] == '/' && stat(source, &st) == 0 && S_ISBLK(st.st_mode) &&
	       block_find(sysfs, st.st_rdev, directory);
}

/* mnt_table_find_mountpoint() wants the path to be there, which it isn't on a captured machine. */
struct libmnt_fs *block_find_mount(struct libmnt_table *table, const char *path)
{
	char point[PATH_MAX];

	if (path[0] != '/' || snprintf(point, sizeof(point), "%s", path) >= (int)sizeof(point))
		return NULL;
	for (;;) {
		struct libmnt_fs *fs = mnt_table_find_target(table, point, MNT_ITER_BACKWARD);
		char *slash = strrchr(point, '/');

		if (fs || !point[1])
			return fs;
		slash[slash == point] = '\0'; /* the first one stays */
	}
}

/* The mount that the file lies on; NULL. @table: to be given back with it. */
static struct libmnt_fs *mount_of_file(const struct sysfs *sysfs, const char *path,
				       struct libmnt_table **table)
{
	char mounts[PATH_MAX];

	*table = NULL;
	if (path[0] != '/' || sysfs_path(sysfs, "proc/self/mountinfo", mounts) < 0)
		return NULL;
	*table = mnt_new_table_from_file(mounts);
	return *table ? block_find_mount(*table, path) : NULL;
}

bool block_find_file(const struct sysfs *sysfs, const char *path, char *directory)
{
	struct libmnt_table *table;
	struct libmnt_fs *fs = mount_of_file(sysfs, path, &table);
	bool is_found = false;

	if (fs)
		is_found = block_find(sysfs, mnt_fs_get_devno(fs), directory) ||
			   (mnt_fs_get_srcpath(fs) &&
			    block_find_source(sysfs, mnt_fs_get_srcpath(fs), directory));
	mnt_unref_table(table);
	return is_found;
}

bool block_is_partition(const struct sysfs *sysfs, const char *directory)
{
	return sysfs_has(sysfs, directory, "partition");
}

void block_whole(const struct sysfs *sysfs, char *directory)
{
	if (block_is_partition(sysfs, directory))
		sysfs_up(directory); /* a partition's directory lies in its disk's */
}

const char *block_name(const char *directory)
{
	const char *slash = strrchr(directory, '/');

	return slash ? slash + 1 : directory;
}

dev_t block_number(const struct sysfs *sysfs, const char *directory)
{
	unsigned major_number, minor_number;
	char text[32];

	if (!sysfs_line(sysfs, directory, "dev", text, sizeof(text)) ||
	    sscanf(text, "%u:%u", &major_number, &minor_number) != 2)
		return 0;
	return makedev(major_number, minor_number);
}

enum block_kind block_kind(const struct sysfs *sysfs, const char *directory)
{
	const char *name = block_name(directory);

	if (sysfs_has(sysfs, directory, "md"))
		return BLOCK_MD;
	if (sysfs_has(sysfs, directory, "dm"))
		return BLOCK_DM;
	if (strncmp(name, "loop", 4) == 0)
		return BLOCK_LOOP;
	if (strncmp(name, "zram", 4) == 0 || strncmp(name, "ram", 3) == 0)
		return BLOCK_MEMORY;
	return BLOCK_DISK;
}

/* ---- what it lies on ---- */

static void add(struct block_list *list, const char *directory)
{
	for (unsigned i = 0; i < list->count; i++)
		if (strcmp(list->directories[i], directory) == 0)
			return;
	if (list->count < BLOCK_LIST_MAX)
		snprintf(list->directories[list->count++], SYSFS_PATH_LEN, "%s", directory);
}

struct lower_search {
	const struct sysfs *sysfs;
	struct block_list *lower;
};

static int visit_slave(void *context, const char *name)
{
	struct lower_search *search = context;
	char directory[SYSFS_PATH_LEN];

	if (find_name(search->sysfs, name, directory)) {
		block_whole(search->sysfs, directory);
		add(search->lower, directory);
	}
	return 0;
}

void block_lower(const struct sysfs *sysfs, const char *directory, struct block_list *lower)
{
	struct lower_search search = { sysfs, lower };
	char path[SYSFS_PATH_LEN + 16], file[PATH_MAX];

	lower->count = 0;
	snprintf(path, sizeof(path), "%s/slaves", directory);
	sysfs_scan(sysfs, path, visit_slave, &search);
	if (sysfs_line(sysfs, directory, "loop/backing_file", file, sizeof(file)) &&
	    (block_find_file(sysfs, file, path) || block_find_source(sysfs, file, path))) {
		block_whole(sysfs, path);
		add(lower, path);
	}
}

static void add_stack(const struct sysfs *sysfs, const char *directory, bool is_lowest_only,
		      struct block_list *stack, unsigned level)
{
	struct block_list lower;

	block_lower(sysfs, directory, &lower);
	if (level == LEVELS_MAX)
		lower.count = 0;
	if (!is_lowest_only || lower.count == 0)
		add(stack, directory);
	for (unsigned i = 0; i < lower.count; i++)
		add_stack(sysfs, lower.directories[i], is_lowest_only, stack, level + 1);
}

void block_stack(const struct sysfs *sysfs, const char *directory, struct block_list *stack)
{
	stack->count = 0;
	add_stack(sysfs, directory, false, stack, 0);
}

void block_lowest(const struct sysfs *sysfs, const char *directory, struct block_list *lowest)
{
	lowest->count = 0;
	add_stack(sysfs, directory, true, lowest, 0);
}

void block_mapped(const struct sysfs *sysfs, char *directory)
{
	struct block_list lower;

	for (unsigned i = 0; i < LEVELS_MAX && block_kind(sysfs, directory) == BLOCK_DM; i++) {
		block_lower(sysfs, directory, &lower);
		if (lower.count != 1)
			return;
		memcpy(directory, lower.directories[0], SYSFS_PATH_LEN);
	}
}

/* ---- what it calls itself ---- */

/* Page 0x80 of a SCSI device's product data: four bytes, the last of them the length, and the serial number. */
static bool read_scsi_serial(const struct sysfs *sysfs, const char *directory, char *text, size_t len)
{
	unsigned char page[4 + 252];
	int got = sysfs_read(sysfs, directory, "device/vpd_pg80", page, sizeof(page));
	int begin = 4, end;

	text[0] = '\0';
	if (got <= 4)
		return false;
	end = got < 4 + page[3] ? got : 4 + page[3];
	while (begin < end && page[begin] == ' ')
		begin++;
	while (begin < end && (page[end - 1] == ' ' || page[end - 1] == '\0'))
		end--;
	snprintf(text, len, "%.*s", end - begin, (const char *)page + begin);
	return text[0] != '\0';
}

/* Of the nearest device above that has one: a USB enclosure's. */
static bool read_usb_serial(const struct sysfs *sysfs, const char *directory, char *text, size_t len)
{
	char path[SYSFS_PATH_LEN], subsystem[32];

	snprintf(path, sizeof(path), "%s", directory);
	while (sysfs_up(path))
		if (sysfs_link_name(sysfs, path, "subsystem", subsystem, sizeof(subsystem)) &&
		    strcmp(subsystem, "usb") == 0 && sysfs_has(sysfs, path, "speed"))
			return sysfs_line(sysfs, path, "serial", text, len) && text[0];
	text[0] = '\0';
	return false;
}

bool block_fs_is_memory(const char *fs)
{
	return strcmp(fs, "tmpfs") == 0 || strcmp(fs, "ramfs") == 0 || strcmp(fs, "devtmpfs") == 0;
}

/* A loop device is memory when its file is. */
static bool lies_in_memory(const struct sysfs *sysfs, const char *directory, char *text, size_t len)
{
	struct libmnt_table *table;
	struct libmnt_fs *fs;
	char file[PATH_MAX];
	bool is_memory;

	if (!sysfs_line(sysfs, directory, "loop/backing_file", file, sizeof(file)))
		return false;
	fs = mount_of_file(sysfs, file, &table);
	is_memory = fs && mnt_fs_get_fstype(fs) && block_fs_is_memory(mnt_fs_get_fstype(fs));
	if (is_memory)
		snprintf(text, len, "%.32s, a file on %.16s", block_name(directory),
			 mnt_fs_get_fstype(fs));
	mnt_unref_table(table);
	return is_memory;
}

bool block_memory(const struct sysfs *sysfs, const char *directory, char *text, size_t len)
{
	struct block_list stack;

	block_stack(sysfs, directory, &stack);
	for (unsigned i = 0; i < stack.count; i++) {
		const char *device = stack.directories[i];

		if (block_kind(sysfs, device) == BLOCK_MEMORY) {
			snprintf(text, len, "%s", block_name(device));
			return true;
		}
		if (lies_in_memory(sysfs, device, text, len))
			return true;
	}
	return false;
}

bool block_serial(const struct sysfs *sysfs, const char *directory, char *text, size_t len)
{
	static const char *const files[] = { "device/serial", "serial", "md/uuid", "dm/uuid",
					     "loop/backing_file" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (sysfs_line(sysfs, directory, files[i], text, len) && text[0])
			return true;
	return read_scsi_serial(sysfs, directory, text, len) ||
	       read_usb_serial(sysfs, directory, text, len);
}

static void describe_members(const struct sysfs *sysfs, const char *directory, const char *level,
			     char *text, size_t len)
{
	struct block_list lower;
	size_t used = (size_t)snprintf(text, len, "%s of", level);

	block_lower(sysfs, directory, &lower);
	for (unsigned i = 0; i < lower.count && used < len; i++)
		used += (size_t)snprintf(text + used, len - used, "%s %s", i ? "," : "",
					 block_name(lower.directories[i]));
}

void block_model(const struct sysfs *sysfs, const char *directory, char *text, size_t len)
{
	char vendor[32], model[128];

	if (sysfs_line(sysfs, directory, "md/level", vendor, sizeof(vendor))) {
		describe_members(sysfs, directory, vendor, text, len);
		return;
	}
	if (!sysfs_line(sysfs, directory, "device/model", model, sizeof(model)))
		sysfs_line(sysfs, directory, "device/name", model, sizeof(model)); /* MMC */
	sysfs_line(sysfs, directory, "device/vendor", vendor, sizeof(vendor));
	/* "ATA" is no vendor, and "0x1af4" is a virtio device's */
	if (!model[0] || strcmp(vendor, "ATA") == 0 || strncmp(vendor, "0x", 2) == 0)
		vendor[0] = '\0';
	snprintf(text, len, "%s%s%s", vendor, vendor[0] ? " " : "", model);
}
