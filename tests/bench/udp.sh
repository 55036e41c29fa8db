#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Datagrams from one network namespace to another, over a veth pair with an MTU of 9000: the highest rate of a ladder at which
# nothing is lost, and what a byte costs, of udp: -> ring -> nothing beside a bare recvmmsg() loop into the same memory
# again and again. Receive buffers of 16 MiB, so that the rate counts and not the buffer. Then datagrams of 8032 bytes to a
# directory, past the page cache: 1 Gbit/s for KEEP_SECONDS (60), with no more buffer than net.core.rmem_max = 4 MiB gives.
set -u
. "${0%/*}/../measure.sh"
. "${0%/*}/../rig.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../ladder.sh"
ladder_need udp
ladder='20000 30000 40000 50000 60000 75000 90000 110000 130000 160000'
bare=recvmmsg
ours=(-s "udp:192.0.2.1:$port,psn=le64,frame=$frame,rcvbuf=16Mi" --ring 16Mi)

bare_command() {
	command=("$TOOLS/tool_udp_sink" -n "$1" -f $((frame + 8)) -b 16Mi 192.0.2.1 "$port")
}

bare_missing() {
	missing=$(($1 - $(sed -n 's/received=\([0-9]*\) .*/\1/p' "$measure_log")))
}

is_ready() {
	[ -n "$("${near[@]}" ss -uHln "sport = :$port")" ]
}

ladder_compare
for ((run = 0; run < runs; run++)); do
	hear "$bare" 20000 10
	hear vsib-record 20000 10
done
show_cpu "$bare"
show_cpu vsib-record
compare vsib-record "$bare" cpu '<= 1.2'

# ---- to a disk

rmem_max=/proc/sys/net/core/rmem_max limit=$((4 << 20)) # of all namespaces: only the first one can write it
was=$(cat $rmem_max)
if [ "$was" -ne $limit ]; then
	measure_at_exit+=("echo $was >$rmem_max")
	echo $limit >$rmem_max || { echo "not run: net.core.rmem_max is $was, and cannot be set"; exit 0; }
fi
frame=8024 rate=15563 # with their numbers 8032 bytes
seconds=${KEEP_SECONDS:-60}
count=$((rate * seconds))
measure_folder $((count * frame))
echo "to $fs in $folder: $count datagrams of $((frame + 8)) bytes, $(calculate "$rate * ($frame + 8) * 8 / 1e9" %.2f) Gbit/s"
send_after $rate $count
# without the right to ask for more than rmem_max
MEASURE_STATUS='0 1 2' measure 'udp: to a disk' $((count * frame)) "${near[@]}" setpriv --bounding-set=-net_admin \
	"$BIN/vsib-record" -s "udp:192.0.2.1:$port,psn=le64,frame=$frame" -o "$folder" --allow-same-device --ring 256Mi \
	-n $((count * frame)) -d $((seconds + 8)) --live none --json "$RIG/report.json"
stop_sender
printf '  lost %d of %d datagrams (goal: 0); receive buffer %d bytes, io %s\n' \
	$((count - $(json_number received "$RIG/report.json"))) $count "$(json_number buffer_bytes "$RIG/report.json")" \
	"$(sed -n 's/.*"io": *"\([a-z]*\)".*/\1/p' "$RIG/report.json")"
show_cpu 'udp: to a disk'
