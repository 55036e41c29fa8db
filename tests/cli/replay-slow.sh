#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Playback where something is slow or stands still: a disk that can't be read as fast as the rate wants (found beforehand by a
# dry run, and in the playback counted with time, place and cause), a pipe nobody reads, a disk whose read never comes
# back; the first signal ends it in order where that can be, the second one at once.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../expect.sh"
. "${0%/*}/../replay.sh"
rig_need mkfifo
head -c 4M /dev/urandom >"$RIG/stream"

# starts vsib-replay ...: in the background, as a user's shell starts it
starts() {
	env --default-signal=INT,TERM "$BIN/vsib-replay" --live none --json "$played" "$@" >"$output" 2>"$words" &
	player=$!
}

# ends_with STATUS SECONDS: within so many
ends_with() {
	local status=0
	wait_for "$2" gone || rig_fail "still there after $2 s"
	wait $player || status=$?
	ended "$1" $status vsib-replay
}
gone() {
	! kill -0 $player 2>/dev/null
}

# ---- nobody reads: an end in order can't be waited for, and need not

mkfifo "$RIG/fifo"
exec 3<>"$RIG/fifo"
rm -f "$played"
starts "$RIG/stream" -t "dev:$RIG/fifo"
sleep 0.7 # the pipe is full
gone && rig_fail "a pipe that nobody reads was not waited for"
kill -INT $player
sleep 0.4
kill -INT $player 2>/dev/null
ends_with 2 5
exec 3>&-

# ---- a slow disk

if (rig_need loop throttle) 2>/dev/null; then
	rig_disk slow 64
	cp "$RIG/stream" "$RIG/slow/stream" && sync "$RIG/slow/stream" && echo 3 >/proc/sys/vm/drop_caches
	rig_throttle_reads slow 4000000
	# 32 Mbit/s can be read
	play 1 "$RIG/slow/stream" --dry-run -r 64
	is_played dry_run.is_enough false
	said 'NOT ENOUGH: 64'
	play 1 "$RIG/slow/stream" -r 64 --ring 512Ki --block 64Ki -t null:
	is_played outcome loss
	is_played sent_bytes 4194304
	[ "$(played_value underrun_count)" -ge 1 ] || rig_fail "no underrun is counted"
	is_played underruns.0.cause ring
	[ "$(played_value underruns.0.utc | wc -c)" -gt 20 ] || rig_fail "an underrun has no time"
	said 'the ring was empty for'
	play 0 "$RIG/slow/stream" -r 16 --ring 512Ki --block 64Ki -t null:
	is_played underrun_count 0
fi

# ---- a read that never comes back

if (rig_need fuse) 2>/dev/null; then
	rig_fault sick
	cp "$RIG/stream" "$RIG/sick/stream"
	rig_fault_set sick read:hang || rig_fail "the disk can't be told to hang"
	starts "$RIG/sick/stream" -t null:
	sleep 0.7
	gone && rig_fail "it did not wait for the disk"
	kill -INT $player
	sleep 0.4
	kill -INT $player 2>/dev/null
	ends_with 2 5
	rig_fault_set sick go
fi
