#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A capture at one end of a veth pair with an MTU of 9000. First payloads: the highest rate of a ladder at which nothing is
# lost, and what a byte costs, of pcap: -> ring -> nothing beside a bare walk through the kernel's packet ring with
# one copy; buffers of 16 MiB, so that the rate counts and not the buffer. Then whole packets to a directory, beside dumpcap,
# tcpdump, netsniff-ng and gulp, as far as they are here, with 256 MiB each: the highest rate of a ladder at which nothing
# is lost in CLIMB_SECONDS (5), and 5 Gbit/s, or what the sender gets to, for KEEP_SECONDS (20): losses and CPU.
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
	hear "$bare" 40000 10
	hear vsib-record 40000 10
	# the ring and the buffer are made once, however long the recording: told apart, spread over this one's bytes
	MEASURE_STATUS=66 measure '  of which start and end' $((40000 * 10 * frame)) "${receiver[@]}" "$BIN/vsib-record" \
		-s pcap:cable,filter=udp,buffer=16Mi -o null: --ring 16Mi -d 0.1 --live none
done
show_cpu "$bare"
show_cpu vsib-record
show_cpu '  of which start and end'
compare vsib-record "$bare" cpu '<= 1.2'

# ---- whole packets to a disk

seconds=${KEEP_SECONDS:-20} rate=77800
climb_seconds=${CLIMB_SECONDS:-5}
ladder='20000 40000 60000 80000 100000'
longest=$((seconds * rate > climb_seconds * 100000 ? seconds * rate : climb_seconds * 100000))
measure_folder $((longest * (packet + 36)))

# The command that records into a file, and the sed expression that finds in its words how many packets it lost; without
# one the file is pcap, and its size says how many it has.
disk_command() {
	kept=$folder/kept.pcap
	case $1 in
	'layout pcap')
		command=("$BIN/vsib-record" -s "pcap:cable,filter=udp" --layout pcap -o "$folder" --allow-same-device --ring 256Mi --live none)
		lost='s/.* \([0-9]*\) lost, .*by the kernel.*/\1/p'
		;;
	dumpcap)
		command=(dumpcap -q -i cable -f udp -B 256 -w "$kept")
		lost='s/.*dropped on interface.*: [0-9]*\/\([0-9]*\).*/\1/p'
		;;
	tcpdump)
		command=(tcpdump -i cable -B 262144 -Z root -w "$kept" udp)
		lost='s/\([0-9]*\) packets dropped by kernel/\1/p'
		;;
	netsniff-ng)
		command=(netsniff-ng --in cable --out "$kept" --ring-size 256MiB --silent --filter udp)
		lost=
		;;
	gulp)
		# shellcheck disable=SC2016 # for the shell that is called
		command=(bash -c 'exec gulp -i cable -r 256 -f udp >"$1"' gulp "$kept")
		lost=
		;;
	esac
}

# to_disk NAME RATE SECONDS: what counts are the bytes that were kept
to_disk() {
	local count=$(($2 * $3)) command lost kept
	disk_command "$1"
	send_after "$2" $count
	MEASURE_STATUS='0 1 2' measure "$1" $((count * packet)) timeout --preserve-status -s INT $(($3 + 6)) "${near[@]}" "${command[@]}"
	stop_sender
	sync "$folder"
	if [ -n "$lost" ]; then
		missing=$(sed -n "$lost" "$measure_log" | tail -n 1)
		: "${missing:=$count}"
	else
		missing=$((count - ($(stat -c %s "$kept") - 24) / (packet + 16)))
	fi
	printf '  %-30s lost %d of %d packets\n' "$1, $2 packets/s" "$missing" $count
	[ "$missing" -eq $count ] ||
		measure_cpu[$1]=" $(calculate "$(cost cpu_s) / (($count - $missing) * $packet / 1e9)" %.4f)"
	rm -rf "${folder:?}"/*
}

# Another program of that name is more widely known.
has_gulp() {
	gulp --help 2>&1 | grep -q 'ring buffer' && return
	echo '  gulp, the program that captures packets, is not here (the package gulp is another one): not compared'
	return 1
} </dev/null

names=('layout pcap')
has_peer dumpcap wireshark-common && names+=(dumpcap)
has_peer tcpdump tcpdump && names+=(tcpdump)
has_peer netsniff-ng netsniff-ng && names+=(netsniff-ng)
has_gulp && names+=(gulp)

echo "whole packets of $packet bytes to $fs in $folder: the highest rate without loss"
declare -A most=()
for name in "${names[@]}"; do
	highest to_disk "$name" "$climb_seconds"
	most[$name]=$best
done
for name in "${names[@]}"; do
	printf '  %-30s %d packets/s, %s Gbit/s\n' "$name, without loss" "${most[$name]}" \
		"$(calculate "${most[$name]} * $packet * 8 / 1e9" %.2f)"
done

echo "$((rate * seconds)) packets at $(calculate "$rate * $packet * 8 / 1e9" %.1f) Gbit/s, if the sender gets there"
for name in "${names[@]}"; do
	to_disk "$name" $rate "$seconds"
done
for name in "${names[@]}"; do
	[ -z "${measure_cpu[$name]-}" ] || show_cpu "$name"
done
for name in "${names[@]:1}"; do
	case $name in
	dumpcap) compare 'layout pcap' dumpcap cpu '<= 0.33' ;;
	*) compare 'layout pcap' "$name" cpu 'the less the better' ;;
	esac
done
