#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Disks that fill up while there is no other: the stream ends before, and everything that was received is on them.
# Real file systems, with one and with two disks, in each layout; with what is kept for root, and with another
# program that writes there too.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../network.sh"
rig_need loop tune2fs space:300

bytes_free() {
	stat -f -c '%a * %S' "$@" | paste -s -d + | { read -r sum; echo $((sum)); }
}

# until_full LEFT OPTION...: records until the disks in targets are about to be full; at most LEFT bytes of them are
# left: little at a usual rate; at a gigabyte a second files get their space while the room is being looked at, and the
# doubt is the recorder's to bear
until_full() {
	local left=$1 free target to=()
	shift
	find "${targets[@]}" -mindepth 1 ! -name lost+found -delete
	for target in "${targets[@]}"; do
		to+=(-o "$target")
	done
	free=$(bytes_free "${file_systems[@]}")
	record 2 --name until "$@" "${to[@]}" --block 256Ki --live none
	is outcome stopped
	is reason disks-full
	is gap_count 0
	is written_bytes "$(value stream_bytes)"
	said 'the stream ends before the disks are full: .*bytes left'
	# of several disks the first that is full is left, and its last chunk is on another one
	[ ${#file_systems[@]} -gt 1 ] || { is disks.0.state ok && said_not 'No space left'; }
	[ "$(value written_bytes)" -ge $((free - left)) ] || rig_fail "only $(value written_bytes) of $free bytes were used: $*"
	[ -z "$(find "${targets[@]}" -name '*.part')" ] || rig_fail "unfinished: $(find "${targets[@]}" -name '*.part')"
	audit until "${targets[@]}"
	gathered_sim "$(value stream_bytes)" until "${targets[@]}"
}

rig_disk a 40
rig_disk b 40
mkdir "$RIG/a/1" "$RIG/a/2"

# ---- one disk
targets=("$RIG/a/1") file_systems=("$RIG/a")
until_full 3000000 -s sim: -r 200 --ring 16Mi
until_full 12000000 -s sim: --ring 8Mi --file-size 3M
until_full 12000000 -s sim: --ring 8Mi --file-time 50ms
until_full 12000000 -s sim: --ring 8Mi --layout vbs --chunk 1Mi --io buffered
# a limit that is not reached is no other end; one that is reached is
until_full 3000000 -s sim: -r 200 -d 60 --ring 16Mi
until_full 12000000 -s sim: --ring 8Mi -n 500M
find "$RIG/a/1" -mindepth 1 -delete
record 0 --name until -s sim: -n 30M --ring 8Mi -o "$RIG/a/1" --live none
# what is kept for root is not free
tune2fs -r 8192 "${rig_device[a]}" >/dev/null
until_full 12000000 -s sim: --ring 8Mi --layout vbs --chunk 1Mi
[ "$(stat -f -c '%f * %S' "$RIG/a" | { read -r sum; echo $((sum)); })" -gt 8000000 ] || rig_fail "what is kept for root was used"
tune2fs -r 0 "${rig_device[a]}" >/dev/null

# ---- two directories on one disk, and two disks
targets=("$RIG/a/1" "$RIG/a/2")
until_full 15000000 $same -s sim: --ring 16Mi --chunk 1Mi
rm -r "${targets[@]}"
targets=("$RIG/a" "$RIG/b") file_systems=("$RIG/a" "$RIG/b")
until_full 8000000 -s sim: -r 400 --ring 32Mi --chunk 1Mi
until_full 8000000 -s sim: --ring 32Mi --layout raw --file-size 1Mi
until_full 8000000 -s sim: --ring 32Mi --layout raw --file-time 50ms --chunk 1Mi
until_full 8000000 -s sim: --ring 32Mi --chunk 1Mi --layout raw --stripe round

# ---- another program writes there too: seen in time
find "$RIG/a" -mindepth 1 ! -name lost+found -delete
"$BIN/vsib-record" --json "$report" --name other -s sim: -r 50 -o "$RIG/a" --ring 8Mi --block 256Ki --live none 2>"$words" &
wait_for 20 test -s "$RIG/a/other.raw" || rig_fail "nothing in other.raw after 20 s"
dd if=/dev/zero of="$RIG/a/others" bs=1M count=12 2>/dev/null
status=0
wait $! || status=$?
ended 2 $status "vsib-record, with another program writing"
is reason disks-full
is gap_count 0
is written_bytes "$(value stream_bytes)"
is disks.0.state ok
rm "$RIG/a/others"
audit other "$RIG/a"
gathered_sim "$(value stream_bytes)" other "$RIG/a"

# ---- fill goes as far as there is room, and what was read behind it has its own
for at in 5M 25M 29M; do
	find "$RIG/a" -mindepth 1 ! -name lost+found -delete
	record 2 -s "sim:gap=100M@$at" -n 300M --name filled --fill pattern -o "$RIG/a" --ring 8Mi --block 256Ki
	is reason disks-full
	is_more filled_bytes 100000
	is disk_lost_bytes 0
	is ring.overflow_bytes 0
	is disks.0.state ok
	audit filled "$RIG/a"
done

# ---- what a source still holds when it is stopped is taken as far as there is room
# held SOURCE [OPTION...]: much has come to it when the signal does; the end of the disk may come before that is seen
held() {
	local child
	find "$RIG/a" -mindepth 1 ! -name lost+found -delete
	dd if=/dev/zero of="$RIG/a/others" bs=1M count=24 2>/dev/null
	listen "$@" --block 256Ki
	child=$(child_of $recorder)
	kill -STOP "$child"
	send -f 8192 -c 3000 "$RIG/zeros" 127.0.0.1 $port
	kill -INT "$child"
	kill -CONT "$child"
	ends '1 2'
	said 'the stream ends before the disks are full'
	is stream_bytes $(($(value written_bytes) + $(value ring.overflow_bytes))) # the rest had no room, and is counted
	is disks.0.state ok
	is_more written_bytes 1000000
}
head -c 8192 /dev/zero >"$RIG/zeros"
disks=("${targets[@]}")
targets=("$RIG/a")
held "udp:127.0.0.1:$port,rcvbuf=64Mi,frame=8192"
held "pcap:lo,filter=udp dst port $port" --layout pcap --ring 32Mi
targets=("${disks[@]}")

# ---- wr: the next block has its place, so the first that is about to be full ends it
find "${targets[@]}" -mindepth 1 ! -name lost+found -delete
status=0
"$BIN/vsib-record" -s sim: -n 200M -o - --live none 2>/dev/null |
	"$BIN/wr" --ring=8Mi --json="$report" 262144 1000 0 0 0 0 2 "$RIG/a/w%d" 4 "$RIG/b/w%d" 4 >"$output" 2>"$words" || status=$?
ended 2 $status wr
is reason disks-full
is written_bytes "$(value stream_bytes)"
[ "$(value written_bytes)" -gt 60000000 ] || rig_fail "only $(value written_bytes) bytes were used"

# ---- no room for a single chunk: refused
find "${targets[@]}" -mindepth 1 ! -name lost+found -delete
record 73 -s sim: -n 200M -o "$RIG/a" -o "$RIG/b" --ring 512Mi
said 'no target has room for a piece of [0-9]* bytes.*--chunk'
empty "${targets[@]}"
