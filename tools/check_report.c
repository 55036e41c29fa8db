/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/check_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"
#include "tools/json_file.h"

const char *check_outcome(const struct findings *findings)
{
	static const char *const names[] = { "good", "differences", "trouble" };

	return names[findings_status(findings)];
}

void check_show_progress(struct findings *findings, uint64_t done_bytes, uint64_t all_bytes)
{
	char line[256], done[UNITS_TEXT_LEN], all[UNITS_TEXT_LEN];

	if (all_bytes == 0)
		return;
	snprintf(line, sizeof(line), "%s of %s, %.0f %%", units_format_bytes(done, done_bytes),
		 units_format_bytes(all, all_bytes), 100.0 * (double)done_bytes / (double)all_bytes);
	findings_show(findings, line);
}

int check_report_write(json_t *report, const char *path, struct findings *findings)
{
	int ret = !path ? 0 : report ? json_file_write(report, path) : -ENOMEM;
	int status = (int)findings_status(findings);

	json_decref(report);
	if (ret == 0)
		return status;
	findings_insist(findings, "report %s: %s", path, strerror(-ret));
	return status == FINDINGS_TROUBLE ? status : json_file_exit_status(ret);
}
