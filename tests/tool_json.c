/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_json - values from a JSON file, by path, one a line: what scripts need of a report or a journal
 *
 *   tool_json FILE PATH...                ring.block_bytes   disks.0.state   disks.*.written_bytes   gaps.#
 *   tool_json -l [-t TYPE] FILE PATH...   FILE holds one object a line; those with "type": TYPE; the paths of one
 *                                         object on one line, with blanks between
 *
 * '*' stands for every element, '#' for their number. A last line without its newline is not looked at. Whole
 * numbers are printed exactly, others with nine digits behind the point, null as "null".
 * Status: 0; 1 a path leads nowhere; 2 the file can't be read or isn't JSON; 64 usage.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_TROUBLE 2
#define EXIT_USAGE 64

static bool print_value(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return printf("%s", json_string_value(value)) >= 0;
	case JSON_INTEGER:
		return printf("%" JSON_INTEGER_FORMAT, json_integer_value(value)) > 0;
	case JSON_REAL:
		return printf("%.9f", json_real_value(value)) > 0;
	case JSON_TRUE:
	case JSON_FALSE:
		return printf("%s", json_is_true(value) ? "true" : "false") > 0;
	case JSON_NULL:
		return printf("null") > 0;
	default:
		return json_dumpf(value, stdout, JSON_COMPACT) == 0;
	}
}

/* @end: what follows each value. False when the path leads nowhere. */
static bool print_path(const json_t *at, const char *path, const char *end)
{
	size_t len = strcspn(path, ".");
	const char *rest = path[len] ? path + len + 1 : path + len;
	char key[256];
	bool is_there = true;

	if (!at)
		return false;
	if (len == 0)
		return print_value(at) && fputs(end, stdout) >= 0;
	if (len >= sizeof(key))
		return false;
	memcpy(key, path, len);
	key[len] = '\0';
	if (!json_is_array(at))
		return print_path(json_object_get(at, key), rest, end);
	if (strcmp(key, "#") == 0)
		return printf("%zu%s", json_array_size(at), end) > 0;
	if (strcmp(key, "*") != 0)
		return print_path(json_array_get(at, strtoul(key, NULL, 10)), rest, end);
	for (size_t i = 0; i < json_array_size(at); i++)
		is_there = print_path(json_array_get(at, i), rest, end) && is_there;
	return is_there;
}

static int print_file(FILE *file, const char *name, char **paths)
{
	json_error_t error;
	json_t *json = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
	int status = EXIT_SUCCESS;

	if (!json) {
		fprintf(stderr, "tool_json: %s, line %d: %s\n", name, error.line, error.text);
		return EXIT_TROUBLE;
	}
	for (; *paths; paths++) {
		if (print_path(json, *paths, "\n"))
			continue;
		fprintf(stderr, "tool_json: %s: there is no %s\n", name, *paths);
		status = EXIT_FAILURE;
	}
	json_decref(json);
	return status;
}

static int print_lines(FILE *file, const char *name, const char *type, char **paths)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int status = EXIT_SUCCESS;

	for (unsigned number = 1; (len = getline(&line, &room, file)) > 0 && line[len - 1] == '\n';
	     number++) {
		json_error_t error;
		json_t *json = json_loadb(line, (size_t)len, JSON_REJECT_DUPLICATES, &error);
		const char *what = json_string_value(json_object_get(json, "type"));

		if (!json) {
			fprintf(stderr, "tool_json: %s, line %u: %s\n", name, number, error.text);
			status = EXIT_TROUBLE;
			break;
		}
		for (char **path = paths; *path && (!type || (what && strcmp(what, type) == 0)); path++)
			if (!print_path(json, *path, path[1] ? " " : "\n"))
				status = EXIT_FAILURE;
		json_decref(json);
	}
	free(line);
	return status;
}

int main(int argc, char **argv)
{
	const char *type = NULL;
	bool has_lines = false;
	FILE *file;
	int option, status;

	while ((option = getopt(argc, argv, "lt:")) != -1) {
		if (option == 'l')
			has_lines = true;
		else if (option == 't')
			type = optarg;
		else
			return EXIT_USAGE;
	}
	if (argc - optind < 2)
		return EXIT_USAGE;
	file = fopen(argv[optind], "re");
	if (!file) {
		perror(argv[optind]);
		return EXIT_TROUBLE;
	}
	status = has_lines ? print_lines(file, argv[optind], type, argv + optind + 1) :
			     print_file(file, argv[optind], argv + optind + 1);
	fclose(file);
	return status;
}
