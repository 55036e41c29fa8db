/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/qualify_targets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "tools/qualify/device_check.h"
#include "tools/qualify/environment.h"
#include "tools/qualify/scratch.h"
#include "tools/qualify/temperature.h"

static int status_for_device(int error)
{
	switch (-error) {
	case EACCES:
	case EPERM:
	case EBUSY:
	case EEXIST:
	case EINVAL: /* another serial number */
	case EROFS:
		return EX_NOPERM;
	default:
		return EX_NOINPUT;
	}
}

static uint64_t device_bytes(const char *path)
{
	uint64_t bytes = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (ioctl(fd, BLKGETSIZE64, &bytes) < 0)
		bytes = 0;
	close(fd);
	return bytes;
}

static bool is_block_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISBLK(st.st_mode);
}

static bool is_device(const struct trial_disk *disk)
{
	return disk->target.kind == TARGET_DEVICE;
}

/*
 * Devices are no targets of a recording; here they may be read, and with --destroy be written to. O_EXCL keeps
 * everybody else away from then on.
 */
static int open_device(struct trial_disk *disk, const char *path,
		       const struct qualify_options *options, char *error)
{
	int fd = device_open_to_read(path, error), ret;

	if (fd >= 0 && options->is_destruction) {
		close(fd);
		fd = device_open_to_destroy(path, options->serial, options->use_force, error);
	}
	if (fd < 0)
		return status_for_device(fd);
	ret = target_adopt_device(&disk->target, path, fd, error);
	return ret < 0 ? status_for_device(ret) : 0;
}

static int open_directory(struct trial_disk *disk, const char *path,
			  const struct qualify_options *options, char *error)
{
	int ret;

	if (options->is_destruction) {
		snprintf(error, TARGET_ERROR_LEN,
			 "--destroy is for block devices, and %.400s is none", path);
		return EX_USAGE;
	}
	ret = target_open(&disk->target, path, error);
	if (ret < 0)
		return target_exit_status(ret);
	if (disk->target.kind == TARGET_DIRECTORY)
		return 0;
	snprintf(error, TARGET_ERROR_LEN, "%s is no disk: give a directory on one", path);
	return EX_USAGE;
}

static int check_together(const struct trial *trial, const struct qualify_options *options, char *error)
{
	struct target *targets = calloc(trial->disk_count, sizeof(targets[0]));
	unsigned count = 0;
	int ret;

	if (!targets) {
		snprintf(error, TARGET_ERROR_LEN, "no memory");
		return EX_OSERR;
	}
	for (unsigned i = 0; i < trial->disk_count; i++)
		if (!is_device(&trial->disks[i]))
			targets[count++] = trial->disks[i].target;
	ret = target_check_all(targets, count, options->allow_same_device, error);
	free(targets);
	return ret < 0 ? target_exit_status(ret) : 0;
}

static void look_at(const struct sysfs *sysfs, struct trial_disk *disk)
{
	struct temperature temperature;

	environment_look(sysfs, &disk->target, &disk->environment);
	temperature_find(&temperature, sysfs, disk->target.disk_device);
	if (temperature.limit_c > TEMPERATURE_UNKNOWN)
		disk->environment.temperature_limit_c = temperature.limit_c;
}

int qualify_targets_open(struct trial *trial, const struct qualify_options *options,
			 const struct sysfs *sysfs, char *error)
{
	int status = 0;

	trial->disks = calloc(options->target_count, sizeof(trial->disks[0]));
	if (!trial->disks) {
		snprintf(error, TARGET_ERROR_LEN, "no memory");
		return EX_OSERR;
	}
	for (unsigned i = 0; i < options->target_count && status == 0; i++) {
		struct trial_disk *disk = &trial->disks[trial->disk_count++];

		disk->target.dir_fd = -1;
		disk->blocks.knee = disk->depths.knee = -1;
		if (is_block_device(options->targets[i]))
			status = open_device(disk, options->targets[i], options, error);
		else
			status = open_directory(disk, options->targets[i], options, error);
	}
	if (status == 0)
		status = check_together(trial, options, error);
	if (status)
		return status;
	host_look(sysfs, &trial->host);
	for (unsigned i = 0; i < trial->disk_count; i++)
		look_at(sysfs, &trial->disks[i]);
	return 0;
}

/* Directories on one file system share its room. */
static uint64_t room_of(const struct trial *trial, unsigned number, uint64_t most)
{
	const struct target *target = &trial->disks[number].target;
	uint64_t room = scratch_room_bytes(target, 0);
	unsigned sharers = 0;

	for (unsigned i = 0; i < trial->disk_count; i++)
		sharers += trial->disks[i].target.fs_device == target->fs_device;
	room /= sharers;
	return most && most < room ? most : room;
}

void qualify_targets_room(const struct trial *trial, const struct qualify_options *options,
			  struct plan_disk *disks)
{
	for (unsigned i = 0; i < trial->disk_count; i++) {
		const struct trial_disk *disk = &trial->disks[i];
		uint64_t most = options->asked.scratch_bytes;

		disks[i] = (struct plan_disk){ .path = disk->target.path,
					       .free_bytes = disk->environment.free_bytes,
					       .file_most = scratch_file_most(&disk->target),
					       .is_device = is_device(disk) };
		if (!is_device(disk))
			disks[i].room_bytes = room_of(trial, i, most);
		else if (options->is_destruction)
			disks[i].room_bytes = most && most < disk->target.total_bytes ?
						      most :
						      disk->target.total_bytes;
		if (is_device(disk))
			disks[i].device_bytes = disk->target.total_bytes;
		else if (options->is_device_read && disk->target.device[0] == '/')
			disks[i].device_bytes = device_bytes(disk->target.device);
	}
}

void qualify_targets_close(struct trial *trial)
{
	for (unsigned i = 0; i < trial->disk_count; i++) {
		target_close(&trial->disks[i].target);
		trial_run_free(&trial->disks[i].full);
		trial_run_free(&trial->disks[i].alone);
	}
	trial_run_free(&trial->together);
	trial_run_free(&trial->paced);
	trial_run_free(&trial->source);
	trial_run_free(&trial->interfered);
	for (unsigned i = 0; i < trial->repeat_count; i++)
		trial_run_free(&trial->repeats[i]);
	free(trial->repeats);
	free(trial->disks);
}
