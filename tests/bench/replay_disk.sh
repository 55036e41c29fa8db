#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# How fast a file of 6 GiB is read, past the page cache: to nothing and to a pipe, beside dd iflag=direct to the same. Then a
# recording on three loop disks, each made as slow as 30 MB/s on purpose, that is read from all of them at once.
# shellcheck disable=SC2154 # report, words ... are of record.sh
set -u
. "${0%/*}/../measure.sh"
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
rig_at_exit+=(measure_undo)
runs=${RUNS:-3}
bytes=$((6 << 30))
measure_folder $bytes
head -c $bytes /dev/zero >"$folder/file" && sync "$folder/file" || exit 1

# A pipe whose other end throws all away, in its own process as dd's would.
drain() {
	"$@" | cat >/dev/null
	return "${PIPESTATUS[0]}"
}
export -f drain
echo "a file of 6 GiB on $fs in $folder"
for ((run = 0; run < runs; run++)); do
	measure 'dd to /dev/null' $bytes dd if="$folder/file" of=/dev/null bs=4M iflag=direct
	measure 'vsib-replay to null:' $bytes "$BIN/vsib-replay" "$folder/file" -t null: --live none -q
	measure 'dd to a pipe' $bytes bash -c 'drain dd if="$1" bs=4M iflag=direct' drain "$folder/file"
	measure 'vsib-replay to a pipe' $bytes bash -c 'drain "$2" "$1" -t - --live none -q' drain "$folder/file" "$BIN/vsib-replay"
done
for name in 'dd to /dev/null' 'vsib-replay to null:' 'dd to a pipe' 'vsib-replay to a pipe'; do
	show "$name"
done
compare 'vsib-replay to null:' 'dd to /dev/null' rate '>= 0.95'
compare 'vsib-replay to a pipe' 'dd to a pipe' rate '>= 0.95'
rm -f "$folder/file"

# ---- three slow disks

(rig_need loop throttle space:2000) || { echo "three disks: not run"; exit 0; }
for disk in a b c; do
	rig_disk $disk 500
done
record 0 -s sim:seed=5 -n 900M --name slow --chunk 4Mi -o "$RIG/a" -o "$RIG/b" -o "$RIG/c" "$same" --live none
for disk in a b c; do
	rig_throttle_reads $disk 30000000
done
for ((run = 0; run < runs; run++)); do
	measure 'three disks of 30 MB/s' 900000000 "$BIN/vsib-replay" "$RIG/a/slow" -t null: --live none -q
	measure 'one of them' 300000000 dd if="$(find "$RIG/b/slow" -name 'slow.????????' | head -n 1)" of=/dev/null bs=4M iflag=direct
done
printf '  three disks of 30 MB/s: %.1f MB/s (goal: >= 85)\n' "$(calculate "$(median_of 'three disks of 30 MB/s' rate) * 1000" %.1f)"
