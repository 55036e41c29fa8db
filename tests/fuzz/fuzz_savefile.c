/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures (drivers/savefile.h) of any bytes, and what their packets hold; read with and without a filter.
 */
#include "tests/fuzz/input.h"

#include <stdlib.h>
#include <unistd.h>

#include "drivers/savefile.h"

static void walk(int fd, const char *filter)
{
	struct savefile *file;
	struct packet packet;
	unsigned sum = 0;
	int ret;

	input_expect(lseek(fd, 0, SEEK_SET) == 0);
	input_expect(savefile_create(&file, fd, NULL) == 0);
	ret = savefile_begin(file, filter);
	while (ret >= 0 && (ret = savefile_next(file, &packet)) == 1) {
		sum += savefile_passes(file);
		for (size_t i = 0; i < packet.caplen; i++)
			sum += ((const unsigned char *)packet.data)[i];
	}
	input_expect(ret == 0 || savefile_error(file)[0]);
	input_expect(sum < UINT32_MAX && savefile_link_name(file));
	savefile_free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int fd = input_file(0, data, len);

	if (len >= SAVEFILE_MAGIC_BYTES)
		savefile_is_one(data);
	walk(fd, NULL);
	walk(fd, "udp port 46227");
	return 0;
}
