#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Whole packets (--layout pcap), read back with libpcap: all that were sent are there, with the tags of their VLANs, in one
# file or dealt to several disks; also in a file that is still growing, up to where it ends. Where the ring was
# full, what is lost and what is there add up. Limits, signals, an interface that goes away.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../network.sh"
rig_need data
veth_need
veth_up 9000 2>"$RIG/veth" || rig_skip "needs veth: $(cat "$RIG/veth")"

m5b=$DATA/radio/sample.m5b # 8 halves of 5008
captured=$DATA/derived/vdif_kt_8224_udp.pcap wide=$DATA/radio/vdifio_1.vdif
mkdir "$RIG/a"
many=$RIG/many
for _ in {1..100}; do cat "$m5b"; done >"$many" # 800 datagrams

# back WANTED FILE [DETAIL]: what the datagrams in it carry, to $RIG/back; the report is that of reading it
back() {
	local status=0
	rm -f "$report"
	"$BIN/vsib-record" -s "pcapfile:$2${3-}" -o - --ring 8Mi --live log --json "$report" >"$RIG/back" 2>"$words" || status=$?
	ended "$1" $status "reading $2"
}

# holds FILE COUNT BYTES-OF-FILE... : so many packets, which carry that
holds() {
	back 0 "$1"
	is source.capture.packets "$2"
	cmp "$3" "$RIG/back" || rig_fail "$1: not what was sent"
}

# ---- one file, also while it grows

listen pcap:cable,filter=udp --layout pcap
send -f 5008 -c 800 -r 20000 "$m5b" 192.0.2.1 $port
has_grown() {
	cp "$disk/$name.pcapng" "$RIG/growing"
	back '1 66' "$RIG/growing" # behind what was written stands nothing yet
	cmp -s "$many" "$RIG/back"
}
wait_for 10 has_grown || rig_fail "what has been captured is not in the growing file"
heard 0
packets received=800 lost=0 kernel_drops=0
holds "$disk/$name.pcapng" 800 "$many"

# ---- tags

listen "pcap:cable,filter=udp or vlan" --layout pcap
inject -v 7 "$captured"
inject -v 100 -v 7 "$captured"
inject "$captured"
heard 0
packets received=30
for filter in 'vlan 7 and udp' 'vlan 100 and vlan 7 and udp' 'udp'; do
	back 0 "$disk/$name.pcapng" ",filter=$filter"
	cmp "$wide" "$RIG/back" || rig_fail "filter $filter: these packets are not what was sent with such tags"
	is source.capture.packets 30
done

# ---- several disks, files that are rolled

targets=("$RIG/a" "$disk")
listen pcap:cable,filter=udp --layout pcap --block 256Ki --file-size 1Mi
send -f 5008 -c 800 -r 20000 "$m5b" 192.0.2.1 $port
heard 0
targets=("$disk")
packets received=800
"$BIN/vsib-gather" $name -o "$RIG/joined" "$disk" "$RIG/a" 2>"$words" || rig_fail "not gathered: $(cat "$words")"
holds "$RIG/joined" 800 "$many"
count=0 files=0
for file in "$disk/$name".*.pcapng "$RIG/a/$name".*.pcapng; do
	back 0 "$file"
	count=$((count + $(value source.capture.packets))) files=$((files + 1))
done
[ $count -eq 800 ] || rig_fail "the files hold $count packets of 800"
[ $files -ge 4 ] && [ "$(stat -c %s "$disk/$name".*.pcapng "$RIG/a/$name".*.pcapng | sort -n | tail -n 1)" -le $((1 << 20)) ] ||
	rig_fail "$files files; none should be longer than 1 MiB"

# what is damaged is said of the recording
last=0 # of the files, by number
for file in "$disk/$name".*.pcapng "$RIG/a/$name".*.pcapng; do
	number=${file%.pcapng} number=$((10#${number##*.}))
	[ $number -le $last ] || last=$number damaged=$file
done
printf 'lost' | dd of="$damaged" bs=1 seek=4 conv=notrunc status=none # the length of its first block
status=0
timeout 30 "$BIN/vsib-check" $name "$disk" "$RIG/a" 2>"$words" || status=$?
ended 1 $status vsib-check $name
said "^vsib-check: $name: the file cannot be read any further than packet"

# ---- a ring that is full

listen pcap:cable,filter=udp --layout pcap --ring 1Mi --block 64Ki
child=$(child_of $recorder)
kill -STOP "$child"
send -f 5008 -c 5000 "$m5b" 192.0.2.1 $port
kill -CONT "$child"
heard 1
lost=$(value source.packets.lost)
packets kernel_drops="$lost" received=$((5000 - lost))
[ "$lost" -gt 1000 ] || rig_fail "only $lost packets were lost"
said "dropped $lost packets"
back 0 "$disk/$name.pcapng"
is source.capture.packets $((5000 - lost))
is written_bytes $(((5000 - lost) * 5008))

# the same where that is the end: what was in the ring is there
listen pcap:cable,filter=udp --layout pcap --ring 1Mi --block 64Ki --on-overflow stop
child=$(child_of $recorder)
kill -STOP "$child"
send -f 5008 -c 5000 "$m5b" 192.0.2.1 $port
kill -CONT "$child"
ends 2
is reason overflow
received=$(value source.packets.received)
back 0 "$disk/$name.pcapng"
is source.capture.packets "$received"
[ "$received" -ge 150 ] || rig_fail "of what was in the ring only $received packets are there"

# ---- limits

for limit in '-d 1' '-n 1M'; do
	# shellcheck disable=SC2086 # an option and its value
	listen pcap:cable,filter=udp --layout pcap --block 256Ki $limit
	send -f 5008 -c 800 -r 20000 "$m5b" 192.0.2.1 $port
	ends 0
	count=$(value source.packets.received) bytes=$(value written_bytes)
	back 0 "$disk/$name.pcapng"
	is source.capture.packets "$count"
done
# the block in which the limit is reached is there as a whole
[ "$count" -lt 800 ] && [ "$bytes" -ge 1000000 ] && [ "$bytes" -lt $((1000000 + 262144)) ] ||
	rig_fail "-n 1M: $count packets, $bytes bytes"

# ---- an interface that goes away, and what can't be

listen pcap:cable,filter=udp --layout pcap
send -f 5008 -c 800 -r 20000 "$m5b" 192.0.2.1 $port
"${near[@]}" ip link del cable
ends 2
said 'pcap:cable.*: the interface is gone'
holds "$disk/$name.pcapng" 800 "$many"

# refused STATUS SENTENCE OPTION...
refused() {
	record "$1" -o "$disk" "$same" --layout pcap -d 1 --name refused "${@:3}"
	said "^vsib-record: .*$2"
}
refused 64 'pcap:INTERFACE has' -s sim:
refused 64 'one is wanted' -s pcap:any
refused 66 'no such interface' -s pcap:nonesuch0
refused 64 'no --stripe round' -s pcap:lo -o "$RIG/a" --file-size 1Mi --stripe round
refused 64 'sigmf: the files of layout pcap are savefiles' -s pcap:lo --sigmf
refused 64 'dada-header: the files of layout pcap are savefiles' -s pcap:lo --dada-header
refused 64 'no place for others' -s pcap:lo --fill pattern
