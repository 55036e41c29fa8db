/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * destination.c - the table of drivers, and the checks that every driver needs
 */
#include "drivers/destination.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/device_name.h"

static const struct destination_ops *const table[] = {
	&destination_null,     &destination_stdout,    &destination_file,
	&destination_dev,      &destination_vsib,      &destination_udp,
	&destination_savefile, &destination_interface, NULL,
};

const struct destination_ops *const *destination_table(void)
{
	return table;
}

/* ---- sentences ------------------------------------------------------------------------------- */

struct device_voice destination_voice(struct destination *destination)
{
	return (struct device_voice){ destination->name, destination->error, destination->note };
}

int destination_fail(struct destination *destination, int error, const char *format, ...)
{
	struct device_voice voice = destination_voice(destination);
	va_list arguments;

	va_start(arguments, format);
	device_fail_list(&voice, error, format, arguments);
	va_end(arguments);
	return -error;
}

void destination_note(struct destination *destination, const char *format, ...)
{
	struct device_voice voice = destination_voice(destination);
	va_list arguments;

	va_start(arguments, format);
	device_note_list(&voice, format, arguments);
	va_end(arguments);
}

/* An error without a sentence gets one. Return: @ret. */
static int explain(struct destination *destination, int ret, const char *what)
{
	if (ret && !destination->error[0])
		destination_fail(destination, -ret, "%s: %s", what, strerror(-ret));
	return ret;
}

/* ---- names and details ----------------------------------------------------------------------- */

bool destination_next_detail(const struct destination *destination, const char **cursor, char *buf,
			     size_t buf_len, struct destination_detail *detail)
{
	return device_name_next(destination->details, cursor, buf, buf_len, &detail->key,
				&detail->value);
}

/* "path,key=value" -> path and details that the driver knows. */
static int take_name(struct destination *destination)
{
	const struct destination_ops *ops = destination->ops;
	struct device_voice voice = destination_voice(destination);
	int ret = device_name_split(destination->name + strlen(ops->prefix), ops->takes_path,
				    &destination->path, &destination->details);

	if (ret == -ENOENT)
		return destination_fail(destination, EINVAL,
					"where to play to is missing behind %s", ops->prefix);
	if (ret)
		return destination_fail(destination, -ret, "out of memory");
	return device_name_check_keys(&voice, destination->details, ops->prefix, ops->keys);
}

static int refuse_unknown(struct destination *destination)
{
	char known[DESTINATION_ERROR_LEN / 2] = "";

	for (const struct destination_ops *const *ops = table; *ops; ops++) {
		size_t used = strlen(known);

		snprintf(known + used, sizeof(known) - used, " %s", (*ops)->prefix);
	}
	return destination_fail(destination, EINVAL,
				"unknown destination; a name begins with one of%s", known);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A destination that knows its name, so that errors can be told; NULL without memory. */
static struct destination *destination_new(const char *name)
{
	struct destination *destination = calloc(1, sizeof(*destination));

	if (destination)
		destination->name = strdup(name);
	if (!destination || !destination->name) {
		free(destination);
		return NULL;
	}
	atomic_init(&destination->stats.device_fill_min_bytes, UINT64_MAX);
	return destination;
}

static int open_driver(struct destination *destination, const struct destination_config *config)
{
	static const struct destination_config nothing_asked;
	int ret = take_name(destination);

	if (!ret && destination->ops->open)
		ret = destination->ops->open(destination, config ? config : &nothing_asked);
	return explain(destination, ret, "cannot open");
}

int destination_open_with(struct destination **out, const struct destination_ops *ops,
			  const char *name, const struct destination_config *config)
{
	*out = destination_new(name);
	if (!*out)
		return -ENOMEM;
	if (!device_name_has_prefix(name, ops->prefix))
		return destination_fail(*out, EINVAL, "the name doesn't begin with %s", ops->prefix);
	(*out)->ops = ops;
	return open_driver(*out, config);
}

int destination_open(struct destination **out, const char *name, const struct destination_config *config)
{
	for (const struct destination_ops *const *ops = table; *ops; ops++)
		if (device_name_has_prefix(name, (*ops)->prefix))
			return destination_open_with(out, *ops, name, config);
	*out = destination_new(name);
	return *out ? refuse_unknown(*out) : -ENOMEM;
}

void destination_close(struct destination *destination)
{
	if (!destination)
		return;
	if (destination->state && destination->ops->close)
		destination->ops->close(destination);
	free(destination->details);
	free(destination->path);
	free(destination->name);
	free(destination);
}

void destination_interrupt(struct destination *destination)
{
	/* relaxed: nothing travels with the flag, it only has to be seen soon */
	atomic_store_explicit(&destination->is_interrupted, true, memory_order_relaxed);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Sentences are those of one call. */
static void forget_sentences(struct destination *destination)
{
	destination->error[0] = '\0';
	destination->note[0] = '\0';
}

int destination_start(struct destination *destination)
{
	forget_sentences(destination);
	return explain(destination, destination->ops->start ? destination->ops->start(destination) : 0,
		       "cannot start");
}

/*
 * What a driver may return, and what it may not: the last line between a broken device and the
 * account of what has gone out.
 */
static ssize_t check_result(struct destination *destination, ssize_t taken, size_t given)
{
	if (taken > 0 && (size_t)taken > given)
		return destination_fail(destination, EIO, "it took %zd when %zu were given", taken,
					given);
	if (taken >= 0)
		return taken;
	if (taken == -EINTR || taken == -EAGAIN)
		return 0;
	if (taken < -4095 || !strerrorname_np((int)-taken))
		return destination_fail(destination, EIO,
					"the device returned the unknown error %zd", -taken);
	return explain(destination, (int)taken, "cannot write");
}

ssize_t destination_write(struct destination *destination, const void *data, size_t bytes,
			  int64_t deadline_ns)
{
	ssize_t taken;

	assert(bytes > 0 && bytes <= SSIZE_MAX);
	forget_sentences(destination);
	taken = check_result(destination,
			     destination->ops->write(destination, data, bytes, deadline_ns), bytes);
	if (taken > 0) {
		destination_count(&destination->stats.sent_bytes, (uint64_t)taken);
		destination_count(&destination->stats.sent_count, 1);
	}
	return taken;
}

ssize_t destination_send(struct destination *destination, const struct destination_unit *units,
			 size_t count)
{
	uint64_t bytes = 0;
	ssize_t taken;

	assert(count > 0 && count <= DESTINATION_BATCH);
	forget_sentences(destination);
	taken = check_result(destination, destination->ops->send(destination, units, count), count);
	for (ssize_t i = 0; i < taken; i++)
		bytes += units[i].bytes;
	if (taken > 0) {
		destination_count(&destination->stats.sent_bytes, bytes);
		destination_count(&destination->stats.sent_count, (uint64_t)taken);
	}
	return taken;
}

int destination_finish(struct destination *destination, int64_t deadline_ns)
{
	forget_sentences(destination);
	return explain(destination,
		       destination->ops->finish ? destination->ops->finish(destination, deadline_ns) : 0,
		       "cannot finish");
}
