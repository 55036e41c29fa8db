#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A capture at one end of a veth pair with an MTU of 9000. First payloads: the highest rate of a ladder at which nothing is
# lost, and what a byte costs, of pcap: -> ring -> nothing beside a bare walk through the kernel's packet ring with
# one copy; buffers of 16 MiB, so that the rate counts and not the buffer. Then whole packets to a directory, at 5 Gbit/s
# or what the sender gets to for KEEP_SECONDS (20), beside dumpcap and tcpdump with 256 MiB each.
set -u
. "${0%/*}/../measure.sh"
. "${0%/*}/../rig.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../ladder.sh"
ladder_need pcap
packet=$((frame + 8 + 42))
ladder='20000 50000 80000 100000'
bare='bare walk'
ours=(-s "pcap:cable,psn=le64,frame=$frame,filter=udp,buffer=16Mi" --ring 16Mi)

bare_command() {
	command=("$TOOLS/tool_packet_walk" cable $((16 << 20)))
}

bare_missing() {
	missing=$(sed -n 's/.*dropped=//p' "$measure_log")
}

is_ready() {
	[ "$("${near[@]}" cat /proc/net/packet | wc -l)" -gt 1 ]
}

ladder_compare
for ((run = 0; run < runs; run++)); do
	hear "$bare" 40000 3
	hear vsib-record 40000 3
	# the ring and the buffer are made once, however long the recording: told apart, spread over this one's bytes
	MEASURE_STATUS=66 measure '  of which start and end' $((40000 * 3 * frame)) "${receiver[@]}" "$BIN/vsib-record" \
		-s pcap:cable,filter=udp,buffer=16Mi -o null: --ring 16Mi -d 0.1 --live none
done
show_cpu "$bare"
show_cpu vsib-record
show_cpu '  of which start and end'
compare vsib-record "$bare" cpu '<= 1.2'

# ---- whole packets to a disk

seconds=${KEEP_SECONDS:-20} rate=77800
count=$((rate * seconds))
measure_folder $((count * (packet + 36)))

# keep NAME LOST COMMAND...: LOST is a sed expression that finds how many were lost in what it says; what counts are those kept
keep() {
	local name=$1 lost=$2
	shift 2
	send_after $rate $count
	MEASURE_STATUS='0 1 2' measure "$name" $((count * packet)) timeout --preserve-status -s INT $((seconds + 6)) "${near[@]}" "$@"
	stop_sender
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
