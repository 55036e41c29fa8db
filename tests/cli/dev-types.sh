#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Devices with types of their own, on their stand-ins: LitePCIe buffers that were overwritten are gaps of exactly
# that place and length in report and journal, and the data behind them are at their true offset; XDMA packets of any
# length arrive whole; a device that is busy, gone or something else is refused or told in words.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

mkdir "$RIG/one" "$RIG/a" "$RIG/b"
small=(--ring 16Mi --block 64Ki "$same" --live none)
number=0

# recorded WANTED STREAM-BYTES SOURCE OPTION...: to one disk and to two; gathered and compared
recorded() {
	local wanted=$1 bytes=$2 source=$3 name
	shift 3
	name=dev_$((number += 1))
	record "$wanted" -s "$source" --name $name -o "$RIG/one" "${small[@]}" "$@"
	is stream_bytes "$bytes"
	is ring.overflow_bytes 0
	audit $name "$RIG/one"
	cp "$RIG/gaps" "$RIG/gaps.one"
	gathered_sim "$bytes" $name "$RIG/one"
	record "$wanted" -s "$source" --name $name -o "$RIG/a" -o "$RIG/b" --chunk 256Ki "${small[@]}" "$@"
	audit $name "$RIG/a" "$RIG/b"
	diff "$RIG/gaps.one" "$RIG/gaps" || rig_fail "other gaps on two disks than on one: $source"
	gathered_sim "$bytes" $name "$RIG/a" "$RIG/b"
	rm -rf "$RIG"/{one,a,b}/*
}

# expect_gaps OFFSET:BYTES...: in the journal, and in the report
expect_gaps() {
	is gap_count $#
	printf '%s\n' "$@" | tr : ' ' | diff - "$RIG/gaps.one" || rig_fail "other gaps in the journal than the device had"
	paste -d ' ' <(value 'gaps.*.stream_offset') <(value 'gaps.*.bytes') | diff - "$RIG/gaps.one" ||
		rig_fail "other gaps in the report than in the journal"
}

# refused WANTED SENTENCE OPTION...: a sentence, no report
refused() {
	record "$1" "${@:3}" --name refused -o "$RIG/one" "${small[@]}"
	says "$2"
	[ ! -e "$report" ] || rig_fail "a report of a refused recording: ${*:3}"
	empty "$RIG/one"
}

# ---- LitePCIe. Half this ring takes three seconds to fill: only the loss that was planned occurs.
litepcie=dev:fake:rate=40:buffers=4096
recorded 0 2000000 $litepcie,type=litepcie -n 2000000
is gap_count 0
is source.device_ring_bytes 16777216
is_more source.device_fill_max_bytes 0
# one buffer before the first; within a block; over many, and over chunks
for at in 0:8192 8192:40960 1048576:819200 1998848:2801664; do
	recorded 1 5000000 "$litepcie:late=${at#*:}@${at%:*},type=litepcie" -n 5000000
	is source.lost_bytes "${at#*:}"
	is source.estimated_bytes 0
	is source.device_fill_max_bytes 16777216
	expect_gaps $at
done

# lost before the ring, where no counter tells: bytes against the clock
record 1 -s $litepcie,type=litepcie -r 80 -d 1500ms -o null: "${small[@]}"
is gap_count 0
is_more source.missing_bytes 2500000
said 'came at .* % of the rate given: about [0-9]* bytes are missing by the clock'

# stopped by the operator: what the ring still had belongs to the stream
status=0
rm -f "$report"
env --default-signal=INT "$BIN/vsib-record" --json "$report" -s $litepcie,type=litepcie --name stopped -o "$RIG/one" \
	"${small[@]}" >"$output" 2>"$words" &
pid=$!
wait_for 20 test -s "$RIG/one/stopped.vsib.jsonl" || rig_fail "it did not begin"
sleep 0.5
kill -INT $pid
wait $pid || status=$?
ended 0 $status 'vsib-record, interrupted'
account
is source.lost_bytes 0
audit stopped "$RIG/one"
gathered_sim "$(value stream_bytes)" stopped "$RIG/one"
rm -rf "$RIG"/one/*

# ---- XDMA: packets that make every memory address odd, a stream that pauses, one without packets
xdma=dev:fake:rate=400:fifo=1G
recorded 0 3000000 $xdma:packet=8032,type=xdma,eop -n 3000000
recorded 0 3000001 $xdma:packet=5032,type=xdma,eop=1 -n 3000001 --block 12Ki
recorded 0 3000000 $xdma:timeout=100ms:pause=300ms@1000000,type=xdma -n 3000000
recorded 0 3000000 $xdma,type=xdma -n 3000000 -r 400

# bytes against the clock
record 0 -s $xdma,type=xdma -n 3000000 -o null: "${small[@]}"
said 'has no ring and tells no loss: give -r'
record 1 -s $xdma,type=xdma -r 800 -d 1500ms -o null: "${small[@]}"
said 'came at .* % of the rate given: about [0-9]* bytes are missing by the clock'

# a transfer without end doesn't keep a recording from its own; it is all the same for the operator's signal
record 0 -s $xdma:pause=60s@1000000:timeout=0,type=xdma -d 1 -o null: "${small[@]}"
is reason duration
is_less duration_s 10

# ---- gone, busy, something else
record 2 -s $xdma:error=19@1M,type=xdma --name gone -o "$RIG/one" "${small[@]}"
is stream_bytes 1000000
says 'was it unplugged'
audit gone "$RIG/one"
gathered_sim 1000000 gone "$RIG/one"
rm -rf "$RIG"/one/*
record 2 -s $litepcie:error=19@1Mi,type=litepcie --name gone -o "$RIG/one" "${small[@]}"
is stream_bytes 1048576
says 'was it unplugged'
audit gone "$RIG/one"
gathered_sim 1048576 gone "$RIG/one"
rm -rf "$RIG"/one/*
refused 66 'another program has this channel open' -s $xdma:busy=1,type=xdma
refused 66 'another program has the DMA' -s $litepcie:busy=1,type=litepcie
refused 66 'no LitePCIe device' -s dev:/dev/zero,type=litepcie
refused 66 'no channel of the XDMA driver' -s dev:/dev/zero,type=xdma
refused 64 'unknown type "tape"; dev: knows plain xdma litepcie' -s dev:/dev/zero,type=tape
refused 64 'eop goes with type=xdma' -s dev:/dev/zero,eop
