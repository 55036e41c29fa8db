#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# beside: yes
#
# vsib-qualify on disks that fail: an error in a sweep and one in the paced run are a FAIL with their words; a write or
# a read that does not come back holds up neither the end after a first signal nor the one after a second; and the
# program never leaves a file. Nor is there a PASS when what was written can't be read again, whatever the kernel calls that, when a run
# that was asked for did not happen, or when one of two disks was written through the page cache.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../qualify.sh"
rig_need fuse space:600
rig_fault sick
quiet_machine
tiny=(-r 64 -H 10s --ring 16Mi --scratch 64Mi "$same" --quick)

# seconds_of COMMAND...: how long it takes
seconds_of() {
	local begun=$EPOCHREALTIME
	"$@" || return
	seconds=$(awk "BEGIN { print $EPOCHREALTIME - $begun }")
}

rig_fault_set sick write:EIO@4M
qualify 2 "${tiny[@]}" --phase blocks "$RIG/sick"
has_reason IO_ERROR
said 'blocks: .*[Ii]nput/output error'
rig_fault_set sick reset

rig_fault_set sick write:EIO@4M
qualify 2 "${tiny[@]}" --time 3s --phase paced "$RIG/sick"
has_reason IO_ERROR
rig_fault_set sick reset

# what a bad sector is to the kernel
rig_fault_set sick read:ENODATA@4M
qualify 2 "${tiny[@]}" -H 2s --time 2s --phase paced --phase read-back "$RIG/sick"
has_reason IO_ERROR
said 'read-back: .*No data available'
rig_fault_set sick reset

qualify 3 "${tiny[@]}" -H 2s --time 2s --phase paced --source file:/nowhere "$RIG/sick"
has_reason NOT_RUN
said 'real source did not .*/nowhere'

mkdir "$RIG/well"
rig_fault_set sick direct=write
qualify 3 "${tiny[@]}" -H 2s --time 2s --phase paced "$RIG/well" "$RIG/sick"
has_reason BUFFERED_SHORT
rig_fault_set sick reset

for phase in blocks paced; do
	rig_fault_set sick write:hang@4M
	trial $phase '2 3' "${tiny[@]}" --time 60s --phase $phase "$RIG/sick"
	sleep 1.5
	pkill -INT -P "${trial_pid[$phase]}" -x vsib-qualify
	seconds_of settle $phase
	awk "BEGIN { exit !($seconds < 6) }" || rig_fail "$phase: it took $seconds s to end"
	is interrupted true
	rig_fault_set sick reset
done

# nor does a read that does not come back
rig_fault_set sick read:hang@4M
trial back '2 3' "${tiny[@]}" -H 2s --time 2s --phase paced --phase read-back "$RIG/sick"
for try in {1..400}; do
	grep -qs "phase=read-back" "$RIG/back.words" && break
	sleep 0.02
done
sleep 0.5
pkill -INT -P "${trial_pid[back]}" -x vsib-qualify
seconds_of settle back
awk "BEGIN { exit !($seconds < 6) }" || rig_fail "read-back: it took $seconds s to end"
is interrupted true
rig_fault_set sick reset

rig_fault_set sick write:hang@4M
trial twice 3 "${tiny[@]}" --time 60s --phase paced "$RIG/sick"
sleep 1.5
pkill -INT -P "${trial_pid[twice]}" -x vsib-qualify
sleep 0.3
pkill -INT -P "${trial_pid[twice]}" -x vsib-qualify
words=$RIG/twice.words
seconds_of settle twice
awk "BEGIN { exit !($seconds < 3) }" || rig_fail "the second signal took $seconds s"
rig_fault_set sick reset
sleep 0.5
empty "$RIG/.back/sick"
