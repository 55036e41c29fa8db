#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 600
# beside: yes
#
# Writes that do not come back for a long time, or never. Other disks take over what a stuck one holds, and the
# program returns although the kernel still holds the write; a disk that is alone is waited for. The scenes are in
# tests/faults.sh.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../faults.sh"
fault_disks

fault_overflow 4 raw
fault_hang_alone raw
with_timeout fault_overflow 4 vbs
with_timeout fault_hang_alone vbs
fault_stuck 8 2 vbs
fault_stuck 8 3 rolled
fault_hang 2 raw
fault_hang 3 vbs
fault_hang_soon 2
fault_hang_in fsync 2 vbs
fault_back 2 vbs
in_two_copies fault_stuck 8 2 vbs
in_two_copies fault_hang 3 vbs
synchronous fault_stuck 8 2 vbs
synchronous fault_hang 2 vbs
