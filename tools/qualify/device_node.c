/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/device_node.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qualify/block_device.h"

#define CODED_8B10B 0.8
#define CODED_128B130B (128.0 / 130)
#define CODED_128B132B (128.0 / 132)
#define CODED_FLIT (242.0 / 256) /* PCIe 6: 14 bytes of each 256 are protection */
#define PCI33_BPS 1056e6         /* 32 bits at 33 MHz, for all devices of the bus together */
#define PCI_STATUS 6             /* in the configuration space */
#define PCI_STATUS_66_MHZ 0x20
#define WIDTH_UNKNOWN 63 /* no such link; 255 where the kernel can't ask */

static const char *last_name(const char *directory)
{
	return strrchr(directory, '/') + 1;
}

/* "6.0 Gbps", "8.0 GT/s PCIe", "2.00", in tenths; whatever the locale. 0 = none. */
static unsigned read_tenths(const struct sysfs *sysfs, const char *directory, const char *name)
{
	unsigned whole = 0;
	char text[64], digit = '0';

	sysfs_line(sysfs, directory, name, text, sizeof(text));
	if (sscanf(text, "%4u.%c", &whole, &digit) < 1)
		return 0;
	return whole * 10 + (digit >= '0' && digit <= '9' ? (unsigned)(digit - '0') : 0);
}

static void append(struct trial_node *node, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append(struct trial_node *node, const char *format, ...)
{
	size_t used = strlen(node->text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(node->text + used, sizeof(node->text) - used, format, ap);
	va_end(ap);
}

/* "vendor product", of two attributes; nothing of neither. */
static void append_product(const struct sysfs *sysfs, const char *directory, const char *vendor_name,
			   const char *product_name, struct trial_node *node)
{
	char vendor[128], product[128];

	sysfs_line(sysfs, directory, vendor_name, vendor, sizeof(vendor));
	sysfs_line(sysfs, directory, product_name, product, sizeof(product));
	append(node, "%s%s%s", vendor, vendor[0] && product[0] ? " " : "", product);
	if (vendor[0] || product[0])
		append(node, ", ");
}

bool device_node_is_at(const struct sysfs *sysfs, const char *directory, const char *subsystem)
{
	char name[64];

	return sysfs_link_name(sysfs, directory, "subsystem", name, sizeof(name)) &&
	       strcmp(name, subsystem) == 0;
}

/* ---- USB ---- */

/*
 * What a device that runs slower could do, in Mbit/s. A USB 3 device calls itself 2.1 on a USB 2 link, and so do USB 2
 * devices that know link power management. Which it is stands in its BOS descriptor, which the kernel shows since 6.10.
 */
static unsigned usb_device_mbps(const struct sysfs *sysfs, const char *directory, bool *is_doubtful)
{
	unsigned version = read_tenths(sysfs, directory, "version"), mbps;
	unsigned char bos[256];
	int got = sysfs_read(sysfs, directory, "bos_descriptors", bos, sizeof(bos));

	*is_doubtful = got < 0 && version >= 21 && version < 30;
	mbps = version >= 30 ? 5000 : version >= 20 ? 480 : 12;
	for (int at = 5; at + 3 <= got && bos[at] >= 3; at += bos[at]) {
		if (bos[at + 2] == 3 && mbps < 5000) /* SuperSpeed */
			mbps = 5000;
		if (bos[at + 2] == 10) /* SuperSpeedPlus */
			mbps = 10000;
	}
	return mbps;
}

/*
 * A USB 3 socket is two ports, on two root hubs; each is the other's peer. When the peer is taken as well, a USB 3 hub
 * is there, whose halves run side by side.
 */
static unsigned usb_port_mbps(const struct sysfs *sysfs, const char *directory)
{
	char path[SYSFS_PATH_LEN + 16];
	int64_t hub = 0, peer = 0;

	snprintf(path, sizeof(path), "%s", directory);
	if (sysfs_up(path))
		hub = sysfs_number(sysfs, path, "speed", 0);
	snprintf(path, sizeof(path), "%s/port/peer", directory);
	if (!sysfs_has(sysfs, path, "device") && sysfs_resolve(sysfs, path, path) == 0 &&
	    sysfs_up(path) && sysfs_up(path))
		peer = sysfs_number(sysfs, path, "speed", 0);
	return (unsigned)(hub > peer ? hub : peer);
}

static double usb_payload(unsigned mbps, int64_t lanes)
{
	if (mbps < 5000)
		return mbps * 1e6;
	/* 10 Gbit/s is one lane of the second generation, or two of the first */
	return mbps * 1e6 *
	       (mbps == 5000 || (mbps == 10000 && lanes == 2) ? CODED_8B10B : CODED_128B132B);
}

static bool look_at_usb(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	unsigned mbps = (unsigned)sysfs_number(sysfs, directory, "speed", 0), device, port;
	bool is_root_hub = strncmp(last_name(directory), "usb", 3) == 0, is_doubtful;
	char driver[32], interface[80];

	if (!sysfs_has(sysfs, directory, "speed"))
		return false; /* an interface */
	snprintf(node->kind, sizeof(node->kind), "usb");
	if (is_root_hub)
		append(node, "USB root hub, ");
	else
		append_product(sysfs, directory, "manufacturer", "product", node);
	append(node, "%u Mbit/s", mbps);
	if (mbps == 0 || is_root_hub) /* it has no link: what is in its ports has */
		return true;
	node->link_bps = usb_payload(mbps, sysfs_number(sysfs, directory, "tx_lanes", 1));
	node->capable_bps = node->link_bps;
	if (mbps == 480)
		append(node, " (some 320 Mbit/s for a disk)");
	snprintf(interface, sizeof(interface), "%.60s:1.0/driver", last_name(directory));
	if (sysfs_link_name(sysfs, directory, interface, driver, sizeof(driver)) &&
	    strcmp(driver, "hub") != 0)
		append(node, ", %s", driver);
	device = usb_device_mbps(sysfs, directory, &is_doubtful);
	port = usb_port_mbps(sysfs, directory);
	if (device > mbps && port > mbps) {
		unsigned both = device < port ? device : port;

		node->capable_bps = usb_payload(both, 1);
		append(node, "; device and port can do %u", both);
	}
	node->may_be_faster = is_doubtful && mbps == 480 && port > mbps;
	return true;
}

/* ---- SATA and SAS ---- */

/* The generations that the disk itself knows, in tenths of Gbit/s: word 76 of its IDENTIFY data. 0 = not known. */
static unsigned sata_disk_tenths(const struct sysfs *sysfs, const char *directory)
{
	char text[4096], *word = text, *end;
	long value = 0;
	int got = sysfs_read(sysfs, directory, "", text, sizeof(text) - 1);

	if (got <= 0)
		return 0;
	text[got] = '\0';
	for (unsigned i = 0; i <= 76; i++, word = end) {
		value = strtol(word, &end, 16);
		if (end == word)
			return 0;
	}
	return value & 8 ? 60 : value & 4 ? 30 : value & 2 ? 15 : 0;
}

static bool look_at_ata(const struct sysfs *sysfs, const char *directory, unsigned number,
			struct trial_node *node)
{
	char path[SYSFS_PATH_LEN + 128];
	unsigned tenths, port, limit, disk;

	snprintf(path, sizeof(path), "%s/link%u/ata_link/link%u", directory, number, number);
	tenths = read_tenths(sysfs, path, "sata_spd");
	limit = read_tenths(sysfs, path, "sata_spd_limit");
	port = read_tenths(sysfs, path, "hw_sata_spd_limit");
	snprintf(path, sizeof(path), "%s/link%u/dev%u.0/ata_device/dev%u.0/id", directory, number,
		 number, number);
	disk = sata_disk_tenths(sysfs, path);
	snprintf(node->kind, sizeof(node->kind), "ata");
	if (tenths == 0) {
		append(node, "ATA");
		return true;
	}
	append(node, "SATA, %u.%u Gbit/s", tenths / 10, tenths % 10);
	node->link_bps = tenths * 1e8 * CODED_8B10B;
	if (port == 0)
		port = limit;
	if (disk && port)
		node->capable_bps = (disk < port ? disk : port) * 1e8 * CODED_8B10B;
	if (node->capable_bps > node->link_bps)
		append(node, "; disk and port can do %u.%u", (disk < port ? disk : port) / 10,
		       (disk < port ? disk : port) % 10);
	if (limit && limit < port)
		append(node, "; the kernel has lowered the limit from %u.%u to %u.%u after errors",
		       port / 10, port % 10, limit / 10, limit % 10);
	return true;
}

struct phy_sum {
	const struct sysfs *sysfs;
	const char *directory;
	unsigned count, tenths;
};

static int visit_phy(void *context, const char *name)
{
	struct phy_sum *sum = context;
	char path[512];
	unsigned tenths;

	if (strncmp(name, "phy-", 4) != 0)
		return 0;
	snprintf(path, sizeof(path), "%.200s/sas_phy/%.200s/negotiated_linkrate", name, name);
	tenths = read_tenths(sum->sysfs, sum->directory, path);
	sum->count += tenths > 0;
	sum->tenths += tenths;
	return 0;
}

/* A port is one phy or several; what lies behind it may be an expander. What a disk could do is not told. */
static bool look_at_sas(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	struct phy_sum sum = { .sysfs = sysfs, .directory = directory };

	sysfs_scan(sysfs, directory, visit_phy, &sum);
	snprintf(node->kind, sizeof(node->kind), "sas");
	append(node, "SAS");
	if (sum.count == 0)
		return true;
	node->link_bps = sum.tenths * 1e8 * CODED_8B10B;
	append(node, ", %u x %u.%u Gbit/s", sum.count, sum.tenths / sum.count / 10,
	       sum.tenths / sum.count % 10);
	return true;
}

/* ---- PCI ---- */

static const char *pci_class_text(unsigned class)
{
	static const struct {
		unsigned class;
		const char *text;
	} classes[] = {
		{ 0x0100, "SCSI controller" },    { 0x0101, "IDE controller" },
		{ 0x0104, "RAID controller" },    { 0x0106, "SATA controller" },
		{ 0x0107, "SAS controller" },     { 0x0108, "NVMe controller" },
		{ 0x0200, "network controller" }, { 0x0604, "PCI bridge" },
		{ 0x0805, "SD card controller" }, { 0x0c00, "FireWire controller" },
		{ 0x0c03, "USB controller" },     { 0x0c04, "Fibre Channel controller" },
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].class == class)
			return classes[i].text;
	return "PCI device";
}

struct pcie_link {
	unsigned tenths, width; /* GT/s; 0 = no link */
};

static struct pcie_link read_link(const struct sysfs *sysfs, const char *directory, const char *which)
{
	struct pcie_link link;
	char name[32];

	snprintf(name, sizeof(name), "%s_link_speed", which);
	link.tenths = read_tenths(sysfs, directory, name);
	snprintf(name, sizeof(name), "%s_link_width", which);
	link.width = (unsigned)sysfs_number(sysfs, directory, name, 0);
	if (link.width >= WIDTH_UNKNOWN || link.width == 0)
		link.tenths = link.width = 0;
	return link;
}

static double pcie_payload(struct pcie_link link)
{
	double coding = link.tenths <= 50  ? CODED_8B10B :
			link.tenths <= 320 ? CODED_128B130B :
					     CODED_FLIT;

	return link.tenths * 1e8 * link.width * coding;
}

/* How many PCI devices there are above it. */
static unsigned pci_depth(const struct sysfs *sysfs, const char *directory)
{
	char path[SYSFS_PATH_LEN];
	unsigned depth = 0;

	snprintf(path, sizeof(path), "%s", directory);
	while (sysfs_up(path) && device_node_is_at(sysfs, path, "pci"))
		depth++;
	return depth;
}

static void look_at_pcie_link(const struct sysfs *sysfs, const char *directory,
			      struct pcie_link now, struct trial_node *node)
{
	struct pcie_link most = read_link(sysfs, directory, "max"), port;
	char parent[SYSFS_PATH_LEN];

	snprintf(parent, sizeof(parent), "%s", directory);
	sysfs_up(parent);
	port = read_link(sysfs, parent, "max");
	append(node, ", PCIe %u.%u GT/s x%u", now.tenths / 10, now.tenths % 10, now.width);
	node->link_bps = pcie_payload(now);
	if (!most.tenths || !port.tenths)
		return;
	most.tenths = most.tenths < port.tenths ? most.tenths : port.tenths;
	most.width = most.width < port.width ? most.width : port.width;
	node->capable_bps = pcie_payload(most);
	if (node->capable_bps > node->link_bps)
		append(node, "; device and slot can do %u.%u GT/s x%u", most.tenths / 10,
		       most.tenths % 10, most.width);
}

/* One 33 MHz device keeps its whole bus at that. */
static void look_at_parallel_bus(const struct sysfs *sysfs, const char *directory,
				 struct trial_node *node)
{
	unsigned char config[64];

	append(node, ", on a parallel PCI bus");
	if (sysfs_read(sysfs, directory, "config", config, sizeof(config)) <= PCI_STATUS ||
	    config[PCI_STATUS] & PCI_STATUS_66_MHZ)
		return;
	node->link_bps = node->capable_bps = PCI33_BPS;
	append(node, " of 1056 Mbit/s that all its devices share");
}

/*
 * A port's attributes tell of the link below it when it is a root port or a switch's lower port, and else of the one
 * above. On the way up these alternate, beginning at the root. So devices at odd depth have a link upwards.
 */
static bool look_at_pci(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	unsigned class = (unsigned)sysfs_hexadecimal(sysfs, directory, "class", 0) >> 8;
	unsigned vendor = (unsigned)sysfs_hexadecimal(sysfs, directory, "vendor", 0);
	unsigned device = (unsigned)sysfs_hexadecimal(sysfs, directory, "device", 0);
	struct pcie_link now = read_link(sysfs, directory, "current");
	unsigned depth = pci_depth(sysfs, directory);

	snprintf(node->kind, sizeof(node->kind), "pci");
	append(node, "%s %04x:%04x", pci_class_text(class), vendor, device);
	if (now.tenths && depth % 2 == 1)
		look_at_pcie_link(sysfs, directory, now, node);
	else if (depth > 0 && !sysfs_has(sysfs, directory, "current_link_speed"))
		look_at_parallel_bus(sysfs, directory, node);
	return true;
}

/* ---- the others ---- */

static bool look_at_block(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	static const char *const kinds[] = {
		[BLOCK_DISK] = "disk", [BLOCK_LOOP] = "loop",     [BLOCK_MD] = "md",
		[BLOCK_DM] = "dm",     [BLOCK_MEMORY] = "memory",
	};
	enum block_kind kind = block_kind(sysfs, directory);

	snprintf(node->kind, sizeof(node->kind), "%s", kinds[kind]);
	if (kind == BLOCK_LOOP)
		sysfs_line(sysfs, directory, "loop/backing_file", node->text, sizeof(node->text));
	else if (kind == BLOCK_DM)
		sysfs_line(sysfs, directory, "dm/name", node->text, sizeof(node->text));
	else
		block_model(sysfs, directory, node->text, sizeof(node->text));
	return true;
}

static bool look_at_nvme(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	char model[TARGET_TEXT_LEN], transport[32];

	snprintf(node->kind, sizeof(node->kind), "nvme");
	sysfs_line(sysfs, directory, "model", model, sizeof(model));
	sysfs_line(sysfs, directory, "transport", transport, sizeof(transport));
	append(node, "NVMe %s%s%s", model, transport[0] ? " over " : "", transport);
	return true;
}

/* "fw1" is a device, "fw1.0" a unit of it. Speeds are not told. */
static bool look_at_firewire(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	if (strchr(last_name(directory), '.'))
		return false;
	snprintf(node->kind, sizeof(node->kind), "firewire");
	append_product(sysfs, directory, "vendor_name", "model_name", node);
	append(node, "FireWire");
	return true;
}

static bool look_at_mmc(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	char type[16];

	snprintf(node->kind, sizeof(node->kind), "mmc");
	sysfs_line(sysfs, directory, "type", type, sizeof(type));
	append(node, "%s card", type[0] ? type : "MMC");
	return true;
}

static bool look_at_virtio(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	(void)sysfs;
	(void)directory;
	snprintf(node->kind, sizeof(node->kind), "virtio");
	append(node, "virtual device: what is below it is the host's");
	return true;
}

static bool look_at_platform(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	(void)sysfs;
	(void)directory;
	snprintf(node->kind, sizeof(node->kind), "platform");
	append(node, "part of the board");
	return true;
}

/* Transport classes hang their devices between others without a subsystem of their own. */
static bool look_by_name(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	const char *name = last_name(directory);
	unsigned number;

	if (sscanf(name, "ata%u", &number) == 1)
		return look_at_ata(sysfs, directory, number, node);
	if (strncmp(name, "port-", 5) == 0)
		return look_at_sas(sysfs, directory, node);
	if (sscanf(name, "session%u", &number) == 1) {
		snprintf(node->kind, sizeof(node->kind), "iscsi");
		append(node, "iSCSI session");
		return true;
	}
	if (strncmp(name, "pci", 3) == 0 && strchr(name, ':')) {
		snprintf(node->kind, sizeof(node->kind), "root");
		append(node, "where PCI begins");
		return true;
	}
	return false;
}

bool device_node_look(const struct sysfs *sysfs, const char *directory, struct trial_node *node)
{
	static const struct {
		const char *subsystem;
		bool (*look)(const struct sysfs *sysfs, const char *directory, struct trial_node *node);
	} kinds[] = {
		{ "block", look_at_block },       { "usb", look_at_usb },
		{ "pci", look_at_pci },           { "nvme", look_at_nvme },
		{ "firewire", look_at_firewire }, { "mmc", look_at_mmc },
		{ "virtio", look_at_virtio },     { "platform", look_at_platform },
	};
	char subsystem[64];

	memset(node, 0, sizeof(*node));
	node->link_bps = node->capable_bps = -1;
	snprintf(node->name, sizeof(node->name), "%s", last_name(directory));
	sysfs_link_name(sysfs, directory, "subsystem", subsystem, sizeof(subsystem));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].subsystem, subsystem) == 0)
			return kinds[i].look(sysfs, directory, node);
	return look_by_name(sysfs, directory, node);
}
