#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 3600
#
# Every way to be stuck of tests/faults.sh with two and three disks, also in two copies, and with one, in every layout.
# MATRIX=copies: only in two copies.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../faults.sh"
fault_disks

for layout in raw rolled vbs mark6; do
	for disks in 2 3; do
		in_two_copies fault_stuck 8 $disks $layout
		in_two_copies fault_hang $disks $layout
		in_two_copies fault_back $disks $layout
		in_two_copies fault_hang_in fsync $disks $layout
		in_two_copies fault_pause 8 $disks $layout
	done
	in_two_copies fault_stuck_default 60 2 $layout
	in_two_copies synchronous fault_stuck 8 2 $layout
	in_two_copies synchronous fault_hang 2 $layout
	in_two_copies synchronous fault_back 2 $layout
done
for call in create rename truncate fsyncdir; do
	in_two_copies fault_hang_in $call 2 vbs
done
[ "${MATRIX-}" != copies ] || exit 0

for layout in raw rolled vbs; do
	for disks in 2 3; do
		fault_stuck 8 $disks $layout
		fault_hang $disks $layout
		fault_back $disks $layout
		fault_hang_in fsync $disks $layout
	done
	fault_stuck_default 60 2 $layout
	fault_hang_alone $layout
	with_timeout fault_hang_alone $layout
	with_timeout fault_overflow 8 $layout
done
for layout in raw rolled vbs mark6; do
	synchronous fault_stuck 8 2 $layout
	synchronous fault_hang 2 $layout
	synchronous fault_back 2 $layout
	synchronous fault_hang_alone $layout
done
fault_hang_soon 2
fault_hang_soon 3
for call in create rename truncate fsyncdir; do
	fault_hang_in $call 2 vbs
done
