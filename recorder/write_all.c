/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/write_all.h"

#include <errno.h>
#include <unistd.h>

int write_all(int fd, const void *data, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, (const char *)data + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}
