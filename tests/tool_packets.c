/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_packets - the packets of a savefile as libpcap reads them, one a line
 *
 *   tool_packets [-t] SAVEFILE      bytes there, on the wire, and what they are in hexadecimal; with -t their time before
 *
 * Status: 0; 1 the file can't be read to its end; 64 usage.
 */
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

static void print(const struct pcap_pkthdr *header, const unsigned char *data, bool has_times)
{
	/* nanoseconds, as they were asked for */
	if (has_times)
		printf("%lld.%09ld ", (long long)header->ts.tv_sec, (long)header->ts.tv_usec);
	printf("%u %u ", header->caplen, header->len);
	for (unsigned i = 0; i < header->caplen; i++)
		printf("%02x", data[i]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	bool has_times = argc > 1 && strcmp(argv[1], "-t") == 0;
	char error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *header;
	const unsigned char *data;
	pcap_t *pcap;
	int ret;

	if (argc != 2 + has_times) {
		fprintf(stderr, "usage: tool_packets [-t] SAVEFILE\n");
		return EX_USAGE;
	}
	pcap = pcap_open_offline_with_tstamp_precision(argv[argc - 1], PCAP_TSTAMP_PRECISION_NANO,
						       error);
	if (!pcap) {
		fprintf(stderr, "tool_packets: %s\n", error);
		return 1;
	}
	while ((ret = pcap_next_ex(pcap, &header, &data)) == 1)
		print(header, data, has_times);
	if (ret != PCAP_ERROR_BREAK)
		fprintf(stderr, "tool_packets: %s\n", pcap_geterr(pcap));
	pcap_close(pcap);
	return ret == PCAP_ERROR_BREAK && fflush(stdout) == 0 ? 0 : 1;
}
