/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/judge.h"

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = { "PASS", "MARGINAL", "FAIL", "INCONCLUSIVE" };

	return names[verdict];
}
