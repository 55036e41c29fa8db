/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/existing.h"
#include "recorder/session_parts.h"
#include "recorder/version.h"

int session_refuse(struct refusal *refusal, int exit_status, int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(refusal->text, sizeof(refusal->text), format, ap);
	va_end(ap);
	refusal->exit_status = exit_status;
	return error;
}

/* ---- names ---- */

/* With --force what is there is removed, later: all of it must be this recording's own. */
static int find_existing_files(const struct session *session, const struct disk *disk,
			       const char *name, const char *name_template, struct refusal *refusal)
{
	const struct session_config *config = &session->config;
	const char *path = disk->target.path;
	char found[2 * (NAME_MAX + 1)];
	int ret = config->use_force ?
			  existing_check(&disk->target, name, name_template, found, sizeof(found)) :
			  existing_find(&disk->target, name, name_template, found, sizeof(found));

	if (ret < 0)
		return session_refuse(refusal, EX_CANTCREAT, ret, "target %s can't be read: %s",
				      path, strerror(-ret));
	if (ret == 0)
		return 0;
	if (config->use_force)
		return session_refuse(
			refusal, EX_CANTCREAT, -EEXIST,
			"%s/%s is in the way, and not a file of the recording %s: --force removes nothing else",
			path, found, name);
	refusal->is_name_taken = true;
	return session_refuse(refusal, EX_CANTCREAT, -EEXIST,
			      "%s/%s exists: recordings are never overwritten", path, found);
}

/* Several files a disk, or one that may end up on any of them. */
bool session_has_numbers(const struct session *session, const struct disk *disk)
{
	return disk->file_bytes > 0 || session->plan.file_ns > 0 ||
	       (session->plan.is_held && !session->plan.is_appended);
}

void session_second_name(char *buf, size_t len, const struct session *session)
{
	snprintf(buf, len, "%.150s" LAYOUT_COPY_SUFFIX, session->config.name);
}

/* Where a second copy is to be, or with --force where the old recording has one. */
static bool is_second_concerned(const struct session *session, const struct target *target)
{
	return session->plan.has_second ||
	       (session->config.use_force && existing_copies(target, session->config.name) > 1);
}

static int find_existing(const struct session *session, const struct disk *disk, struct refusal *refusal)
{
	char name[NAME_MAX + 1];
	int ret = find_existing_files(session, disk, session->config.name, disk->name_template,
				      refusal);

	if (ret < 0 || !is_second_concerned(session, &disk->target))
		return ret;
	session_second_name(name, sizeof(name), session);
	/* a second copy has no journal of its own */
	if (session->config.use_force && existing_has_journal(&disk->target, name))
		return session_refuse(
			refusal, EX_CANTCREAT, -EEXIST,
			"%s/%s is a recording of its own, where the second copies belong: --force removes only %s",
			disk->target.path, name, session->config.name);
	return find_existing_files(session, disk, name, disk->other_template, refusal);
}

static int name_files(struct session *session, struct refusal *refusal)
{
	const struct session_config *config = &session->config;
	const struct layout_plan *plan = &session->plan;
	char error[LAYOUT_ERROR_LEN], name[NAME_MAX + 1];

	if (layout_check_name(config->name, error) < 0)
		return session_refuse(refusal, EX_USAGE, -EINVAL, "%s", error);
	if (config->name_template && config->layout == LAYOUT_VBS)
		return session_refuse(
			refusal, EX_USAGE, -EINVAL,
			"a template is for layout raw; FlexBuff readers find the files of layout vbs by their names");
	if (config->name_template && plan->has_second)
		return session_refuse(refusal, EX_USAGE, -EINVAL,
				      "a template names no second copy: --copies without it");
	session_second_name(name, sizeof(name), session);
	for (unsigned i = 0; i < session->disk_count; i++) {
		struct disk *disk = &session->disks[i];
		const char *given = config->templates ? config->templates[i] : config->name_template;
		int ret;

		disk->file_bytes =
			config->target_file_bytes ? config->target_file_bytes[i] : plan->file_bytes;
		if (given && layout_check_template(given, session_has_numbers(session, disk), error) < 0)
			return session_refuse(refusal, EX_USAGE, -EINVAL, "%s", error);
		if (given)
			snprintf(disk->name_template, sizeof(disk->name_template), "%s", given);
		else
			layout_default_template(disk->name_template, plan, config->name);
		if (plan->has_parity)
			layout_parity_template(disk->other_template, config->name);
		else
			layout_default_template(disk->other_template, plan, name);
		if (disk->target.kind != TARGET_DIRECTORY)
			continue;
		ret = find_existing(session, disk, refusal);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* A scan that is there already, on any target, is a repeated one. */
int session_name_files(struct session *session, struct refusal *refusal)
{
	const char *label = session->config.name;
	unsigned index = 0;
	int ret = name_files(session, refusal);

	while (ret == -EEXIST && refusal->is_name_taken && session->config.is_scan) {
		if (!names_repeat(session->scan_name, label, index++))
			return session_refuse(refusal, EX_CANTCREAT, ret,
					      "the scan %s and all its repetitions, a to Z, exist",
					      label);
		session->config.name = session->scan_name;
		refusal->is_name_taken = false;
		ret = name_files(session, refusal);
	}
	if (ret == 0 && index > 0)
		session_notice(session, "a recording of the scan %s exists: this one is %s", label,
			       session->config.name);
	return ret;
}

/* ---- what is made on a target before the first byte ---- */

static void journal_path(char *path, size_t len, const struct session *session)
{
	const char *name = session->config.name;

	if (session->plan.kind == LAYOUT_VBS)
		snprintf(path, len, "%.150s/%.150s" JOURNAL_SUFFIX, name, name);
	else
		snprintf(path, len, "%.150s" JOURNAL_SUFFIX, name);
}

void session_discard(struct session *session)
{
	char path[LAYOUT_NAME_LEN * 2], second[NAME_MAX + 1];

	journal_path(path, sizeof(path), session);
	session_second_name(second, sizeof(second), session);
	for (unsigned i = 0; i < session->disk_count; i++) {
		struct disk *disk = &session->disks[i];

		if (disk->has_journal)
			unlinkat(disk->target.dir_fd, path, 0);
		if (disk->has_directory)
			unlinkat(disk->target.dir_fd, session->config.name, AT_REMOVEDIR);
		if (disk->has_second_directory)
			unlinkat(disk->target.dir_fd, second, AT_REMOVEDIR);
		disk->has_journal = disk->has_directory = disk->has_second_directory = false;
	}
}

static int make_directory(const struct disk *disk, const char *name, bool *is_made,
			  struct refusal *refusal)
{
	int ret;

	if (mkdirat(disk->target.dir_fd, name, 0755) < 0) {
		ret = -errno;
		return session_refuse(refusal, target_exit_status(ret), ret,
				      "can't make directory %s/%s: %s", disk->target.path, name,
				      strerror(-ret));
	}
	*is_made = true;
	return 0;
}

static int make_directories(const struct session *session, struct disk *disk, struct refusal *refusal)
{
	char name[NAME_MAX + 1];
	int ret;

	if (session->plan.kind != LAYOUT_VBS)
		return 0;
	ret = make_directory(disk, session->config.name, &disk->has_directory, refusal);
	if (ret < 0 || !session->plan.has_second)
		return ret;
	session_second_name(name, sizeof(name), session);
	return make_directory(disk, name, &disk->has_second_directory, refusal);
}

/*
 * The journal is the first file made on each target: of two recorders with one name the second
 * fails here.
 */
int session_make_journal(struct session *session, struct disk *disk, struct refusal *refusal)
{
	char path[LAYOUT_NAME_LEN * 2];
	int ret = make_directories(session, disk, refusal);

	if (ret < 0)
		return ret;
	/* their names are safe, whatever is made in them; some file systems can't sync a directory */
	if (disk->has_directory && fsync(disk->target.dir_fd) < 0 && errno != EINVAL) {
		ret = -errno;
		return session_refuse(refusal, target_exit_status(ret), ret,
				      "can't sync directory %s: %s", disk->target.path,
				      strerror(-ret));
	}
	if (!session->journal)
		return 0;
	journal_path(path, sizeof(path), session);
	ret = journal_open(session->journal, disk->number, disk->target.dir_fd, path);
	disk->has_journal = ret == 0;
	refusal->is_name_taken = ret == -EEXIST;
	if (ret < 0)
		return session_refuse(refusal, target_exit_status(ret), ret,
				      "can't create journal %s/%s: %s", disk->target.path, path,
				      strerror(-ret));
	return 0;
}

/* JSON wants UTF-8, paths are bytes: what is not UTF-8 is shown with '?'. */
static json_t *json_path(const char *text)
{
	json_t *string = json_string(text);
	char buf[4096];
	size_t n = 0;

	if (string)
		return string;
	for (; text[n] && n + 1 < sizeof(buf); n++)
		buf[n] = (unsigned char)text[n] < 0x80 ? text[n] : '?';
	buf[n] = '\0';
	return json_string(buf);
}

/* A journal is read from elsewhere and later: relative paths would mean nothing then. */
static json_t *json_absolute(const char *path)
{
	char *absolute = realpath(path, NULL);
	json_t *json = json_path(absolute ? absolute : path);

	free(absolute);
	return json;
}

static json_t *describe_targets(const struct session *session)
{
	json_t *targets = json_array();

	for (unsigned i = 0; i < session->disk_count; i++) {
		const struct target *target = &session->disks[i].target;
		json_t *entry =
			json_pack("{so so so so}", "path", json_absolute(target->path), "fs_uuid",
				  json_path(target->fs_uuid), "device", json_path(target->device),
				  "serial", json_path(target->serial));

		if (json_array_append_new(targets, entry) <
		    0) { /* one less, and all indices behind it were wrong */
			json_decref(targets);
			return NULL;
		}
	}
	return targets;
}

/* The first line. Readers find their way by it: without it there is no recording. */
int session_say_start(struct session *session, struct refusal *refusal)
{
	const struct session_config *config = &session->config;
	const struct layout_plan *plan = &session->plan;
	char utc[UNITS_UTC_LEN], host[256] = "";
	json_t *line;

	session->armed_ns = units_monotonic_ns();
	session->armed_utc_ns = units_realtime_ns();
	gethostname(host, sizeof(host) - 1);
	line = json_pack(
		"{ss ss so ss ss so sI ss ss sI sI sI so so ss sI so si}", "type", "start", "schema",
		JOURNAL_SCHEMA, "name", json_path(config->name), "program", config->program,
		"version", VSIB_VERSION, "source", json_path(config->source_name), "rate_bps",
		(json_int_t)session->source->rate_bps, "layout", layout_kind_name(plan->kind),
		"stripe", plan->stripe == STRIPE_ROUND ? "round" : "any", "block_bytes",
		(json_int_t)plan->block_bytes, "chunk_bytes", (json_int_t)plan->chunk_bytes,
		"file_bytes", (json_int_t)plan->file_bytes, "template",
		json_path(session->disks[0].name_template), "targets", describe_targets(session),
		"utc", units_format_utc(utc, session->armed_utc_ns), "monotonic_ns",
		(json_int_t)session->armed_ns, "host", json_path(host), "pid", (int)getpid());
	if (!line)
		return session_refuse(refusal, EX_OSERR, -ENOMEM,
				      "no memory for the journal's first line");
	if (plan->packet_bytes) {
		json_object_set_new(line, "packet_format",
				    json_string(mark6_format_name(plan->packet_format)));
		json_object_set_new(line, "packet_bytes", json_integer((json_int_t)plan->packet_bytes));
	}
	if (plan->file_ns)
		json_object_set_new(line, "file_ns", json_integer((json_int_t)plan->file_ns));
	if (plan->has_second)
		json_object_set_new(line, "copies", json_integer(2));
	if (plan->has_parity)
		json_object_set_new(line, "parity_target", json_integer(session->disk_count - 1));
	journal_say(session->journal, line);
	return 0;
}

/*
 * Looked at again on every target before anything is removed on one: much may have come since the
 * session was made.
 */
int session_remove_existing(struct session *session, struct refusal *refusal)
{
	char name[NAME_MAX + 1];
	int ret = 0;

	session_second_name(name, sizeof(name), session);
	for (unsigned i = 0; i < session->disk_count && ret == 0; i++)
		ret = find_existing(session, &session->disks[i], refusal);
	for (unsigned i = 0; i < session->disk_count && ret == 0; i++) {
		const struct target *target = &session->disks[i].target;

		/* the journal, which tells of both, goes last */
		if (is_second_concerned(session, target))
			ret = existing_remove(target, name);
		if (ret == 0)
			ret = existing_remove(target, session->config.name);
		if (ret < 0)
			session_refuse(refusal, EX_CANTCREAT, ret,
				       "can't remove the old recording %s on %s: %s",
				       session->config.name, target->path, strerror(-ret));
	}
	return ret;
}
