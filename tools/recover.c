/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/journal.h"
#include "tools/array.h"
#include "tools/busy.h"
#include "tools/journals.h"
#include "tools/recover_journal.h"
#include "tools/recover_parts.h"

const char *recover_what_name(enum recover_what what)
{
	static const char *const names[] = {
		[RECOVER_CUT] = "cut",       [RECOVER_RENAME] = "rename",
		[RECOVER_REMOVE] = "remove", [RECOVER_JOURNAL] = "journal",
		[RECOVER_KEPT] = "kept",     [RECOVER_FAILED] = "failed",
	};

	return names[what];
}

int recover_fail(struct recover_result *result, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(result->error, sizeof(result->error), format, args);
	va_end(args);
	return ret;
}

static bool is_stopped(const struct recovery *recovery)
{
	const atomic_int *stop = recovery->config->stop;

	return stop && atomic_load_explicit(stop, memory_order_relaxed);
}

static void tell(struct recovery *recovery, const struct recover_step *step)
{
	if (step->what == RECOVER_FAILED)
		recovery->result->failed_count++;
	else if (step->what != RECOVER_KEPT)
		recovery->result->step_count++;
	if (recovery->config->say)
		recovery->config->say(recovery->config->context, step);
}

void recover_tell_failed(struct recovery *recovery, const char *target, const char *file,
			 const char *what, int ret)
{
	char reason[256];

	recovery->is_disturbed |= ret == -ESTALE || ret == -EBUSY;
	snprintf(reason, sizeof(reason), "can't be %s: %s", what,
		 ret == -ESTALE ? "it has changed meanwhile" :
		 ret == -EBUSY  ? "somebody has it open for writing" :
				  strerror(-ret));
	tell(recovery,
	     &(struct recover_step){
		     .what = RECOVER_FAILED, .target = target, .file = file, .reason = reason });
}

/*
 * ---- opening, with the targets locked
 * ------------------------------------------------------------
 */

static int open_recording(struct recovery *recovery, const struct recording_query *query)
{
	int ret;

	recording_free(recovery->recording);
	ret = recording_open(&recovery->recording, query);
	if (ret < 0)
		return recover_fail(recovery->result, ret, "%s", recording_error(recovery->recording));
	recovery->info = recording_info(recovery->recording);
	if (!recovery->info->journal && !recovery->info->mark6)
		return recover_fail(recovery->result, -ENODATA,
				    "%s has no journal: nothing tells what of its files is to be kept",
				    recovery->info->name);
	return 0;
}

/* A lock lives as long as its descriptor, and a copy of a descriptor has it, too. */
static int lock_places(struct recovery *recovery)
{
	struct recording_place place;

	for (size_t i = 0; recording_place(recovery->recording, i, &place); i++) {
		int *room = array_room(&recovery->locks, recovery->lock_count, sizeof(*room));
		int fd = room ? fcntl(place.fd, F_DUPFD_CLOEXEC, 3) : -1;

		if (fd < 0)
			return recover_fail(recovery->result, room ? -errno : -ENOMEM, "%s: %s",
					    place.path, strerror(room ? errno : ENOMEM));
		*room = fd;
		recovery->lock_count++;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
			return recover_fail(recovery->result, -EBUSY,
					    "another recovery is at work in %s; nothing is changed",
					    place.path);
	}
	return 0;
}

/* What the plan rests on must not be only in the memory of this machine. */
static void sync_journals(const struct recovery *recovery)
{
	for (size_t i = 0; i < recovery->info->journal_count; i++) {
		int fd = recording_open_journal(recovery->recording, i);

		if (fd < 0)
			continue;
		fsync(fd); /* one that can't be synced was read all the same */
		close(fd);
	}
}

struct place recover_place(const struct recovery *recovery, int index)
{
	struct recording_place place = { .path = "", .fd = -1 };

	recording_place(recovery->recording, (size_t)index, &place);
	return (struct place){ .path = (char *)place.path, .fd = place.fd, .target = place.target };
}

bool recover_has_entry(const struct recovery *recovery, int place_index, const char *file)
{
	struct place place = recover_place(recovery, place_index);
	const char *base;
	struct stat st;
	int dir_fd = place_open_parent(&place, file, &base);
	bool is_there = dir_fd >= 0 && fstatat(dir_fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (dir_fd >= 0)
		close(dir_fd);
	return is_there;
}

/*
 * Which target is this directory, or a copy of which? Its path, else its files tell. -1: they don't.
 */
static int target_of(const struct recovery *recovery, int place_index)
{
	const struct history *history = recovery->info->history;
	struct place place = recover_place(recovery, place_index);
	int target = -1;

	if (place.target >= 0 || place_index < 0)
		return place.target;
	if (history->target_count == 1)
		return 0;
	for (size_t i = 0; i < history->file_count; i++) {
		const struct history_file *file = history->files[i];
		char part[PATH_MAX];

		snprintf(part, sizeof(part), "%s" JOURNAL_PART_SUFFIX, file->name);
		if (!recover_has_entry(recovery, place_index, file->name) &&
		    !recover_has_entry(recovery, place_index, part))
			continue;
		if (target >= 0 && target != (int)file->target)
			return -1;
		target = (int)file->target;
	}
	return target;
}

/*
 * Could something be promised that we don't know of? Not when the recorder has come to its end, or
 * when there is a whole journal for each target; but a line that is not understood may say anything.
 * @known: targets whose journal is there
 */
static bool is_all_known(const struct history *history, const bool *known)
{
	if (history->invalid_count || history->unknown_count)
		return false;
	if (history->end && !history->is_recovered)
		return true;
	for (size_t i = 0; i < history->target_count; i++)
		if (!known[i] && !history->targets[i].has_lost_journal)
			return false;
	return history->target_count > 0;
}

/*
 * The journal in this place is whole, but a recovery has written it: what the damaged one that was there before
 * may have promised is still not known.
 */
static bool was_damaged(const struct recovery *recovery, const struct recording_journal *journal)
{
	char kept[PATH_MAX];

	snprintf(kept, sizeof(kept), "%s" RECOVER_DAMAGED_SUFFIX, journal->file);
	return recover_has_entry(recovery, journal->place, kept);
}

/* A journal that a recovery has written for a target whose own was not there tells nothing of that one. */
static bool is_first_hand(const struct recovery *recovery, const struct journals_found *found, int target)
{
	const struct history *history = recovery->info->history;

	return !history->targets[target].was_unknown || found->common_bytes <= history->told_bytes;
}

static int compare_journals(struct recovery *recovery)
{
	for (size_t i = 0; i < recovery->info->journal_count; i++) {
		struct recording_journal journal;
		struct journals_found found;
		int target, ret = journals_compare(recovery->recording, i, &found);

		if (ret < 0)
			return recover_fail(recovery->result, ret, "%s", strerror(-ret));
		if (found.state == JOURNALS_CONTRADICTS)
			return recover_fail(
				recovery->result, -EBADMSG,
				"the journals %s and %s contradict each other; nothing is changed",
				recovery->info->journal, recovery->info->journals[i]);
		if ((found.state != JOURNALS_SAME && found.state != JOURNALS_SHORTER) ||
		    !recording_journal(recovery->recording, i, &journal))
			continue;
		target = target_of(recovery, journal.place);
		if (target >= 0 && is_first_hand(recovery, &found, target) &&
		    !was_damaged(recovery, &journal))
			recovery->known[target] = true;
	}
	return 0;
}

/* Are the journals of one mind, and is there one for each target? */
static int look_at_journals(struct recovery *recovery)
{
	const struct history *history = recovery->info->history;
	int ret;

	recovery->is_complete = true;
	if (!history)
		return 0;
	recovery->known = calloc(history->target_count + 1, sizeof(recovery->known[0]));
	if (!recovery->known)
		return recover_fail(recovery->result, -ENOMEM, "%s", strerror(ENOMEM));
	ret = compare_journals(recovery);
	if (ret == 0)
		recovery->is_complete =
			recovery->config->is_missing_lost || is_all_known(history, recovery->known);
	return ret;
}

/* Read only once nobody writes any more, and nobody else recovers. */
static int open_locked(struct recovery *recovery, const struct recording_query *query)
{
	char why[RECOVER_ERROR_LEN - 64];
	int ret = open_recording(recovery, query);

	if (ret == 0 && !recovery->config->is_dry)
		ret = lock_places(recovery);
	if (ret == 0 && busy_recording(recovery->recording, why, sizeof(why)))
		return recover_fail(recovery->result, -EBUSY,
				    "%s is still being recorded: %s; nothing is changed",
				    recovery->info->name, why);
	if (ret == 0)
		ret = open_recording(recovery, query);
	if (ret == 0 && !recovery->config->is_dry)
		sync_journals(recovery);
	return ret == 0 ? look_at_journals(recovery) : ret;
}

/*
 * ---- doing it
 * ------------------------------------------------------------------------------------
 */

static void tell_item(struct recovery *recovery, const struct recover_item *item, const char *target)
{
	struct recover_step step = {
		.target = target,
		.file = item->file,
		.other = item->final_file,
		.is_by_blocks = !recovery->info->journal,
		.from_bytes = item->facts.bytes,
		.to_bytes = item->facts.promised_bytes,
		.written_bytes = item->written_bytes,
	};

	if (item->plan.is_cut) {
		step.what = RECOVER_CUT;
		tell(recovery, &step);
	}
	if (item->plan.is_removed) {
		step.what = RECOVER_REMOVE;
		tell(recovery, &step);
	}
	if (item->plan.is_renamed) {
		step.what = RECOVER_RENAME;
		tell(recovery, &step);
	}
}

static void do_item(struct recovery *recovery, const struct recover_item *item)
{
	struct place place = recover_place(recovery, item->place);
	const char *base, *what = "opened";
	int dir_fd, ret;

	if (item->plan.kept)
		tell(recovery, &(struct recover_step){ .what = RECOVER_KEPT,
						       .target = place.path,
						       .file = item->file,
						       .reason = item->plan.kept,
						       .from_bytes = item->facts.bytes,
						       .to_bytes = item->facts.promised_bytes,
						       .written_bytes = item->written_bytes });
	if (!item->plan.is_cut && !item->plan.is_renamed && !item->plan.is_removed)
		return;
	if (recovery->config->is_dry) {
		tell_item(recovery, item, place.path);
		return;
	}
	dir_fd = place_open_parent(&place, item->file, &base);
	ret = dir_fd < 0 ? dir_fd : recover_apply(item, dir_fd, base, &what);
	if (dir_fd >= 0)
		close(dir_fd);
	if (ret == 0)
		tell_item(recovery, item, place.path);
	else
		recover_tell_failed(recovery, place.path, item->file, what, ret);
}

static void on_journal(void *context, const struct recover_step *step)
{
	tell(context, step);
}

static int do_all(struct recovery *recovery)
{
	struct recover_journal_config config = {
		.is_dry = recovery->config->is_dry,
		.known = recovery->is_complete ? NULL : recovery->known,
		.say = on_journal,
		.context = recovery,
	};
	int ret;

	for (size_t i = 0; i < recovery->item_count; i++) {
		if (is_stopped(recovery))
			return recover_fail(recovery->result, -EINTR,
					    "stopped by a signal; --recover once more goes on");
		do_item(recovery, &recovery->items[i]);
	}
	if (recovery->is_disturbed)
		return recover_fail(
			recovery->result, -EBUSY,
			"somebody else changes its files meanwhile; the journals are left as they were");
	if (!recovery->info->journal)
		return 0;
	ret = recover_journals(recovery->recording, &config);
	return ret < 0 ? recover_fail(recovery->result, ret, "%s", strerror(-ret)) : 0;
}

int recover_run(const struct recording_query *query, const struct recover_config *config,
		struct recover_result *result)
{
	struct recovery recovery = { .config = config, .result = result };
	int ret;

	memset(result, 0, sizeof(*result));
	ret = open_locked(&recovery, query);
	if (ret == 0)
		ret = recover_collect(&recovery);
	if (ret == 0)
		ret = do_all(&recovery);
	for (size_t i = 0; i < recovery.item_count; i++) {
		free(recovery.items[i].file);
		free(recovery.items[i].final_file);
	}
	for (size_t i = 0; i < recovery.lock_count; i++)
		close(recovery.locks[i]);
	free(recovery.items);
	free(recovery.locks);
	free(recovery.known);
	free(recovery.promised);
	free(recovery.last_segment);
	recording_free(recovery.recording);
	return ret;
}
