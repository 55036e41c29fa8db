/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/interface.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int interface_detail(struct source *source, const struct source_detail *detail,
		     struct interface *interface, bool *is_mine)
{
	*is_mine = true;
	if (strcmp(detail->key, "filter") == 0) {
		strcpy(interface->filter, detail->value);
		return 0;
	}
	*is_mine = strcmp(detail->key, "promiscuous") == 0;
	if (*is_mine && detail->value[0])
		return source_fail(source, EINVAL, "promiscuous has no value");
	interface->is_promiscuous |= *is_mine;
	return 0;
}

int interface_find(struct source *source, struct interface *interface)
{
	interface->index = (int)if_nametoindex(source->path);
	if (interface->index == 0)
		return source_fail(source, ENODEV,
				   "there is no such interface; \"ip link\" shows them");
	return 0;
}

static int errno_of(int pcap_error)
{
	switch (pcap_error) {
	case PCAP_ERROR_NO_SUCH_DEVICE:
		return ENODEV;
	case PCAP_ERROR_PERM_DENIED:
	case PCAP_ERROR_PROMISC_PERM_DENIED:
		return EACCES;
	case PCAP_ERROR_IFACE_NOT_UP:
		return ENETDOWN;
	default:
		return EIO;
	}
}

int interface_activate(struct source *source, pcap_t *pcap)
{
	int ret = pcap_activate(pcap);
	const char *what;

	if (ret >= 0)
		return 0;
	if (errno_of(ret) == EACCES)
		return source_fail(source, EACCES,
				   "capturing packets is not allowed: it needs root or CAP_NET_RAW");
	what = pcap_geterr(pcap);
	return source_fail(source, errno_of(ret), "cannot open: %s",
			   what[0] ? what : pcap_statustostr(ret));
}

int interface_compile(struct source *source, const struct interface *interface, pcap_t *pcap,
		      struct bpf_program *program)
{
	if (pcap_compile(pcap, program, interface->filter, 1, PCAP_NETMASK_UNKNOWN) < 0)
		return source_fail(source, EINVAL, "filter \"%s\": %s", interface->filter,
				   pcap_geterr(pcap));
	return 0;
}

void interface_take_once(const struct source *source, int fd)
{
	static const int yes = 1;

	if (strcmp(source->path, "lo") == 0 || strcmp(source->path, "any") == 0)
		setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes));
}

uint64_t interface_dropped(int fd)
{
	struct tpacket_stats_v3 stats;
	socklen_t len = sizeof(stats);

	/* each reading begins a new count, long before one of 32 bits is over */
	return getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) < 0 ? 0 : stats.tp_drops;
}

static bool is_up(int fd, const char *name)
{
	struct ifreq request = { 0 };

	strcpy(request.ifr_name, name);
	return ioctl(fd, SIOCGIFFLAGS, &request) < 0 || (request.ifr_flags & IFF_UP);
}

int interface_look(struct source *source, struct interface *interface, int fd)
{
	char name[IF_NAMESIZE];
	socklen_t len = sizeof(int);
	int error = 0;
	bool is_down;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (interface->index == 0)
		return 0;
	if (!if_indextoname((unsigned)interface->index, name))
		return source_fail(source, ENODEV, "the interface is gone");
	if (error && error != ENETDOWN)
		return source_fail(source, error, "cannot receive: %s", strerror(error));
	is_down = !is_up(fd, name);
	if (!interface->is_down && (is_down || error))
		source_note(source, "the interface is down: what comes when it is up again is taken");
	if ((interface->is_down || error) && !is_down)
		source_note(source, "the interface is up again");
	interface->is_down = is_down;
	return 0;
}
