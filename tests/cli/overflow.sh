#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Losses, by a ring that was full and by the device itself: counted, told by place and length, and the data behind
# them at their true offset.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

mkdir "$RIG/one" "$RIG/a" "$RIG/b"
one=("$RIG/one") two=("$RIG/a" "$RIG/b")

# Reads its input at some 3 MB/s and puts it into a file.
slow_reader() {
	while head -c 65536 >"$RIG/piece" && [ -s "$RIG/piece" ]; do
		cat "$RIG/piece"
		sleep 0.02
	done >"$RIG/received"
}

# to_slow_reader WANTED OPTION...
to_slow_reader() {
	local wanted=$1 status
	shift
	rm -f "$report"
	"$BIN/vsib-record" --json "$report" -o - --ring 2Mi --block 64Ki --live none "$@" 2>"$words" | slow_reader
	status=("${PIPESTATUS[@]}")
	ended "$wanted" "${status[0]}" vsib-record -o - "$@"
	account
	# the gaps of the report are where the data say they are
	paste -d ' ' <(value 'gaps.*.stream_offset') <(value 'gaps.*.bytes') >"$RIG/gaps"
	"$TOOLS/tool_verify_sim" -G "$RIG/gaps" -n "$(value written_bytes)" "$RIG/received" ||
		rig_fail "what the slow reader got is not the stream with these gaps: $(head -n 5 "$RIG/gaps")"
}

# ---- the ring is full: a source that cannot wait
to_slow_reader 1 -s sim: -r 80 -d 2
is stream_bytes 20000000
is outcome loss
is_more ring.overflow_bytes 1000000
is_more ring.overflow_count 0
is ring.high_water_bytes "$(value ring.capacity_bytes)"
is source.lost_bytes 0
[ "$(value 'gaps.*.cause' | sort -u)" = overflow ] || rig_fail "causes: $(value 'gaps.*.cause' | sort | uniq -c)"
said 'the ring was full for .* bytes lost at stream offset'

to_slow_reader 1 -s sim: --on-overflow drop -n 9000000
is stream_bytes 9000000
is_more ring.overflow_bytes 0

# ---- one that can, or is told to: nothing is lost, it takes longer
for given in "-s sim:" "-s sim: -r 800 --on-overflow wait" "-s dev:$RIG/fifo"; do
	case $given in
	*fifo)
		mkfifo "$RIG/fifo"
		"$BIN/vsib-record" -s sim: -n 6000000 -o - --ring 1Mi --live none >"$RIG/fifo" 2>/dev/null &
		;;
	esac
	# shellcheck disable=SC2086 # words
	to_slow_reader 0 $given -n 6000000
	is written_bytes 6000000
	is gap_count 0
	is_more ring.source_waited_s 0.1
done

# ---- or the end
to_slow_reader 2 -s sim: -r 160 -d 60 --on-overflow stop
is outcome stopped
is_less duration_s 30
is_more ring.overflow_bytes 0
is ring.overflow_count 1
[ "$(value gaps.0.stream_offset)" -ge $((1 << 20)) ] || rig_fail "stopped at $(value gaps.0.stream_offset), though the ring is larger"

# ---- the device loses
number=0
# lossy STREAM-BYTES OPTION...: to one disk and to two
lossy() {
	local bytes=$1 name
	shift
	name=lossy_$((number += 1))
	record 1 --name $name -o "${one[0]}" --ring 16Mi --block 64Ki "$same" --live none "$@"
	is stream_bytes "$bytes"
	is ring.overflow_bytes 0
	audit $name "${one[@]}"
	cp "$RIG/gaps" "$RIG/gaps.one"
	gathered_sim "$bytes" $name "${one[@]}"
	record 1 --name $name -o "${two[0]}" -o "${two[1]}" --ring 16Mi --block 64Ki --chunk 256Ki "$same" --live none "$@"
	is stream_bytes "$bytes"
	audit $name "${two[@]}"
	gathered_sim "$bytes" $name "${two[@]}"
	rm -rf "$RIG/one"/* "$RIG"/[ab]/*
}

# expect_gaps OFFSET:BYTES...: of the last one to one disk
expect_gaps() {
	printf '%s\n' "$@" | tr : ' ' | diff - "$RIG/gaps.one" || rig_fail "other gaps in the journal than the device had"
}

# by plan: at the beginning, one byte, behind each other, across a block, in one block many, at the end
lossy 6000000 -s sim:gap=64Ki@0,gap=1@70001,gap=1@70003,gap=100000@131000,bytes=6000000
expect_gaps 0:65536 70001:1 70003:1 131000:100000
lossy 7000000 -s sim:gap=1000000@6000000,bytes=7000000
expect_gaps 6000000:1000000
many=
wanted=()
for ((at = 100000; at < 160000; at += 1000)); do
	many=$many,gap=$((at / 1000))@$at
	wanted+=($at:$((at / 1000)))
done
lossy 1000000 -s "sim:${many#,},bytes=1000000"
expect_gaps "${wanted[@]}"

# -n and -d count what was lost, too: the stream has its length
lossy 5000000 -s sim:gap=1M@2M -n 5000000
lossy 8000000 -s sim:rate=64,gap=1M@2M -d 1

# a device whose own ring is smaller than the time it is not read for
lossy 10000000 -s sim:rate=80,stall=500ms@300ms,buffer=256Ki -d 1
[ "$(sum <"$RIG/gaps.one")" -ge 3000000 ] || rig_fail "the first loss by the stall is not behind 300 ms: $(cat "$RIG/gaps.one")"
is_more source.lost_bytes 3000000
is source.device_ring_bytes 262144

# ... because the recorder was stopped: told as the device's loss, not as the ring's
rm -f "$report"
"$BIN/vsib-record" --json "$report" -s sim:rate=80,buffer=1M -d 3 --name stopped -o "${one[0]}" --ring 16Mi "$same" --live log \
	>"$output" 2>"$words" &
pid=$!
wait_for 10 grep -q ARMED "$words" || rig_fail "not ARMED after 10 s"
sleep 0.7
child=$(child_of $pid)
kill -STOP "$child"
sleep 0.8
kill -CONT "$child"
status=0
wait $pid || status=$?
ended 1 $status "vsib-record, stopped for 0.8 s"
account
is ring.overflow_bytes 0
is_more source.lost_bytes 3000000
audit stopped "${one[@]}"
gathered_sim 30000000 stopped "${one[@]}"
