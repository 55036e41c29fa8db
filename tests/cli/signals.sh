#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# Signals at any moment: an orderly end whose account is exact, an end at once when it is wanted, and what is left
# when somebody uses SIGKILL.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

mkdir "$RIG/one" "$RIG/a" "$RIG/b"
two=("$RIG/a" "$RIG/b")
to_two=(--chunk 64Ki -o "${two[0]}" -o "${two[1]}")
small=(--ring 1Mi --block 16Ki "$same" --live none)

# start OPTION...: in the background; the shell ignores SIGINT there, which is not what a user's shell does
start() {
	rm -f "$report"
	env --default-signal=INT,TERM,HUP "$BIN/vsib-record" --json "$report" "$@" >"$output" 2>"$words" &
	pid=$!
	started="vsib-record $*"
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

# ends_within SECONDS WANTED: the status of what start() started is left in status
ends_within() {
	wait_for "$1" is_gone $pid || {
		kill -KILL $pid
		show_words
		rig_fail "still there after $1 s: $started"
	}
	status=0
	wait $pid || status=$?
	ended "$2" $status "$started"
	! [ -e "$report" ] || account
}

# whole NAME TARGET...: the recording is the simulator's stream from its first byte on
whole() {
	local bytes
	bytes=$(value stream_bytes) || exit 1
	is written_bytes "$bytes"
	audit "$@"
	[ "$bytes" -eq 0 ] || gathered_sim "$bytes" "$@"
}

random_pause() {
	sleep 0.$(printf '%03d' $((RANDOM % $1)))
}

is_recording() {
	grep -q ARMED "$words"
}

# ---- fifty times, from start-up to the last sync
signals=(INT TERM HUP)
declare -A seen=()
for ((i = 0; i < 50; i++)); do
	name=signal_$i
	targets=("$RIG/one") to=(-o "$RIG/one")
	[ $((i % 2)) -eq 0 ] || targets=("${two[@]}") to=("${to_two[@]}")
	# half of them without an end: the signal is the normal one; the others may be through before it comes
	stream=(-s sim:rate=160 --on-overflow wait) wanted="0 2 66 129 130 143"
	[ $((i % 4)) -lt 2 ] || stream=(-s sim: -n 8000001) wanted="0 2 66 129 130 143"
	start "${stream[@]}" --name $name "${to[@]}" "${small[@]}"
	random_pause 300
	kill -${signals[i % 3]} $pid 2>/dev/null
	ends_within 20 "$wanted"
	seen[$status]=$((${seen[$status]:-0} + 1))
	if [ $status -gt 128 ]; then # it was not that far that it takes signals
		empty "${targets[@]}"
		[ ! -e "$report" ] || rig_fail "a report, and yet killed by the signal: $started"
		continue
	fi
	if ! [ -e "$report" ] && [ $status -eq 2 ]; then # it came while the ring was made
		said 'before the start'
		empty "${targets[@]}"
		continue
	fi
	[ $status -ne 2 ] || [ $((i % 4)) -ge 2 ] || rig_fail "status 2 without a limit: $started"
	is exit_status $status
	is aborted_bytes 0
	whole $name "${targets[@]}"
	[ -z "$(find "${targets[@]}" -name '*.part')" ] || rig_fail "a .part is left after an orderly end: $started"
	rm -rf "$RIG/one"/* "$RIG"/[ab]/*
done
for status in "${!seen[@]}"; do echo "status $status: ${seen[$status]} times"; done
[ "${seen[0]:-0}" -gt 0 ] || rig_fail "none of 50 recordings ended with 0"

# ---- two at once are one: a terminal sends ^C to the parent and to its group
start -s sim:rate=80 --name twice -o "$RIG/one" --ring 16Mi --block 256Ki "$same" --live log
wait_for 10 is_recording || rig_fail "not ARMED after 10 s"
sleep 0.5
kill -INT $pid
kill -INT $pid
ends_within 20 0
whole twice "$RIG/one"

# ---- USR1: a line at once, and the recording goes on
start -s sim:rate=80 --name asked -o "$RIG/one" --ring 16Mi "$same" --live auto --log-interval 1h
wait_for 10 is_recording || rig_fail "not ARMED after 10 s"
sleep 0.3
kill -USR1 $pid
wait_for 10 grep -qE '^t=[0-9.]+ state=recording in_mbps=[0-9.]+ .*stream_bytes=[1-9][0-9]* ' "$words" ||
	{ show_words; rig_fail "no line after SIGUSR1"; }
kill -TERM $pid
ends_within 20 0
[ "$(grep -c '^t=' "$words")" -eq 1 ] || { show_words; rig_fail "one SIGUSR1, but not one line"; }
whole asked "$RIG/one"

# ---- the second one, while a reader of a pipe has stopped reading
mkfifo "$RIG/fifo"
sleep 600 <>"$RIG/fifo" &
reader=$!
rm -f "$report"
env --default-signal=INT "$BIN/vsib-record" --json "$report" -s sim:rate=64 -o - --ring 8Mi --live log >"$RIG/fifo" 2>"$words" &
pid=$! started="vsib-record -o - into a pipe that nobody reads"
wait_for 10 is_recording || rig_fail "not ARMED after 10 s"
sleep 0.7
kill -INT $pid
sleep 0.6
is_gone $pid && rig_fail "it did not wait for the pipe's reader: $(cat "$words")"
kill -INT $pid
ends_within 4 2
kill $reader
said 'aborted by a second signal'
is outcome stopped
is_more aborted_bytes 0

# ---- SIGKILL for the recorder: what its journals call durable is there
lines() {
	[ "$(cat "$1" 2>/dev/null | grep -c '"segment"')" -ge "$2" ]
}
start -s sim:rate=80 --on-overflow wait --name killed --chunk 256Ki -o "${two[0]}" -o "${two[1]}" --ring 4Mi --block 64Ki "$same" --live log
wait_for 30 lines "$RIG/a/killed/killed.vsib.jsonl" 5 || rig_fail "no five segments in the journal after 30 s"
child=$(child_of $pid)
kill -KILL "$child"
ends_within 5 2
said 'killed by signal 9'
longest_bytes=0
for target in "${two[@]}"; do
	journal=$(journal_of killed "$target")
	"$TOOLS/tool_journal" -c "$journal" "${two[@]}" >"$RIG/audit.here" ||
		rig_fail "the journal on $target tells of data that are not there"
	durable=$(awk '$1 == "total" { print $3 }' "$RIG/audit.here")
	[ "$durable" -gt 1000000 ] || rig_fail "next to nothing in the journal on $target: $durable bytes"
	[ "$(stat -c %s "$journal")" -gt $longest_bytes ] || continue
	longest_bytes=$(stat -c %s "$journal")
	cp "$RIG/audit.here" "$RIG/audit"
done
sed -n 's/^\(gap\|hole\) \([0-9]* [0-9]*\).*/\2/p' "$RIG/audit" >"$RIG/gaps"
durable=$(awk '$1 == "total" { print $3 }' "$RIG/audit")
gather "0 1" killed "${two[@]}"
"$TOOLS/tool_verify_sim" -n "$durable" -G "$RIG/gaps" "$RIG/gathered" ||
	rig_fail "what vsib-gather makes of a recording that was killed is not what its journal promises"
rm -rf "$RIG"/[ab]/*

# ---- SIGKILL for the parent: the recorder ends in order
start -s sim:rate=80 --on-overflow wait --name orphan --chunk 256Ki -o "${two[0]}" -o "${two[1]}" --ring 4Mi --block 64Ki "$same" --live log
wait_for 30 lines "$RIG/a/orphan/orphan.vsib.jsonl" 5 || rig_fail "no five segments in the journal after 30 s"
child=$(child_of $pid)
kill -KILL $pid
wait $pid 2>/dev/null
wait_for 15 is_gone "$child" || { kill -KILL "$child"; rig_fail "the recorder goes on without its parent"; }
account
is outcome complete
whole orphan "${two[@]}"

# ---- the second one, while slow disks have most of the ring to write: one disk, then two with chunks half written
(rig_need loop throttle) >/dev/null || rig_skip "all but the slow disks: they need root, loop devices and the blkio throttle"
rig_disk slow1 128
rig_disk slow2 128
for targets in "$RIG/slow1" "$RIG/slow1 $RIG/slow2"; do
	# shellcheck disable=SC2206 # words
	targets=($targets) to=()
	rig_throttle slow1 $((2 << 20))
	rig_throttle slow2 $((2 << 20))
	for target in "${targets[@]}"; do to+=(-o "$target"); done
	start -s sim:rate=256 --name slow${#targets[@]} "${to[@]}" --ring 32Mi --block 256Ki --live log
	wait_for 10 is_recording || rig_fail "not ARMED after 10 s"
	sleep 1.5
	kill -INT $pid
	sleep 0.8
	is_gone $pid && rig_fail "32 MiB went to disks of 2 MiB/s in no time: $(cat "$words")"
	kill -INT $pid
	ends_within 5 2
	said 'aborted by a second signal'
	is outcome stopped
	is_more aborted_bytes 0
	is disk_lost_bytes 0
	rig_release slow1
	rig_release slow2
	wait_for 10 eval '[ -z "$(rig_users)" ]' || rig_fail "something still writes to the disks"
	audit slow${#targets[@]} "${targets[@]}"
	[ -z "$(find "${targets[@]}" -name '*.part')" ] || rig_fail "a chunk that was given up is left: $(find "${targets[@]}" -name '*.part')"
	gathered_sim "$(value stream_bytes)" slow${#targets[@]} "${targets[@]}"
done
