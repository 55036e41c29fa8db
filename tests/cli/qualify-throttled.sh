#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
# san: skip
#
# vsib-qualify on real file systems whose disks the block layer slows down: 8 MiB/s fails at 128 Mbit/s and 32 MiB/s
# passes, each measured within 10 % although the page cache takes a GB/s; a disk that falls from 64 to 8 MiB/s after
# 5 s fails with the second of it; a stall of 3 s is measured; two disks behind one throttle are found to share it; buffered
# writes are judged with their sync; and what --destroy refuses and does. They run beside each other: none needs more
# than its throttle lets through, but the one that passes needs a minute.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../expect.sh"
. "${0%/*}/../qualify.sh"
rig_need loop throttle space:6000
MIB=1048576
for disk in slow good cliff stall; do
	rig_disk $disk 1200
done
rig_disk under 1400
rig_throttle slow $((8 * MIB))
rig_throttle good $((32 * MIB))
rig_throttle cliff $((64 * MIB))
rig_throttle stall $((64 * MIB))
quiet_machine

# ---- one passes, which takes a minute
trial good 0 -r 128 -H 20s --ring 64Mi --phase full --phase paced --phase read-back --quick --time 20s "$RIG/good"

# ---- too slow: overflows
trial slow 2 -r 128 -H 60s --ring 32Mi --phase full --phase paced --quick --time 6s "$RIG/slow"

# ---- a cliff that the ring hides until the end
trial cliff 2 -r 128 -H 60s --ring 256Mi --phase paced --time 18s "$RIG/cliff"
await cliff paced
sleep 5
rig_throttle cliff $((8 * MIB))

# ---- a stall
trial stall '0 1 3' -r 64 -H 10s --ring 64Mi --block 256Ki --phase paced --time 12s "$RIG/stall"
await stall paced
sleep 4
stall_s=$EPOCHREALTIME
rig_throttle stall 1
sleep 3
rig_throttle stall $((64 * MIB))
stall_s=$(awk "BEGIN { print $EPOCHREALTIME - $stall_s }")

settle slow
is verdict.result FAIL
has_reason OVERFLOW
near $((8 * MIB * 8)) 10 "$(value disks.0.full.rate_bps)" "full speed"
near $((8 * MIB * 8)) 10 "$(value verdict.capability_bps)" capability

settle cliff
is verdict.result FAIL
is ring.overflow_bytes 0
is_more verdict.cliffs.0.at_s 4
is_less verdict.cliffs.0.at_s 6.5
rig_throttle cliff 0

settle stall
is_more verdict.stalls.worst_s "$(awk "BEGIN { print $stall_s - 0.2 }")"
is_less verdict.stalls.worst_s "$(awk "BEGIN { print $stall_s + 0.2 }")"
near "$(awk "BEGIN { print $stall_s * 8e6 }")" 10 "$(value verdict.q_bytes)" "what the ring held in that stall"
near "$(awk "BEGIN { print $stall_s * 8e6 }")" 10 "$(value verdict.stalls.ring_need_bytes)" "the ring that stall needs"
rig_throttle stall 0

# ---- all of a disk, but for the reserve, and all of it read again
qualify 3 -r 512 -H 10s --ring 16Mi --whole-disk --phase full --phase read-back "$RIG/stall"
is disks.0.read_back.wrong_bytes 0
is disks.0.read_back.bytes "$(value disks.0.full.written_bytes)"
is_more disks.0.read_back.bytes $((1050 * 1000000))
empty "$RIG/stall"

# ---- through the page cache: what counts is what is on the disk
trial buffered 2 -r 128 -H 60s --ring 32Mi --io buffered --phase paced --time 6s "$RIG/slow"

# ---- two disks in one
end_two() {
	umount "$RIG/left" "$RIG/right"
	losetup -d "${rig_device[left]}" "${rig_device[right]}"
}
for disk in left right; do
	truncate -s 300M "$RIG/under/$disk.img"
	mkdir "$RIG/$disk"
	rig_device[$disk]=$(losetup --find --show --direct-io=on "$RIG/under/$disk.img") || rig_fail "no loop device for $disk"
	mkfs.ext4 -q -F -m 0 -E lazy_itable_init=0 -O ^has_journal "${rig_device[$disk]}" && mount -o noatime "${rig_device[$disk]}" "$RIG/$disk" || rig_fail "$disk"
done
rig_at_exit+=("end_two 2>/dev/null")
sync -f "$RIG/left" "$RIG/right" "$RIG/under"
rig_throttle under $((24 * MIB))
trial shared '1 2 3' -r 32 -H 10s --ring 32Mi --quick --phase together --time 5s "$RIG/left" "$RIG/right"
settle shared
has_reason SHARED_BUS
is_more verdict.eta 0.35
is_less verdict.eta 0.65
[ -n "$(value verdict.shared_node)" ] || rig_fail "the device they share is not named"

settle buffered
is verdict.result FAIL
is disks.0.io buffered
near $((8 * MIB * 8)) 10 "$(value runs.paced.rate_bps)" "with the sync"

# ---- a device: refused with a file system on it, read without --destroy, written to with it
device=${rig_device[stall]}
umount "$RIG/stall"
expect 77 "$BIN/vsib-qualify" -r 64 -H 10s --destroy --device-serial "$RIG/.image/stall" "$device"
says ext4
expect 77 "$BIN/vsib-qualify" -r 64 -H 10s --destroy --device-serial another "$device"
truncate -s 300M "$RIG/.image/bare"
bare=$(losetup --find --show --direct-io=on "$RIG/.image/bare") || rig_fail "no loop device"
head -c 1048576 "$RIG/.image/bare" | cmp -s - <(head -c 1048576 /dev/zero) || rig_fail "not bare"
qualify 3 -r 64 -H 10s --ring 16Mi --quick "$bare"
is_more disks.0.read.sequential_bps 1000000
cmp -s <(head -c 4194304 "$RIG/.image/bare") <(head -c 4194304 /dev/zero) || rig_fail "it was written to without --destroy"
qualify '2 3' -r 64 -H 10s --ring 16Mi --time 3s --phase paced --phase read-back --destroy --device-serial "$RIG/.image/bare" "$bare"
is disks.0.read_back.wrong_bytes 0
is_more disks.0.read_back.bytes 1000000
is scratch.0.removed false
said 'what was there is gone'
! cmp -s <(head -c 4194304 "$RIG/.image/bare") <(head -c 4194304 /dev/zero) || rig_fail "nothing was written"

settle good
is verdict.result PASS
near $((32 * MIB * 8)) 10 "$(value disks.0.full.rate_bps)" "full speed"
near $((32 * MIB * 8)) 10 "$(value verdict.capability_bps)" capability
is disks.0.read_back.wrong_bytes 0
empty "$RIG/good" "$RIG/slow" "$RIG/cliff" "$RIG/left" "$RIG/right"
