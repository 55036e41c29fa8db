#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 3600
#
# Every fault of tests/faults.sh with one, two and three disks in every layout, and in two copies where there are two
# disks or more. MATRIX=copies: only these.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../faults.sh"
fault_disks

# what every number of disks has in common
all_faults() {
	local errno state
	for errno in ENOSPC:full EDQUOT:full EROFS:readonly EIO:failed EFBIG:failed ENODEV:failed; do
		state=${errno#*:}
		fault_error ${errno%:*} "$state" "$@"
	done
	fault_once EIO "$@"
	fault_gone "$@"
	fault_sync "$@"
	synchronous fault_short "$@"
	synchronous fault_error ENOSPC full "$@"
	[ "$2" = mark6 ] || fault_no_direct "$@" # which does not ask for it
	fault_no_allocate "$@"
	fault_pause 3 "$@"
	(rig_need loop mkfs.xfs xfs_io) >/dev/null && fault_shutdown "$@"
}

for layout in raw rolled vbs; do
	for disks in 2 3; do
		in_two_copies all_faults $disks $layout
		for call in create rename truncate fsyncdir; do
			in_two_copies fault_call $call $disks $layout
		done
	done
done
[ "${MATRIX-}" != copies ] || exit 0

for layout in raw rolled vbs mark6; do
	for disks in 1 2 3; do
		all_faults $disks $layout
	done
	fault_rates $layout
	fault_overflow 4 $layout
done
# calls that only files with an end see more than once
for call in create rename truncate fsyncdir; do
	for disks in 1 2 3; do
		fault_call $call $disks vbs
		fault_call $call $disks rolled
	done
done
for call in fsync rename truncate; do
	fault_unfinished $call rolled
	fault_unfinished $call vbs
done
