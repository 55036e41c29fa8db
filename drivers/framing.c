/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/framing.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "drivers/device_name.h"
#include "drivers/endpoint.h"
#include "drivers/psn.h"
#include "drivers/units.h"

#define MAC_LEN 17 /* as it is written */
#define BUFFER_MAX (UINT64_C(1) << 30)
#define DATAGRAM_MAX 65527 /* over IPv6; IPv4 takes 20 bytes less */

void framing_init(struct destination *destination, struct framing *framing,
		  const struct destination_config *config)
{
	*framing = (struct framing){ .is_whole = config->gives_packets, .config.is_ethernet = true };
	destination->takes = DESTINATION_PACKETS;
	destination->psn = PSN_NONE;
}

/* ---- details ------------------------------------------------------------------------------------- */

int framing_detail_psn(struct destination *destination, const char *value)
{
	if (psn_kind_of(value, &destination->psn) && psn_can_put(destination->psn))
		return 0;
	return destination_fail(destination, EINVAL, "psn=%s: expected " PSN_PUT_NAMES, value);
}

int framing_detail_frame(struct destination *destination, const char *key, const char *value)
{
	const struct device_voice voice = destination_voice(destination);
	uint64_t bytes;
	int ret = device_detail_bytes(&voice, key, value, &bytes);

	if (ret < 0)
		return ret;
	if (bytes == 0 || bytes > DATAGRAM_MAX)
		return destination_fail(destination, ERANGE, "%s=%s: a datagram has 1 to %d bytes",
					key, value, DATAGRAM_MAX);
	destination->frame_bytes = (size_t)bytes;
	return 0;
}

int framing_detail_buffer(struct destination *destination, const char *value, uint64_t *bytes)
{
	const struct device_voice voice = destination_voice(destination);
	int ret = device_detail_bytes(&voice, "buffer", value, bytes);

	if (ret == 0 && (*bytes == 0 || *bytes > BUFFER_MAX))
		ret = destination_fail(destination, ERANGE, "buffer=%s: expected 1 byte to 1 GiB",
				       value);
	return ret;
}

void framing_set_buffer(struct destination *destination, int fd, uint64_t bytes)
{
	int wanted = (int)bytes, granted = 0;
	socklen_t len = sizeof(granted);
	char asked[UNITS_TEXT_LEN], got[UNITS_TEXT_LEN];

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof(wanted)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted));
	getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &granted, &len);
	/* the kernel tells the double of what it was asked for */
	if ((uint64_t)granted / 2 < bytes && bytes != FRAMING_BUFFER_DEFAULT)
		destination_note(destination,
				 "the kernel gives a buffer of %s, not %s: net.core.wmem_max",
				 units_format_size(got, (uint64_t)granted / 2),
				 units_format_size(asked, bytes));
}

static int take_address(struct destination *destination, const char *key, const char *value,
			struct sockaddr_storage *address, bool *is_given)
{
	*is_given = endpoint_read(value, address);
	return *is_given ?
		       0 :
		       destination_fail(destination, EINVAL,
					"%s=%s: expected ADDR:PORT in numbers, of IPv6 [ADDR]:PORT",
					key, value);
}

static int take_mac(struct destination *destination, const char *key, const char *value,
		    unsigned char *mac, bool *is_given)
{
	*is_given = strspn(value, "0123456789abcdefABCDEF:") == MAC_LEN && value[MAC_LEN] == '\0' &&
		    sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx", &mac[0], &mac[1], &mac[2],
			   &mac[3], &mac[4], &mac[5]) == HEADERS_MAC_BYTES;
	return *is_given ?
		       0 :
		       destination_fail(destination, EINVAL,
					"%s=%s: expected an address of Ethernet like 02:00:00:00:00:01",
					key, value);
}

int framing_detail(struct destination *destination, struct framing *framing, const char *key,
		   const char *value)
{
	struct headers_config *config = &framing->config;

	if (framing->is_whole)
		return destination_fail(
			destination, EINVAL,
			"%s= is for datagrams, and what is played are whole packets: they go out as they are",
			key);
	if (strcmp(key, "psn") == 0)
		return framing_detail_psn(destination, value);
	if (strcmp(key, "frame") == 0)
		return framing_detail_frame(destination, key, value);
	if (strcmp(key, "to") == 0)
		return take_address(destination, key, value, &config->to, &framing->has_to);
	if (strcmp(key, "from") == 0)
		return take_address(destination, key, value, &config->from, &framing->has_from);
	if (strcmp(key, "mac") == 0)
		return take_mac(destination, key, value, config->to_mac, &framing->has_mac);
	return take_mac(destination, key, value, config->from_mac, &framing->has_from_mac);
}

/* ---- headers ------------------------------------------------------------------------------------- */

int framing_begin(struct destination *destination, struct framing *framing)
{
	struct headers_config *config = &framing->config;

	if (framing->is_whole)
		return 0;
	if (config->to.ss_family != config->from.ss_family)
		return destination_fail(destination, EINVAL,
					"of to= and from= one is an address of IPv4, the other of IPv6");
	if (endpoint_port(&config->to) == 0)
		return destination_fail(destination, EINVAL, "to=: a port is missing");
	if (endpoint_port(&config->from) == 0)
		endpoint_set_port(&config->from, endpoint_port(&config->to));
	headers_init(&framing->headers, config);
	return 0;
}

unsigned framing_unit_parts(const struct destination_unit *unit, struct iovec *pieces)
{
	unsigned count = 0;

	if (unit->prefix_bytes)
		pieces[count++] = (struct iovec){ .iov_base = (void *)unit->prefix,
						  .iov_len = unit->prefix_bytes };
	for (unsigned i = 0; i < unit->part_count; i++)
		pieces[count++] = unit->parts[i];
	return count;
}

int framing_put(struct destination *destination, struct framing *framing,
		const struct destination_unit *unit, unsigned char *headers, struct iovec *pieces,
		size_t *bytes)
{
	unsigned count;

	*bytes = unit->prefix_bytes + unit->bytes;
	if (framing->is_whole)
		return (int)framing_unit_parts(unit, pieces);
	if (*bytes > headers_payload_max(&framing->headers))
		return destination_fail(
			destination, EMSGSIZE,
			"a datagram of %zu bytes is longer than UDP can say: a smaller frame=", *bytes);
	count = framing_unit_parts(unit, pieces + 1);
	headers_put(&framing->headers, pieces + 1, count, *bytes, headers);
	pieces[0] = (struct iovec){ headers, framing->headers.count };
	*bytes += framing->headers.count;
	return (int)count + 1;
}
