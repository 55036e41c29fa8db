#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Frames of real instruments, sent as datagrams over a cable, are captured byte for byte: with and without numbers, VLAN
# tags, IPv6, in fragments, on one interface or any, and where the kernel drops packets each of them is told. An
# interface that goes down is waited for; one that is gone ends the recording with all that came before.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../network.sh"
rig_need data
veth_need
has_ipv6 || rig_skip "needs IPv6"
veth_up 9000 2>"$RIG/veth" || rig_skip "needs veth: $(cat "$RIG/veth")"

vdif=$DATA/radio/sample.vdif     # 16 frames of 5032 bytes
m5b=$DATA/radio/sample.m5b       # 8 halves of 5008
wide=$DATA/radio/vdifio_1.vdif   # 10 frames of 8224
small='buffer=8Mi'

# ---- whole streams

listen "pcap:cable,$small"
send -f 5032 "$vdif" 192.0.2.1 $port
whole "$vdif" 16
told 'psn=vdif,frame=5032'
told 'listening with a buffer of 8(.0*)? MiB'

listen "pcap:cable,$small,port=$port"
send -f 5008 -p le64 -s 1000 "$m5b" 192.0.2.1 $port
send -f 5008 -p le64 "$m5b" 192.0.2.1 $((port + 1))
whole "$m5b" 8
is source.capture.left_out.other_port 8

# both ports, each with its own numbers and sender
listen "pcap:cable,$small"
send -f 5008 -p le64 -s 100 "$m5b" 192.0.2.1 $port
send -f 5008 -p le64 -s 7 "$m5b" 192.0.2.1 $((port + 1))
cat "$m5b" "$m5b" >"$RIG/twice"
whole "$RIG/twice" 16

captured=$DATA/derived/vdif_kt_8224_udp.pcap # the 10 frames of $wide
# is_promiscuous NUMBER: of those who want what is for other machines
is_promiscuous() {
	"${near[@]}" ip -d link show cable | grep -q "promiscuity $1 " || rig_fail "promiscuity is not $1"
}
is_promiscuous 0
listen "pcap:cable,$small,promiscuous,filter=vlan 7 and udp"
is_promiscuous 1
inject -v 7 "$captured"
inject -v 8 "$captured"
inject "$captured"
whole "$wide" 10
for tags in '-v 7' '-v 100 -v 7'; do
	listen "pcap:cable,$small"
	# shellcheck disable=SC2086 # options
	inject $tags "$captured"
	is_promiscuous 0
	whole "$wide" 10
done

listen "pcap:cable,$small,from=fd00:77::2"
send -f 5032 "$vdif" fd00:77::1 $port
whole "$vdif" 16

listen "pcap:any,$small,port=$port"
send -f 5032 "$vdif" 192.0.2.1 $port
whole "$vdif" 16
near_send=("${far[@]}") far=("${near[@]}")
listen "pcap:lo,$small,psn=none,frame=5032"
send -f 5032 "$vdif" 127.0.0.1 $port
whole "$vdif" 16
far=("${near_send[@]}")

# blocks that are no multiples of a frame, and files that are read on from the middle of one
listen "pcap:cable,$small" --block 4Ki --file-size 8Ki
send -f 5032 -p le64 "$vdif" 192.0.2.1 $port
heard 0
gathered "$vdif" "$disk/$name"

# ---- on the way

listen "pcap:cable,$small"
send -f 5032 -p le64 -s 1000 -x 3,8 -w 5,11 -2 1,13 -t 7,15 "$vdif" 192.0.2.1 $port
heard 1
packets received=18 lost=2 late=0 duplicate=2 reordered=2 stray=2 kernel_drops=0
is source.lost_bytes $((2 * 5032))
filled "$vdif" 5032 3 8
diff "$RIG/holes" "$RIG/gaps" || rig_fail "the journal's gaps are not where frames were left out"
listen "pcap:cable,$small" --fill pattern
send -f 5032 -p le64 -x 3,8 "$vdif" 192.0.2.1 $port
heard 1
packets received=14 lost=2
is filled_bytes $((2 * 5032))
cmp "$RIG/with_fill" "$disk/$name.raw" || rig_fail "$name: not what was sent, with fill in the gaps"

# too long for what is captured of a packet: left out, and told
listen "pcap:cable,$small,snaplen=1000"
send -f 5032 "$vdif" 192.0.2.1 $port
send -f 500 -c 4 -p le64 "$vdif" 192.0.2.1 $port
heard 0
packets received=4
is source.capture.left_out.cut 16
said 'left out: .*16 cut short'

# ---- more than the buffer keeps

# has_taken DATAGRAMS: the recorder, as it says itself
has_taken() {
	"$BIN/vsib-status" --json "$name" >"$RIG/status" && [ "$("$TOOLS/tool_json" "$RIG/status" received_bytes)" -ge $(($1 * 5008)) ]
}

# flooded DETAILS SEND-OPTION...: 5000 datagrams while the recorder doesn't run, and $more when it has made room again
flooded() {
	local details=$1 child drops
	shift
	listen "pcap:cable,buffer=1Mi,filter=udp$details"
	child=$(child_of $recorder)
	kill -STOP "$child"
	send -f 5008 -c 5000 "$@" "$m5b" 192.0.2.1 $port
	kill -CONT "$child"
	if [ "$more" ]; then
		wait_for 10 has_taken 150 || rig_fail "what the buffer held was not taken"
		send -f 5008 -c 8 "${@/%0/5000}" "$m5b" 192.0.2.1 $port
	fi
	heard 1
	drops=$((5000 + ${more:-0} - $(value source.packets.received)))
	[ $drops -gt 1000 ] || rig_fail "only $drops were dropped"
	packets lost=$drops kernel_drops=$drops
	is written_bytes $(((5000 + ${more:-0} - drops) * 5008))
}

more=8
flooded '' -p le64 -s 0
is source.lost_bytes $(($(value source.packets.lost) * 5008))
is gap_count 1
said_not 'dropped [0-9]+ packets'
# nothing comes behind them: no number tells
more=
flooded '' -p le64 -s 0
is source.lost_bytes 0
said "dropped $(value source.packets.lost) packets"
flooded ',psn=none,frame=5008'
said "dropped $(value source.packets.lost) packets"

# ---- down, up, gone

listen "pcap:cable,$small,psn=le64,frame=5008"
send -f 5008 -p le64 "$m5b" 192.0.2.1 $port
"${near[@]}" ip link set cable down
wait_for 5 grep -q 'the interface is down' "$told" || rig_fail "it did not say that the interface is down"
"${near[@]}" ip link set cable up
wait_for 5 grep -q 'the interface is up again' "$told" || rig_fail "it did not say that the interface is up"
"${near[@]}" ip route add 192.0.2.0/24 dev cable 2>/dev/null
send -f 5008 -p le64 -s 8 "$m5b" 192.0.2.1 $port
whole "$RIG/twice" 16

listen "pcap:cable,$small"
send -f 5008 -p le64 "$m5b" 192.0.2.1 $port
"${near[@]}" ip link del cable
ends 2
said 'pcap:cable.*: the interface is gone'
cmp "$m5b" "$disk/$name.raw" || rig_fail "what came before the interface went is not there"

# ---- fragments

veth_up 1500 || rig_fail "no cable with an MTU of 1500"
for address in 192.0.2.1 fd00:77::1; do
	listen "pcap:cable,$small"
	send -f 8224 -p le64 -c 200 -r 2000 "$wide" $address $port
	heard 0
	for i in {1..20}; do cat "$wide"; done | cmp - "$disk/$name.raw" || rig_fail "$name: not what was sent in fragments"
	packets received=200 lost=0 stray=0 kernel_drops=0
	is source.capture.fragments 1000
	is source.capture.incomplete_datagrams 0
done
# all but the first fragments: no datagram is whole
listen "pcap:cable,$small,filter=ip[6:2] & 0x1fff != 0"
send -f 8224 "$wide" 192.0.2.1 $port
heard 66
said 'fragments of 10 incomplete datagrams'

# ---- what can't be

# refused STATUS SENTENCE SOURCE
refused() {
	local status=0
	"${near[@]}" "$BIN/vsib-record" -s "$3" -o null: -d 1 >"$words" 2>&1 || status=$?
	ended "$1" $status "vsib-record -s $3"
	said "^vsib-record: .*$2"
}
refused 66 'no such interface' pcap:nonesuch0
refused 64 'filter "udp prot"' 'pcap:cable,filter=udp prot'
refused 64 'buffer=1Ki: expected' pcap:cable,buffer=1Ki
refused 64 'snaplen=9: expected' pcap:cable,snaplen=9
refused 64 'port=0: expected' pcap:cable,port=0
refused 64 'promiscuous has no value' pcap:cable,promiscuous=1
refused 64 'unknown detail' pcap:cable,colour=red
status=0
setpriv --bounding-set -net_raw,-net_admin --inh-caps -all "$BIN/vsib-record" -s pcap:lo -o null: -d 1 >"$words" 2>&1 || status=$?
ended 77 $status "vsib-record without CAP_NET_RAW"
said 'root or CAP_NET_RAW'
