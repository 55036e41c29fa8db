#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# vsib-sim sends what it says: the pattern, and frames of VDIF and Mark5B whose time codes, numbers and contents are right,
# into files, pipes, FIFOs, datagrams and savefiles; a recorder at the other end counts the same losses, duplicates and
# swaps. What is absurd is refused with a sentence, and a signal is an end in order.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../expect.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../network.sh"

made=$RIG/made.json

# sim WANTED OPTION...: its report is $made
sim() {
	local wanted=$1 status=0
	shift
	rm -f "$made"
	timeout 60 "$BIN/vsib-sim" --live none --json "$made" "$@" 2>"$words" || status=$?
	ended "$wanted" $status vsib-sim "$@"
}

# made KEY: of its report; made_is KEY WANTED
made() {
	report=$made value "$1"
}

made_is() {
	report=$made is "$1" "$2"
}

# checked FILE KEY=VALUE...: vsib-check finds it good, and says so
checked() {
	local file=$1 pair
	shift
	rig_expect 0 "$BIN/vsib-check" --json "$RIG/check.json" "$file" >"$words" 2>&1
	for pair; do
		report=$RIG/check.json is "${pair%%=*}" "${pair#*=}"
	done
}

# pattern HEADER FRAME SEED FILE: what lies in its frames is the pattern from its begin on
pattern() {
	"$TOOLS/tool_payloads" "$1" "$2" <"$4" >"$RIG/payloads" || rig_fail "$4 has no whole frames"
	"$TOOLS/tool_verify_sim" -s "$3" "$RIG/payloads" || rig_fail "what lies in the frames of $4 is not the pattern"
}

# ---- files and pipes

sim 0 -t "file:$RIG/raw" -n 12345679 --seed 5
"$TOOLS/tool_verify_sim" -s 5 -n 12345679 "$RIG/raw" || rig_fail "the file is not the pattern"
made_is sent_bytes 12345679
made_is outcome complete
made_is format.kind raw
sim 73 -t "file:$RIG/raw" -n 1M
says 'raw'
sim 0 -t "file:$RIG/raw" -n 1M --force
[ "$(stat -c %s "$RIG/raw")" -eq 1000000 ] || rig_fail "--force has not written it anew"
"$BIN/vsib-sim" --live none -t - -n 5M 2>"$words" | "$TOOLS/tool_verify_sim" -n 5000000 || rig_fail "the pipe is not the pattern"

sim 0 -t "file:$RIG/vdif" -r 256 --format vdif --threads 4 --station Ef --start 2026-06-30T23:59:59Z -d 2 --seed 1
checked "$RIG/vdif" format.edv=1 format.thread_count=4 format.frame_bytes=8032 format.frame_rate=1000.000000000 \
	format.payload_bps=256000000 format.start_utc=2026-06-30T23:59:59.000000000Z format.end_utc=2026-07-01T00:00:01.000000000Z \
	format.frame_count=8000 format.missing_count=0 format.damaged_count=0 format.threads.0.station=Ef format.bits=2
made_is format.sample_rate_hz 32000000
pattern 32 8032 1 "$RIG/vdif"
sim 0 -t "file:$RIG/vdif3" -r 512 --format vdif --frame 5032 --edv 3 --threads 8 -n 80512 --start 2014-06-16T05:56:07Z
checked "$RIG/vdif3" format.edv=3 format.frame_rate=1600.000000000 format.frame_count=16

sim 0 -t "file:$RIG/m5b" -r 512 --format mark5b --start 2026-11-30T08:15:00.5Z -d 1
checked "$RIG/m5b" format.format=mark5b format.frame_rate=6400.000000000 format.start_utc=2026-11-30T08:15:00.500000000Z \
	format.frame_count=6400 format.missing_count=0 format.crc_count=0
pattern 16 10016 0 "$RIG/m5b"
rm "$RIG/vdif" "$RIG/m5b"

# ---- a FIFO with a recorder behind it

mkfifo "$RIG/fifo"
"$BIN/vsib-record" -s "dev:$RIG/fifo" -o "$disk" --name fifo "$same" --ring 8Mi --live none --json "$report" 2>"$told" &
recorder=$! name=fifo
sim 0 -t "dev:$RIG/fifo" -r 256 -d 500ms --ppm 50
made_is sent_bytes 16000000
ends 0
"$TOOLS/tool_verify_sim" -n 16000000 "$disk/fifo.raw" || rig_fail "not what went into the FIFO"

# ---- datagrams: both ends count the same

# compared: the recorder's account is the simulator's
compared() {
	local lost
	lost=$(made faults.lost_count)
	made_is faults.unit_count "$1"
	[ "$lost" -gt 0 ] || rig_fail "nothing was lost"
	heard 1
	packets "received=$(made sent_count)" "lost=$lost" "duplicate=$(made faults.duplicate_count)" \
		"reordered=$(made faults.reordered_count)" late=0 stray=0 restarts=0 kernel_drops=0
	is source.lost_bytes "$(made faults.lost_bytes)"
}

listen "udp:127.0.0.1:$port,psn=le64,frame=8032"
sim 0 -t "udp:127.0.0.1:$port,psn=le64" -r 128 --format vdif --threads 2 -d 0.5
made_is sent_count 1000
made_is destination.sent_bytes $((1000 * 8032))
heard 0
packets received=1000 lost=0 duplicate=0 reordered=0
checked "$disk/$name" format.frame_count=1000 format.thread_count=2 format.missing_count=0
pattern 32 8032 0 "$disk/$name.raw"

faults=(--start now --loss 0.02 --reorder 0.03:5 --duplicate 0.01)
listen "udp:127.0.0.1:$port,psn=le64,frame=8032"
sim 0 -t "udp:127.0.0.1:$port,psn=le64" -r 256 --format vdif -d 1 "${faults[@]}" --seed 3
compared 4000
listen "udp:127.0.0.1:$port,psn=vdif"
sim 0 -t "udp:127.0.0.1:$port" -r 128 --format vdif -d 1.2 "${faults[@]}" --seed 4
compared 2400
listen "udp:127.0.0.1:$port,psn=be64,frame=5008"
sim 0 -t "udp:127.0.0.1:$port,psn=be64" -r 128 --format mark5b --frame 5008 -d 1 "${faults[@]}" --jitter 1ms --stall 50ms:400ms
compared 3200
made_is faults.stall_count 2

# ---- a savefile

stored() {
	sim 0 -t "pcapfile:$RIG/pcap" -r 64 --format vdif -d 1 --start 2026-11-30T08:15:00Z
	record 0 -s "pcapfile:$RIG/pcap" -o "$disk" --name savefile "$same" --ring 8Mi --live none
	checked "$disk/savefile" format.frame_count=1000 format.missing_count=0
	pattern 32 8032 0 "$disk/savefile.raw"
	if command -v tcpdump >/dev/null; then
		TZ=UTC tcpdump -nttttr "$RIG/pcap" >"$RIG/dump" 2>&1
		[ "$(grep -c 'UDP, length 8032' "$RIG/dump")" -eq 1000 ] || rig_fail "tcpdump doesn't see 1000 datagrams"
		grep -q '^2026-11-30 08:15:00.999' "$RIG/dump" || rig_fail "the packets have no times of their frames"
	fi
}
! "$BIN/vsib-sim" --list-destinations | grep -q '^pcapfile:' || stored

# ---- the end by a signal

# signalled WANTED OPTION...: an INT when it plays
signalled() {
	local wanted=$1 status=0 pid
	shift
	rm -f "$made"
	"$BIN/vsib-sim" --live log --log-interval 1s --json "$made" "$@" 2>"$words" &
	pid=$!
	wait_for 10 grep -q PLAYING "$words" || rig_fail "it doesn't play"
	sleep 0.3
	kill -INT $pid
	wait $pid || status=$?
	ended "$wanted" $status vsib-sim "$@"
}

signalled 0 -t null: -r 64
made_is reason signal
made_is outcome complete
signalled 2 -t null: -r 64 -d 1h
made_is outcome stopped

# ---- what can't be

# refused SENTENCE OPTION...
refused() {
	local sentence=$1
	shift
	sim 64 "$@"
	says "$sentence"
	! [ -e "$made" ] || rig_fail "a report of what was refused"
}

refused '512.256 or 512.32 Mbit/s' -t null: -r 512.3 --format vdif
refused 'need a rate' -t null: --format vdif
refused 'longer one' -t null: --stall 5s:1s
refused 'more than all' -t null: --loss 0.7 --reorder 0.7
refused 'go with --format vdif' -t null: --format mark5b -r 512 --threads 4
refused 'need a pace' -t "file:$RIG/new" -r 512 --jitter 1ms
refused 'power of two' -t null: --channels 12
refused 'nowhere' -t nowhere:
! [ -e "$RIG/new" ] || rig_fail "a file is left of what was refused"
sim 73 -t "file:$RIG/none/file" -n 1M
"$BIN/vsib-sim" --list-destinations >"$RIG/list" 2>"$words" || rig_fail "--list-destinations"
grep -q '^udp:' "$RIG/list" || rig_fail "the list has no udp:"
