/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration files of vsib-record (recorder/config.h), and what their values mean (recorder/options.h).
 */
#include "tests/fuzz/input.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "recorder/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char path[64], program[] = "vsib-record", option[] = "--config", error[OPTIONS_ERROR_LEN] = "";
	char *arguments[] = { program, option, path, NULL };
	struct options options;
	int ret;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", input_file(0, data, len));
	options_defaults(&options);
	ret = options_parse(&options, 3, arguments, error);
	input_expect(memchr(error, '\0', sizeof(error)) != NULL);
	if (ret == 0)
		options_complete(&options);
	else
		input_expect(error[0] && (ret == EX_USAGE || ret == EX_CONFIG));
	options_free(&options);
	return 0;
}
