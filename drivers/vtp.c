/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/vtp.h"

#include "drivers/bytes.h"

uint64_t vtp_number(const void *data)
{
	uint64_t number = bytes_le64(data);

	return (uint32_t)number == 0 ? number >> 32 : number;
}
