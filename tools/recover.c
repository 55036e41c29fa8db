/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/recover.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/journal.h"
#include "recorder/layout.h"
#include "recorder/metadata.h"
#include "tools/array.h"
#include "tools/busy.h"
#include "tools/journals.h"
#include "tools/mark6_file.h"
#include "tools/place.h"
#include "tools/recover_apply.h"
#include "tools/recover_journal.h"
#include "tools/recover_plan.h"

struct recovery {
	struct recording *recording;
	const struct recording_info *info;
	const struct recover_config *config;
	struct recover_result *result;
	int *locks; /* descriptors of the targets' directories */
	size_t lock_count;
	struct recover_item *items;
	size_t item_count;
	uint64_t *promised;     /* of each of the history's files */
	uint32_t *last_segment; /* of each: the history_stored() that ends last */
	bool *known;            /* of each of the history's targets: its whole journal is there */
	bool is_complete;       /* no journal that isn't there could promise more */
	bool is_disturbed;      /* somebody else changes the files */
};

const char *recover_what_name(enum recover_what what)
{
	static const char *const names[] = {
		[RECOVER_CUT] = "cut",       [RECOVER_RENAME] = "rename",
		[RECOVER_REMOVE] = "remove", [RECOVER_JOURNAL] = "journal",
		[RECOVER_KEPT] = "kept",     [RECOVER_FAILED] = "failed",
	};

	return names[what];
}

static __attribute__((format(printf, 3, 4))) int fail(struct recover_result *result, int ret,
						      const char *format, ...)
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

static void tell_failed(struct recovery *recovery, const char *target, const char *file,
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
		return fail(recovery->result, ret, "%s", recording_error(recovery->recording));
	recovery->info = recording_info(recovery->recording);
	if (!recovery->info->journal && !recovery->info->mark6)
		return fail(recovery->result, -ENODATA,
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
			return fail(recovery->result, room ? -errno : -ENOMEM, "%s: %s", place.path,
				    strerror(room ? errno : ENOMEM));
		*room = fd;
		recovery->lock_count++;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
			return fail(recovery->result, -EBUSY,
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

static struct place place_at(const struct recovery *recovery, int index)
{
	struct recording_place place = { .path = "", .fd = -1 };

	recording_place(recovery->recording, (size_t)index, &place);
	return (struct place){ .path = (char *)place.path, .fd = place.fd, .target = place.target };
}

static bool has_entry(const struct recovery *recovery, int place_index, const char *file)
{
	struct place place = place_at(recovery, place_index);
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
	struct place place = place_at(recovery, place_index);
	int target = -1;

	if (place.target >= 0 || place_index < 0)
		return place.target;
	if (history->target_count == 1)
		return 0;
	for (size_t i = 0; i < history->file_count; i++) {
		const struct history_file *file = history->files[i];
		char part[PATH_MAX];

		snprintf(part, sizeof(part), "%s" JOURNAL_PART_SUFFIX, file->name);
		if (!has_entry(recovery, place_index, file->name) &&
		    !has_entry(recovery, place_index, part))
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
	return has_entry(recovery, journal->place, kept);
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
			return fail(recovery->result, ret, "%s", strerror(-ret));
		if (found.state == JOURNALS_CONTRADICTS)
			return fail(recovery->result, -EBADMSG,
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
		return fail(recovery->result, -ENOMEM, "%s", strerror(ENOMEM));
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
		return fail(recovery->result, -EBUSY,
			    "%s is still being recorded: %s; nothing is changed",
			    recovery->info->name, why);
	if (ret == 0)
		ret = open_recording(recovery, query);
	if (ret == 0 && !recovery->config->is_dry)
		sync_journals(recovery);
	return ret == 0 ? look_at_journals(recovery) : ret;
}

/*
 * ---- the facts
 * -----------------------------------------------------------------------------------
 */

static int survey_promises(struct recovery *recovery)
{
	const struct history *history = recovery->info->history;

	recovery->last_segment = calloc(history->file_count + 1, sizeof(recovery->last_segment[0]));
	if (!recovery->last_segment)
		return -ENOMEM;
	recovery->promised = history_promises(history, recovery->last_segment);
	return recovery->promised ? 0 : -ENOMEM;
}

/* Bytes from @from on that are more than allocated space. */
static uint64_t count_written(int fd, uint64_t from, uint64_t end)
{
	uint64_t written = 0;

	while (from < end) {
		off_t data = lseek(fd, (off_t)from, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

		if (data < 0 || hole <= data || (uint64_t)data >= end)
			break;
		written += ((uint64_t)hole < end ? (uint64_t)hole : end) - (uint64_t)data;
		from = (uint64_t)hole;
	}
	return written;
}

/* Takes over nothing; @fd tells what the file is. Return: the new item; NULL: no memory. */
static struct recover_item *add_item(struct recovery *recovery, int place, const char *file,
				     const char *final_file, int fd, const struct recover_file *facts)
{
	struct recover_item *item = array_room(&recovery->items, recovery->item_count, sizeof(*item));
	struct stat st;

	if (!item || fstat(fd, &st) < 0)
		return NULL;
	*item = (struct recover_item){ .facts = *facts, .place = place };
	item->file = strdup(file);
	item->final_file = strdup(final_file);
	if (!item->file || !item->final_file) {
		free(item->file);
		free(item->final_file);
		return NULL;
	}
	item->facts.bytes = (uint64_t)st.st_size;
	item->facts.link_count = (uint64_t)st.st_nlink;
	item->device = st.st_dev;
	item->inode = st.st_ino;
	item->written_bytes = count_written(fd, item->facts.promised_bytes, item->facts.bytes);
	recovery->item_count++;
	return item;
}

static bool is_right(const struct recovery *recovery, uint32_t index, int fd)
{
	const struct history_segment *segment = history_stored(recovery->info->history, index);
	struct recording_piece piece = { .fd = fd,
					 .has_xxh3 = true,
					 .xxh3 = segment->xxh3,
					 .sum_offset = segment->file_offset,
					 .sum_bytes = segment->bytes };

	return segment->has_xxh3 && recording_verify(&piece) == 0;
}

/*
 * In layout mark6 a block is written as one, and may have several segments. When not all of their lines
 * came to be, the block stays whole nevertheless: other programs read no half ones.
 */
static uint64_t promised_end(const struct recovery *recovery, size_t index, int fd, uint64_t bytes)
{
	uint64_t promised = recovery->promised[index];

	return promised < bytes && strcmp(history_layout(recovery->info->history), "mark6") == 0 ?
		       mark6_file_block_end(fd, bytes, promised) :
		       promised;
}

static int add_listed(struct recovery *recovery, size_t index)
{
	struct recover_file facts = { .is_listed = true };
	struct recording_file file;
	struct place place;
	int fd;

	if (!recording_file(recovery->recording, index, &file) || file.place < 0 ||
	    recovery->promised[index] == 0)
		return 0;
	place = place_at(recovery, file.place);
	fd = recording_open_file(recovery->recording, index);
	if (fd < 0) {
		tell_failed(recovery, place.path, file.file, "opened", fd);
		return 0;
	}
	facts.promised_bytes = promised_end(recovery, index, fd, file.bytes);
	facts.is_part = strcmp(file.file, file.final_file) != 0;
	facts.is_proven = place.target == file.target ||
			  is_right(recovery, recovery->last_segment[index], fd);
	facts.has_final = facts.is_part && has_entry(recovery, file.place, file.final_file);
	if (!add_item(recovery, file.place, file.file, file.final_file, fd, &facts)) {
		close(fd);
		return -ENOMEM;
	}
	close(fd);
	return 0;
}

static int find_place(const struct recovery *recovery, const char *path)
{
	struct recording_place place;

	for (size_t i = 0; recording_place(recovery->recording, i, &place); i++)
		if (strcmp(place.path, path) == 0)
			return (int)i;
	return -1;
}

/* NAME/NAME.xxx or NAME.xxx */
static bool is_of_name(const char *file, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(file, name, len) == 0 && file[len] == '/')
		file += len + 1;
	return strncmp(file, name, len) == 0 && file[len] == '.';
}

static bool is_of_target(const struct history_file *file, int target)
{
	return target < 0 || file->target == (unsigned)target;
}

/* What the metadata of one of its files are called while they are written: with a template that may be anything. */
static bool is_metadata_part(const struct recovery *recovery, int target, const char *file)
{
	const struct history *history = recovery->info->history;
	char name[PATH_MAX];

	for (size_t i = 0; i < history->file_count; i++)
		if (is_of_target(history->files[i], target) &&
		    sigmf_meta_name(name, sizeof(name), history->files[i]->name) &&
		    strncmp(file, name, strlen(name)) == 0 &&
		    strcmp(file + strlen(name), JOURNAL_PART_SUFFIX) == 0)
			return true;
	return false;
}

/* One of the recording's, or of its second copy's. @target: it lies on; -1: nobody knows */
static bool is_own(const struct recovery *recovery, int target, const char *file)
{
	char second[NAME_MAX + sizeof(LAYOUT_COPY_SUFFIX)];

	if (is_of_name(file, recovery->info->name))
		return true;
	snprintf(second, sizeof(second), "%.*s" LAYOUT_COPY_SUFFIX, NAME_MAX, recovery->info->name);
	if (history_has_second(recovery->info->history) && is_of_name(file, second))
		return true;
	return is_metadata_part(recovery, target, file);
}

/*
 * Layout raw without a file size: one file, which has its final name from the beginning. With
 * segments in other files it would not be the only one. Layout mark6: one such file a target.
 */
static bool is_endless(const struct recovery *recovery, const char *file)
{
	const json_t *start = recovery->info->history->start;
	const char *layout = history_layout(recovery->info->history);
	const char *name_template = json_string_value(json_object_get(start, "template"));
	const json_t *file_bytes = json_object_get(start, "file_bytes");

	if (strcmp(layout, "mark6") == 0)
		return mark6_file_is_name(recovery->info->name, file);
	return recovery->info->history->segment_count == 0 &&
	       (strcmp(layout, "raw") == 0 || strcmp(layout, "pcap") == 0) &&
	       json_is_integer(file_bytes) && json_integer_value(file_bytes) == 0 &&
	       name_template && strcmp(name_template, file) == 0;
}

/* Does the journal name such a file of this target (or of any, when nobody knows which it is)? */
static bool is_meant(const struct recovery *recovery, int target, const char *final_file)
{
	const struct history *history = recovery->info->history;

	for (size_t i = 0; i < history->file_count; i++)
		if (is_of_target(history->files[i], target) &&
		    strcmp(history->files[i]->name, final_file) == 0)
			return true;
	return false;
}

static int add_left_over(struct recovery *recovery, const struct recording_unused *unused)
{
	size_t len = strlen(unused->file), suffix_len = strlen(JOURNAL_PART_SUFFIX);
	struct recover_file facts = { 0 };
	int place_index = find_place(recovery, unused->target), fd, ret = 0;
	struct place place = place_at(recovery, place_index);
	char *final_file;
	struct stat st;

	fd = place_index < 0 ? -ENOENT : place_open_file(&place, unused->file, &st);
	if (fd < 0) { /* no file, or not ours to open: it stays, and is named by the check */
		return fd == -ENOMEM ? fd : 0;
	}
	facts.is_part = len > suffix_len &&
			strcmp(unused->file + len - suffix_len, JOURNAL_PART_SUFFIX) == 0;
	final_file = strndup(unused->file, facts.is_part ? len - suffix_len : len);
	if (final_file) {
		facts.is_endless = is_endless(recovery, unused->file);
		facts.is_of_name = is_own(recovery, place.target, unused->file);
		facts.is_meant = is_meant(recovery, place.target, final_file);
	}
	if (!final_file || !add_item(recovery, place_index, unused->file, final_file, fd, &facts))
		ret = -ENOMEM;
	free(final_file);
	close(fd);
	return ret;
}

/* Why the blocks of a file don't tell where it may be cut; NULL: they do. */
static const char *reason_to_doubt_blocks(const struct mark6_file_survey *survey)
{
	if (survey->whole_end == 0 && survey->damage_words[0])
		return "its file header makes no sense";
	if (!survey->is_complete)
		return "it can't be read to its end";
	if (survey->tail == MARK6_FILE_DAMAGED)
		return "more bytes than a block follow its last whole block, and no header in them";
	return NULL;
}

/* What stands behind the last whole block of a file, if anything does. */
static int add_blocks(struct recovery *recovery, size_t index, const struct mark6_file_survey *survey)
{
	struct recover_file facts = { .is_listed = true,
				      .is_proven = true,
				      .promised_bytes = survey->whole_end,
				      .doubt = reason_to_doubt_blocks(survey) };
	struct recording_file file;
	struct recover_item *item;
	int fd;

	if (!recording_file(recovery->recording, index, &file))
		return 0;
	fd = recording_open_file(recovery->recording, index);
	if (fd < 0) {
		tell_failed(recovery, place_at(recovery, file.place).path, file.file, "opened", fd);
		return 0;
	}
	item = add_item(recovery, file.place, file.file, file.file, fd, &facts);
	close(fd);
	return item ? 0 : -ENOMEM;
}

static int collect_blocks(struct recovery *recovery)
{
	const struct mark6_file_survey *survey;
	int ret = 0;

	for (size_t i = 0; ret == 0 && (survey = recording_mark6_file(recovery->recording, i)); i++)
		ret = add_blocks(recovery, i, survey);
	return ret;
}

struct folder {
	struct recovery *recovery;
	const struct place *place;
	const char *name; /* below it; "": the place itself */
};

/* Metadata that were being written are no pieces of the recording: no listing of those has them. */
static int visit_metadata(void *context, const char *name)
{
	const struct folder *folder = context;
	const char *suffix = folder->name[0] ? METADATA_CFG_SUFFIX JOURNAL_PART_SUFFIX :
					       SIGMF_META_SUFFIX JOURNAL_PART_SUFFIX;
	size_t len = strlen(name), suffix_len = strlen(suffix);
	char file[2 * NAME_MAX + 2];
	const struct recording_unused unused = { .target = folder->place->path, .file = file };

	if (len < suffix_len || strcmp(name + len - suffix_len, suffix) != 0)
		return 0;
	snprintf(file, sizeof(file), "%.*s%s%.*s", NAME_MAX, folder->name,
		 folder->name[0] ? "/" : "", NAME_MAX, name);
	return is_own(folder->recovery, folder->place->target, file) ?
		       add_left_over(folder->recovery, &unused) :
		       0;
}

static int add_metadata(struct recovery *recovery)
{
	char second[NAME_MAX + sizeof(LAYOUT_COPY_SUFFIX)];
	const char *const names[] = { "", recovery->info->name, second };
	struct recording_place place;

	snprintf(second, sizeof(second), "%.*s" LAYOUT_COPY_SUFFIX, NAME_MAX, recovery->info->name);
	for (size_t i = 0; recording_place(recovery->recording, i, &place); i++) {
		const struct place at = place_at(recovery, (int)i);

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
			struct folder folder = { recovery, &at, names[k] };

			/* what can't be listed has been told */
			if (place_scan(&at, names[k], visit_metadata, &folder) == -ENOMEM)
				return -ENOMEM;
		}
	}
	return 0;
}

static int collect_promised(struct recovery *recovery)
{
	const struct recording_unused *unused;
	int ret = survey_promises(recovery);
	size_t count;

	for (size_t i = 0; ret == 0 && i < recovery->info->history->file_count; i++)
		ret = add_listed(recovery, i);
	unused = recording_unused(recovery->recording, &count);
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = add_left_over(recovery, &unused[i]);
	return ret == 0 ? add_metadata(recovery) : ret;
}

static int collect(struct recovery *recovery)
{
	int ret = recovery->info->journal ? collect_promised(recovery) : collect_blocks(recovery);

	for (size_t i = 0; ret == 0 && i < recovery->item_count; i++)
		recover_plan_file(&recovery->items[i].plan, &recovery->items[i].facts,
				  recovery->is_complete);
	return ret == 0 ? 0 : fail(recovery->result, ret, "%s", strerror(-ret));
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
	struct place place = place_at(recovery, item->place);
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
		tell_failed(recovery, place.path, item->file, what, ret);
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
			return fail(recovery->result, -EINTR,
				    "stopped by a signal; --recover once more goes on");
		do_item(recovery, &recovery->items[i]);
	}
	if (recovery->is_disturbed)
		return fail(recovery->result, -EBUSY,
			    "somebody else changes its files meanwhile; the journals are left as they were");
	if (!recovery->info->journal)
		return 0;
	ret = recover_journals(recovery->recording, &config);
	return ret < 0 ? fail(recovery->result, ret, "%s", strerror(-ret)) : 0;
}

int recover_run(const struct recording_query *query, const struct recover_config *config,
		struct recover_result *result)
{
	struct recovery recovery = { .config = config, .result = result };
	int ret;

	memset(result, 0, sizeof(*result));
	ret = open_locked(&recovery, query);
	if (ret == 0)
		ret = collect(&recovery);
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
