#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# beside: yes
# What was recorded is played to files, pipes and FIFOs: every layout, with a start, a stop and in a loop; gaps keep their
# time, or are filled, or closed up; what is wrong comes from another copy or from parity, or is a gap that is named; and
# what can't be played is refused with a sentence.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../expect.sh"
. "${0%/*}/../replay.sh"
rig_need mkfifo
a=$RIG/a b=$RIG/b c=$RIG/c
mkdir "$a" "$b" "$c"
three=(-o "$a" -o "$b" -o "$c")
small=(--ring 4Mi --block 64Ki "$same" --live none)
size=$((20 * 1048576 + 12345))
"$BIN/vsib-record" -s sim:seed=7 -n $size -o - --ring 4Mi --live none >"$RIG/stream" 2>"$words" || rig_fail "no stream is made"
clean() {
	rm -rf "$a"/* "$b"/* "$c"/*
}

# plays RECORDING-OR-FILE [OPTION...]: it is the stream, to a file, to stdout, and into a FIFO
plays() {
	rm -f "$RIG/out"
	play 0 "$@" -t "file:$RIG/out"
	same "$RIG/stream" "$RIG/out"
	is_played outcome complete
	is_played sent_bytes $size
	play 0 "$@" -t -
	same "$RIG/stream" "$output"
}

# ---- layouts

record 0 -s sim:seed=7 -n $size --name raw -o "$a" "${small[@]}"
plays "$a/raw"
plays "$a/raw.raw"
plays "$a/raw" --engine pread
plays "$a/raw" --io buffered --ring 1Mi --block 64Ki
clean
record 0 -s sim:seed=7 -n $size --name rolled --layout raw --file-size 3M -o "$a" "${small[@]}"
plays "$a/rolled"
plays "$a"/rolled.000???
clean
record 0 -s sim:seed=7 -n $size --name chunks --layout vbs --chunk 512Ki "${three[@]}" "${small[@]}"
plays "$a/chunks"
plays chunks "$a" "$b" "$c"
clean
packets=$((size / 5000 * 5000))
record 0 -s sim:seed=7 -n $packets --name grains --layout mark6 --packet-size 5000 "${three[@]}" "$same" --live none
rm -f "$RIG/out"
play 0 "$a/grains" -t "file:$RIG/out"
head -c $packets "$RIG/stream" | cmp - "$RIG/out" || rig_fail "a Mark6 set is not what was recorded"
rm -f "$a"/*.jsonl "$b"/*.jsonl "$c"/*.jsonl
play 0 grains "$a" "$b" "$c" -t -
same "$RIG/out" "$output"
clean

# ---- places and loops

record 0 -s sim:seed=7 -n $size --name raw -o "$a" "${small[@]}"
cut_out() {
	tail -c +$(($1 + 1)) "$RIG/stream" | head -c $(($2 - $1)) >"$RIG/part"
}
for place in '0 1' '1 4097' '12345 12346' '5000001 15000002' '20971519 20983865'; do
	set -- $place
	rm -f "$RIG/out"
	play 0 "$a/raw" --start "$1" --stop "$2" -t "file:$RIG/out"
	cut_out "$1" "$2"
	same "$RIG/part" "$RIG/out"
done
play 66 "$a/raw" --start 1G -t null:
said 'there are only'
play 64 "$a/raw" --start 2M --stop 1M -t null:
rm -f "$RIG/out"
play 0 "$a/raw" --stop 1M --loop 3 -t "file:$RIG/out"
cut_out 0 1000000
cat "$RIG/part" "$RIG/part" "$RIG/part" | cmp - "$RIG/out" || rig_fail "a loop is not three times the same"

# ---- streams, FIFOs

play 0 - -t - <"$RIG/stream"
same "$RIG/stream" "$output"
mkfifo "$RIG/fifo"
cat "$RIG/fifo" >"$RIG/through" &
reader=$!
play 0 "$a/raw" -t "dev:$RIG/fifo"
wait $reader
same "$RIG/stream" "$RIG/through"
cat "$RIG/stream" >"$RIG/fifo" &
play 0 "$RIG/fifo" -t -
same "$RIG/stream" "$output"
# nobody reads any more
{ timeout 60 "$BIN/vsib-replay" "$a/raw" -t - --live none 2>"$words"; echo $? >"$RIG/status"; } | head -c 100000 >"$RIG/part"
[ "$(cat "$RIG/status")" = 2 ] || { show_words; rig_fail "status $(cat "$RIG/status") when nobody reads any more, not 2"; }
clean

# ---- copies, parity, and what neither mends

record 0 -s sim:seed=7 -n $size --name twice --copies 2 --layout vbs --chunk 512Ki -o "$a" -o "$b" "${small[@]}"
rm -rf "$b"/*
plays "$a/twice"
clean
record 0 -s sim:seed=7 -n $size --name twice --copies 2 --layout vbs --chunk 512Ki -o "$a" -o "$b" "${small[@]}"
# of each disk and of each copy something is wrong, whichever of them is read
for bad in twice/twice.0000000{0,1,4,5} twice-copy/twice-copy.0000000{2,3,6,7}; do
	flip "$(find "$a" "$b" -path "*/$bad")" 1000
done
plays "$a/twice"
grep -qE 'twice(-copy)?\.0000000[0-7]' "$words" || { show_words; rig_fail "no word of what is wrong"; }
clean
record 0 -s sim:seed=7 -n $size --name rows --parity --stripe round --layout raw --file-size 2Mi "${three[@]}" "${small[@]}"
rm -f "$b"/rows.0*
plays "$a/rows" --target "$b"
clean
record 0 -s sim:seed=7 -n $size --name chunks --layout vbs --chunk 512Ki "${three[@]}" "${small[@]}"
bad=$(find "$a/chunks" -name 'chunks.????????' | sort | head -n 1)
number=$((10#${bad##*.}))
flip "$bad" 4711
rm -f "$RIG/out"
play 1 "$a/chunks" -t "file:$RIG/out" --fill pattern
is_played outcome loss
is_played gap_count 1
is_played feed.bad_sum_count 1
is_played gaps.0.stream_offset $((number * 524288))
says "${bad##*/}"
says "$((number * 524288))"
{
	head -c $((number * 524288)) "$RIG/stream"
	head -c 524288 < <(while printf '\x44\x33\x22\x11'; do :; done 2>/dev/null)
	tail -c +$((number * 524288 + 524289)) "$RIG/stream"
} >"$RIG/filled"
same "$RIG/filled" "$RIG/out"
# a disk less: its chunks are missing, and closed up
rm -rf "$c"/*
rm -f "$RIG/out"
play 1 "$a/chunks" -t "file:$RIG/out" --gaps skip --verify no
"$BIN/vsib-gather" "$a/chunks" -o "$RIG/closed" 2>/dev/null
same "$RIG/closed" "$RIG/out"
clean

# ---- a gap keeps its time: at 64 Mbit/s a megabyte lasts 0.125 s

record 1 -s "sim:gap=2M@1M,seed=7" -n 4M --name gap -o "$a" "${small[@]}"
play 1 "$a/gap" -r 64 -t null:
is_played gap_count 1
is_played gaps.0.stream_offset 1000000
is_played gaps.0.bytes 2000000
is_played gaps.0.cause source
is_played sent_bytes 2000000
awk "BEGIN { exit !($(played_value duration_s) > 0.49) }" || rig_fail "the gap has not kept its time"
rm -f "$RIG/out"
play 1 "$a/gap" --gaps fill -t "file:$RIG/out"
"$BIN/vsib-gather" --fill "$a/gap" -o "$RIG/filled" --force 2>/dev/null
same "$RIG/filled" "$RIG/out"
clean

# ---- what is refused

expect 64 "$BIN/vsib-replay" "$RIG/stream"
said 'no destination given'
expect 64 "$BIN/vsib-replay" "$RIG/stream" -t nowhere:
expect 64 "$BIN/vsib-replay" "$RIG/stream" -t null: -r 64 --as-recorded
expect 64 "$BIN/vsib-replay" "$RIG/stream" -t null: --as-recorded
said 'rate'
expect 66 "$BIN/vsib-replay" "$RIG/nothing" -t null:
: >"$RIG/empty"
expect 66 "$BIN/vsib-replay" "$RIG/empty" -t null:
: >"$RIG/there"
expect 73 "$BIN/vsib-replay" "$RIG/stream" -t "file:$RIG/there"
[ ! -s "$RIG/there" ] || rig_fail "a file that was there was written over"
expect 0 "$BIN/vsib-replay" "$RIG/stream" -t "file:$RIG/there" --force
same "$RIG/stream" "$RIG/there"

# ---- what is not understood is refused, with what was given and what is expected

for wrong in -r=fast -r=0 --rate=-5 --speed=0 --start=yesterday --stop=1Q --loop=-1 --loop=0 --loop=often --at=noon --gaps=close --fill=zeros \
	--port=0 --port=70000 --pace=late --burst=0 --lump=0 --patience=x --ring=banana --block=0 --depth=0 --depth=99999 --engine=mmap \
	--io=fast --verify=maybe --live=loud --round=0 --frame-rate=0 --duration=x --nonsense; do
	status=0
	timeout 20 "$BIN/vsib-replay" "$RIG/stream" -t null: "${wrong/#-r=/-r}" --live none 2>"$words" || status=$?
	ended 64 $status vsib-replay "$wrong"
	grep -q . "$words" || rig_fail "nothing is said of $wrong"
done
for wrong in '' '-t null:' "$RIG/stream" "$RIG/stream -t null: -r 8 --as-recorded" "$RIG/stream -t null: --speed 2" "$RIG/stream -t null: --dry-run" \
	"$RIG/stream -t nosuch:" "$RIG/stream -t udp:nowhere" "$RIG/stream -t file:" "$RIG/stream -t - --json -"; do
	status=0
	# shellcheck disable=SC2086 # several words
	timeout 20 "$BIN/vsib-replay" $wrong --live none >/dev/null 2>"$words" || status=$?
	ended 64 $status "vsib-replay $wrong"
done
play 66 "$RIG/nothing" -t null:
play 66 "$a" -t null:
play 73 "$RIG/stream" -t "file:$RIG/nowhere/out"
play 73 "$RIG/stream" -t "file:$RIG/stream"
says '--force'

# ---- a dry run, and signals

play 0 "$RIG/stream" --dry-run -r 1
is_played dry_run.is_enough true
is_played schedule.kind none
is_played sent_bytes $size
play 1 "$RIG/stream" --dry-run -r 1000G
is_played dry_run.is_enough false
"$BIN/vsib-replay" "$RIG/stream" -r 8 -t null: --json "$played" --live none 2>"$words" &
player=$!
wait_for 10 test -d "/proc/$player"
sleep 0.7
kill -INT $player
status=0
wait $player || status=$?
[ $status -eq 2 ] || { show_words; rig_fail "status $status after a signal, not 2"; }
is_played outcome stopped
