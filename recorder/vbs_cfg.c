/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/vbs_cfg.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define MIB_SHIFT 20

uint64_t vbs_cfg_mib(uint64_t chunk_bytes, uint64_t packet_bytes)
{
	uint64_t mib = (chunk_bytes + (UINT64_C(1) << MIB_SHIFT) - 1) >> MIB_SHIFT;

	return (mib << MIB_SHIFT) / packet_bytes * packet_bytes == chunk_bytes ? mib : 0;
}

size_t vbs_cfg_text(char *buf, size_t len, const struct vbs_cfg *cfg)
{
	uint64_t mib = vbs_cfg_mib(cfg->chunk_bytes, cfg->packet_bytes);
	int n = snprintf(buf, len,
			 "packet_size = %" PRIu64 "L;\ncumul = %" PRIu64
			 "L;\ntotal_packets = %" PRIu64 "L;\nfilesize = %" PRIu64 "L;\n",
			 cfg->packet_bytes, cfg->chunk_count, cfg->data_bytes / cfg->packet_bytes,
			 cfg->chunk_bytes);

	assert(n > 0 && (size_t)n < len);
	if (mib)
		n += snprintf(buf + n, len - (size_t)n, "filesizemb = %" PRIu64 ";\n", mib);
	assert((size_t)n < len);
	return (size_t)n;
}
