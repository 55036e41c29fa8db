/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/json_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "tools/output_file.h"

int json_file_write(const json_t *object, const char *path)
{
	char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	int ret;

	if (!text)
		return -ENOMEM;
	ret = output_file_write(text, path);
	free(text);
	return ret;
}

int json_file_exit_status(int ret)
{
	return ret == -EACCES || ret == -EPERM                                     ? EX_NOPERM :
	       ret == -ENOSPC || ret == -EIO || ret == -ETIMEDOUT || ret == -EPIPE ? EX_IOERR :
										     EX_CANTCREAT;
}

json_t *json_file_text(const char *text)
{
	json_t *string = text ? json_string(text) : NULL;
	char *copy = string || !text ? NULL : strdup(text);

	if (!copy)
		return string;
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	string = json_string(copy);
	free(copy);
	return string;
}
