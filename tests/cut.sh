# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Recorders that are killed and disks whose power is cut, and whether vsib-check --recover makes a recording of what
# is left; to be sourced by bash behind rig.sh and record.sh:
#
#	cut_seed                            random numbers from $SEED, or from one that is printed
#	cut_kill ARGUMENT...                vsib-record with them, killed with its child after $cut_kill_from_ms to $cut_kill_to_ms ms
#	cut_disks 2 300                     two disks of 300 MiB on one image: $RIG/disk1, $RIG/disk2 (${cut_targets[@]})
#	cut_snapshot FILE                   what would be on both if the power were cut now; takes no time
#	cut_detach; cut_attach FILE         the disks go, and come back as they were in a snapshot
#	cut_recovered NAME TARGET...        recovers, and looks at everything; the test fails unless all is as it should be
#	cut_recovered_without LOST NAME TARGET...   the same of a recording in two copies, when one of its targets is lost;
#	                                    $safe bytes of the stream are left
#	cut_recovered_without_each NAME TARGET...   with directories, which are as before afterwards
#
# The image lies on a file system that shares extents, so a snapshot is one moment of both disks, in the middle of
# whatever they are doing. Writes that had reached the disk by then are in it, whether or not somebody had synced.
: "${output:=$RIG/output}" "${words:=$RIG/words}"
cut_targets=()
cut_loops=()
cut_kill_from_ms=100
cut_kill_to_ms=9000

cut_seed() {
	: "${SEED:=$(($(date +%N | sed 's/^0*//') % 32768))}"
	RANDOM=$SEED
	echo "SEED=$SEED"
}

# cut_random FROM TO: in $cut_number (a subshell would not move $RANDOM on)
cut_random() {
	cut_number=$(($1 + (RANDOM * 32768 + RANDOM) % ($2 - $1 + 1)))
}

cut_sleep_ms() {
	sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"
}

# Parent and child at once, as the power does it.
cut_kill_now() {
	local parent=$1 child
	child=$(child_of "$parent")
	# shellcheck disable=SC2086 # a list
	kill -KILL "$parent" $child 2>/dev/null
	wait "$parent" 2>/dev/null
	wait_for 10 cut_is_gone "$child" || rig_fail "the recorder is still there"
}

# Each of its threads: as long as one is in a sync, the files are open.
cut_is_gone() {
	local tasks=("/proc/$1/task/"*)
	[ -z "$1" ] || ! [ -e "/proc/$1" ] || { [ ${#tasks[@]} -eq 1 ] && grep -q '^State:.*Z' "/proc/$1/status"; }
} 2>/dev/null

cut_kill() {
	cut_random $cut_kill_from_ms $cut_kill_to_ms
	"$BIN/vsib-record" "$@" >"$output" 2>"$words" &
	cut_sleep_ms "$cut_number"
	kill -0 $! 2>/dev/null || { show_words; rig_fail "the recorder has ended by itself"; }
	cut_kill_now $!
}

# ---- disks ---------------------------------------------------------------------------------------------------------

cut_image() {
	echo "$RIG/vault/image"
}

cut_undo() {
	local path
	kill_jobs
	for path in "${cut_targets[@]}"; do
		umount "$path"
	done
	for path in "${cut_loops[@]}"; do
		losetup -d "$path"
	done
} 2>/dev/null
rig_at_exit+=(cut_undo)

cut_loop() { # FILE NUMBER SIZE_MB
	losetup --find --show --direct-io=on --offset "$((($2 - 1) * $3))M" --sizelimit "$3M" "$1"
}

cut_disks() {
	local count=$1 i
	cut_size=$2
	rig_need loop mkfs.xfs
	rig_disk vault $((count * cut_size * 3 + 400)) xfs
	truncate -s $((count * cut_size))M "$(cut_image)"
	cp --reflink=always "$(cut_image)" "$RIG/vault/try" 2>/dev/null || rig_skip "needs a file system that shares extents"
	rm "$RIG/vault/try"
	for ((i = 1; i <= count; i++)); do
		cut_targets+=("$RIG/disk$i")
		mkdir "$RIG/disk$i"
	done
	cut_format
}

# Empty disks again.
cut_format() {
	local i loop
	for ((i = 1; i <= ${#cut_targets[@]}; i++)); do
		loop=$(cut_loop "$(cut_image)" "$i" "$cut_size") || rig_fail "no loop device"
		mkfs.ext4 -q -F -m 0 "$loop" || rig_fail "mkfs.ext4"
		losetup -d "$loop"
	done
	cut_attach "$(cut_image)"
}

cut_attach() {
	local i loop
	for ((i = 1; i <= ${#cut_targets[@]}; i++)); do
		loop=$(cut_loop "$1" "$i" "$cut_size") || rig_fail "no loop device"
		cut_loops+=("$loop")
		rig_device[disk$i]=$loop
		mount -t ext4 -o noatime "$loop" "$RIG/disk$i" || rig_fail "$1 can't be mounted"
	done
}

cut_detach() {
	local i
	for ((i = 1; i <= ${#cut_targets[@]}; i++)); do
		wait_for 10 umount "$RIG/disk$i" 2>/dev/null || rig_fail "$RIG/disk$i is in use"
	done
	for i in "${cut_loops[@]}"; do
		losetup -d "$i"
	done
	cut_loops=()
}

cut_snapshot() {
	cp --reflink=always "$(cut_image)" "$1" || rig_fail "no snapshot"
}

# ---- what is left --------------------------------------------------------------------------------------------------

# Whole lines only, as the journals tell them: what may not be lost any more.
cut_promises() { # NAME TARGET...
	local name=$1 target
	shift
	for target; do
		# the last line is torn unless there is a newline behind it: then awk sees an empty one
		{ cat "$(journal_of "$name" "$target")"; echo x; } 2>/dev/null | sed '$d' | grep -a '"type":"segment"'
	done | sort -u
}

cut_state() {
	find "$@" -printf '%p %y %s %i %T@\n' | sort
}

# Is there a journal with a whole first line anywhere?
cut_has_start() { # NAME TARGET...
	local name=$1 target
	shift
	for target; do
		[ "$(head -c 65536 "$(journal_of "$name" "$target")" 2>/dev/null | wc -l)" -eq 0 ] || return 0
	done
	return 1
}

cut_recovered() {
	local name=$1 target status=0 stream left
	shift
	if ! cut_has_start "$name" "$@"; then # cut before anything was safe
		"$BIN/vsib-check" --recover "$name" "$@" 2>"$words" && { show_words; rig_fail "recovered out of nothing"; }
		echo "nothing: cut before the journal's first line was safe"
		return
	fi
	cut_promises "$name" "$@" >"$RIG/promised"
	# what the journals promise must be there before, or it is the recorder's fault
	for target; do
		[ -s "$(journal_of "$name" "$target")" ] || continue
		"$TOOLS/tool_journal" -c "$(journal_of "$name" "$target")" "$@" >"$RIG/audit" 2>"$RIG/audit.errors" ||
			{ head -n 20 "$RIG/audit.errors"; rig_fail "the recorder promised what is not there: $name on $target"; }
	done
	cut_state "$@" >"$RIG/before"
	"$BIN/vsib-check" --recover --dry-run "$name" "$@" 2>"$words" || status=$?
	ended "0 1" $status vsib-check --recover --dry-run "$name"
	cut_state "$@" | cmp - "$RIG/before" || rig_fail "--dry-run has changed something"
	status=0
	"$BIN/vsib-check" --recover "$name" "$@" 2>"$words" || status=$?
	ended "0 1" $status vsib-check --recover "$name"
	audit "$name" "$@"
	[ $status -eq $(($(gap_bytes) > 0)) ] || { show_words; rig_fail "status $status with $(gap_bytes) bytes of gaps"; }
	cut_promises "$name" "$1" >"$RIG/kept"
	left=$(comm -23 "$RIG/promised" "$RIG/kept")
	[ -z "$left" ] || rig_fail "a journal has promised this, and recovery has lost it: $left"
	stream=$(awk '$1 == "total" { print $2 }' "$RIG/audit")
	[ "$stream" -eq 0 ] || gathered_sim "$stream" "$name" "$@"
	left=$(find "$@" -name '*.part' -o -name '*.recovery')
	[ -z "$left" ] || rig_fail "left over: $left"
	cut_state "$@" >"$RIG/before"
	"$BIN/vsib-check" --recover "$name" "$@" 2>"$words"
	said "nothing to recover"
	cut_state "$@" | diff - "$RIG/before" || rig_fail "a second --recover has changed something"
	echo "$stream bytes of stream, $(gap_bytes) of them gaps, $(wc -l <"$RIG/promised") segments"
}

# Bytes of the stream in these segment lines (standard input), without those on target number $1.
cut_bytes_but_on() {
	grep -v "\"target\":$1," | sed 's/.*"bytes":\([0-9]*\),"stream_offset":\([0-9]*\).*/\2 \1/' | sort -n |
		awk '{ from = $1 > end ? $1 : end; if ($1 + $2 > from) { sum += $1 + $2 - from; end = $1 + $2 } } END { printf "%.0f\n", sum }'
}

cut_recovered_without() {
	local lost=$1 name=$2 left=() number=0 i=0 target status=0
	safe=0
	shift 2
	for target; do
		if [ "$target" = "$lost" ]; then number=$i; else left+=("$target"); fi
		i=$((i + 1))
	done
	if ! cut_has_start "$name" "${left[@]}"; then
		echo "nothing: cut before the journal's first line was safe"
		return
	fi
	safe=$(cut_promises "$name" "${left[@]}" | cut_bytes_but_on $number)
	"$BIN/vsib-check" --recover --give-up-missing "$name" "${left[@]}" 2>"$words" || status=$?
	ended "0 1" $status vsib-check --recover --give-up-missing "$name" "${left[@]}"
	[ -z "$(find "${left[@]}" -name '*.part' -o -name '*.recovery')" ] || rig_fail "left over: $(find "${left[@]}" -name '*.part')"
	"$BIN/vsib-gather" --list "$name" "${left[@]}" 2>"$words" | sed -n 's/^gap\t\([0-9]*\)\t\([0-9]*\).*/\1 \2/p' >"$RIG/gaps"
	gather "0 1" "$name" "${left[@]}"
	"$TOOLS/tool_verify_sim" -n "$safe" -G "$RIG/gaps" "$RIG/gathered" ||
		rig_fail "what is left of $name without $lost is not the $safe bytes that were safe there"
	rm "$RIG/gathered"
	echo "without ${lost##*/}: $safe bytes"
}

cut_recovered_without_each() { # NAME TARGET...
	local name=$1 lost
	shift
	mkdir "$RIG/as_it_was"
	cp -r --reflink=auto "$@" "$RIG/as_it_was"
	for lost; do
		rm -r "$lost"
		cut_recovered_without "$lost" "$name" "$@"
		rm -rf "$@"
		cp -r --reflink=auto "$RIG/as_it_was"/* "$RIG"
	done
	rm -r "$RIG/as_it_was"
}
