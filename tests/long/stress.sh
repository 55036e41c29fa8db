#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 1500
#
# The stress tests for minutes instead of seconds, each with many seeds: rings with stuck and failing consumers, recordings with
# random shapes and random faults of their disks. What fails names its seed.
set -eu
seconds=${LONG_SECONDS:-300}

STRESS_SECONDS=$seconds "$TOOLS/stress_ring"
end=$((SECONDS + seconds))
rounds=0
while ((SECONDS < end)); do
	"$TOOLS/stress_session" >"${TMPDIR:-/tmp}/stress.$$" 2>&1 || {
		cat "${TMPDIR:-/tmp}/stress.$$"
		rm -f "${TMPDIR:-/tmp}/stress.$$"
		exit 1
	}
	rounds=$((rounds + 1))
done
rm -f "${TMPDIR:-/tmp}/stress.$$"
echo "$rounds rounds of recordings"
