#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# beside: yes
# rd plays what wr has recorded, with the same arguments: one directory and three, files that roll at different places, a
# last block in the middle of a round; what is missing is named.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../expect.sh"
a=$RIG/a b=$RIG/b c=$RIG/c
mkdir "$a" "$b" "$c"
"$BIN/vsib-record" -s sim:seed=3 -n 4000000 -o - --ring 4Mi --live none >"$RIG/stream" 2>"$words" || rig_fail "no stream is made"

# goes ARGUMENT...: recorded from the stream, played, the same
goes() {
	local bytes=$(($1 * $2)) status=0
	rm -rf "$a"/* "$b"/* "$c"/*
	"$BIN/wr" "$@" <"$RIG/stream" 2>"$words" || rig_fail "wr $*"
	"$BIN/rd" "$@" >"$RIG/out" 2>"$words" || status=$?
	ended 0 $status rd "$@"
	head -c $bytes "$RIG/stream" >"$RIG/part"
	same "$RIG/part" "$RIG/out"
	said "^Took [0-9.]+ seconds, [0-9.]+ Mbits\(dec\)/s \([0-9.]+% of PCI33\), usleeps = [0-9]+\.$"
}

goes 8000 500 0 0 0 0 1 "$a/t%06d" 100
goes 8000 499 0 0 0 0 1 "$a/one" 500
goes 8000 500 1 2 0 0 3 "$a/t%06d" 50 "$b/u%d" 7 "$c/all" 1000
said 'no VSIB board'
goes 80000 50 0 0 0 0 2 "$a/t%06d" 5 "$b/t%06d" 5
goes 512 1000 0 0 0 0 2 "$a/t%06d" 100 "$b/t%06d" 100

goes 8000 500 0 0 0 0 2 "$a/t%06d" 50 "$b/t%06d" 50
rm "$b/t000001"
expect 1 "$BIN/rd" 8000 500 0 0 0 0 2 "$a/t%06d" 50 "$b/t%06d" 50 >"$RIG/out"
says t000001
"$BIN/rd" 8000 500 0 0 0 0 2 "$a/t%06d" 50 "$b/t%06d" 50 --destination "file:$RIG/closed" 2>/dev/null
same "$RIG/closed" "$RIG/out"

expect 64 "$BIN/rd" 8000 500
expect 64 "$BIN/rd" 8000 500 0 0 0 0 2 "$a/t%06d" 50
expect 66 "$BIN/rd" 8000 500 0 0 0 0 1 "$RIG/nothing/t%06d" 50

# ---- to the board (its stand-in): filled first, sent from a full second on, emptied at the end

"$BIN/wr" 8000 500 0 0 0 0 2 "$a/v%06d" 50 "$b/v%06d" 50 <"$RIG/stream" 2>"$words" || rig_fail "wr"
board=vsib:fake:ring=1M:descrs=100
to_board() {
	local wanted=$1 status=0
	shift
	rm -f "$RIG/played"
	timeout 60 "$BIN/rd" 8000 500 0 0 0 0 2 "$a/v%06d" 50 "$b/v%06d" 50 --json "$RIG/played" --destination "$@" 2>"$words" || status=$?
	ended "$wanted" $status rd to "$@"
}
played() {
	[ "$("$TOOLS/tool_json" "$RIG/played" "$1")" = "$2" ] || { show_words; rig_fail "$1 is not $2"; }
}
to_board 0 $board:clock=32M
played sent_bytes 4000000
played unsent_bytes 0
played destination.device_ring_bytes 1000000
played underrun_count 0
# it takes no more: what went out is known to the byte
to_board 2 $board:clock=32M:error=5@2000000
says 'Input/output error'
played sent_bytes 2000000
played unsent_bytes 2000000
# its clock stops: the first signal would still empty it, the second doesn't wait for that
env --default-signal=INT "$BIN/rd" 8000 500 0 0 0 0 2 "$a/v%06d" 50 "$b/v%06d" 50 --destination $board:clock=32M:stop=30ms 2>"$words" &
player=$!
sleep 1.5
kill -INT $player
sleep 0.5
kill -0 $player 2>/dev/null || rig_fail "a board that stands still was not waited for"
kill -INT $player
status=0
wait $player || status=$?
ended 2 $status rd to a board that stands still
