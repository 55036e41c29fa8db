#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What looking at every frame of a file costs: vsib-check on VDIF in the page cache, beside a program that only
# reads the same file in pieces of the same size.
set -u
. "${0%/*}/../measure.sh"
frames=$((1 << 18))
bytes=$((frames * 8224))
runs=${RUNS:-5}
measure_folder $bytes
file=$folder/bench.vdif

"$TOOLS/tool_vdif" $frames >"$file" || exit 1
cat "$file" >/dev/null
echo "VDIF in the page cache: $((bytes >> 20)) MiB a run, median of $runs"
for ((run = 0; run < runs; run++)); do
	measure 'vsib-check' $bytes "$BIN/vsib-check" -q "$file"
	measure 'dd bs=1M' $bytes dd if="$file" of=/dev/null bs=1M
done
for name in vsib-check 'dd bs=1M'; do
	show "$name"
done
compare vsib-check 'dd bs=1M' cpu '<= 1.5'
echo "  goal: 3 GB/s a processor, 0.333 CPU s/GB"
