#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A FIFO whose writer sends pieces of all sizes, makes pauses, comes late or never; and signals all the while.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

mkdir "$RIG/a" "$RIG/b"
mkfifo "$RIG/fifo"
bytes=12345679
"$BIN/vsib-record" -s sim: -n $bytes -o - --ring 1Mi --live none >"$RIG/stream" 2>"$words" || rig_fail "no test data: $(cat "$words")"
small=(--ring 4Mi --block 64Ki "$same")

# start OPTION...
start() {
	rm -f "$report"
	"$BIN/vsib-record" --json "$report" "$@" >"$output" 2>"$words" &
	pid=$!
	started="vsib-record $*"
}

# finish WANTED
finish() {
	local status=0
	wait $pid || status=$?
	ended "$1" $status "$started"
	account
}

armed() {
	wait_for 10 grep -q ARMED "$words" || rig_fail "not ARMED after 10 s"
}

# ---- pieces of 1 to 70000 bytes, and a storm of signals at the recorder itself
start -s "dev:$RIG/fifo" -o "$RIG/a" -o "$RIG/b" --chunk 256Ki --name storm "${small[@]}"
armed
child=$(child_of $pid)
"$TOOLS/tool_fifo_feed" -s 11 -p 40 "$RIG/stream" "$RIG/fifo" &
feeder=$!
count=0
while kill -0 $feeder 2>/dev/null; do
	kill -USR1 "$child" && count=$((count + 1))
	kill -USR2 "$child" # what it uses itself to get a reader out of a read
	sleep 0.002
done 2>/dev/null
wait $feeder || rig_fail "the writer of the FIFO ended with $?"
finish 0
lines=$(grep -c '^t=' "$words")
[ "$lines" -ge 3 ] || rig_fail "$count signals USR1, and $lines lines"
is stream_bytes $bytes
[ $count -ge 20 ] || rig_fail "only $count signals"
audit storm "$RIG/a" "$RIG/b"
gathered "$RIG/stream" storm "$RIG/a" "$RIG/b"

# ---- pieces of 1 to 5 bytes
head -c 20011 "$RIG/stream" >"$RIG/short"
start -s "dev:$RIG/fifo" -o "$RIG/a" --name crumbs "${small[@]}" --live none
"$TOOLS/tool_fifo_feed" -m 5 -p 1 "$RIG/short" "$RIG/fifo" || rig_fail "the writer of the FIFO ended with $?"
finish 0
cmp "$RIG/short" "$RIG/a/crumbs.raw" || rig_fail "crumbs.raw is not what went into the FIFO"

# ---- a writer that comes late, after one that came and left without a byte
start -s "dev:$RIG/fifo" -o "$RIG/a" --name late "${small[@]}"
armed
: >"$RIG/fifo"
sleep 0.3
cat "$RIG/short" >"$RIG/fifo"
finish 0
cmp "$RIG/short" "$RIG/a/late.raw" || rig_fail "late.raw is not what went into the FIFO"

# silent SECONDS WANTED OPTION...: it ends in time, and costs nothing meanwhile
silent() {
	local wanted=$1 cost
	shift
	rm -f "$report"
	status=0
	"$TOOLS/tool_cpu" -f "$RIG/cost" "$BIN/vsib-record" --json "$report" "$@" --ring 1Mi --live none >"$output" 2>"$words" || status=$?
	ended "$wanted" $status vsib-record "$@"
	account
	cost=$(sed -n 's/.*wall_s=\([0-9.]*\).*cpu_s=\([0-9.]*\).*/\1 \2/p' "$RIG/cost")
	awk -v least="$least" 'BEGIN { split("'"$cost"'", c, " "); exit !(c[1] >= least && c[1] < least + 3 && c[2] < 0.5) }' ||
		rig_fail "wall and CPU seconds $cost; $least s, and next to no CPU, are right"
}

# ---- silence: the time that was asked for, and no input
exec 7<>"$RIG/fifo" # a writer that says nothing
least=3
silent 66 -s "dev:$RIG/fifo" -d 3 -o null: --silence 1s
is stream_bytes 0
said 'nothing has come from .* for [0-9.]+ s'
least=1
silent 66 -s - -d 1 -o null: <"$RIG/fifo"
# nobody has it open for writing
exec 7>&-
silent 66 -s "dev:$RIG/fifo" -d 1 -o null:

# ---- silence, and then a signal
exec 7<>"$RIG/fifo"
start -s "dev:$RIG/fifo" -o "$RIG/a" --name quiet "${small[@]}"
armed
sleep 0.3
before=$SECONDS
kill -TERM $pid
finish 66
[ $((SECONDS - before)) -le 3 ] || rig_fail "a silent source kept it for $((SECONDS - before)) s after the signal"
# some bytes, then silence, then a signal: the bytes are there
start -s "dev:$RIG/fifo" -o "$RIG/a" --name tail "${small[@]}"
armed
cat "$RIG/short" >&7
sleep 0.5
kill -TERM $pid
finish 0
cmp "$RIG/short" "$RIG/a/tail.raw" || rig_fail "tail.raw is not what went into the FIFO"
audit tail "$RIG/a"
exec 7>&-
echo "$count signals, $lines lines"
