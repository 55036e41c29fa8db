/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of a former qualification (tools/baseline.h), and the page and the words that are made with it: any bytes
 * may stand in such a file, and texts from it may stand in the page.
 */
#include "tests/fuzz/input.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/made_trial.h"
#include "tools/qualify/baseline.h"
#include "tools/qualify/qualify_html.h"
#include "tools/qualify/qualify_text.h"

static void check_curve(const struct curve *curve)
{
	input_expect(curve->count <= BASELINE_POINTS_MAX);
	for (size_t i = 0; i < curve->count; i++)
		input_expect(isfinite(curve->points[i].x) && curve->points[i].x >= 0 &&
			     isfinite(curve->points[i].y) && curve->points[i].y >= 0);
}

static void check_page(const struct figures *figures)
{
	char *text = NULL, *screen = NULL, *figures_at;
	size_t len = 0;
	FILE *out;

	input_expect(qualify_html(&text, figures) == 0);
	figures_at = strstr(text, "<h2>"); /* before it stands a text of the former run */
	input_expect(figures_at && !strstr(figures_at, "nan") && !strstr(figures_at, "inf\""));
	input_expect(!strstr(text, "<script"));
	free(text);
	out = open_memstream(&screen, &len);
	input_expect(out != NULL);
	qualify_text(out, figures);
	input_expect(fclose(out) == 0);
	for (size_t i = 0; i < len; i++)
		input_expect((unsigned char)screen[i] >= ' ' || screen[i] == '\n');
	free(screen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct made_trial *made;
	struct figures figures;
	struct baseline *baseline;
	char error[BASELINE_ERROR_LEN], path[64];
	int ret;

	if (!made)
		made = made_trial(MADE_INTERRUPTED);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", input_file(0, data, len));
	ret = baseline_read(&baseline, path, &made->trial, error);
	input_expect(ret == 0 || ((ret == -EBADMSG || ret == -ENODEV) && error[0]));
	if (ret < 0)
		return 0;
	check_curve(&baseline->ring);
	check_curve(&baseline->needed);
	for (unsigned i = 0; i < baseline->disk_count; i++) {
		check_curve(&baseline->disks[i].rate);
		check_curve(&baseline->disks[i].position);
		check_curve(&baseline->disks[i].blocks);
		check_curve(&baseline->disks[i].depths);
	}
	figures = (struct figures){ &made->trial, &made->judgement, baseline };
	check_page(&figures);
	baseline_free(baseline);
	return 0;
}
