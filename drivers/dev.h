/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dev.h - the types of `dev:PATH,type=...`, each a table of hooks of its own
 *
 * dev.c finds the type and hands the source over to its table; what follows goes there directly.
 * In tests a type works on a node of one's own choice:
 *
 *   static int my_open(struct source *source, const struct source_config *config)
 *   {
 *           return xdma_open_node(source, config, &my_node);
 *   }
 *   struct source_ops ops = source_xdma;
 *   ops.open = my_open;
 *   source_open_with(&source, &ops, "dev:...", &config);
 */
#ifndef VSIB_DRIVERS_DEV_H
#define VSIB_DRIVERS_DEV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct node_ops;
struct source;
struct source_config;
struct source_ops;

extern const struct source_ops source_xdma;     /* xdma.c */
extern const struct source_ops source_litepcie; /* litepcie.c */

/**
 * dev_guess_type() - the type of a character device, by its kernel driver or the name of its node
 * @sys:    where sysfs is: "/sys"
 * @device: st_rdev
 * @path:   of the node; counts where sysfs doesn't know the device
 * @reason: "its driver is litepcie"; "" for plain
 *
 * Return: the type's name.
 */
const char *dev_guess_type(const char *sys, dev_t device, const char *path, char *reason, size_t size);

/**
 * xdma_open_node(), litepcie_open_node() - what the type's open does once it knows the node
 * @ops: source->path goes to its open()
 *
 * The deadline of source_read() is then by @ops->monotonic_ns().
 * Return: 0 or -errno with source->error set; -ENOTTY when the node doesn't know the type's requests.
 */
int xdma_open_node(struct source *source, const struct source_config *config,
		   const struct node_ops *ops);
int litepcie_open_node(struct source *source, const struct source_config *config,
		       const struct node_ops *ops);

#endif
