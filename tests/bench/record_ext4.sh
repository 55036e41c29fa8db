#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What it costs until the bytes are on a disk: /dev/zero -> ring -> one file with direct I/O, final sync
# included, beside dd and mbuffer that write past the page cache too. BENCH_DIR names the
# disk's folder (build/bench); a folder of our own is made in it.
set -u
. "${0%/*}/../measure.sh"
bytes=$((12 << 30))
runs=${RUNS:-5}
measure_folder $bytes
has_peer mbuffer mbuffer && mbuffer=yes || mbuffer=

clean() {
	rm -rf "${folder:?}"/*
	sync -f "$folder"
}

record() { # NAME OPTION...
	local name=$1
	shift
	clean
	measure "$name" $bytes "$BIN/vsib-record" -s dev:/dev/zero -n $bytes -o "$folder" --name bench --layout raw \
		--ring 64Mi --allow-same-device "$@"
}

echo "/dev/zero -> ring -> $fs, direct I/O, synced: $((bytes >> 30)) GiB a run, median of $runs"
for ((run = 0; run < runs; run++)); do
	# The ring is made and touched once, however long the recording: told apart, spread over this one's bytes.
	# First, so that none of the others has to wait for memory that this machine has not touched for long.
	record '  of which start and end' --bytes 4Mi
	record 'vsib-record'
	record 'vsib-record, no checksums' --checksum=none
	clean
	measure 'dd bs=4M oflag=direct' $bytes dd if=/dev/zero of="$folder/bench" bs=4M count=$((bytes >> 22)) oflag=direct conv=fsync
	clean
	[ -z "$mbuffer" ] || MEASURE_STATUS='0 1' measure 'mbuffer -m 64M -s 4M' $bytes \
		mbuffer -q -f -i /dev/zero -o "$folder/bench" -m 64M -s 4M -D "${bytes}b"
done
for name in vsib-record 'vsib-record, no checksums' 'dd bs=4M oflag=direct' ${mbuffer:+'mbuffer -m 64M -s 4M'}; do
	show "$name"
done
show_cpu '  of which start and end'
compare vsib-record 'dd bs=4M oflag=direct' cpu '<= 1.2'
compare vsib-record 'mbuffer -m 64M -s 4M' cpu '<= 0.6'
compare vsib-record 'dd bs=4M oflag=direct' rate '>= 1'
