/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/recover_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/journal.h"
#include "recorder/write_all.h"
#include "tools/array.h"
#include "tools/history.h"
#include "tools/journals.h"
#include "tools/place.h"
#include "tools/read_at.h"
#include "tools/recover_plan.h"

#define COPY_BYTES ((size_t)256 << 10)
#define NAME_LEN (2 * NAME_MAX + 64)
#define DAMAGED_MAX 100

struct repair {
	const struct recording *recording;
	const struct recover_journal_config *config;
	char file[NAME_LEN]; /* of the journal in each place */
	int source;          /* the believed one */
	uint64_t head_bytes; /* of it, taken as they are */
	char *tail;          /* behind them */
	uint64_t tail_bytes;
	struct stat source_st;
};

enum present {
	PRESENT_RIGHT,   /* nothing to do */
	PRESENT_LACKING, /* the beginning of what it should be, or nothing */
	PRESENT_DAMAGED, /* has something that the new one doesn't have */
	PRESENT_FOREIGN, /* not a journal of this recording */
};

/* What lies in a place, found out before anything is changed: afterwards it can't be compared. */
struct look {
	bool is_wanted; /* the place gets a journal */
	enum present present;
	uint64_t bytes;
};

static void tell(const struct repair *repair, const struct recover_step *step)
{
	if (repair->config->say)
		repair->config->say(repair->config->context, step);
}

/*
 * ---- writing
 * -------------------------------------------------------------------------------------
 */

static int copy_head(const struct repair *repair, int fd)
{
	char *buf = malloc(COPY_BYTES);
	int ret = buf ? 0 : -ENOMEM;

	for (uint64_t done = 0; ret == 0 && done < repair->head_bytes;) {
		uint64_t left = repair->head_bytes - done;
		size_t len = left < COPY_BYTES ? (size_t)left : COPY_BYTES;

		ret = read_whole_at(repair->source, buf, len, done);
		if (ret == 0)
			ret = write_all(fd, buf, len);
		done += len;
	}
	free(buf);
	return ret;
}

/*
 * Whose journal it was stays, or it becomes that of the believed one's owner; only root can do that,
 * and not every file system.
 */
static int give_owner(const struct repair *repair, int dir_fd, const char *base, int fd)
{
	struct stat st;

	if (fstatat(dir_fd, base, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		st = repair->source_st;
	if (fchown(fd, st.st_uid, st.st_gid) == 0 && fchmod(fd, st.st_mode & 0777) == 0)
		return 0;
	return errno == EPERM || errno == EINVAL || errno == EOPNOTSUPP ? 0 : -errno;
}

/* Return: 0 a new file with all of it, safe on the disk; -errno, and there is none. */
static int write_beside(const struct repair *repair, int dir_fd, const char *base, const char *name)
{
	int fd, ret;

	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT) /* of a recovery that was broken off */
		return -errno;
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	ret = copy_head(repair, fd);
	if (ret == 0)
		ret = write_all(fd, repair->tail, repair->tail_bytes);
	if (ret == 0)
		ret = give_owner(repair, dir_fd, base, fd);
	if (ret == 0 && fsync(fd) < 0)
		ret = -errno;
	if (close(fd) < 0 && ret == 0)
		ret = -errno;
	if (ret < 0)
		unlinkat(dir_fd, name, 0);
	return ret;
}

/* A second name where there can be one, so that there is a journal at every moment. */
static int keep_damaged(int dir_fd, const char *base, char *kept, size_t len)
{
	for (int i = 0; i < DAMAGED_MAX; i++) {
		if (i == 0)
			snprintf(kept, len, "%s" RECOVER_DAMAGED_SUFFIX, base);
		else
			snprintf(kept, len, "%s" RECOVER_DAMAGED_SUFFIX ".%d", base, i);
		if (linkat(dir_fd, base, dir_fd, kept, 0) == 0)
			return 0;
		if (errno == EEXIST)
			continue;
		if (errno != EPERM && errno != EOPNOTSUPP && errno != EMLINK)
			return -errno;
		if (faccessat(dir_fd, kept, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		return renameat(dir_fd, base, dir_fd, kept) < 0 ? -errno : 0;
	}
	return -EEXIST;
}

static int replace(const struct repair *repair, int dir_fd, const char *base, bool is_kept,
		   char *kept, size_t len)
{
	char name[NAME_LEN];
	int ret;

	snprintf(name, sizeof(name), "%s" RECOVER_JOURNAL_SUFFIX, base);
	ret = write_beside(repair, dir_fd, base, name);
	if (ret == 0 && is_kept)
		ret = keep_damaged(dir_fd, base, kept, len);
	if (ret == 0 && renameat(dir_fd, name, dir_fd, base) < 0)
		ret = -errno;
	if (ret < 0) {
		unlinkat(dir_fd, name, 0);
		return ret;
	}
	return fsync(dir_fd) < 0 && errno != EINVAL ? -errno : 0;
}

/*
 * ---- what is there
 * -------------------------------------------------------------------------------
 */

/* A journal without a whole line was cut off before its first one was safe. */
static bool has_line(const struct place *place, const char *file, uint64_t *bytes)
{
	char *buf = malloc(COPY_BYTES);
	struct stat st = { 0 };
	int fd = buf ? place_open_file(place, file, &st) : -ENOMEM;
	bool is_there = true; /* in doubt it is kept */

	if (fd >= 0) {
		ssize_t n = pread(fd, buf, COPY_BYTES, 0);

		is_there = n < 0 || (size_t)n == COPY_BYTES || memchr(buf, '\n', (size_t)n);
		close(fd);
	} else if (fd == -ENOENT) {
		is_there = false;
	}
	*bytes = fd >= 0 ? (uint64_t)st.st_size : 0;
	free(buf);
	return is_there;
}

static int look_at_known(const struct repair *repair, size_t index, enum present *present,
			 uint64_t *bytes)
{
	const struct history *history = recording_info(repair->recording)->history;
	struct journals_found found;
	int ret = journals_compare(repair->recording, index, &found);

	if (ret < 0)
		return ret;
	*bytes = found.bytes;
	if (found.state == JOURNALS_SAME && !repair->tail_bytes && !found.is_torn &&
	    found.bytes == history->valid_bytes)
		*present = PRESENT_RIGHT;
	else if (found.state == JOURNALS_SAME || found.state == JOURNALS_SHORTER)
		*present = PRESENT_LACKING;
	else
		*present = found.state == JOURNALS_DAMAGED ? PRESENT_DAMAGED : PRESENT_FOREIGN;
	return 0;
}

/* Does one of the journal's files lie in this place? */
static bool has_data(const struct repair *repair, int place_index)
{
	struct recording_file file;

	for (size_t i = 0; recording_file(repair->recording, i, &file); i++)
		if (file.place == place_index)
			return true;
	return false;
}

/* A journal of the recording, or a target of it, or some of its data. */
static int look(const struct repair *repair, int place_index, const struct place *place,
		struct look *found)
{
	struct recording_journal journal;

	*found = (struct look){ .is_wanted = true };
	for (size_t i = 0; recording_journal(repair->recording, i, &journal); i++)
		if (journal.place == place_index && strcmp(journal.file, repair->file) == 0)
			return look_at_known(repair, i, &found->present, &found->bytes);
	found->is_wanted = place->target >= 0 || has_data(repair, place_index);
	if (found->is_wanted)
		found->present = has_line(place, repair->file, &found->bytes) ? PRESENT_FOREIGN :
										PRESENT_LACKING;
	return 0;
}

/*
 * ---- place by place
 * ------------------------------------------------------------------------------
 */

static void tell_failed(const struct repair *repair, const struct place *place, int ret)
{
	char reason[256];

	snprintf(reason, sizeof(reason), "the journal can't be written: %s", strerror(-ret));
	tell(repair, &(struct recover_step){ .what = RECOVER_FAILED,
					     .target = place->path,
					     .file = repair->file,
					     .reason = reason });
}

static void repair_journal(const struct repair *repair, const struct place *place, bool is_damaged,
			   uint64_t bytes)
{
	char kept[NAME_LEN] = "";
	const char *base;
	int ret = 0, dir_fd = place_open_parent(place, repair->file, &base);

	if (dir_fd == -ENOENT && !is_damaged && bytes == 0) /* no folder of the recording here */
		return;
	if (dir_fd < 0)
		ret = dir_fd;
	else if (!repair->config->is_dry)
		ret = replace(repair, dir_fd, base, is_damaged, kept, sizeof(kept));
	if (dir_fd >= 0)
		close(dir_fd);
	if (ret < 0) {
		tell_failed(repair, place, ret);
		return;
	}
	tell(repair, &(struct recover_step){ .what = RECOVER_JOURNAL,
					     .target = place->path,
					     .file = repair->file,
					     .other = kept[0] ? kept : NULL,
					     .from_bytes = bytes,
					     .to_bytes = repair->head_bytes + repair->tail_bytes });
}

/* What a recovery that was broken off has left, where nothing else is to be done. */
static void remove_stale(const struct repair *repair, const struct place *place)
{
	char file[NAME_LEN + 16];
	const char *base;
	struct stat st;
	int ret = 0, dir_fd;

	snprintf(file, sizeof(file), "%s" RECOVER_JOURNAL_SUFFIX, repair->file);
	dir_fd = place_open_parent(place, file, &base);
	if (dir_fd < 0)
		return;
	if (fstatat(dir_fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
		if (!repair->config->is_dry && unlinkat(dir_fd, base, 0) < 0)
			ret = -errno;
		tell(repair, &(struct recover_step){ .what = ret < 0 ? RECOVER_FAILED : RECOVER_REMOVE,
						     .target = place->path,
						     .file = file,
						     .reason = ret < 0 ? "can't be removed" : NULL,
						     .from_bytes = (uint64_t)st.st_size,
						     .written_bytes = (uint64_t)st.st_size });
	}
	close(dir_fd);
}

static void repair_place(const struct repair *repair, const struct place *place, const struct look *found)
{
	if (!found->is_wanted)
		return;
	if (found->present == PRESENT_FOREIGN)
		tell(repair, &(struct recover_step){
				     .what = RECOVER_KEPT,
				     .target = place->path,
				     .file = repair->file,
				     .from_bytes = found->bytes,
				     .to_bytes = found->bytes,
				     .reason = "it can't be read as a journal of this recording" });
	else if (found->present != PRESENT_RIGHT)
		repair_journal(repair, place, found->present == PRESENT_DAMAGED, found->bytes);
	if (found->present == PRESENT_RIGHT || found->present == PRESENT_FOREIGN)
		remove_stale(repair, place);
}

static bool get_place(const struct recording *recording, size_t index, struct place *place)
{
	struct recording_place found;

	if (!recording_place(recording, index, &found))
		return false;
	*place = (struct place){ .path = (char *)found.path, .fd = found.fd, .target = found.target };
	return true;
}

static int repair_places(const struct repair *repair)
{
	struct look *looks = NULL, *room;
	struct place place;
	size_t count = 0;
	int ret = 0;

	for (; ret == 0 && get_place(repair->recording, count, &place); count++) {
		room = array_room(&looks, count, sizeof(*room));
		ret = room ? look(repair, (int)count, &place, room) : -ENOMEM;
	}
	for (size_t i = 0; ret == 0 && i < count && get_place(repair->recording, i, &place); i++)
		repair_place(repair, &place, &looks[i]);
	free(looks);
	return ret;
}

/* What is there of the believed journal, and what is to come behind it. */
static int prepare(struct repair *repair)
{
	const struct recording_info *info = recording_info(repair->recording);
	const struct history *history = info->history;
	bool has_folder = history_has_folder(history);
	int64_t len;

	snprintf(repair->file, sizeof(repair->file), "%.*s%s%.*s" JOURNAL_SUFFIX, NAME_MAX,
		 has_folder ? info->name : "", has_folder ? "/" : "", NAME_MAX, info->name);
	repair->source =
		recording_open_journal(repair->recording, journals_believed(repair->recording));
	if (repair->source < 0)
		return repair->source;
	if (fstat(repair->source, &repair->source_st) < 0)
		return -errno;
	repair->head_bytes = history->valid_bytes;
	if (history->end)
		return 0;
	len = recover_tail(history, units_realtime_ns(), repair->config->known, &repair->tail);
	if (len < 0)
		return (int)len;
	repair->tail_bytes = (uint64_t)len;
	return 0;
}

int recover_journals(const struct recording *recording, const struct recover_journal_config *config)
{
	struct repair repair = { .recording = recording, .config = config, .source = -1 };
	int ret = prepare(&repair);

	if (ret == 0)
		ret = repair_places(&repair);
	if (repair.source >= 0)
		close(repair.source);
	free(repair.tail);
	return ret;
}
