/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_sysroot.h - sys/ and proc/ of a machine that isn't there, for what reads them through tools/sysfs.h
 *
 *   made_sysroot() -> sysfs_init(&sysfs, root); made_sysroot_write() changes an attribute
 *
 * Its disks:
 *   vda      virtio; the running system's
 *   sda      SATA, negotiated 1.5 Gbit/s of 6; sda1 is mounted at /media/sata; on sda2 is dm-0, encrypted, at /media/crypt
 *   loop0    in the file /media/sata/image, mounted at /media/loop
 *   sdb, sdc USB 2, in the ports 2 and 3 of a hub; sdb1 is mounted at /media/usb1 with vfat
 *   sdh      a USB 3 disk that came up as USB 2, in a socket for USB 3
 *   nvme0n1  PCIe 8 GT/s, two lanes of four
 *   nvme1n1  another of the same controller, below its subsystem
 *   sdd, sde SATA, 6 Gbit/s: md0, a raid5, at /media/md
 *   sdf      FireWire, on the parallel PCI bus 01 beside the board MADE_BOARD, as in the machine of 2007
 *   sdi      SAS, on two phys of 12 Gbit/s; nothing is on it
 */
#ifndef VSIB_TESTS_MADE_SYSROOT_H
#define VSIB_TESTS_MADE_SYSROOT_H

#include "recorder/target.h"

#define MADE_BOARD "sys/devices/pci0000:00/0000:00:1e.0/0000:01:01.0"

/** made_sysroot() - into the directory @root. Return: 0; -errno. */
int made_sysroot(const char *root);

/** made_sysroot_write() - a file below @root. Return: 0; -errno. */
int made_sysroot_write(const char *root, const char *path, const char *text);

/** made_sysroot_target() - as if it had been opened there: what is mounted at @path from @device */
void made_sysroot_target(struct target *target, const char *path, const char *device, dev_t disk,
			 dev_t fs);

#endif
