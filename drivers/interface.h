/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interface.h - what every capture needs of a network interface: its details, opening it, whether it is still there
 *
 *   interface_detail() for each detail -> interface_find() -> interface_activate() -> interface_compile()
 *   -> interface_look() now and then, when nothing comes
 *
 * Threads: one at a time. Errors: -errno, with source->error set.
 */
#ifndef VSIB_DRIVERS_INTERFACE_H
#define VSIB_DRIVERS_INTERFACE_H

#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdint.h>

#include "drivers/source.h"

#define INTERFACE_KEYS "filter promiscuous"
#define INTERFACE_SNAP_BYTES 262144 /* whole packets, whatever the card has put together */

struct interface {
	int index; /* 0 = all there are */
	bool is_promiscuous;
	char filter[SOURCE_DETAIL_LEN]; /* an expression; "" = none */
	bool is_down;                   /* as it was told last */
};

/**
 * interface_detail() - takes filter= and promiscuous out of a source's details
 * @is_mine: false: the detail is another one, and nothing was done
 * Return: 0; -EINVAL.
 */
int interface_detail(struct source *source, const struct source_detail *detail,
		     struct interface *interface, bool *is_mine);

/** interface_find() - the one that source->path names. Return: 0; -ENODEV. */
int interface_find(struct source *source, struct interface *interface);

/** interface_activate() - pcap_activate(), and its sentences. Return: 0; -ENODEV, -EACCES, -ENETDOWN, -EIO. */
int interface_activate(struct source *source, pcap_t *pcap);

/** interface_compile() - the filter's program, for pcap_freecode(). Return: 0; -EINVAL. */
int interface_compile(struct source *source, const struct interface *interface, pcap_t *pcap,
		      struct bpf_program *program);

/** interface_take_once() - on lo each packet leaves and comes in: the one that comes in is enough. @fd: packet socket */
void interface_take_once(const struct source *source, int fd);

/** interface_dropped() - packets that found no room since this was asked last. @fd: packet socket */
uint64_t interface_dropped(int fd);

/**
 * interface_look() - is it up, down or gone? Going down and coming back are told as notes
 * @fd: a packet socket that is bound to it; an error that waits there is taken
 *
 * To be called when poll() tells an error, and now and then while nothing comes: that an interface went away
 * after it had gone down, nothing tells.
 * Return: 0; -ENODEV: it is gone; another -errno.
 */
int interface_look(struct source *source, struct interface *interface, int fd);

#endif
