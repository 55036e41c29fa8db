#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 600
#
# A simulator's recording of 4 GiB is played over a cable (a veth pair) to a recorder at its other end, at the highest rate
# of a ladder at which nothing is lost; what is recorded there, gathered, is the original, byte for byte.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../network.sh"
. "${0%/*}/../replay.sh"
rig_need space:4500
# the original lies in memory, so that no more than it is on a disk
memory=$(mktemp -d /dev/shm/vsib-test.XXXXXX) || rig_skip "needs /dev/shm"
rig_at_exit+=("rm -rf '$memory'")
[ "$(df --output=avail -m "$memory" | tail -n 1)" -ge 5000 ] || rig_skip "needs 5000 MiB free in /dev/shm"
veth_need
veth_up 9000 2>"$RIG/veth" || rig_skip "needs veth: $(cat "$RIG/veth")"
size=$((4 << 30)) frame=8192 # whole frames
record 0 -s sim:seed=11 -n $size --name original -o "$memory" "$same" --live none

# over RATE [OPTION...]: from the far end; the recorder's report is there. Return: something was lost
over() {
	local rate=$1 status=0
	shift
	listen "udp:192.0.2.1:$port,psn=le64,frame=$frame,rcvbuf=64Mi" --ring 256Mi
	timeout 400 "${far[@]}" "$BIN/vsib-replay" "$memory/original" "$@" -r "$rate" -t "udp:192.0.2.1:$port,psn=le64,frame=$frame" \
		--live none --json "$played" 2>"$words" || status=$?
	ended '0 1' $status "playing at $rate Mbit/s"
	played_account
	heard '0 1'
	[ "$(value source.packets.lost)" -eq 0 ] && [ "$(value source.packets.kernel_drops)" -eq 0 ] &&
		[ "$(value written_bytes)" -eq "$(played_value sent_bytes)" ]
}

best=0
for rate in 1000 2000 4000 6000 8000 10000; do
	over $rate --stop 1Gi || break
	best=$rate
	rm -f "$disk/$name".*
done
rm -f "$disk/$name".*
[ $best -gt 0 ] || rig_fail "not even 1 Gbit/s arrives whole"
# what is held for a gigabyte may be too much for four
until over $best; do
	rm -f "$disk/$name".*
	best=$((best - best / 4))
	[ $best -ge 500 ] || rig_fail "4 GiB don't arrive whole at $best Mbit/s"
done
echo "highest rate without loss: $best Mbit/s"
"$BIN/vsib-gather" "$disk/$name" -o - 2>"$words" | cmp - "$memory/original.raw" || rig_fail "what arrived is not what was recorded"
