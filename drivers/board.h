/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board.h - the seam between the vsib drivers and the VSIB board's kernel driver
 *
 * Everything the vsib source and destination ask of the kernel goes through this small table, so that a stand-in
 * (board_fake.c) can take the board's place in tests and trials. Requests and meanings: the numbers below are
 * those of the historical vsib kernel driver (plain numbers, not _IO() encoded).
 */
#ifndef VSIB_DRIVERS_BOARD_H
#define VSIB_DRIVERS_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum board_request {
	BOARD_SET_MODE = 0x7801,        /* value: 32-bit command word */
	BOARD_GET_STATUS = 0x7802,      /* char *: the historical driver always gives 0 */
	BOARD_GET_DMA_RETRIES = 0x7803, /* unsigned long * */
	/* unsigned long *: recording: FREE bytes, 0 = empty or full; playback: bytes still to send */
	BOARD_GET_BIGBUF_BYTES = 0x7804,
	BOARD_RESET_DMA = 0x7805, /* value: 0 = zero ring and points too */
	BOARD_DELAYED_STOP_DMA = 0x7806,
	BOARD_IS_DMA_DONE = 0x7807,     /* unsigned long *: 0 = still running */
	BOARD_GET_BIGBUF_SIZE = 0x7808, /* unsigned long *: not in every driver version */
};

#define BOARD_RUN UINT32_C(0x80000000)
#define BOARD_GIGABIT UINT32_C(0x40000000)
#define BOARD_EMBED_1PPS UINT32_C(0x20000000)
#define BOARD_MODE_SHIFT 16
#define BOARD_MODE_MAX 15
#define BOARD_SKIP_MAX UINT32_C(0xffff)

struct board_ops {
	/* O_WRONLY: for playback, else for recording; 0 or -errno */
	int (*open)(const char *path, int flags, void **board);
	/* a descriptor already open (stdin, stdout); -EBADF: not as @flags want it */
	int (*adopt)(int fd, int flags, void **board);
	ssize_t (*read)(void *board, void *buf, size_t len); /* bytes, 0 = not yet, -errno */
	ssize_t (*write)(void *board, const void *data, size_t len); /* bytes, 0 = full, -errno */
	int (*control)(void *board, enum board_request request, unsigned long value,
		       unsigned long *result); /* 0 or -errno */
	void (*wait)(void *board, int64_t ns); /* sleep: the stand-in may use its own clock */
	int64_t (*monotonic_ns)(void *board);
	int64_t (*realtime_ns)(void *board);
	void (*close)(void *board);
};

extern const struct board_ops board_kernel; /* the real one: open(2), read(2), write(2), ioctl(2), clock_nanosleep(2) */
extern const struct board_ops board_fake; /* the stand-in; its path is a list of settings, see board_fake.c */

/** board_is_behind() - is this descriptor a VSIB board? Asked by a request that changes nothing. */
bool board_is_behind(int fd);

/** board_mode_bits() - bits a VSI clock for a mode 0..13; 0 when unknown (test and VLBA modes) */
unsigned board_mode_bits(unsigned mode);

#endif
