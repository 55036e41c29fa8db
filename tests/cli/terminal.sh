#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What surrounds the recorder misbehaves: a terminal or pipe that takes no words, signals that the caller ignores, a caller
# that ignores its children.
set -eu
. "${0%/*}/../rig.sh"
cd "$RIG"
record=$BIN/vsib-record

# stderr is a pipe that is full and that nobody reads: the recording goes on, loses what it has to lose, and ends at a signal
mkfifo words
exec 3<>words
dd if=/dev/zero of=words bs=4096 count=64 oflag=nonblock 2>/dev/null || true
mkfifo slow
(exec 4<slow; sleep 2; cat <&4 >/dev/null) &
"$record" -s sim: -r 200 -o - --ring 4Mi --block 1Mi --on-overflow drop --json report >slow 2>&3 &
pid=$!
sleep 3.5
kill -INT $pid
for _ in {1..60}; do
	[ -s report ] && break
	sleep 0.1
done
[ -s report ] || rig_fail "a full stderr kept the recorder from its report"
lost=$("$TOOLS/tool_json" report ring.overflow_bytes)
[ "$lost" -gt 1000000 ] || rig_fail "the pipe was not read for 2 s, but only $lost bytes overflowed"
cat <&3 >/dev/null &
drain=$!
rig_at_exit+=("kill $drain 2>/dev/null")
status=0
wait $pid || status=$?
[ "$status" -eq 1 ] || rig_fail "status $status instead of 1 after an overflow and a signal"
kill $drain
exec 3>&-

# HUP that the caller ignores (nohup) stays ignored
(trap '' HUP; exec "$record" -s sim: -r 64 -d 2 -o null: --live none 2>/dev/null) &
pid=$!
sleep 0.7
kill -HUP $pid
status=0
wait $pid || status=$?
[ "$status" -eq 0 ] || rig_fail "status $status: an ignored signal ended the recording"

# a caller that ignores its children gets the status all the same, and at once
SECONDS=0
status=0
(trap '' CHLD; exec "$record" -s sim:bytes=1M -n 2M -o null: --live none 2>said) || status=$?
[ "$status" -eq 2 ] || rig_fail "status $status with SIGCHLD ignored"
! grep -q 'held by the kernel' said || rig_fail "a child that is gone is said to be held"

# the longest times there are
status=0
"$record" -s sim: -n 1M -d 106751d23h40m -o null: --live none 2>said || status=$?
[ "$status" -eq 0 ] || rig_fail "-d near 2^63 ns: status $status: $(cat said)"

# a second signal while the recorder is held ends it within its time: here it is stopped outright
"$record" -s sim: -r 64 -o null: --live none 2>said &
pid=$!
child=
for ((i = 0; i < 100; i++)); do
	sleep 0.1
	read -r child _ <"/proc/$pid/task/$pid/children" || true # no newline
	[ -n "$child" ] && [ "$i" -ge 6 ] && break
done
[ -n "$child" ] || rig_fail "no recorder below the parent after 10 s"
kill -STOP "$child"
kill -INT $pid
sleep 0.5
SECONDS=0
kill -INT $pid
status=0
wait $pid || status=$?
[ "$status" -eq 2 ] || rig_fail "status $status after a second signal to a held recorder"
[ $SECONDS -le 8 ] || rig_fail "it took $SECONDS s"
grep -q 'is killed' said || rig_fail "nothing was said of it: $(cat said)"
