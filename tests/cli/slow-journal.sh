#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# san: skip (a library is preloaded)
#
# A journal that takes its time to sync: the recording is whole, the disks are good, and the last line is there.
set -eu
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
mkdir "$RIG/a" "$RIG/b"
cc=${CC:-gcc}
$cc -D_GNU_SOURCE -shared -fPIC -O1 -o "$RIG/slow.so" "${0%/*}/../shim/slow_journal.c" -ldl

for targets in "-o $RIG/a" "-o $RIG/a -o $RIG/b"; do
	name=slow_${#targets}
	# shellcheck disable=SC2086 # several words
	LD_PRELOAD=$RIG/slow.so record 0 -s sim: -n 8M $targets $same --name "$name" --ring 4Mi --block 256Ki
	is outcome complete
	is disks.0.state ok
	# shellcheck disable=SC2086
	audit "$name" ${targets//-o/}
	tail -n 1 "$RIG"/a/"$name"*.jsonl "$RIG"/a/"$name"/*.jsonl 2>/dev/null | grep -q '"type":"end"' ||
		rig_fail "$name: the journal has no end"
done
