/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_node.h - one device of the machine: what it is, and how fast its link upwards is
 *
 * Speeds are in payload: what is signalled, less the coding (8b/10b, 128b/130b). Protocols take more: USB 2 signals
 * 480 Mbit/s and carries at most 426, disks on it get some 320. Threads: any.
 */
#ifndef VSIB_TOOLS_QUALIFY_DEVICE_NODE_H
#define VSIB_TOOLS_QUALIFY_DEVICE_NODE_H

#include "tools/sysfs.h"
#include "tools/qualify/trial.h"

/**
 * device_node_look() - describe the device with this directory
 * @directory: resolved
 *
 * Kinds: "disk", "loop", "md", "dm", "memory"; "nvme", "ata", "sas", "usb", "firewire", "mmc", "virtio", "iscsi"; "pci";
 * "root" is where PCI begins; "platform".
 * Return: false: sysfs has this directory only to group others, or for the kernel's own layers (SCSI hosts and
 * targets, USB interfaces).
 */
bool device_node_look(const struct sysfs *sysfs, const char *directory, struct trial_node *node);

/** device_node_is_at() - is @directory a device of this subsystem: "usb", "pci" */
bool device_node_is_at(const struct sysfs *sysfs, const char *directory, const char *subsystem);

#endif
