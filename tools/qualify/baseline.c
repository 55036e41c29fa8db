/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/qualify/qualify_json.h"

#define VALUE_MAX 1e18

static int fail(char *error, int ret, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int fail(char *error, int ret, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, BASELINE_ERROR_LEN, format, arguments);
	va_end(arguments);
	return ret;
}

/* ---- values ---- */

/* Return: -1: it is no number that a disk can have. */
static double number_of(const json_t *value)
{
	double number = json_is_number(value) ? json_number_value(value) : -1;

	return number >= 0 && number <= VALUE_MAX ? number : -1;
}

static double get_number(const json_t *object, const char *key)
{
	return number_of(json_object_get(object, key));
}

static const char *get_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int add_point(struct curve *curve, double x, double y)
{
	if (x < 0 || y < 0 || curve->count == BASELINE_POINTS_MAX)
		return 0;
	return curve_add(curve, x, y);
}

/* Two lists side by side. */
static int get_lists(struct curve *curve, const json_t *object, const char *x, const char *y)
{
	const json_t *xs = json_object_get(object, x), *ys = json_object_get(object, y);
	int ret = 0;

	for (size_t i = 0; i < json_array_size(xs) && i < json_array_size(ys) && ret == 0; i++)
		ret = add_point(curve, number_of(json_array_get(xs, i)),
				number_of(json_array_get(ys, i)));
	return ret;
}

/* A list of objects. */
static int get_objects(struct curve *curve, const json_t *list, const char *x, const char *y)
{
	int ret = 0;

	for (size_t i = 0; i < json_array_size(list) && ret == 0; i++) {
		const json_t *point = json_array_get(list, i);

		ret = add_point(curve, get_number(point, x), get_number(point, y));
	}
	return ret;
}

/* ---- the same disk ---- */

/* What it is known by, and in which field of the report; NULL: it tells nothing. */
static const char *identity(const struct trial_disk *disk, const char **key)
{
	*key = "serial";
	if (disk->environment.serial[0])
		return disk->environment.serial;
	if (disk->target.serial[0])
		return disk->target.serial;
	*key = "fs_uuid";
	return disk->target.fs_uuid[0] ? disk->target.fs_uuid : NULL;
}

static int find_disk(const json_t **found, const json_t *report, const struct trial_disk *disk,
		     const char *path, char *error)
{
	const json_t *disks = json_object_get(report, "disks");
	const char *key, *wanted = identity(disk, &key);

	if (!wanted)
		return fail(error, -ENODEV,
			    "%s: the disk at %s tells neither a serial number nor a UUID, so nobody can say whether it is the one of that run",
			    path, disk->target.path);
	for (size_t i = 0; i < json_array_size(disks); i++) {
		*found = json_array_get(disks, i);
		if (strcmp(get_text(*found, key), wanted) == 0)
			return 0;
	}
	*found = json_array_get(disks, 0);
	return fail(error, -ENODEV,
		    "%s is of another disk: %s at %s is %.128s, and that run had %.128s; give the report of a run on this disk",
		    path, strcmp(key, "serial") == 0 ? "the serial number" : "the UUID",
		    disk->target.path, wanted,
		    get_text(*found, key)[0] ? get_text(*found, key) : "none");
}

/* ---- reading ---- */

static int read_disk(struct baseline_disk *disk, const json_t *object)
{
	const json_t *run =
		json_array_get(json_object_get(json_object_get(object, "full"), "disks"), 0);
	int ret = get_lists(&disk->rate, json_object_get(run, "rate_curve"), "bytes", "rate_bps");

	if (ret == 0)
		ret = get_objects(&disk->position,
				  json_object_get(json_object_get(object, "read"), "points"),
				  "position", "rate_bps");
	if (ret == 0)
		ret = get_objects(&disk->blocks,
				  json_object_get(json_object_get(object, "blocks"), "points"),
				  "block_bytes", "rate_bps");
	if (ret == 0)
		ret = get_objects(&disk->depths,
				  json_object_get(json_object_get(object, "depths"), "points"),
				  "depth", "rate_bps");
	return ret;
}

static int read_report(struct baseline *baseline, const json_t *report, const char *path,
		       const struct trial *trial, char *error)
{
	const json_t *verdict = json_object_get(report, "verdict");
	int ret;

	snprintf(baseline->utc, sizeof(baseline->utc), "%s", get_text(report, "utc"));
	snprintf(baseline->result, sizeof(baseline->result), "%s", get_text(verdict, "result"));
	baseline->rate_bps = get_number(verdict, "rate_bps");
	baseline->capability_bps = get_number(verdict, "capability_bps");
	baseline->capability_low_bps = get_number(verdict, "capability_low_bps");
	baseline->high_water_bytes = get_number(json_object_get(report, "ring"), "high_water_bytes");
	ret = get_lists(&baseline->ring, json_object_get(report, "series"), "t_s", "ring_bytes");
	if (ret == 0)
		ret = get_objects(&baseline->needed, json_object_get(report, "replay"), "rate_bps",
				  "ring_bytes");
	for (unsigned i = 0; i < trial->disk_count && ret == 0; i++) {
		const json_t *object = NULL;

		ret = find_disk(&object, report, &trial->disks[i], path, error);
		if (ret < 0)
			return ret;
		ret = read_disk(&baseline->disks[i], object);
	}
	return ret == -ENOMEM ? fail(error, ret, "%s: no memory for it", path) : ret;
}

static int check_schema(const json_t *report, const char *path, char *error)
{
	const char *schema = get_text(report, "schema");

	if (strcmp(schema, QUALIFY_SCHEMA) != 0)
		return fail(error, -EBADMSG,
			    "%s is no report of vsib-qualify: its schema is '%.64s' and not '" QUALIFY_SCHEMA
			    "'",
			    path, schema);
	if (!json_is_object(json_object_get(report, "verdict")) ||
	    json_array_size(json_object_get(report, "disks")) == 0)
		return fail(error, -EBADMSG,
			    "%s is damaged: it has no verdict or no disks; make a new one with --json",
			    path);
	return 0;
}

static int load(json_t **report, const char *path, char *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	json_error_t where;
	struct stat st;
	int ret = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		ret = fail(error, -errno,
			   "%s: %s; --baseline wants the file that a former run wrote with --json",
			   path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		ret = fail(error, -EBADMSG,
			   "%s is no regular file; --baseline wants one that a former run wrote with --json",
			   path);
	else if ((uint64_t)st.st_size > BASELINE_FILE_MAX)
		ret = fail(error, -EFBIG, "%s has %lld bytes; no report of vsib-qualify is so long",
			   path, (long long)st.st_size);
	if (ret == 0) {
		*report = json_loadfd(fd, JSON_REJECT_DUPLICATES, &where);
		if (!*report)
			ret = fail(error, -EBADMSG,
				   "%s is damaged: line %d: %s; make a new one with --json", path,
				   where.line, where.text);
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

int baseline_read(struct baseline **out, const char *path, const struct trial *trial, char *error)
{
	struct baseline *baseline = calloc(1, sizeof(*baseline));
	json_t *report = NULL;
	int ret = baseline ? 0 : -ENOMEM;

	error[0] = '\0';
	if (ret == 0) {
		baseline->disks = calloc(trial->disk_count + 1, sizeof(baseline->disks[0]));
		baseline->disk_count = trial->disk_count;
		ret = baseline->disks ? 0 : -ENOMEM;
	}
	if (ret < 0)
		fail(error, ret, "%s: no memory for it", path);
	if (ret == 0)
		ret = load(&report, path, error);
	if (ret == 0)
		ret = check_schema(report, path, error);
	if (ret == 0)
		ret = read_report(baseline, report, path, trial, error);
	json_decref(report);
	if (ret < 0)
		baseline_free(baseline);
	else
		*out = baseline;
	return ret;
}

void baseline_free(struct baseline *baseline)
{
	if (!baseline)
		return;
	for (unsigned i = 0; baseline->disks && i < baseline->disk_count; i++) {
		curve_free(&baseline->disks[i].rate);
		curve_free(&baseline->disks[i].position);
		curve_free(&baseline->disks[i].blocks);
		curve_free(&baseline->disks[i].depths);
	}
	free(baseline->disks);
	curve_free(&baseline->ring);
	curve_free(&baseline->needed);
	free(baseline);
}

void baseline_compare(char *text, const struct baseline *baseline, const struct judgement *judgement)
{
	double then = baseline->capability_bps, now = judgement->capability_bps;
	char rate[64] = "", when[64] = "at a time not told";

	if (baseline->utc[0])
		snprintf(when, sizeof(when), "of %.19sZ", baseline->utc);
	if (baseline->rate_bps > 0 && fabs(baseline->rate_bps - (double)judgement->rate_bps) > 0.5)
		snprintf(rate, sizeof(rate), " (judged then for %.3f Mbit/s)",
			 baseline->rate_bps / 1e6);
	if (!(then > 0) || !(now > 0))
		snprintf(text, TRIAL_TEXT_LEN,
			 "Former run %s: the capability can't be compared, it was not measured %s%s.",
			 when, now > 0 ? "then" : "now", rate);
	else
		snprintf(text, TRIAL_TEXT_LEN,
			 "Former run %s: capability %.1f Mbit/s then, %.1f now: %+.1f %%; verdict %s then, %s now%s.",
			 when, then / 1e6, now / 1e6, (now / then - 1) * 100,
			 baseline->result[0] ? baseline->result : "not told",
			 verdict_name(judgement->result), rate);
}
