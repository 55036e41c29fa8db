#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Datagrams from one network namespace to another, over a veth pair with an MTU of 9000: the highest rate of a ladder at which
# nothing is lost, and what a byte costs, of udp: -> ring -> nothing beside a bare recvmmsg() loop into the same memory
# again and again. The sender has the other core for itself, as far as the machine has more than one.
# A number of 8 bytes and a frame of 8032 in each datagram; receive buffers of 16 MiB, so that the rate counts and not
# the buffer.
set -u
. "${0%/*}/../measure.sh"
. "${0%/*}/../rig.sh"
. "${0%/*}/../veth.sh"
rig_at_exit+=(measure_undo veth_down)
(rig_need root ip taskset) || { echo "udp: not run"; exit 0; }
runs=${RUNS:-3}
frame=8032 port=46227 seconds=1
ladder='20000 30000 40000 50000 60000 75000 90000 110000 130000 160000'
cpus=$(nproc)
receiver_cpu=0 sender_cpu=$((cpus > 1))
veth_up 9000 2>/dev/null || { echo "udp: not run, no network namespaces here"; exit 0; }

head -c $((frame * 64)) /dev/urandom >"$RIG/frames"
receiver=("${near[@]}" taskset -c $receiver_cpu)

# send_after RATE COUNT: when somebody listens; its pid in $sender
send_after() {
	{
		until [ -n "$("${near[@]}" ss -uHln "sport = :$port")" ]; do
			sleep 0.05
		done
		sleep 0.5
		exec "${far[@]}" taskset -c $sender_cpu "$TOOLS/tool_udp_send" \
			-f $frame -p le64 -r "$1" -b 32 -c "$2" "$RIG/frames" 192.0.2.1 $port
	} >/dev/null &
	sender=$!
}

# hear NAME RATE: by one of the two; how many of the datagrams did not come, in $missing, and for how long they came, in $took
hear() {
	local count=$(($2 * seconds)) start end command
	case $1 in
	vsib-record)
		command=("$BIN/vsib-record" -s "udp:192.0.2.1:$port,psn=le64,frame=$frame,rcvbuf=16Mi" -o null: --ring 64Mi
			-n $((count * frame)) -d $((seconds + 8)) --live none --json "$RIG/report.json")
		;;
	*) command=("$TOOLS/tool_udp_sink" -n $count -f $((frame + 8)) -b 16Mi 192.0.2.1 $port) ;;
	esac
	send_after "$2" $count
	MEASURE_STATUS='0 1 2' measure "$1" $((count * frame)) "${receiver[@]}" "${command[@]}"
	wait "$sender"
	case $1 in
	vsib-record) missing=$((count - $(json_number received "$RIG/report.json"))) ;;
	*) missing=$((count - $(sed -n 's/received=\([0-9]*\) .*/\1/p' "$measure_log"))) ;;
	esac
}

# highest NAME: up the ladder as long as nothing is missing, each step tried twice
highest() {
	local rate
	best=0
	for rate in $ladder; do
		hear "$1" "$rate"
		[ $missing -eq 0 ] || hear "$1" "$rate"
		[ $missing -eq 0 ] || break
		best=$rate
	done
	unset "measure_cpu[$1]" "measure_rate[$1]" "measure_rss[$1]"
}

echo "datagrams of $((frame + 8)) bytes over veth, receiver on CPU $receiver_cpu, sender on CPU $sender_cpu"
highest recvmmsg
bare=$best
highest vsib-record
ours=$best
printf '  without loss: recvmmsg %d datagrams/s (%.2f Gbit/s), vsib-record %d (%.2f Gbit/s)\n' \
	$bare "$(calculate "$bare * $frame * 8 / 1e9")" $ours "$(calculate "$ours * $frame * 8 / 1e9")"
[ $bare -eq 0 ] || printf '  vsib-record, rate without loss %.2f x recvmmsg   (goal: >= 0.9)\n' "$(calculate "$ours / $bare")"

seconds=3
for ((run = 0; run < runs; run++)); do
	hear recvmmsg 20000
	hear vsib-record 20000
done
show_cpu recvmmsg
show_cpu vsib-record
compare vsib-record recvmmsg cpu '<= 1.2'
