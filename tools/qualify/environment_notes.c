/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/environment_notes.h"

#include <libmount/libmount.h>
#include <stdarg.h>
#include <string.h>

#include "tools/qualify/block_device.h"
#include "tools/qualify/device_node.h"
#include "tools/qualify/device_path.h"

#define NOTES_MAX (sizeof(((struct trial_environment *)NULL)->notes) / TRIAL_TEXT_LEN)

static void note(struct trial_environment *environment, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void note(struct trial_environment *environment, const char *format, ...)
{
	va_list ap;

	if (environment->note_count == NOTES_MAX)
		return;
	va_start(ap, format);
	vsnprintf(environment->notes[environment->note_count++], TRIAL_TEXT_LEN, format, ap);
	va_end(ap);
}

/* ---- file systems ---- */

static void note_file_system(struct trial_environment *environment)
{
	static const char network[] =
		"lies on another machine: its load and the network between are tried as well, and may change at any time";
	static const char memory[] = "is memory: nothing of it outlasts the power";
	static const struct {
		const char *fs; /* with all that goes on with a dot */
		const char *text;
	} texts[] = {
		{ "nfs", network },
		{ "nfs4", network },
		{ "cifs", network },
		{ "smb3", network },
		{ "ceph", network },
		{ "glusterfs", network },
		{ "9p", network },
		{ "virtiofs", network },
		{ "tmpfs", memory },
		{ "ramfs", memory },
		{ "fuse",
		  "runs in a program (FUSE): each write takes a way through it, and what is below is not seen from here" },
		{ "fuseblk",
		  "runs in a program (FUSE): each write takes a way through it; a file system of the kernel's own is faster" },
		{ "overlay",
		  "lies upon another file system, which is not seen from here; give a directory on that one" },
		{ "vfat", "ends a file at 4 GiB: record with --file-size 4G or less" },
		{ "msdos", "ends a file at 4 GiB: record with --file-size 4G or less" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t len = strlen(texts[i].fs);

		if (strncmp(environment->fs, texts[i].fs, len) == 0 &&
		    (!environment->fs[len] || environment->fs[len] == '.'))
			note(environment, "the file system %s %s", environment->fs, texts[i].text);
	}
}

/* @value: what the option must say; NULL = anything */
static bool is_mounted_with(const struct trial_environment *environment, const char *option,
			    const char *value)
{
	char *found = NULL;
	size_t len = 0;

	if (mnt_optstr_get_option(environment->mount_options, option, &found, &len) != 0)
		return false;
	return !value || (found && strlen(value) == len && strncmp(value, found, len) == 0);
}

static void note_mount_options(struct trial_environment *environment)
{
	static const struct {
		const char *option, *value, *text;
	} texts[] = {
		{ "compress", NULL,
		  "compresses what it can: samples are noise, so that costs time and gains nothing; mount without it" },
		{ "compress-force", NULL,
		  "compresses all: samples are noise, so that costs time and gains nothing; mount without it" },
		{ "compress_algorithm", NULL,
		  "compresses: samples are noise, so that costs time and gains nothing; mount without it" },
		{ "data", "journal", "writes all data twice, first to the journal; mount without it" },
		{ "sync", NULL, "waits for the disk at each write; mount without it" },
		{ "barrier", "0",
		  "does not ask the disk to empty its cache: after a power cut what was called durable may be gone" },
		{ "nobarrier", NULL,
		  "does not ask the disk to empty its cache: after a power cut what was called durable may be gone" },
		{ "discard", NULL,
		  "tells the disk at once of what is deleted, and some disks stall at that; fstrim now and then does it without" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (is_mounted_with(environment, texts[i].option, texts[i].value))
			note(environment, "mount option %s%s%s: the file system %s",
			     texts[i].option, texts[i].value ? "=" : "",
			     texts[i].value ? texts[i].value : "", texts[i].text);
}

struct member_list {
	char names[TRIAL_TEXT_LEN / 2];
	unsigned count;
};

static int visit_member(void *context, const char *name)
{
	struct member_list *members = context;
	size_t used = strlen(members->names);

	snprintf(members->names + used, sizeof(members->names) - used, "%s%s",
		 members->count ? ", " : "", name);
	members->count++;
	return 0;
}

/* btrfs spreads itself over devices; the mount names one of them. */
static void note_members(const struct sysfs *sysfs, const struct target *target,
			 struct trial_environment *environment)
{
	struct member_list members = { .count = 0 };
	char path[128];

	if (strcmp(environment->fs, "btrfs") != 0 || !target->fs_uuid[0])
		return;
	snprintf(path, sizeof(path), "sys/fs/btrfs/%s/devices", target->fs_uuid);
	sysfs_scan(sysfs, path, visit_member, &members);
	if (members.count > 1)
		note(environment,
		     "the file system lies on %u devices (%s): link and disk are told of the first only",
		     members.count, members.names);
}

/* ---- devices ---- */

static void note_md(const struct sysfs *sysfs, const char *directory,
		    struct trial_environment *environment)
{
	const char *name = block_name(directory);
	char level[32], action[32];

	sysfs_line(sysfs, directory, "md/level", level, sizeof(level));
	sysfs_line(sysfs, directory, "md/sync_action", action, sizeof(action));
	if (sysfs_number(sysfs, directory, "md/degraded", 0) > 0)
		note(environment, "%s (%s) is degraded: a member is missing", name, level);
	if (action[0] && strcmp(action, "idle") != 0 && strcmp(action, "frozen") != 0)
		note(environment,
		     "%s (%s) is at a %s: that takes a part of its members' rate until it ends",
		     name, level, action);
	if (strcmp(level, "raid4") == 0 || strcmp(level, "raid5") == 0 || strcmp(level, "raid6") == 0)
		note(environment,
		     "%s is a %s: a write that does not fill whole stripes has to read others' blocks first, and then its rate falls to a fraction; for recording, give each disk as a target of its own",
		     name, level);
}

static void note_dm(const struct sysfs *sysfs, const char *directory,
		    struct trial_environment *environment)
{
	char name[128], uuid[256];

	sysfs_line(sysfs, directory, "dm/name", name, sizeof(name));
	sysfs_line(sysfs, directory, "dm/uuid", uuid, sizeof(uuid));
	if (strncmp(uuid, "CRYPT-", 6) == 0)
		note(environment,
		     "%s is encrypted: each byte takes processor time, beside that of the recording",
		     name);
	if (strstr(uuid, "-tpool"))
		note(environment,
		     "%s is provisioned thinly: room is found at the first write, and may end before the file system does",
		     name);
}

static void note_loop(const struct sysfs *sysfs, const char *directory,
		      struct trial_environment *environment)
{
	char file[256];

	if (sysfs_line(sysfs, directory, "loop/backing_file", file, sizeof(file)))
		note(environment,
		     "%s is a loop device: all is written through a second file system, that of %s%s",
		     block_name(directory), file,
		     sysfs_number(sysfs, directory, "loop/dio", 0) ? "" : ", and its page cache");
}

static void note_disk(const struct sysfs *sysfs, const char *directory,
		      struct trial_environment *environment)
{
	char zoned[32];

	if (sysfs_line(sysfs, directory, "queue/zoned", zoned, sizeof(zoned)) &&
	    strncmp(zoned, "host-", 5) == 0)
		note(environment,
		     "%s is a shingled disk (%s): it stalls for seconds when it puts its zones in order",
		     block_name(directory), zoned);
}

/* A USB disk that sleeps takes seconds to wake, and some bridges never do. */
static void note_autosuspend(const struct sysfs *sysfs, const char *directory,
			     struct trial_environment *environment)
{
	char path[SYSFS_PATH_LEN], control[16];

	snprintf(path, sizeof(path), "%s", directory);
	while (sysfs_up(path)) {
		if (!device_node_is_at(sysfs, path, "usb") || !sysfs_has(sysfs, path, "speed"))
			continue;
		sysfs_line(sysfs, path, "power/control", control, sizeof(control));
		if (strcmp(control, "auto") == 0 &&
		    sysfs_number(sysfs, path, "power/autosuspend_delay_ms", -1) >= 0)
			note(environment,
			     "USB autosuspend is on for %s: between recordings it may sleep and wake too late; write 'on' to its power/control",
			     block_name(path));
		return; /* the hubs above it wake with it */
	}
}

/* A member of an md or a volume, whose link the path does not show. */
static void note_slow_link(const struct sysfs *sysfs, const char *directory,
			   struct trial_environment *environment)
{
	struct trial_node nodes[TRIAL_PATH_MAX];
	unsigned count = device_path_look(sysfs, directory, nodes);

	for (unsigned i = 0; i < count; i++)
		if (nodes[i].link_bps > 0 && nodes[i].capable_bps > nodes[i].link_bps &&
		    !device_path_shared(&nodes[i], 1, environment->path, environment->path_count))
			note(environment, "%s: the link of %s is slower than it could be: %s",
			     block_name(directory), nodes[i].name, nodes[i].text);
}

static void note_device(const struct sysfs *sysfs, const char *directory,
			struct trial_environment *environment)
{
	switch (block_kind(sysfs, directory)) {
	case BLOCK_MD:
		note_md(sysfs, directory, environment);
		break;
	case BLOCK_DM:
		note_dm(sysfs, directory, environment);
		break;
	case BLOCK_LOOP:
		note_loop(sysfs, directory, environment);
		break;
	case BLOCK_MEMORY:
		note(environment, "%s is memory: nothing of it outlasts the power",
		     block_name(directory));
		break;
	case BLOCK_DISK:
		note_disk(sysfs, directory, environment);
		note_autosuspend(sysfs, directory, environment);
		note_slow_link(sysfs, directory, environment);
		break;
	}
}

void environment_add_notes(const struct sysfs *sysfs, const struct target *target,
			   const char *directory, struct trial_environment *environment)
{
	struct block_list stack;

	note_file_system(environment);
	note_members(sysfs, target, environment);
	note_mount_options(environment);
	if (!directory[0])
		return;
	block_stack(sysfs, directory, &stack);
	for (unsigned i = 0; i < stack.count; i++)
		note_device(sysfs, stack.directories[i], environment);
	for (unsigned i = 0; i < environment->path_count; i++) {
		if (strcmp(environment->path[i].kind, "iscsi") == 0)
			note(environment,
			     "%s lies on another machine (iSCSI): the network between is tried as well",
			     environment->disk_name);
		if (environment->path[i].may_be_faster)
			note(environment,
			     "%s runs at USB 2 in a port for USB 3: if it is a USB 3 device (this kernel doesn't tell), another cable or port makes it faster",
			     environment->path[i].name);
	}
}
