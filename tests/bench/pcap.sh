#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A capture at one end of a veth pair with an MTU of 9000. First payloads: the highest rate of a ladder at which nothing is
# lost, and what a byte costs, of pcap: -> ring -> nothing beside a bare walk through the kernel's packet ring with
# one copy; buffers of 16 MiB, so that the rate counts and not the buffer. Then whole packets to a directory, at 5 Gbit/s
# or what the sender gets to, beside dumpcap and tcpdump with 256 MiB each. The sender has the other core for itself, as
# far as the machine has more than one.
set -u
. "${0%/*}/../measure.sh"
. "${0%/*}/../rig.sh"
. "${0%/*}/../veth.sh"
rig_at_exit+=(measure_undo veth_down)
(rig_need root ip taskset) || { echo "pcap: not run"; exit 0; }
veth_up 9000 2>/dev/null || { echo "pcap: not run, no network namespaces here"; exit 0; }
runs=${RUNS:-3}
frame=8032 port=46227 packet=$((8032 + 8 + 42))
ladder='20000 50000 80000 100000'
cpus=$(nproc)
head -c $((frame * 64)) /dev/urandom >"$RIG/frames"
receiver=("${near[@]}" taskset -c 0)

# send_after RATE COUNT: when somebody captures
send_after() {
	{
		until [ "$("${near[@]}" cat /proc/net/packet | wc -l)" -gt 1 ]; do
			sleep 0.05
		done
		sleep 0.7
		exec "${far[@]}" taskset -c $((cpus > 1)) "$TOOLS/tool_udp_send" -f $frame -p le64 -r "$1" -b 32 -c "$2" \
			"$RIG/frames" 192.0.2.1 $port
	} >/dev/null &
	sender=$!
}

# hear NAME RATE SECONDS: by one of the two; how many datagrams did not come, in $missing
hear() {
	local count=$(($2 * $3)) command
	case $1 in
	vsib-record)
		command=("$BIN/vsib-record" -s "pcap:cable,psn=le64,frame=$frame,filter=udp,buffer=16Mi" -o null: --ring 16Mi
			-n $((count * frame)) -d $(($3 + 8)) --live none --json "$RIG/report.json")
		;;
	*) command=("$TOOLS/tool_packet_walk" cable $((16 << 20))) ;;
	esac
	send_after "$2" $count
	MEASURE_STATUS='0 1 2' measure "$1" $((count * frame)) "${receiver[@]}" "${command[@]}"
	wait $sender
	case $1 in
	vsib-record) missing=$((count - $(json_number received "$RIG/report.json"))) ;;
	*) missing=$(sed -n 's/.*dropped=//p' "$measure_log") ;;
	esac
}

# highest NAME: up the ladder as long as nothing is missing, each step tried twice
highest() {
	local rate
	best=0
	for rate in $ladder; do
		hear "$1" "$rate" 1
		[ "$missing" -eq 0 ] || hear "$1" "$rate" 1
		[ "$missing" -eq 0 ] || break
		best=$rate
	done
	unset "measure_cpu[$1]" "measure_rate[$1]" "measure_rss[$1]"
}

echo "payloads: datagrams of $((frame + 8)) bytes over veth, receiver on CPU 0, sender on CPU $((cpus > 1))"
highest 'bare walk'
bare=$best
highest vsib-record
ours=$best
printf '  without loss: bare walk %d datagrams/s (%.2f Gbit/s), vsib-record %d (%.2f Gbit/s)\n' \
	"$bare" "$(calculate "$bare * $frame * 8 / 1e9")" "$ours" "$(calculate "$ours * $frame * 8 / 1e9")"
[ "$bare" -eq 0 ] || printf '  vsib-record, rate without loss %.2f x bare walk   (goal: >= 0.9)\n' "$(calculate "$ours / $bare")"
for ((run = 0; run < runs; run++)); do
	hear 'bare walk' 40000 3
	hear vsib-record 40000 3
	# the ring and the buffer are made once, however long the recording: told apart, spread over this one's bytes
	MEASURE_STATUS=66 measure '  of which start and end' $((40000 * 3 * frame)) "${receiver[@]}" "$BIN/vsib-record" \
		-s pcap:cable,filter=udp,buffer=16Mi -o null: --ring 16Mi -d 0.1 --live none
done
show_cpu 'bare walk'
show_cpu vsib-record
show_cpu '  of which start and end'
compare vsib-record 'bare walk' cpu '<= 1.2'

# ---- whole packets to a disk

seconds=20 rate=77800
count=$((rate * seconds))
measure_folder $((count * (packet + 36)))

# keep NAME LOST COMMAND...: LOST is a sed expression that finds how many were lost in what it says; what counts are those kept
keep() {
	local name=$1 lost=$2
	shift 2
	send_after $rate $count
	MEASURE_STATUS='0 1 2' measure "$name" $((count * packet)) timeout --preserve-status -s INT $((seconds + 6)) "${near[@]}" "$@"
	kill "$sender" 2>/dev/null
	wait "$sender" 2>/dev/null
	sync "$folder"
	lost=$(sed -n "$lost" "$measure_log" | tail -n 1)
	printf '  %-30s lost %d of %d packets\n' "$name" "$lost" $count
	measure_cpu[$name]=" $(calculate "$(cost cpu_s) / (($count - $lost) * $packet / 1e9)" %.4f)"
	rm -rf "${folder:?}"/*
}

echo "whole packets to $fs in $folder: $count of $packet bytes, at $(calculate "$rate * $packet * 8 / 1e9" %.1f) Gbit/s if the sender gets there"
keep 'layout pcap' 's/.* \([0-9]*\) lost, .*by the kernel.*/\1/p' "$BIN/vsib-record" -s pcap:cable,filter=udp --layout pcap -o "$folder" \
	--allow-same-device --ring 256Mi --live none
has_peer dumpcap wireshark-common &&
	keep dumpcap 's/.*dropped on interface.*: [0-9]*\/\([0-9]*\).*/\1/p' dumpcap -q -i cable -f udp -B 256 -w "$folder/dumpcap.pcapng"
has_peer tcpdump tcpdump &&
	keep tcpdump 's/\([0-9]*\) packets dropped by kernel/\1/p' tcpdump -i cable -B 262144 -Z root -w "$folder/tcpdump.pcap" udp
for name in 'layout pcap' dumpcap tcpdump; do
	[ -z "${measure_cpu[$name]-}" ] || show_cpu "$name"
done
compare 'layout pcap' dumpcap cpu '<= 0.33'
compare 'layout pcap' tcpdump cpu 'the less the better'
