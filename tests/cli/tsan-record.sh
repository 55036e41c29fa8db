#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Short recordings in which all threads have something to do at once: several targets, a ring that is always full,
# a disk that fails, signals, somebody who asks. For ThreadSanitizer; in the normal build they are correct, too.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

mkdir "$RIG/one" "$RIG/a" "$RIG/b" "$RIG/c"
three=("$RIG/a" "$RIG/b" "$RIG/c")
to_three=(-o "${three[0]}" -o "${three[1]}" -o "${three[2]}" --chunk 64Ki)
small=(--ring 1Mi --block 16Ki "$same" --live log --log-interval 1s)

record 0 -s sim: -n 6000001 --name vbs "${to_three[@]}" "${small[@]}"
audit vbs "${three[@]}"
gathered_sim 6000001 vbs "${three[@]}"

record 0 -s sim: -n 3000001 --name round --layout raw --stripe round "${to_three[@]}" "${small[@]}"
audit round "${three[@]}"
gathered_sim 3000001 round "${three[@]}"

record 0 -s sim: -n 3000001 --name raw -o "$RIG/one" "${small[@]}"
audit raw "$RIG/one"
gathered_sim 3000001 raw "$RIG/one"

# drops, all the time, and losses of the device
record 1 -s sim:gap=100000@1M -r 1600 -n 40000000 --name loss "${to_three[@]}" "${small[@]}"
audit loss "${three[@]}"
gathered_sim 40000000 loss "${three[@]}"

# asked, stopped, and stopped again
rm -f "$report"
"$BIN/vsib-record" --json "$report" -s sim: -r 80 --on-overflow wait --name signals "${to_three[@]}" "${small[@]}" >"$output" 2>"$words" &
pid=$!
wait_for 20 grep -q ARMED "$words" || rig_fail "not ARMED after 20 s"
for i in 1 2 3 4 5; do
	sleep 0.2
	kill -USR1 $pid
done
kill -TERM $pid
sleep 0.3
kill -TERM $pid 2>/dev/null
status=0
wait $pid || status=$?
ended "0 2" $status "vsib-record with signals"
account
audit signals "${three[@]}"
gathered_sim "$(value stream_bytes)" signals "${three[@]}"

# a disk that fails under way: what is not safe there goes elsewhere
(rig_need loop xfs_io) >/dev/null || { echo "without the disk that fails: no root, loop devices or xfs_io"; exit 0; }
rig_disk dying 64
start=$SECONDS
rm -f "$report"
"$BIN/vsib-record" --json "$report" -s sim: -r 80 --on-overflow wait -n 24000001 --name dying -o "$RIG/dying" -o "$RIG/a" --chunk 64Ki \
	"${small[@]}" >"$output" 2>"$words" &
pid=$!
has_chunks() {
	[ "$(find "$RIG/dying/dying" -name 'dying.????????' 2>/dev/null | wc -l)" -ge 2 ]
}
wait_for 20 has_chunks || rig_fail "no two chunks on the disk after 20 s"
rig_die dying
status=0
wait $pid || status=$?
ended 1 $status "vsib-record with a disk that dies"
account
is outcome degraded
is written_bytes 24000001
umount "$RIG/dying" && mount "${rig_device[dying]}" "$RIG/dying" || rig_fail "cannot mount the disk again"
audit_targets=$RIG/a audit dying "$RIG/dying" "$RIG/a"
gathered_sim 24000001 dying "$RIG/dying" "$RIG/a"
echo "$((SECONDS - start)) s for the disk that dies"
