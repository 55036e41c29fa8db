#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# beside: yes
#
# A short trial of two directories with all that runs at the same time (the recorder's threads, random I/O, the thread
# that takes signals), also for ThreadSanitizer; and one that a signal ends.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../qualify.sh"
rig_need space:1200
mkdir "$RIG/a" "$RIG/b"
quiet_machine
tiny=(-r 128 -H 10s --ring 16Mi --scratch 64Mi "$same" --phase paced)
qualify 3 "${tiny[@]}" --time 1s --source sim: --interfere --repeat 2 "$RIG/a" "$RIG/b"
is runs.paced.was_run true
is runs.source.was_run true
is runs.interfered.was_run true
is runs.repeats.# 1
trial ended 3 "${tiny[@]}" --time 60s "$RIG/a" "$RIG/b"
await ended paced
pkill -INT -P "${trial_pid[ended]}" -x vsib-qualify
settle ended
is interrupted true
empty "$RIG/a" "$RIG/b"
