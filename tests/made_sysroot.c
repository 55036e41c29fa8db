/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/made_sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/write_all.h"

#define PCI "sys/devices/pci0000:00/"
#define VIRTUAL "sys/devices/virtual/block/"
#define SCSI(host) "host" host "/target" host ":0:0/" host ":0:0:0"

#define AHCI PCI "0000:00:1f.2"
#define EHCI PCI "0000:00:1d.7"
#define BRIDGE PCI "0000:00:1e.0"
#define PORT PCI "0000:00:1c.0"
#define HBA PCI "0000:00:1c.1/0000:03:00.0"
#define VDA PCI "0000:00:02.0/virtio1/block/vda"
#define SDA AHCI "/ata1/" SCSI("0") "/block/sda"
#define SDD AHCI "/ata2/" SCSI("1") "/block/sdd"
#define SDE AHCI "/ata3/" SCSI("2") "/block/sde"
#define HUB EHCI "/usb1/1-1"
#define SDB HUB "/1-1.2/1-1.2:1.0/" SCSI("4") "/block/sdb"
#define SDC HUB "/1-1.3/1-1.3:1.0/" SCSI("5") "/block/sdc"
#define SDH EHCI "/usb1/1-2/1-2:1.0/" SCSI("7") "/block/sdh"
#define NVME PORT "/0000:02:00.0/nvme/nvme0"
#define SUBSYSTEM "sys/devices/virtual/nvme-subsystem/nvme-subsys0"
#define SDF BRIDGE "/0000:01:03.0/fw1/fw1.0/" SCSI("6") "/block/sdf"
#define SDI HBA "/host8/port-8:0/end_device-8:0/target8:0:0/8:0:0:0/block/sdi"

/* An IDENTIFY of which only word 76 matters: all three generations of SATA. */
#define EIGHT "0000 0000 0000 0000 0000 0000 0000 0000\n"
#define IDENTIFY \
	EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT "0000 0000 0000 0000 000e 0000 0000 0000\n"

struct entry {
	const char *path, *text; /* of a link: what it leads to, below the root too */
};

static const struct entry files[] = {
	/* PCI */
	{ AHCI "/class", "0x010601\n" },
	{ AHCI "/vendor", "0x8086\n" },
	{ AHCI "/device", "0x27c1\n" },
	{ EHCI "/class", "0x0c0320\n" },
	{ EHCI "/vendor", "0x8086\n" },
	{ EHCI "/device", "0x27cc\n" },
	{ BRIDGE "/class", "0x060401\n" },
	{ BRIDGE "/vendor", "0x8086\n" },
	{ BRIDGE "/device", "0x244e\n" },
	{ BRIDGE "/0000:01:03.0/class", "0x0c0010\n" },
	{ BRIDGE "/0000:01:03.0/vendor", "0x104c\n" },
	{ BRIDGE "/0000:01:03.0/device", "0x8023\n" },
	{ BRIDGE "/0000:01:03.0/config", "\x4c\x10\x23\x80\x06\x01\x10\x02" },
	{ MADE_BOARD "/class", "0x068000\n" },
	{ MADE_BOARD "/vendor", "0x10b5\n" },
	{ MADE_BOARD "/device", "0x5406\n" },
	{ MADE_BOARD "/config", "\xb5\x10\x06\x54\x06\x01\x90\x02" },
	{ PORT "/class", "0x060400\n" },
	{ PORT "/current_link_speed", "8.0 GT/s PCIe\n" },
	{ PORT "/current_link_width", "2\n" },
	{ PORT "/max_link_speed", "8.0 GT/s PCIe\n" },
	{ PORT "/max_link_width", "8\n" },
	{ PORT "/0000:02:00.0/class", "0x010802\n" },
	{ PORT "/0000:02:00.0/current_link_speed", "8.0 GT/s PCIe\n" },
	{ PORT "/0000:02:00.0/current_link_width", "2\n" },
	{ PORT "/0000:02:00.0/max_link_speed", "16.0 GT/s PCIe\n" },
	{ PORT "/0000:02:00.0/max_link_width", "4\n" },
	{ HBA "/class", "0x010700\n" },
	/* SATA */
	{ AHCI "/ata1/link1/ata_link/link1/sata_spd", "1.5 Gbps\n" },
	{ AHCI "/ata1/link1/ata_link/link1/sata_spd_limit", "1.5 Gbps\n" },
	{ AHCI "/ata1/link1/ata_link/link1/hw_sata_spd_limit", "6.0 Gbps\n" },
	{ AHCI "/ata1/link1/dev1.0/ata_device/dev1.0/id", IDENTIFY },
	{ AHCI "/ata2/link2/ata_link/link2/sata_spd", "6.0 Gbps\n" },
	{ AHCI "/ata2/link2/ata_link/link2/sata_spd_limit", "6.0 Gbps\n" },
	{ AHCI "/ata2/link2/ata_link/link2/hw_sata_spd_limit", "6.0 Gbps\n" },
	{ AHCI "/ata2/link2/dev2.0/ata_device/dev2.0/id", IDENTIFY },
	{ AHCI "/ata3/link3/ata_link/link3/sata_spd", "6.0 Gbps\n" },
	{ AHCI "/ata3/link3/ata_link/link3/sata_spd_limit", "6.0 Gbps\n" },
	{ AHCI "/ata3/link3/ata_link/link3/hw_sata_spd_limit", "6.0 Gbps\n" },
	{ AHCI "/ata3/link3/dev3.0/ata_device/dev3.0/id", IDENTIFY },
	{ SDA "/dev", "8:0\n" },
	{ SDA "/size", "1953525168\n" },
	{ SDA "/queue/rotational", "1\n" },
	{ SDA "/queue/scheduler", "none [mq-deadline] kyber bfq \n" },
	{ SDA "/queue/write_cache", "write back\n" },
	{ SDA "/queue/max_sectors_kb", "1280\n" },
	{ SDA "/queue/nr_requests", "64\n" },
	{ SDA "/queue/zoned", "none\n" },
	{ AHCI "/ata1/" SCSI("0") "/vendor", "ATA     \n" },
	{ AHCI "/ata1/" SCSI("0") "/model", "Made Disk 1000  \n" },
	{ AHCI "/ata1/" SCSI("0") "/rev", "1A01\n" },
	{ AHCI "/ata1/" SCSI("0") "/queue_depth", "31\n" },
	{ AHCI "/ata1/" SCSI("0") "/hwmon/hwmon2/name", "drivetemp\n" },
	{ AHCI "/ata1/" SCSI("0") "/hwmon/hwmon2/temp1_input", "41000\n" },
	{ AHCI "/ata1/" SCSI("0") "/hwmon/hwmon2/temp1_crit", "60000\n" },
	{ SDA "/sda1/dev", "8:1\n" },
	{ SDA "/sda1/partition", "1\n" },
	{ SDA "/sda2/dev", "8:2\n" },
	{ SDA "/sda2/partition", "2\n" },
	{ SDD "/dev", "8:48\n" },
	{ SDE "/dev", "8:64\n" },
	/* USB */
	{ EHCI "/usb1/speed", "480\n" },
	{ EHCI "/usb1/version", " 2.00\n" },
	{ HUB "/speed", "480\n" },
	{ HUB "/version", " 2.00\n" },
	{ HUB "/product", "Made Hub\n" },
	{ HUB "/1-1.2/speed", "480\n" },
	{ HUB "/1-1.2/version", " 2.00\n" },
	{ HUB "/1-1.2/manufacturer", "Made\n" },
	{ HUB "/1-1.2/product", "Enclosure\n" },
	{ HUB "/1-1.2/serial", "0123456789AB\n" },
	{ HUB "/1-1.2/power/control", "auto\n" },
	{ HUB "/1-1.2/power/autosuspend_delay_ms", "2000\n" },
	{ HUB "/1-1.3/speed", "480\n" },
	{ HUB "/1-1.3/version", " 2.00\n" },
	{ HUB "/1-1.3/power/control", "on\n" },
	{ HUB "/1-1.3/power/autosuspend_delay_ms", "2000\n" },
	{ EHCI "/usb1/1-2/speed", "480\n" },
	{ EHCI "/usb1/1-2/version", " 3.00\n" },
	{ EHCI "/usb2/speed", "5000\n" },
	{ EHCI "/usb2/2-0:1.0/usb2-port2/location", "0x2\n" },
	{ HUB "/1-1.2/1-1.2:1.0/" SCSI("4") "/vendor", "Made\n" },
	{ HUB "/1-1.2/1-1.2:1.0/" SCSI("4") "/model", "USB Disk\n" },
	{ SDB "/dev", "8:16\n" },
	{ SDB "/sdb1/dev", "8:17\n" },
	{ SDB "/sdb1/partition", "1\n" },
	{ SDC "/dev", "8:32\n" },
	{ SDH "/dev", "8:112\n" },
	/* NVMe */
	{ NVME "/model", "Made NVMe                               \n" },
	{ NVME "/serial", "S5GXNX0R         \n" },
	{ NVME "/firmware_rev", "2B2QEXM7\n" },
	{ NVME "/transport", "pcie\n" },
	{ NVME "/hwmon0/name", "nvme\n" },
	{ NVME "/hwmon0/temp1_input", "52850\n" },
	{ NVME "/hwmon0/temp1_crit", "84850\n" },
	{ NVME "/nvme0n1/dev", "259:0\n" },
	{ SUBSYSTEM "/nvme1n1/dev", "259:1\n" },
	{ NVME "/nvme0n1/queue/nr_requests", "1023\n" },
	{ NVME "/nvme0n1/queue/scheduler", "[none] mq-deadline\n" },
	/* FireWire */
	{ BRIDGE "/0000:01:03.0/fw1/vendor_name", "Made\n" },
	{ BRIDGE "/0000:01:03.0/fw1/model_name", "FireDisk\n" },
	{ SDF "/dev", "8:80\n" },
	/* SAS; the serial number of sdi as page 0x80 of its product data */
	{ HBA "/host8/phy-8:0/sas_phy/phy-8:0/negotiated_linkrate", "12.0 Gbit\n" },
	{ HBA "/host8/phy-8:1/sas_phy/phy-8:1/negotiated_linkrate", "12.0 Gbit\n" },
	{ SDI "/dev", "8:128\n" },
	{ HBA "/host8/port-8:0/end_device-8:0/target8:0:0/8:0:0:0/vpd_pg80",
	  "\x01\x80\x01\x08  ZC19YX extra" },
	/* virtio */
	{ VDA "/dev", "254:0\n" },
	{ VDA "/serial", "system" },
	{ PCI "0000:00:02.0/virtio1/vendor", "0x1af4\n" },
	/* md, dm, loop */
	{ VIRTUAL "md0/dev", "9:0\n" },
	{ VIRTUAL "md0/md/level", "raid5\n" },
	{ VIRTUAL "md0/md/degraded", "0\n" },
	{ VIRTUAL "md0/md/sync_action", "idle\n" },
	{ VIRTUAL "md0/md/uuid", "3f1c5a2e-0000-4000-8000-000000000001\n" },
	{ VIRTUAL "dm-0/dev", "253:0\n" },
	{ VIRTUAL "dm-0/dm/name", "secret\n" },
	{ VIRTUAL "dm-0/dm/uuid", "CRYPT-LUKS2-0123-secret\n" },
	{ VIRTUAL "loop0/dev", "7:0\n" },
	{ VIRTUAL "loop0/loop/backing_file", "/media/sata/image\n" },
	{ VIRTUAL "loop0/loop/dio", "0\n" },
	/* the machine */
	{ "sys/devices/system/cpu/online", "0-2,5\n" },
	{ "proc/sys/kernel/hostname", "made\n" },
	{ "proc/sys/kernel/osrelease", "6.1.0-made\n" },
	{ "proc/sys/vm/dirty_bytes", "0\n" },
	{ "proc/sys/vm/dirty_ratio", "20\n" },
	{ "proc/sys/vm/dirty_background_bytes", "67108864\n" },
	{ "proc/sys/vm/dirty_background_ratio", "0\n" },
	{ "proc/meminfo", "MemTotal:        8000000 kB\n"
			  "MemFree:         3000000 kB\n"
			  "Active(file):     500000 kB\n"
			  "Inactive(file):   500000 kB\n" },
	{ "proc/self/mountinfo",
	  "20 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	  "21 20 0:5 / /proc rw - proc proc rw\n"
	  "22 20 8:1 / /media/sata rw,noatime - ext4 /dev/sda1 rw,data=ordered\n"
	  "23 20 8:17 / /media/usb1 rw,relatime - vfat /dev/sdb1 rw,fmask=0022\n"
	  "24 20 259:0 / /media/nvme rw,noatime - xfs /dev/nvme0n1 rw,discard\n"
	  "25 20 9:0 / /media/md rw,noatime - ext4 /dev/md0 rw,barrier=0\n"
	  "26 20 0:40 / /media/crypt rw - btrfs /dev/mapper/secret rw,compress=zstd:3\n"
	  "27 20 7:0 / /media/loop rw - ext4 /dev/loop0 rw\n"
	  "28 20 0:41 / /media/net rw - nfs4 server:/data rw,vers=4.2\n"
	  "29 20 0:42 / /media/memory rw - tmpfs tmpfs rw\n"
	  "30 20 0:5 / /dev rw - devtmpfs devtmpfs rw\n" },
	{ "proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n" },
	{ "proc/diskstats", "   8       0 sda 100 0 2000 10 300 0 6000 20 0 30 40 0 0 0 0\n"
			    "   8       1 sda1 90 0 1900 10 300 0 6000 20 0 30 40 0 0 0 0\n"
			    " 253       0 dm-0 9 0 90 1 3 0 60 2 0 3 4 0 0 0 0\n"
			    "   7       0 loop0 10 0 200 1 30 0 600 2 0 3 4 0 0 0 0\n" },
	{ "proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9000000\n"
			      "full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n" },
	{ "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n" },
	{ "proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000\n"
				  "full avg10=0.00 avg60=0.00 avg300=0.00 total=4000000\n" },
};

static const struct entry links[] = {
	{ AHCI "/subsystem", "sys/bus/pci" },
	{ EHCI "/subsystem", "sys/bus/pci" },
	{ BRIDGE "/subsystem", "sys/bus/pci" },
	{ BRIDGE "/0000:01:03.0/subsystem", "sys/bus/pci" },
	{ MADE_BOARD "/subsystem", "sys/bus/pci" },
	{ PORT "/subsystem", "sys/bus/pci" },
	{ PORT "/0000:02:00.0/subsystem", "sys/bus/pci" },
	{ PCI "0000:00:1c.1/subsystem", "sys/bus/pci" },
	{ HBA "/subsystem", "sys/bus/pci" },
	{ PCI "0000:00:02.0/subsystem", "sys/bus/pci" },
	{ PCI "0000:00:02.0/virtio1/subsystem", "sys/bus/virtio" },
	{ EHCI "/usb1/subsystem", "sys/bus/usb" },
	{ HUB "/subsystem", "sys/bus/usb" },
	{ HUB "/1-1.2/subsystem", "sys/bus/usb" },
	{ HUB "/1-1.2/1-1.2:1.0/subsystem", "sys/bus/usb" },
	{ HUB "/1-1.2/1-1.2:1.0/driver", "sys/bus/usb/drivers/usb-storage" },
	{ HUB "/1-1.3/subsystem", "sys/bus/usb" },
	{ EHCI "/usb1/1-2/subsystem", "sys/bus/usb" },
	{ EHCI "/usb1/1-2/port", EHCI "/usb1/1-0:1.0/usb1-port2" },
	{ EHCI "/usb1/1-0:1.0/usb1-port2/peer", EHCI "/usb2/2-0:1.0/usb2-port2" },
	{ NVME "/subsystem", "sys/class/nvme" },
	{ BRIDGE "/0000:01:03.0/fw1/subsystem", "sys/bus/firewire" },
	{ BRIDGE "/0000:01:03.0/fw1/fw1.0/subsystem", "sys/bus/firewire" },
	{ HBA "/host8/port-8:0/phy-8:0", HBA "/host8/phy-8:0" },
	{ HBA "/host8/port-8:0/phy-8:1", HBA "/host8/phy-8:1" },
	{ AHCI "/ata1/" SCSI("0") "/subsystem", "sys/bus/scsi" },
	{ SDA "/device", AHCI "/ata1/" SCSI("0") },
	{ SDB "/device", HUB "/1-1.2/1-1.2:1.0/" SCSI("4") },
	{ SDI "/device", HBA "/host8/port-8:0/end_device-8:0/target8:0:0/8:0:0:0" },
	{ NVME "/nvme0n1/device", NVME },
	{ SUBSYSTEM "/nvme0", NVME },
	{ VDA "/device", PCI "0000:00:02.0/virtio1" },
	{ SDA "/sda2/holders/dm-0", VIRTUAL "dm-0" },
	{ VIRTUAL "dm-0/slaves/sda2", SDA "/sda2" },
	{ SDD "/holders/md0", VIRTUAL "md0" },
	{ SDE "/holders/md0", VIRTUAL "md0" },
	{ VIRTUAL "md0/slaves/sdd", SDD },
	{ VIRTUAL "md0/slaves/sde", SDE },
};

/* Each gets its subsystem, and its links by name and by number. */
static const struct entry blocks[] = {
	{ VDA, "254:0" },
	{ SDA, "8:0" },
	{ SDA "/sda1", "8:1" },
	{ SDA "/sda2", "8:2" },
	{ SDB, "8:16" },
	{ SDB "/sdb1", "8:17" },
	{ SDC, "8:32" },
	{ SDH, "8:112" },
	{ SDD, "8:48" },
	{ SDE, "8:64" },
	{ SDF, "8:80" },
	{ SDI, "8:128" },
	{ NVME "/nvme0n1", "259:0" },
	{ SUBSYSTEM "/nvme1n1", "259:1" },
	{ VIRTUAL "md0", "9:0" },
	{ VIRTUAL "dm-0", "253:0" },
	{ VIRTUAL "loop0", "7:0" },
};

static int make_parents(char *path, size_t root_len)
{
	for (char *slash = strchr(path + root_len + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

int made_sysroot_write(const char *root, const char *path, const char *text)
{
	char file[PATH_MAX];
	int ret = 0, fd = -1;

	snprintf(file, sizeof(file), "%s/%s", root, path);
	for (int i = 0; i < 2 && fd < 0 && ret == 0; i++) { /* mostly its directory is there */
		fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0 && errno == ENOENT)
			ret = make_parents(file, strlen(root));
	}
	if (ret < 0)
		return ret;
	if (fd < 0)
		return -errno;
	ret = write_all(fd, text, strlen(text));
	close(fd);
	return ret;
}

/* A link within the tree, wherever that lies, as sysfs has them: "../../bus/pci". */
static int make_link(const char *root, const char *path, const char *to)
{
	char file[PATH_MAX], content[PATH_MAX] = "";
	int ret;

	snprintf(file, sizeof(file), "%s/%s/", root, to); /* which is to be there */
	ret = make_parents(file, strlen(root));
	snprintf(file, sizeof(file), "%s/%s", root, path);
	if (ret == 0)
		ret = make_parents(file, strlen(root));
	for (const char *c = path; *c; c++)
		if (*c == '/')
			strcat(content, "../");
	strcat(content, to);
	return ret == 0 && symlink(content, file) < 0 ? -errno : ret;
}

static int make_block(const char *root, const struct entry *block)
{
	char path[PATH_MAX];
	int ret;

	snprintf(path, sizeof(path), "%s/subsystem", block->path);
	ret = make_link(root, path, "sys/class/block");
	snprintf(path, sizeof(path), "sys/class/block/%s", strrchr(block->path, '/') + 1);
	if (ret == 0)
		ret = make_link(root, path, block->path);
	snprintf(path, sizeof(path), "sys/dev/block/%s", block->text);
	return ret == 0 ? make_link(root, path, block->path) : ret;
}

int made_sysroot(const char *root)
{
	int ret = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && ret == 0; i++)
		ret = made_sysroot_write(root, files[i].path, files[i].text);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]) && ret == 0; i++)
		ret = make_link(root, links[i].path, links[i].text);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]) && ret == 0; i++)
		ret = make_block(root, &blocks[i]);
	return ret;
}

void made_sysroot_target(struct target *target, const char *path, const char *device, dev_t disk,
			 dev_t fs)
{
	memset(target, 0, sizeof(*target));
	target->kind = TARGET_DIRECTORY;
	target->dir_fd = -1;
	snprintf(target->path, sizeof(target->path), "%s", path);
	snprintf(target->device, sizeof(target->device), "%s", device);
	target->disk_device = disk;
	target->fs_device = fs;
	target->free_bytes = UINT64_C(400) << 30;
	target->total_bytes = UINT64_C(1000) << 30;
}
