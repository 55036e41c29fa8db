#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Layout mark6 on disks that fail: nothing is lost, and no block is in the files of two disks. The scenes are in
# tests/faults.sh, all of them with this layout in tests/long/.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../faults.sh"
fault_disks

fault_error EIO failed 3 mark6
fault_error ENOSPC full 1 mark6
fault_sync 2 mark6
synchronous fault_short 2 mark6
