#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 600
# beside: yes
#
# Disks that fail, one of each kind: full, read-only, broken, gone, slow; errors that only the sync tells; short writes;
# writes that take seconds. The scenes are in tests/faults.sh, all combinations of them in tests/long/faults.sh.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../faults.sh"
fault_disks

fault_error ENOSPC full 1 raw
fault_error ENOSPC full 2 vbs
fault_error EDQUOT full 3 rolled
fault_error EROFS readonly 1 vbs
fault_error EROFS readonly 2 raw
fault_error EIO failed 1 raw
fault_error EIO failed 2 rolled
fault_error EFBIG failed 1 rolled
fault_error ENODEV failed 3 vbs
fault_once EIO 1 vbs
fault_once EIO 2 raw
fault_call rename 2 vbs
fault_call create 1 vbs
fault_gone 1 raw
fault_gone 2 vbs
fault_sync 1 raw
fault_sync 2 vbs
synchronous fault_short 1 raw
synchronous fault_short 2 vbs
synchronous fault_error ENOSPC full 2 rolled
fault_no_direct 1 raw
fault_no_direct 2 vbs
fault_no_allocate 2 rolled
fault_rates vbs
fault_pause 3 1 raw
fault_pause 3 2 vbs
in_two_copies fault_error ENOSPC full 2 vbs
in_two_copies fault_error EDQUOT full 3 vbs
in_two_copies fault_error EROFS readonly 2 vbs
in_two_copies fault_error EIO failed 3 rolled
in_two_copies fault_error EFBIG failed 2 rolled
in_two_copies fault_pause 3 2 vbs
in_two_copies fault_sync 2 vbs
in_two_copies fault_gone 3 vbs
in_two_copies synchronous fault_short 2 vbs
(rig_need loop mkfs.xfs xfs_io) >/dev/null || rig_skip "all but the disk that shuts itself down: it needs root, loop devices and xfs"
fault_shutdown 1 vbs
fault_shutdown 2 vbs
