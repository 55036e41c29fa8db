/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.h - the seam between the drivers for DMA devices and the device nodes of their kernel drivers
 *
 * Everything xdma.c and litepcie.c ask of the kernel goes through this small table, so that a stand-in can take the
 * device's place in tests and trials. Request numbers and structs are those of the published kernel drivers: XDMA's
 * (Xilinx dma_ip_drivers, cdev_sgdma.h) and LitePCIe's (litepcie.h).
 * Threads: whoever has the node; one at a time.
 */
#ifndef VSIB_DRIVERS_NODE_H
#define VSIB_DRIVERS_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

struct source;

/* int *: the alignment, in bytes, of addresses and lengths of a transfer */
#define NODE_XDMA_ALIGN_GET _IOR('q', 6, int)

/* Switches the DMA from device to host on or off, and tells the counters: to look is to switch on once more. */
struct node_litepcie_writer {
	uint8_t enable;
	int64_t hw_count; /* buffers the device has filled since it was switched on */
	int64_t sw_count; /* buffers that have been read */
};

/* Whose the two directions are. */
struct node_litepcie_lock {
	uint8_t reader_request, writer_request;
	uint8_t reader_release, writer_release;
	uint8_t reader_status, writer_status; /* 0 = requested, and another program has it */
};

struct node_litepcie_info {
	uint64_t tx_offset, tx_buffer_bytes, tx_buffer_count;
	uint64_t rx_offset, rx_buffer_bytes, rx_buffer_count;
};

#define NODE_LITEPCIE_WRITER _IOWR('S', 21, struct node_litepcie_writer)
#define NODE_LITEPCIE_INFO \
	_IOR('S', 24, struct node_litepcie_info) /* not in every driver version */
#define NODE_LITEPCIE_LOCK _IOWR('S', 25, struct node_litepcie_lock)

struct node_ops {
	int (*open)(const char *path, int flags, void **node); /* flags of open(2); 0 or -errno */
	ssize_t (*read)(void *node, void *buf, size_t len);    /* bytes or -errno */
	int (*control)(void *node, unsigned long request, void *argument); /* 0 or -errno */
	/* as pace_poll(), the deadline by monotonic_ns(); of xdma_fake NULL: that driver has no poll, and a read() waits */
	int (*poll)(void *node, int64_t deadline_ns, const _Atomic bool *is_interrupted);
	void (*wait)(void *node, int64_t ns); /* sleep; a signal ends it early */
	int64_t (*monotonic_ns)(void *node);
	void (*close)(void *node);
};

extern const struct node_ops node_kernel; /* the real ones: open(2), read(2), ioctl(2), poll(2) */
extern const struct node_ops xdma_fake; /* a stand-in; its path is a list of settings, see xdma_fake.c */
extern const struct node_ops litepcie_fake; /* the same: litepcie_fake.c */

/**
 * node_fail() - source_fail() for what a node refused
 * @error: -errno
 * @what:  what was asked: "cannot read"
 *
 * Return: @error.
 */
int node_fail(struct source *source, ssize_t error, const char *what);

#endif
