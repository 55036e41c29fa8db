/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture.h - what became of the packets of a capture, for reports
 *
 * Threads: pure functions.
 */
#ifndef VSIB_RECORDER_CAPTURE_H
#define VSIB_RECORDER_CAPTURE_H

#include <jansson.h>

#include "drivers/packet.h"

/** capture_json() - for json_decref(): all counts, whether 0 or not; NULL: no memory */
json_t *capture_json(const struct packet_counts *counts);

#endif
