/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of sources and their details (drivers/source.h): any name, with drivers that open nothing, and with the
 * simulator's own details.
 */
#include "tests/fuzz/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/source.h"

static int count_details(struct source *source, const struct source_config *config)
{
	char buf[SOURCE_DETAIL_LEN];
	struct source_detail detail;
	const char *cursor = NULL;
	uint64_t value;
	int64_t ns;

	(void)config;
	while (source_next_detail(source, &cursor, buf, sizeof(buf), &detail)) {
		input_expect(strcmp(detail.key, "key") == 0 || strcmp(detail.key, "other") == 0);
		source_detail_bytes(source, &detail, &value);
		source_detail_rate(source, &detail, &value);
		source_detail_time(source, &detail, &ns);
		source_detail_frequency(source, &detail, &value);
		input_expect(source_detail_count(source, &detail, &value, 1000) != 0 || value <= 1000);
	}
	return 0;
}

static ssize_t read_nothing(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			    struct source_mark *mark)
{
	(void)source;
	(void)buf;
	(void)len;
	(void)deadline_ns;
	(void)mark;
	return SOURCE_END;
}

static const struct source_ops drivers[] = {
	{ .prefix = "path:", .keys = "key other", .takes_path = true, .open = count_details, .read = read_nothing },
	{ .prefix = "none:", .keys = "key other", .open = count_details, .read = read_nothing },
	{ .prefix = "-", .keys = NULL, .open = count_details, .read = read_nothing },
};

static char *join(const char *prefix, const char *rest)
{
	char *name = malloc(strlen(prefix) + strlen(rest) + 1);

	input_expect(name != NULL);
	strcpy(name, prefix);
	return strcat(name, rest);
}

static void check_opened(struct source *source, int ret)
{
	input_expect(source && (ret == 0 || ret == -EINVAL || ret == -ERANGE));
	input_expect(ret == 0 || source->error[0]);
	input_expect(memchr(source->error, '\0', sizeof(source->error)) &&
		     memchr(source->note, '\0', sizeof(source->note)));
	if (ret == 0)
		source_note(source, "%s", source->path);
	source_close(source);
}

/* A path in which each comma is doubled comes back as it was. */
static void check_path(const char *text)
{
	size_t len = strlen(text), used = 0;
	char *doubled = malloc(2 * len + 1), *name;
	struct source *source = NULL;

	input_expect(doubled != NULL);
	for (const char *c = text; *c; c++) {
		doubled[used++] = *c;
		if (*c == ',')
			doubled[used++] = ',';
	}
	doubled[used] = '\0';
	name = join("path:", doubled);
	input_expect(source_open_with(&source, &drivers[0], name, NULL) == (len ? 0 : -EINVAL));
	input_expect(strcmp(source->path, text) == 0);
	source_close(source);
	free(name);
	free(doubled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = input_begin(data, len);
	struct source_config config = { .rate_bps = input_take_number(&input, 1) * 1000000 };
	char *text = input_take_text(&input, '\n');
	struct source *source = NULL;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		char *name = join(drivers[i].prefix, text);
		int ret = source_open_with(&source, &drivers[i], name, &config);

		check_opened(source, ret);
		ret = source_open_with(&source, &drivers[i], text, &config);
		check_opened(source, ret);
		free(name);
	}
	if (strncmp(text, "sim:", 4) == 0) {
		int ret = source_open(&source, text, &config);

		check_opened(source, ret);
	}
	check_path(text);
	free(text);
	return 0;
}
