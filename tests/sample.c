/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

unsigned char *sample_read(const char *name, size_t *len)
{
	const char *folder = getenv("DATA");
	unsigned char *bytes = NULL;
	char path[4096];
	struct stat st;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder && folder[0] ? folder : "(no DATA)", name);
	file = fopen(path, "rb");
	if (file && fstat(fileno(file), &st) == 0) {
		*len = (size_t)st.st_size;
		bytes = malloc(*len + 1);
	}
	if (bytes && fread(bytes, 1, *len, file) != *len) {
		free(bytes);
		bytes = NULL;
	}
	if (file)
		fclose(file);
	if (!bytes) {
		printf("%s can't be read\n", path);
		skip();
		abort(); /* skip() doesn't come back */
	}
	return bytes;
}
