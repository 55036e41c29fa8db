#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# vsib-qualify as a user runs it: what it refuses and how, its phases, short trials of a directory with their reports,
# and that nothing is left behind: not at the end, not when it is interrupted, not when it is killed.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../expect.sh"
. "${0%/*}/../qualify.sh"
rig_need space:1200
disk=$RIG/disk
mkdir "$disk"
quiet_machine
tiny=(-H 10s --ring 16Mi --scratch 64Mi $same)

nobody_runs() {
	! pgrep -f "vsib-qualify.*$RIG" >/dev/null
}

# Nothing of a name, and no space of what has none.
left_nothing() {
	empty "$disk"
	wait_for 5 nobody_runs || rig_fail "a process is left"
}

# ---- what it says of itself, and what it refuses
"$BIN/vsib-qualify" --list-phases >"$output"
for phase in identify environment blocks depth full read alone together paced read-back source interfere rollover replay verdict; do
	grep -qE "^$phase +[a-zA-Z]" "$output" || rig_fail "--list-phases has no $phase"
done
"$BIN/vsib-qualify" --version | grep -q '^vsib-qualify [0-9]' || rig_fail "no version"
expect 64 "$BIN/vsib-qualify"
says "no target given"
expect 64 "$BIN/vsib-qualify" -r fast "$disk"
says "--rate 'fast'"
expect 64 "$BIN/vsib-qualify" --destroy "$disk"
says "--device-serial"
expect 73 "$BIN/vsib-qualify" "${tiny[@]}" "$RIG/nowhere"
says "$RIG/nowhere"
expect 73 "$BIN/vsib-qualify" "${tiny[@]}" --json "$RIG/nowhere/report.json" "$disk"
says "$RIG/nowhere/report.json"
expect 73 "$BIN/vsib-qualify" "${tiny[@]}" --html "$disk" "$disk"
expect 64 "$BIN/vsib-qualify" "${tiny[@]}" --json "$RIG/both" --html "$RIG/both" "$disk"
says "same file"
expect 66 "$BIN/vsib-qualify" "${tiny[@]}" --baseline "$RIG/nowhere.json" "$disk"
echo '{"schema": "another/1"}' >"$RIG/other.json"
expect 78 "$BIN/vsib-qualify" "${tiny[@]}" --baseline "$RIG/other.json" "$disk"
expect 78 "$BIN/vsib-qualify" "${tiny[@]}" --ring 900Ti "$disk"
says "a ring of 943718400 MiB doesn't fit"
left_nothing

# ---- a short one: too short for a verdict but INCONCLUSIVE, and all else is there
qualify 3 -r 64 "${tiny[@]}" --time 2s --phase paced --phase read-back --html "$RIG/report.html" "$disk"
is schema vsib-qualify/1
is verdict.result INCONCLUSIVE
is verdict.rate_bps 64000000
is ring.capacity_bytes $((16 << 20))
is ring.overflow_bytes 0
near 16000000 10 "$(value runs.paced.stream_bytes)"
is disks.0.read_back.wrong_bytes 0
is_more disks.0.read_back.bytes 1000000
has_reason SHORT_TEST
said 'INCONCLUSIVE'
said 'phase=paced'
grep -q '</svg>' "$RIG/report.html" || rig_fail "the HTML report has no figure"
! grep -qiE '<script|https?://[^w]' "$RIG/report.html" || rig_fail "the HTML report needs a script or a network"
left_nothing
cp "$report" "$RIG/old.json"

# ---- the report on stdout, a former run beside it; and quiet
status=0
"$BIN/vsib-qualify" -q -r 64 "${tiny[@]}" --time 1s --phase paced --json - --baseline "$RIG/old.json" "$disk" >"$report" 2>"$words" || status=$?
ended 3 $status vsib-qualify -q
is schema vsib-qualify/1
[ "$(wc -l <"$words")" -eq 1 ] || { show_words; rig_fail "-q says more than a line"; }

# ---- the small phases alone
qualify 3 -r 64 "${tiny[@]}" --quick --phase blocks --phase rollover "$disk"
is_more disks.0.blocks.points.# 5
is_more disks.0.rollover.count 0
left_nothing

# ---- interrupted: what was measured is reported
trial interrupted 3 -r 64 "${tiny[@]}" --time 60s --phase paced "$disk"
await interrupted paced
sleep 0.7
kill -INT "$(pgrep -P "${trial_pid[interrupted]}")"
settle interrupted
is interrupted true
is verdict.result INCONCLUSIVE
left_nothing

# ---- killed: the files had no name, and their space comes back
trial killed 137 -r 64 "${tiny[@]}" --time 60s --phase paced "$disk"
await killed paced
sleep 0.7
# shellcheck disable=SC2046 # a list: the parent and its child
kill -KILL $(pgrep -f "vsib-qualify.*$RIG/killed.json")
settle killed
left_nothing

# ---- only its child: that is no verdict
trial shot 3 -r 64 "${tiny[@]}" --time 60s --phase paced "$disk"
await shot paced
kill -KILL "$(pgrep -P "$(pgrep -P "${trial_pid[shot]}")")"
settle shot
said 'the trial was killed by signal 9'
left_nothing
