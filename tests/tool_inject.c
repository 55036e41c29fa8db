/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_inject - the packets of a savefile, out of an Ethernet interface
 *
 *   tool_inject [-v VLAN]... [-c COUNT] INTERFACE FILE
 *
 *   -v VLAN   with the tag of this VLAN; given twice: with two tags, the first one in front
 *   -c N      the file so many times
 *
 * Prints how many packets were sent.
 */
#include <arpa/inet.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 64
#define ADDRESSES_BYTES 12
#define TAG_BYTES 4
#define TAGS_MAX 2
#define PACKET_MAX 65536

struct tags {
	unsigned count;
	uint16_t ids[TAGS_MAX];
};

static void fail(const char *what)
{
	fprintf(stderr, "tool_inject: %s\n", what);
	exit(EXIT_FAILURE);
}

/* Return: its length with the tags. */
static size_t put_tags(unsigned char *to, const struct tags *tags, const unsigned char *packet,
		       size_t len)
{
	size_t at = ADDRESSES_BYTES;

	memcpy(to, packet, ADDRESSES_BYTES);
	for (unsigned i = 0; i < tags->count; i++, at += TAG_BYTES) {
		const uint16_t tag[2] = { htons(i + 1 < tags->count ? 0x88a8 : 0x8100),
					  htons(tags->ids[i]) };

		memcpy(to + at, tag, TAG_BYTES);
	}
	memcpy(to + at, packet + ADDRESSES_BYTES, len - ADDRESSES_BYTES);
	return at + len - ADDRESSES_BYTES;
}

static unsigned long send_file(pcap_t *interface, const char *path, const struct tags *tags)
{
	static unsigned char tagged[PACKET_MAX + TAGS_MAX * TAG_BYTES];
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *file = pcap_open_offline(path, error);
	struct pcap_pkthdr *header;
	const unsigned char *data;
	unsigned long count = 0;

	if (!file)
		fail(error);
	while (pcap_next_ex(file, &header, &data) == 1) {
		if (header->caplen < ADDRESSES_BYTES || header->caplen > PACKET_MAX)
			continue;
		if (pcap_inject(interface, tagged, put_tags(tagged, tags, data, header->caplen)) < 0)
			fail(pcap_geterr(interface));
		count++;
	}
	pcap_close(file);
	return count;
}

int main(int argc, char **argv)
{
	char error[PCAP_ERRBUF_SIZE];
	unsigned long count = 1, sent = 0;
	struct tags tags = { 0 };
	pcap_t *interface;
	int option;

	while ((option = getopt(argc, argv, "v:c:")) != -1) {
		if (option == 'v' && tags.count < TAGS_MAX)
			tags.ids[tags.count++] = (uint16_t)strtoul(optarg, NULL, 10);
		else if (option == 'c')
			count = strtoul(optarg, NULL, 10);
		else
			return EXIT_USAGE;
	}
	if (optind + 2 != argc)
		return EXIT_USAGE;
	interface = pcap_open_live(argv[optind], PACKET_MAX, 0, 1, error);
	if (!interface)
		fail(error);
	for (; count > 0; count--)
		sent += send_file(interface, argv[optind + 1], &tags);
	pcap_close(interface);
	printf("%lu\n", sent);
	return EXIT_SUCCESS;
}
