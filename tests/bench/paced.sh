#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A real recording's load: 512 Mbit/s for a minute with checksums, and how soon a large ring is ready.
# BENCH_DIR names the folder that is recorded to (build/bench).
set -u
. "${0%/*}/../measure.sh"
seconds=${SECONDS_PACED:-60}
measure_folder $((seconds * 64000000))
report=$folder/report.json

record() { # NAME SECONDS OPTION...
	local name=$1 duration=$2
	shift 2
	# 1: something was lost, which is told below.
	MEASURE_STATUS='0 1' measure "$name" $((duration * 64000000)) "$BIN/vsib-record" -s sim: -r 512 -d "$duration" \
		--allow-same-device --json "$report" "$@"
}

lost() {
	echo "$(json_number overflow_bytes "$report") bytes lost by overflow, $(json_number lost_bytes "$report") by the source"
}

echo "512 Mbit/s from the simulator to $fs, $seconds s, checksums on"
record paced "$seconds" -o "$folder" --name paced
printf '  CPU %.2f %% of one core (goal: <= 4 %%); %s; ring: at most %s of %s bytes\n' \
	"$(calculate "100 * $(cost cpu_s) / $(cost wall_s)")" "$(lost)" \
	"$(json_number high_water_bytes "$report")" "$(json_number capacity_bytes "$report")"
rm -rf "$folder"/paced*

echo "the same to nothing, 10 s: what source, ring and threads cost without the disk"
record null 10 -o null:
printf '  CPU %.2f %% of one core\n' "$(calculate "100 * $(cost cpu_s) / $(cost wall_s)")"

# What of it is the memory's: a machine, or its host, takes much longer for memory that it has not used for long.
touch() {
	measure touch $((4 << 30)) "$TOOLS/tool_touch" $((4 << 30))
	printf '  bare: 4 GiB mapped and touched by one thread in %.2f s\n' "$(cost wall_s)"
}

echo "start-up with a ring of 4 GiB, 2 s to nothing"
for _ in 1 2; do
	touch
	record start 2 -o null: --ring 4Gi
	printf '  armed after %.2f s (goal: < 3 s), ended %.2f s after the last sample; %s (goal: 0)\n' \
		"$(json_number startup_s "$report")" \
		"$(calculate "$(cost wall_s) - $(json_number startup_s "$report") - $(json_number duration_s "$report")")" "$(lost)"
done
