/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/capture.h"

#include "drivers/units.h"

static json_t *time_json(int64_t utc_ns)
{
	char utc[UNITS_UTC_LEN];

	return utc_ns ? json_string(units_format_utc(utc, utc_ns)) : json_null();
}

json_t *capture_json(const struct packet_counts *counts)
{
	json_t *left_out = json_object();

	for (int fate = PACKET_FILTERED; fate < PACKET_FATE_COUNT; fate++)
		json_object_set_new(left_out, packet_fate_key((enum packet_fate)fate),
				    json_integer((json_int_t)counts->packets[fate]));
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "packets",
			 (json_int_t)packet_count(counts), "datagrams",
			 (json_int_t)counts->packets[PACKET_DATAGRAM], "payload_bytes",
			 (json_int_t)counts->payload_bytes, "fragments",
			 (json_int_t)counts->packets[PACKET_FRAGMENT], "incomplete_datagrams",
			 (json_int_t)counts->fragments.incomplete_count, "incomplete_fragments",
			 (json_int_t)counts->fragments.incomplete_fragments, "overlapping_fragments",
			 (json_int_t)counts->fragments.overlapping_fragments, "first_utc",
			 time_json(counts->first_utc_ns), "last_utc",
			 time_json(counts->last_utc_ns), "left_out", left_out);
}
