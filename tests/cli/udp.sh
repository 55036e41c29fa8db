#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Frames of real instruments sent as datagrams are recorded byte for byte; what was left out, swapped, doubled or strange
# on the way is counted to the datagram, and lies in the journal where it was; what the kernel drops while the recorder
# can't read is told, with and without numbers. IPv6, multicast, several ports, and what can't be listened to.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../network.sh"
rig_need data

vdif=$DATA/radio/sample.vdif # 16 frames of 5032 bytes
m5b=$DATA/radio/sample.m5b   # 8 halves of 5008

# ---- whole streams

listen "udp::$port"
send -f 5032 "$vdif" 127.0.0.1 $port
whole "$vdif" 16
told 'psn=vdif,frame=5032'

listen "udp:127.0.0.1:$port,psn=vdif,frame=5032,from=127.0.0.1"
send -f 5032 -P $((port + 100)) "$vdif" 127.0.0.1 $port
whole "$vdif" 16

for kind in le64 be64 le32 be32 fila; do # 32 bits are over on the way
	listen "udp::$port"
	send -f 5008 -p $kind -s 4294967292 "$m5b" 127.0.0.1 $port
	whole "$m5b" 8
	told "psn=${kind/fila/le64},frame=5008"
done

listen "udp::$port"
send -f 10016 "$m5b" 127.0.0.1 $port
whole "$m5b" 4
told 'psn=mark5b,frame=10016'

listen "udp::$port,psn=none"
send -f 5008 "$m5b" 127.0.0.1 $port
whole "$m5b" 8

# Blocks that are no multiples of a frame, and a file that is read on from the middle of one.
listen "udp::$port" --block 4Ki --file-size 8Ki
send -f 5032 -p le64 "$vdif" 127.0.0.1 $port
heard 0
gathered "$vdif" "$disk/$name"

# ---- on the way

# The journal has these gaps, and what is gathered is right with and without fill.
with_holes() {
	diff "$RIG/holes" "$RIG/gaps" || rig_fail "$name: the journal's gaps are not where the datagrams were left out"
	gather 1 "$disk/$name"
	cmp "$RIG/closed" "$RIG/gathered" || rig_fail "$name: not what was sent, closed up"
	gather 1 --fill "$disk/$name"
	cmp "$RIG/with_fill" "$RIG/gathered" || rig_fail "$name: not what was sent, with filled gaps"
}

filled "$vdif" 5032 3 8
for kind in le64 be64 le32 be32; do
	listen "udp::$port"
	send -f 5032 -p $kind -s 1000 -x 3,8 -w 5,11 -2 1,13 -t 7,15 "$vdif" 127.0.0.1 $port
	heard 1
	packets received=18 lost=2 late=0 duplicate=2 reordered=2 stray=2 restarts=0 kernel_drops=0
	is source.lost_bytes $((2 * 5032))
	is discarded_bytes $((2 * 5032 + 2 * (100 - ${kind:2} / 8)))
	with_holes
	rig_expect 1 "$BIN/vsib-check" "$disk/$name" >"$words" 2>&1
	says_not 'accounting'
done

# Too late for a window of two: it was lost before.
filled "$vdif" 5032 2
listen "udp::$port,window=2,psn=le64,frame=5032"
send -f 5032 -p le64 -l 2 "$vdif" 127.0.0.1 $port
heard 1
packets received=16 lost=1 late=1 duplicate=0 reordered=0 stray=0
with_holes

filled "$vdif" 5032 # nothing missing
listen "udp::$port,window=32"
send -f 5032 -p le64 -l 2 "$vdif" 127.0.0.1 $port
heard 0
packets received=16 lost=0 late=0 reordered=1
gathered "$vdif" "$disk/$name"

# The sender says that two are not to be recorded.
listen "udp::$port"
send -f 5032 -p be64 -u 3,8 "$vdif" 127.0.0.1 $port
heard 0
packets received=16 lost=0 unwanted=2
filled "$vdif" 5032 3 8
gathered "$RIG/closed" "$disk/$name"

# A sender that is started again begins with other numbers; one of another address is not of the stream.
listen "udp::$port"
send -f 5008 -p le64 -s 500000 "$m5b" 127.0.0.1 $port
send -f 5008 -p le64 -s 500008 -a 127.0.0.2 "$m5b" 127.0.0.1 $port
send -f 5008 -p le64 -s 7 "$m5b" 127.0.0.1 $port
heard 0
packets received=24 lost=0 restarts=1 stray=8
cat "$m5b" "$m5b" >"$RIG/twice"
gathered "$RIG/twice" "$disk/$name"
told 'of 5016 bytes from 127.0.0.2 is not of the stream'

# ---- more than the kernel keeps

# flooded SOURCE SEND-OPTION...: 5000 datagrams while the recorder doesn't run
flooded() {
	local source=$1 child lost
	shift
	listen "$source,rcvbuf=64Ki"
	child=$(child_of $recorder)
	kill -STOP "$child"
	send -f 5008 -c 5000 "$@" "$m5b" 127.0.0.1 $port
	kill -CONT "$child"
	heard 1
	told 'receive buffer 64 KiB'
	lost=$((5000 - $(value source.packets.received)))
	[ $lost -gt 0 ] || rig_fail "nothing was dropped"
	packets lost=$lost kernel_drops=$lost
	is stream_bytes $((5000 * 5008))
	told 'the kernel dropped'
}

flooded "udp::$port,psn=none,frame=5008"
flooded "udp::$port" -p le64
flooded "udp::$port,psn=be32,frame=5008" -p be32

# A disk that is stuck while the socket still holds something at the end: the rest is overflow, and nothing goes unmentioned.
slow_at_the_end() {
	local child
	rig_disk slow 64
	targets=("$RIG/slow")
	listen "udp::$port,psn=le64,frame=5008"
	rig_throttle slow 1
	child=$(child_of $recorder)
	kill -STOP "$child"
	send -f 5008 -p le64 -c 6000 "$m5b" 127.0.0.1 $port
	kill -INT $recorder
	kill -CONT "$child"
	wait_for 10 grep -q 'the ring was full' "$told" || { cat "$told"; rig_fail "no overflow was told"; }
	rig_release slow
	ends 1
	packets received=6000 lost=0 kernel_drops=0
	is stream_bytes $((6000 * 5008))
	is_more ring.overflow_bytes 1000000
	targets=("$disk")
}
if (rig_need loop throttle) >/dev/null; then
	slow_at_the_end
else
	echo "no slow disk here: not tried"
fi

# ---- addresses

listen "udp:127.0.0.1:$port-$((port + 1))+$((port + 7)),frame=5032"
send -f 5032 -p le64 -s 10 "$vdif" 127.0.0.1 $port
send -f 5032 -p le64 -s 90 -x 2 -a 127.0.0.2 "$vdif" 127.0.0.1 $((port + 1))
send -f 5032 -p le64 -s 0 "$vdif" 127.0.0.1 $((port + 7))
heard 1
packets received=47 lost=1 stray=0 restarts=0
is written_bytes $((47 * 5032))

listen "udp::$port,from=any"
send -f 5032 -p le64 -s 10 "$vdif" 127.0.0.1 $port
send -f 5032 -p le64 -s 90000 -x 2 -a 127.0.0.2 "$vdif" 127.0.0.1 $port
send -f 5032 -p le64 -s 26 "$vdif" 127.0.0.1 $port
heard 1
packets received=47 lost=1 stray=0 restarts=0
# What is lost is filled, for each kind of fill.
filled "$vdif" 5032 3 8
listen "udp::$port" --fill pattern
send -f 5032 -p le64 -x 3,8 "$vdif" 127.0.0.1 $port
heard 1
packets received=14 lost=2
is filled_bytes $((2 * 5032))
cmp "$RIG/with_fill" "$disk/$name.raw" || rig_fail "$name: not what was sent, with fill in the gaps"
# Eight threads in turn, all of which have room in the ring: of each the frames that were lost are there, marked invalid, and
# none is missing.
"$TOOLS/tool_vdif" 2000 >"$RIG/threads.vdif" || rig_fail "no frames"
listen "udp::$port,psn=vdif,frame=8224" --fill vdif-invalid --ring 32Mi
send -f 8224 -r 4000 -x 100,101,905,1500-1522 "$RIG/threads.vdif" 127.0.0.1 $port
heard 1
packets received=1974 lost=26 stray=0 restarts=0
is filled_bytes $((26 * 8224))
status=0
"$BIN/vsib-check" --json "$RIG/checked" "$disk/$name" 2>"$words" || status=$?
ended 1 $status "vsib-check of filled frames"
for pair in frame_count=2000 missing_count=0 invalid_count=26; do
	[ "$("$TOOLS/tool_json" "$RIG/checked" "format.${pair%=*}")" = "${pair#*=}" ] || rig_fail "not $pair: $(cat "$RIG/checked")"
done
refused="--fill vdif-invalid: udp::$port doesn't know"
"$BIN/vsib-record" -s "udp::$port" --fill vdif-invalid -o "$disk" "$same" 2>"$words" && rig_fail "no number, and frames are filled"
grep -qF -- "$refused" "$words" || { cat "$words"; rig_fail "it did not say: $refused"; }

if has_ipv6; then
	listen "udp:[::1]:$port,from=::1"
	send -f 5032 "$vdif" ::1 $port
	whole "$vdif" 16
	listen "udp::$port" # both at one port
	send -f 5032 "$vdif" ::1 $port
	whole "$vdif" 16
else
	echo "no IPv6 here: not tried"
fi

# multicast GROUP ADDR INTERFACE
multicast() {
	listen "udp:$2:$port,iface=$3"
	send -f 5032 -i "$3" "$vdif" "$1" $port
	whole "$vdif" 16
}
multicast 239.255.77.1 239.255.77.1 lo

# From one machine to another, in fragments; what comes to the port on another interface is not taken.
if (veth_need) >/dev/null && veth_up 1500 2>/dev/null; then
	multicast 239.255.77.1 239.255.77.1 cable
	! has_ipv6 || multicast ff02::1%cable '[ff02::1]' cable
	listen "udp:192.0.2.1:$port,iface=cable,from=192.0.2.2"
	send -f 5032 "$vdif" 192.0.2.1 $port
	whole "$vdif" 16
	listen "udp::$port,iface=cable"
	"${near[@]}" "$TOOLS/tool_udp_send" -f 5008 "$m5b" 127.0.0.1 $port >"$RIG/sent"
	send -f 5032 "$vdif" 192.0.2.1 $port
	whole "$vdif" 16
	near=() far=()
else
	echo "no network namespaces here: multicast is only tried on lo"
fi

# ---- what can't be

# refused STATUS SENTENCE SOURCE
refused() {
	record "$1" -s "$3" -o "$disk" "$same" --name refused -d 1
	grep -qE -- "^vsib-record: .*$2" "$words" || { show_words; rig_fail "no sentence like '$2' about $3"; }
}

refused 64 'port is missing' udp:127.0.0.1
refused 64 'is no port' udp::0
refused 64 'is no port' udp::70000
refused 64 'is no port' udp::
refused 64 'goes backward' udp::5000-4000
refused 64 'more than 64 ports' udp::5000-5064
refused 64 'given twice' udp::5000+5000
refused 64 'is no address' udp:nowhere.invalid:5000
refused 64 'is no address' udp:300.1.1.1:5000
refused 64 'psn=foo: expected auto' "udp::$port,psn=foo"
refused 64 'frame=0' "udp::$port,frame=0"
refused 64 'frame=70000' "udp::$port,frame=70000"
refused 64 'window=0' "udp::$port,window=0"
refused 64 'is more than 4096' "udp::$port,window=5000"
refused 64 'from=here' "udp::$port,from=here"
refused 64 'rcvbuf=much' "udp::$port,rcvbuf=much"
refused 64 'unknown detail "colour"' "udp::$port,colour=red"
refused 66 'no such interface' "udp::$port,iface=nonesuch0"
refused 66 "doesn't have that address" "udp:203.0.113.77:$port"
listen "udp::$port"
refused 66 'is in use by another program' "udp::$port"
heard 66

# Only strays came: nothing was recorded.
listen "udp::$port,frame=5032"
send -f 100 -c 3 "$vdif" 127.0.0.1 $port
heard 66
packets received=3 stray=3
is discarded_bytes 300
