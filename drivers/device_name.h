/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_name.h - the names by which users call sources and destinations: "udp:10.0.0.2:46227,psn=le64,frame=8032"
 *
 *   device_name_has_prefix() -> device_name_split() -> device_name_check_keys() -> device_name_next() ... ->
 *   device_detail_bytes() and its like for each value
 *
 * A prefix, with most of them a path, then details "key=value", all with commas between; ",," is a literal comma.
 * Threads: no state but the caller's: whose the voice is.
 * Errors:  -errno, and the sentence in voice->error.
 */
#ifndef VSIB_DRIVERS_DEVICE_NAME_H
#define VSIB_DRIVERS_DEVICE_NAME_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_NAME_DETAIL_LEN 256 /* longest "key=value" */
#define DEVICE_SENTENCES_LEN 512

/* Where sentences for the user go: what was asked, what happened, what to do; each with the device's name in front. */
struct device_voice {
	const char *name;
	char *error; /* the last error; DEVICE_SENTENCES_LEN bytes, as note */
	char *note;  /* what the user should know; '\n' between two */
};

/** device_name_has_prefix() - "sim:..." begins with its prefix; "-" stands alone or before a comma */
bool device_name_has_prefix(const char *name, const char *prefix);

/**
 * device_name_split() - what stands behind the prefix, into path and details
 * @takes_path: a path must be there; else these are details at once
 * @path:       set, ",," undone; @path and @details are for free(), also after an error
 *
 * Return: 0; -ENOENT: the path is missing; -ENOMEM.
 */
int device_name_split(const char *rest, bool takes_path, char **path, char **details);

/**
 * device_name_next() - walks details, "key=value" by "key=value"
 * @cursor: starts as NULL; kept between calls
 * @buf:    holds @key and @value; DEVICE_NAME_DETAIL_LEN bytes are always enough for those that were checked
 *
 * Return: true; false at the end. A detail without '=' has value "".
 */
bool device_name_next(const char *details, const char **cursor, char *buf, size_t buf_len,
		      const char **key, const char **value);

/**
 * device_name_check_keys() - are all details known, and none too long?
 * @keys: those that @prefix knows, with blanks between; NULL = none
 *
 * Return: 0; -EINVAL.
 */
int device_name_check_keys(const struct device_voice *voice, const char *details,
			   const char *prefix, const char *keys);

/** device_name_lists() - is @word in a list with blanks between? NULL = an empty one */
bool device_name_lists(const char *list, const char *word);

/** device_fail(), device_fail_list() - keep the error's sentence. Return: -@error. */
int device_fail(const struct device_voice *voice, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int device_fail_list(const struct device_voice *voice, int error, const char *format,
		     va_list arguments) __attribute__((format(printf, 3, 0)));

/** device_note(), device_note_list() - one more note behind those that are there */
void device_note(const struct device_voice *voice, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void device_note_list(const struct device_voice *voice, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));

/**
 * device_detail_bytes(), _rate(), _time(), _frequency(), _count(), _port() - the value of a detail, see units.h
 * Return: 0; -EINVAL; -ERANGE.
 */
int device_detail_bytes(const struct device_voice *voice, const char *key, const char *value,
			uint64_t *bytes);
int device_detail_rate(const struct device_voice *voice, const char *key, const char *value,
		       uint64_t *bps);
int device_detail_time(const struct device_voice *voice, const char *key, const char *value,
		       int64_t *ns);
int device_detail_frequency(const struct device_voice *voice, const char *key, const char *value,
			    uint64_t *hz);
int device_detail_count(const struct device_voice *voice, const char *key, const char *value,
			uint64_t *count, uint64_t max);
int device_detail_port(const struct device_voice *voice, const char *key, const char *value,
		       uint16_t *port);

#endif
