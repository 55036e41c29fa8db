#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Playback onto a network, recorded at the other end of the cable: files and recordings of each format as datagrams with and
# without numbers, by IPv4, IPv6 and to a group; savefiles as the packets they hold, byte for byte, and into savefiles; an
# interface that goes down in the middle, is not there, or isn't ours to send by; who is there and takes nothing.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../expect.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../network.sh"
. "${0%/*}/../replay.sh"
rig_need data
veth_need
veth_up 9000 2>"$RIG/veth" || rig_skip "needs veth: $(cat "$RIG/veth")"
radio=$DATA/radio derived=$DATA/derived

# sends WANTED vsib-replay ...: as play, from the far end
sends() {
	local wanted=$1 status=0
	shift
	rm -f "$played"
	timeout 60 "${far[@]}" "$BIN/vsib-replay" --json "$played" --live none "$@" 2>"$words" || status=$?
	ended "$wanted" $status vsib-replay "$@"
	! [ -e "$played" ] || played_account
}

# arrives FILE [SIZE-OF-A-FRAME]: what has been sent was all of it; behind the last whole frame nothing was
arrives() {
	local size
	size=$(stat -c %s "$1")
	heard 0
	head -c $((size - size % ${2:-1})) "$1" >"$RIG/expected"
	gathered "$RIG/expected" "$disk/$name"
	packets $no_trouble
	is_played underrun_count 0
}

# ---- datagrams: frames as they are found, numbers of each kind

for sample in sample.vdif:5032 sample_mwa.vdif:544 vdifio_1.vdif:8224 sample.m5b:10016 sample_bps1.vdif:8032; do
	file=$radio/${sample%:*} frame=${sample#*:}
	[ "$frame" -le 8900 ] || frame=5008
	listen "udp:192.0.2.1:$port,psn=le64,frame=$frame,rcvbuf=4Mi"
	sends '0 1' "$file" -r 100 -t "udp:192.0.2.1:$port,psn=le64,frame=$frame"
	arrives "$file" "$frame"
done
file=$radio/vdifio_1.vdif
listen "udp:192.0.2.1:$port,psn=be64,frame=8224"
sends 0 "$file" -t "udp:192.0.2.1:$port,psn=be64" --pace precise -r 200
is_played sent_count 10
arrives "$file"
listen "udp:192.0.2.1:$port,psn=none,frame=8224"
sends 0 "$file" -t "udp:192.0.2.1:$port,gso=no"
arrives "$file"
if has_ipv6; then
	listen "udp:[fd00:77::1]:$port,psn=le64,frame=8224"
	sends 0 "$file" -t "udp:[fd00:77::1]:$port,psn=le64"
	arrives "$file"
fi
listen "udp:239.1.2.3:$port,iface=cable,psn=le64,frame=8224"
sends 0 "$file" -t "udp:239.1.2.3:$port,iface=cable,psn=le64"
arrives "$file"

# ---- a recording with a gap: numbers count what is lost, so that the other end knows

record 1 -s sim:gap=80000@40000,seed=3 -n 200000 --name gap -o "$disk" --ring 1Mi --block 64Ki "$same" --live none
listen "udp:192.0.2.1:$port,psn=le64,frame=8000"
sends 1 "$disk/gap" -t "udp:192.0.2.1:$port,psn=le64,frame=8000" -r 100
heard 1
packets received=15 lost=10
is source.lost_bytes 80000
"$BIN/vsib-gather" "$disk/gap" --fill pattern -o "$RIG/one" 2>/dev/null
"$BIN/vsib-gather" "$disk/$name" --fill pattern -o "$RIG/two" 2>/dev/null
cmp "$RIG/one" "$RIG/two" || rig_fail "the gap is not in its place at the other end"

# ---- packets

for savefile in vdif_kt_8224_udp.pcap vdif_5032_udp6.pcap vdif_kt_8232_vtp.pcap m5b_5016_vtp.pcapng; do
	listen pcap:cable,filter=udp --layout pcap
	sends 0 "$derived/$savefile" -t pcap:cable
	count=$(played_value sent_count)
	heard 0
	packets received="$count" lost=0
	"$TOOLS/tool_packets" "$derived/$savefile" >"$RIG/sent"
	"$TOOLS/tool_packets" "$disk/$name.pcapng" >"$RIG/came"
	cmp "$RIG/sent" "$RIG/came" || rig_fail "$savefile: other packets came than were sent"
done

# into a savefile: with their time stamps, of nanoseconds
play 0 "$derived/vdif_kt_8224_udp.nsecpcap" -t "pcapfile:$RIG/kept.pcap"
"$TOOLS/tool_packets" -t "$derived/vdif_kt_8224_udp.nsecpcap" >"$RIG/sent"
"$TOOLS/tool_packets" -t "$RIG/kept.pcap" >"$RIG/came"
cmp "$RIG/sent" "$RIG/came" || rig_fail "a savefile is not as it was"
# datagrams get headers that others read
play 0 "$file" -t "pcapfile:$RIG/made.pcap,to=192.0.2.1:$port,psn=le64"
record 0 -s "pcapfile:$RIG/made.pcap,psn=le64" --name back -o "$disk" --ring 8Mi "$same" --live none
cmp "$file" "$disk/back.raw" || rig_fail "what went into a savefile doesn't come out of it"
listen "udp:192.0.2.1:$port,psn=le64,frame=8224"
sends 0 "$file" -t "pcap:cable,to=192.0.2.1:$port,psn=le64"
arrives "$file"

# ---- what can't be

sends 73 "$derived/vdif_kt_8224_udp.pcap" -t pcap:nosuch
says 'there is no such interface'
sends 73 "$DATA/pcap/null_loopback.pcap" -t pcap:cable
says 'link type'
play 73 "$derived/vdif_kt_8224_udp.pcap" -t "pcapfile:$RIG/kept.pcap"
says '--force'
status=0
setpriv --bounding-set -net_raw "${far[@]}" "$BIN/vsib-replay" "$derived/vdif_kt_8224_udp.pcap" -t pcap:cable --live none 2>"$words" || status=$?
ended 77 $status vsib-replay without CAP_NET_RAW
says CAP_NET_RAW

# nobody listens: what is refused is counted, and the report says so
sends 1 "$file" -t "udp:192.0.2.1:$port,psn=le64" -r 10
[ "$(played_value destination.refused_count)" -gt 0 ] || rig_fail "nothing is said of datagrams that were refused"

# ---- the interface goes down, and comes back: nothing is lost on the way

many=$RIG/many
for _ in {1..40}; do cat "$file"; done >"$many"
listen "udp:192.0.2.1:$port,psn=le64,frame=8224,rcvbuf=4Mi"
sends 0 "$many" -t "udp:192.0.2.1:$port,psn=le64" -r 30 &
sender=$!
sleep 0.3
"${far[@]}" ip link set cable down
sleep 0.3
"${far[@]}" ip link set cable up
wait $sender || exit 1
[ "$(played_value destination.down_count)" -gt 0 ] || rig_fail "nothing is said of an interface that was down"
arrives "$many"
# gone for good: it ends when its patience does
sends 2 "$many" -t "udp:192.0.2.1:$port,psn=le64" -r 30 --patience 1 &
sender=$!
sleep 0.3
"${far[@]}" ip link set cable down
wait $sender || exit 1
says 'has taken nothing'
