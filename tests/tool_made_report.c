/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_made_report - the reports of a trial that nobody has run (made_trial.h)
 *
 *   tool_made_report KIND html|json|text FILE [BASELINE]      FILE: - for standard output
 *
 * Status: 0; 1 the baseline is refused, with the sentence; 2 FILE can't be written; 64 usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/made_trial.h"
#include "tools/json_file.h"
#include "tools/output_file.h"
#include "tools/qualify/qualify_html.h"
#include "tools/qualify/qualify_json.h"
#include "tools/qualify/qualify_text.h"

#define EXIT_TROUBLE 2
#define EXIT_USAGE 64

static int write_html(const struct figures *figures, const char *path)
{
	char *text;
	int ret = qualify_html(&text, figures);

	if (ret < 0)
		return ret;
	ret = output_file_write(text, path);
	free(text);
	return ret;
}

static int write_text(const struct figures *figures, const char *path)
{
	FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");

	if (!out)
		return -1;
	qualify_text(out, figures);
	return out == stdout ? fflush(out) : fclose(out);
}

static int write_json(const struct figures *figures, const char *path)
{
	json_t *report = qualify_json(figures->trial, figures->judgement);
	int ret = json_file_write(report, path);

	json_decref(report);
	return ret;
}

static int run(const struct made_trial *made, char **arguments)
{
	struct figures figures = { &made->trial, &made->judgement, NULL };
	struct baseline *baseline = NULL;
	char error[BASELINE_ERROR_LEN];
	int ret = -1;

	if (arguments[3] && baseline_read(&baseline, arguments[3], &made->trial, error) < 0) {
		fprintf(stderr, "tool_made_report: %s\n", error);
		return EXIT_FAILURE;
	}
	figures.baseline = baseline;
	if (strcmp(arguments[1], "html") == 0)
		ret = write_html(&figures, arguments[2]);
	else if (strcmp(arguments[1], "json") == 0)
		ret = write_json(&figures, arguments[2]);
	else if (strcmp(arguments[1], "text") == 0)
		ret = write_text(&figures, arguments[2]);
	baseline_free(baseline);
	return ret < 0 ? EXIT_TROUBLE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc != 4 && argc != 5)
		return EXIT_USAGE;
	for (unsigned kind = 0; kind < MADE_KINDS; kind++) {
		struct made_trial *made;
		int status;

		if (strcmp(argv[1], made_kind_name(kind)) != 0)
			continue;
		made = made_trial(kind);
		status = run(made, argv + 1);
		made_trial_free(made);
		return status;
	}
	return EXIT_USAGE;
}
