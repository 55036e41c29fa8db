/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/read_at.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMPARE_BYTES ((size_t)1 << 20)

ssize_t read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int read_whole_at(int fd, void *buf, size_t len, uint64_t offset)
{
	ssize_t n = read_at(fd, buf, len, offset);

	return n < 0 ? (int)n : (size_t)n < len ? -ENODATA : 0;
}

/* @bufs: of COMPARE_BYTES each, one behind the other. Return: as compare_at(). */
static int compare_part(const int fds[2], const uint64_t at[2], unsigned char *bufs, size_t len,
			size_t *difference)
{
	int ret = read_whole_at(fds[0], bufs, len, at[0]);

	if (ret == 0)
		ret = read_whole_at(fds[1], bufs + COMPARE_BYTES, len, at[1]);
	if (ret < 0)
		return ret;
	if (memcmp(bufs, bufs + COMPARE_BYTES, len) == 0)
		return 1;
	*difference = 0;
	while (bufs[*difference] == bufs[COMPARE_BYTES + *difference])
		(*difference)++;
	return 0;
}

int compare_at(const int fds[2], const uint64_t at[2], uint64_t bytes, uint64_t *offset)
{
	unsigned char *bufs = malloc(2 * COMPARE_BYTES);
	int ret = bufs ? 1 : -ENOMEM;
	size_t difference = 0;
	uint64_t done = 0;

	while (ret == 1 && done < bytes) {
		size_t len = bytes - done < COMPARE_BYTES ? (size_t)(bytes - done) : COMPARE_BYTES;
		const uint64_t here[2] = { at[0] + done, at[1] + done };

		ret = compare_part(fds, here, bufs, len, &difference);
		if (ret == 1)
			done += len;
	}
	if (ret == 0 && offset)
		*offset = done + difference;
	free(bufs);
	return ret;
}
