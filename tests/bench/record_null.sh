#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What the ring and its reader cost: /dev/zero -> ring of 256 MiB -> nothing, beside programs that do
# the same without a ring (dd) and with one (mbuffer).
set -u
. "${0%/*}/../measure.sh"
# Long enough that start and end, told apart below, do not hide what a byte costs; mbuffer is slower by far.
bytes=$((256 << 30))
runs=${RUNS:-5}
# mbuffer stops when its output is full; it has read up to its buffer more, which counts for it.
mbuffer_input=$((8 << 30))
mbuffer_bytes=$((mbuffer_input + (256 << 20)))
has_peer mbuffer mbuffer && mbuffer=yes || mbuffer=

echo "/dev/zero -> ring -> nothing: $((bytes >> 30)) GiB a run, median of $runs"
for ((run = 0; run < runs; run++)); do
	measure 'vsib-record 256Mi/4Mi' $bytes "$BIN/vsib-record" -s dev:/dev/zero -n $bytes -o null: --ring 256Mi --block 4Mi
	measure 'vsib-record 256Mi/1Mi' $bytes "$BIN/vsib-record" -s dev:/dev/zero -n $bytes -o null: --ring 256Mi --block 1Mi
	# The ring is made and touched once, however long the recording: told apart, spread over this one's bytes.
	measure '  of which start and end' $bytes "$BIN/vsib-record" -s dev:/dev/zero -n 4Mi -o null: --ring 256Mi --block 4Mi
	measure 'dd bs=1M' $bytes dd if=/dev/zero of=/dev/null bs=1M count=$((bytes >> 20))
	[ -z "$mbuffer" ] || MEASURE_STATUS='0 1' measure 'mbuffer -m 256M -s 1M' $mbuffer_bytes \
		mbuffer -q -i /dev/zero -o /dev/null -m 256M -s 1M -D "${mbuffer_input}b"
done
for name in 'vsib-record 256Mi/4Mi' 'vsib-record 256Mi/1Mi' 'dd bs=1M' ${mbuffer:+'mbuffer -m 256M -s 1M'}; do
	show "$name"
done
show_cpu '  of which start and end'
compare 'vsib-record 256Mi/4Mi' 'dd bs=1M' cpu '<= 1.3'
compare 'vsib-record 256Mi/4Mi' 'mbuffer -m 256M -s 1M' cpu '<= 0.75'
