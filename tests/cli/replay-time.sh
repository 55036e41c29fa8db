#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Playback by time: begin and end at a moment that frames or the journal's clock tell, a pace that comes from time codes, from
# the stamps of packets or from the clock of the recording, gaps and speeds included; frames are counted where headers
# don't say how many there are in a second; what no time can be found for is refused with a sentence.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../expect.sh"
. "${0%/*}/../replay.sh"
rig_need data
radio=$DATA/radio derived=$DATA/derived
mkdir "$RIG/a"

# part FILE FROM TO: these bytes of it are what has been played
part() {
	tail -c +$(($2 + 1)) "$1" | head -c $(($3 - $2)) | cmp - "$output" || rig_fail "not the bytes from $2 to $3 of $1"
}

# lasts FROM TO: seconds that it took by the report
lasts() {
	local took
	took=$(played_value duration_s) || exit 1
	awk "BEGIN { exit !($took >= $1 && $took <= $2) }" || { show_words; rig_fail "it took $took s, not $1 to $2"; }
}

# ---- moments: frames of 8 threads, 1600 a second each, from 2014-06-16T05:56:07 on

vdif=$radio/sample.vdif frame=5032
play 0 "$vdif" --start 2014-06-16T05:56:07.000625Z -t -
part "$vdif" $((8 * frame)) $((16 * frame))
play 0 "$vdif" --start 0.625ms -t -
part "$vdif" $((8 * frame)) $((16 * frame))
play 0 "$vdif" --stop 2014-06-16T05:56:07.000625Z -t -
part "$vdif" 0 $((8 * frame))
play 0 "$vdif" --start 2000-01-01T00:00:00Z -t -
part "$vdif" 0 $((16 * frame))
play 66 "$vdif" --start 2030-01-01T00:00:00Z -t -
says 'behind the last'
play 64 "$vdif" --stop 2000-01-01T00:00:00Z -t -
says 'not behind --start'
play 64 "$vdif" --start 0.625ms --stop 0.625ms -t -
says 'not behind --start'
m5b=$radio/sample.m5b
play 0 "$m5b" --start 2025-05-26T05:30:01.0003125Z -t -
part "$m5b" $((2 * 10016)) $((4 * 10016))
head -c 100000 /dev/urandom >"$RIG/noise"
play 64 "$RIG/noise" --start 2025-01-01T00:00:00Z -t -
says 'say it in bytes'
play 64 "$RIG/noise" --as-recorded -t null:
says '--rate'
play 0 "$RIG/noise" --start 1ms -r 100 -t -
part "$RIG/noise" 12500 100000

# ---- pace: three seconds of 250 frames each, of which headers don't say how many they are

"$BIN/vsib-sim" -t "file:$RIG/three.vdif" --format vdif --edv 0 -r 16 -d 3 --start 2026-01-01T00:00:00Z --live none 2>"$words" || rig_fail "no frames are made"
frame=8032
play 0 "$RIG/three.vdif" --as-recorded --speed 10 -t -
part "$RIG/three.vdif" 0 $((750 * frame))
is_played schedule.kind frames
lasts 0.28 0.6
play 0 "$RIG/three.vdif" --start 2026-01-01T00:00:01.5Z --stop 2026-01-01T00:00:02Z -t -
part "$RIG/three.vdif" $((375 * frame)) $((500 * frame))
# a second is cut out: the others keep their time
{ head -c $((250 * frame)) "$RIG/three.vdif" && tail -c $((250 * frame)) "$RIG/three.vdif"; } >"$RIG/two.vdif"
play 0 "$RIG/two.vdif" --as-recorded --speed 10 --frame-rate 250 -t -
same "$RIG/two.vdif" "$output"
lasts 0.28 0.6
play 0 "$RIG/two.vdif" --as-recorded --speed 10 --loop 2 --frame-rate 250 -t null:
lasts 0.55 1
# less than two whole seconds
head -c $((100 * frame)) "$RIG/three.vdif" >"$RIG/short.vdif"
play 64 "$RIG/short.vdif" --as-recorded -t null:
says '--frame-rate'

# ---- by the stamps of packets

"$BIN/vsib-sim" -t "pcapfile:$RIG/one.pcap" --format vdif -r 16 -d 1 --live none 2>"$words" || rig_fail "no packets are made"
play 0 "$RIG/one.pcap" --as-recorded -t null: --speed 4
is_played schedule.kind stamps
lasts 0.24 0.5
play 0 "$RIG/one.pcap" --as-recorded -t "pcapfile:$RIG/again.pcap" --speed 20
"$TOOLS/tool_packets" -t "$RIG/one.pcap" >"$RIG/sent"
"$TOOLS/tool_packets" -t "$RIG/again.pcap" >"$RIG/came"
cmp "$RIG/sent" "$RIG/came" || rig_fail "the stamps are not kept"
# twice the same one behind the other: two packets tell that time has gone back, and all keep their pace
play 0 "$RIG/one.pcap" "$RIG/one.pcap" --as-recorded -t null: --speed 8
is_played schedule.backward_count 2
lasts 0.1 0.5

# ---- by the clock of a recording, with a gap of its own

record 1 -s sim:rate=80,gap=2M@1M,seed=3 -n 8M --name clock -o "$RIG/a" --ring 4Mi --block 64Ki "$same" --live none
play 1 "$RIG/a/clock" --as-recorded --speed 2 -t null:
is_played schedule.kind clock
is_played gap_count 1
lasts 0.35 0.6
play 0 "$RIG/a/clock" --start 0.4s -t null: # behind the gap
awk "BEGIN { b = $(played_value sent_bytes); exit !(b > 3600000 && b < 4400000) }" || rig_fail "0.4 s of 80 Mbit/s are not about 4 MB"
