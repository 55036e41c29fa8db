#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Direct I/O on devices with sectors of 512 and of 4096 bytes: recordings and files whose lengths are no multiple of
# either, or of 512 only, are as long as they should be, byte for byte, and nothing falls back to buffered writes.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
rig_need loop space:200

# odd DISK BYTES OPTION...
odd() {
	local disk=$1 bytes=$2 on_disk
	shift 2
	record 0 --name odd -s sim: -n "$bytes" -o "$RIG/$disk" --ring 4Mi --block 64Ki --live none "$@"
	is disks.0.io direct
	is written_bytes "$bytes"
	on_disk=$(find "$RIG/$disk" -name 'odd.raw' -printf '%s\n' -o -name 'odd.[0-9]*' -printf '%s\n' | sum)
	[ "$on_disk" -eq "$bytes" ] || rig_fail "$disk: files of $on_disk bytes instead of $bytes: $*"
	audit odd "$RIG/$disk"
	gathered_sim "$bytes" odd "$RIG/$disk"
	find "$RIG/$disk" -name 'odd*' -delete
}

for sector in 512 4096; do
	for fs in ext4 xfs; do
		[ $fs = ext4 ] || command -v mkfs.xfs >/dev/null || continue
		disk=$fs$sector
		rig_disk "$disk" $([ $fs = xfs ] && echo 320 || echo 40) $fs --sector-size "$sector"
		for bytes in 1 511 513 4097 3000001 3000832; do
			odd "$disk" $bytes
		done
		odd "$disk" 3000001 --file-size 700001
		odd "$disk" 3000001 --file-size 700416
		odd "$disk" 3000001 --layout vbs --chunk 256Ki
		umount "$RIG/$disk"
	done
done
