/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/device_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"

/* ---- sentences ------------------------------------------------------------------------------- */

static void say(char *out, size_t size, const char *name, const char *format, va_list arguments)
{
	size_t used = (size_t)snprintf(out, size, "%.200s: ", name);

	if (used < size)
		vsnprintf(out + used, size - used, format, arguments);
}

int device_fail_list(const struct device_voice *voice, int error, const char *format, va_list arguments)
{
	say(voice->error, DEVICE_SENTENCES_LEN, voice->name, format, arguments);
	return -error;
}

int device_fail(const struct device_voice *voice, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	device_fail_list(voice, error, format, arguments);
	va_end(arguments);
	return -error;
}

void device_note_list(const struct device_voice *voice, const char *format, va_list arguments)
{
	size_t used = strlen(voice->note);

	if (used && used < DEVICE_SENTENCES_LEN - 1)
		voice->note[used++] = '\n';
	say(voice->note + used, DEVICE_SENTENCES_LEN - used, voice->name, format, arguments);
}

void device_note(const struct device_voice *voice, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	device_note_list(voice, format, arguments);
	va_end(arguments);
}

/* ---- names and details ----------------------------------------------------------------------- */

bool device_name_has_prefix(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(name, prefix, len))
		return false;
	return (len && prefix[len - 1] == ':') || name[len] == '\0' || name[len] == ',';
}

/*
 * Copies @from up to the next single comma and writes ',' for ",,". At most @size - 1 characters
 * are kept. Returns where the comma or the end is; *@length tells how long the whole would be.
 */
static const char *copy_item(const char *from, char *to, size_t size, size_t *length)
{
	*length = 0;
	for (; *from; from++) {
		if (*from == ',' && *++from != ',')
			return from - 1;
		if (++*length < size)
			*to++ = *from;
	}
	return from;
}

int device_name_split(const char *rest, bool takes_path, char **path, char **details)
{
	size_t size = strlen(rest) + 1, length;

	*path = calloc(1, size);
	*details = calloc(1, size);
	if (!*path || !*details)
		return -ENOMEM;
	if (takes_path) {
		rest = copy_item(rest, *path, size, &length);
		if (!length)
			return -ENOENT;
	}
	strcpy(*details, *rest == ',' ? rest + 1 : rest);
	return 0;
}

bool device_name_next(const char *details, const char **cursor, char *buf, size_t buf_len,
		      const char **key, const char **value)
{
	size_t length = 0;
	char *equals;

	if (!*cursor)
		*cursor = details;
	while (**cursor && !length) {
		memset(buf, 0, buf_len);
		*cursor = copy_item(*cursor, buf, buf_len, &length);
		if (**cursor)
			++*cursor;
	}
	if (!length)
		return false;
	equals = strchr(buf, '=');
	if (equals)
		*equals = '\0';
	*key = buf;
	*value = equals ? equals + 1 : "";
	return true;
}

bool device_name_lists(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list && *list) {
		size_t item_len = strcspn(list, " ");

		if (item_len == len && !strncmp(list, word, len))
			return true;
		list += item_len + strspn(list + item_len, " ");
	}
	return false;
}

int device_name_check_keys(const struct device_voice *voice, const char *details,
			   const char *prefix, const char *keys)
{
	char buf[DEVICE_NAME_DETAIL_LEN];
	const char *cursor = NULL, *key, *value;

	while (device_name_next(details, &cursor, buf, sizeof(buf), &key, &value)) {
		/* the key was cut off at '=', so the value's length counts apart */
		if (strlen(key) + strlen(value) + 2 >= sizeof(buf))
			return device_fail(voice, EINVAL, "the detail %.40s is too long", key);
		if (!device_name_lists(keys, key))
			return device_fail(voice, EINVAL, "unknown detail \"%s\"; %s knows %s%s",
					   key, prefix, keys ? "" : "none", keys ? keys : "");
	}
	return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int check(const struct device_voice *voice, const char *key, const char *value, int ret,
		 const char *expected)
{
	if (ret == -ERANGE)
		return device_fail(voice, ERANGE, "%s=%s is too large", key, value);
	if (ret)
		return device_fail(voice, EINVAL, "%s=%s: expected %s", key, value, expected);
	return 0;
}

int device_detail_bytes(const struct device_voice *voice, const char *key, const char *value,
			uint64_t *bytes)
{
	return check(voice, key, value, units_parse_bytes(value, bytes),
		     "a size like 4096, 64Ki or 1.5G");
}

int device_detail_rate(const struct device_voice *voice, const char *key, const char *value,
		       uint64_t *bps)
{
	return check(voice, key, value, units_parse_rate(value, bps),
		     "a rate like 512 (Mbit/s), 1.6G or 64MB/s");
}

int device_detail_time(const struct device_voice *voice, const char *key, const char *value, int64_t *ns)
{
	return check(voice, key, value, units_parse_time(value, ns),
		     "a time like 1.5 (seconds), 500ms or 10m");
}

int device_detail_frequency(const struct device_voice *voice, const char *key, const char *value,
			    uint64_t *hz)
{
	return check(voice, key, value, units_parse_frequency(value, hz), "a frequency like 32M (Hz)");
}

int device_detail_count(const struct device_voice *voice, const char *key, const char *value,
			uint64_t *count, uint64_t max)
{
	int ret = check(voice, key, value, units_parse_count(value, count), "a whole number");

	if (!ret && *count > max)
		ret = device_fail(voice, ERANGE, "%s=%s is more than %llu", key, value,
				  (unsigned long long)max);
	return ret;
}

int device_detail_port(const struct device_voice *voice, const char *key, const char *value,
		       uint16_t *port)
{
	uint64_t number = 0;
	int ret = device_detail_count(voice, key, value, &number, UINT16_MAX);

	if (!ret && number == 0)
		ret = device_fail(voice, EINVAL, "%s=0: expected 1 to 65535", key);
	if (!ret)
		*port = (uint16_t)number;
	return ret;
}
