#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# Disks that are full, die, turn read-only, or say only at the last sync that nothing is safe. One disk: a prompt
# end with an exact account. Two: the recording goes on and nothing is lost.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
rig_need loop xfs_io space:600

# start OPTION...; finish SECONDS WANTED
start() {
	rm -f "$report"
	began=$SECONDS
	"$BIN/vsib-record" --json "$report" --live none "$@" >"$output" 2>"$words" &
	pid=$!
	started="vsib-record $*"
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

finish() {
	local status=0
	wait_for "$1" is_gone $pid || {
		kill -KILL $pid
		show_words
		rig_fail "still there after $1 s: $started"
	}
	wait $pid || status=$?
	ended "$2" $status "$started"
	account
}

has_segments() {
	[ "$(cat "$(journal_of "$1" "$2")" 2>/dev/null | grep -c '"segment"')" -ge "$3" ]
}

# What is in use of it, mounted anew: the machine was switched off and on.
mount_again() {
	umount "$RIG/$1" && mount -o noatime "${rig_device[$1]}" "$RIG/$1" || rig_fail "$1 cannot be mounted again"
}

# every chunk once, with its final name, and numbers without a hole
check_chunks() {
	local name=$1
	shift
	find "${@/%//$name}" -name "$name.????????" -printf '%f\n' | sort >"$RIG/chunks"
	seq -f "$name.%08.0f" 0 $(($(wc -l <"$RIG/chunks") - 1)) | diff - "$RIG/chunks" ||
		rig_fail "the chunks of $name on both disks are not numbers 0, 1, 2 ..., each once"
}

# ---- another program takes all that is free, at once: the one disk is full. Who fills a disk alone never comes to that:
# full.sh
rig_disk full 40
start -s sim:rate=200 -d 60 --name full -o "$RIG/full" --ring 8Mi --block 256Ki
wait_for 20 test -s "$RIG/full/full.raw" || rig_fail "nothing in full.raw after 20 s"
dd if=/dev/zero of="$RIG/full/other" bs=64k 2>/dev/null
finish 30 2
is outcome stopped
is disks.0.state full
is_less duration_s 20
is_more disk_lost_bytes 0
is aborted_bytes 0
written=$(value written_bytes)
[ $((written % 262144)) -eq 0 ] || rig_fail "$written bytes are no whole blocks"
[ "$(stat -c %s "$RIG/full/full.raw")" -eq "$written" ] || rig_fail "full.raw has $(stat -c %s "$RIG/full/full.raw") bytes, written are $written"
said 'No space left'
audit full "$RIG/full"
gathered_sim "$(value stream_bytes)" full "$RIG/full"
# what ended it is the disk: the rest of the ring is lost with it, and nothing before
[ "$(gap_bytes disk)" -eq "$(value disk_lost_bytes)" ] || rig_fail "gaps by the disk: $(gap_bytes disk)"

# ---- one of two is full: the chunk that did not fit is on the other one, whole
rm -rf "$RIG"/full/*
rig_disk large 160
both=("$RIG/full" "$RIG/large")
to_both=(-o "${both[0]}" -o "${both[1]}" --chunk 2Mi --ring 32Mi --block 256Ki)
for given in "sim: -n 90000001" "sim:rate=160 -n 80000001"; do
	# shellcheck disable=SC2086 # words
	start -s $given --name over "${to_both[@]}"
	finish 60 1
	bytes=${given##* }
	is outcome degraded
	is written_bytes "$bytes"
	is gap_count 0
	is disks.0.state full
	is disks.1.state ok
	audit over "${both[@]}"
	gathered_sim "$bytes" over "${both[@]}"
	check_chunks over "${both[@]}"
	rm -rf "$RIG/full/over" "$RIG/large/over"
done
[ -z "$(find "${both[@]}" -name '*.part')" ] || rig_fail "pieces were left on the full disk: $(find "${both[@]}" -name '*.part')"

# ---- one of two goes away in the middle of it
rig_disk dying 160
both=("$RIG/dying" "$RIG/large")
to_both=(-o "${both[0]}" -o "${both[1]}" --chunk 2Mi --ring 32Mi --block 256Ki)
for how in cut die read_only; do
	start -s sim:rate=160 -n 60000001 --name $how "${to_both[@]}"
	wait_for 20 has_segments $how "$RIG/dying" 3 || rig_fail "$how: no three segments on the disk after 20 s"
	case $how in
	cut) xfs_io -x -c shutdown "$RIG/dying" ;; # as power goes: what is not synced is lost
	*) rig_$how dying ;;
	esac
	finish 60 1
	is outcome degraded
	is written_bytes 60000001
	is gap_count 0
	is disks.1.state ok
	[ "$(value disks.0.state)" = failed ] || [ "$(value disks.0.state)" = readonly ] || rig_fail "$how: the disk is $(value disks.0.state)"
	[ "$(value disks.0.error)" != null ] || rig_fail "$how: no reason"
	is_more disks.0.written_bytes 0
	mount_again dying
	audit_targets=$RIG/large audit $how "${both[@]}"
	gathered_sim 60000001 $how "${both[@]}"
	# what the journal of the lost disk says is true as far as it goes
	"$TOOLS/tool_journal" -c "$(journal_of $how "$RIG/dying")" "${both[@]}" >"$RIG/audit" ||
		rig_fail "$how: the journal on the disk that went away tells of data that are not there"
	rm -rf "$RIG/dying/$how" "$RIG/large/$how"
done

# ---- the only disk goes away: within seconds it is over, and what was called written is there afterwards
for how in die read_only; do
	start -s sim:rate=160 -d 60 --name alone -o "$RIG/dying" --ring 16Mi --block 256Ki
	wait_for 20 has_segments alone "$RIG/dying" 1 || rig_fail "$how: no segment on the disk after 20 s"
	rig_$how dying
	gone=$SECONDS
	finish 15 2
	[ $((SECONDS - gone)) -le 8 ] || rig_fail "$how: it went on for $((SECONDS - gone)) s without a disk"
	is outcome stopped
	is_more written_bytes 0
	is_more disk_lost_bytes 0
	is aborted_bytes 0
	written=$(value written_bytes)
	mount_again dying
	head -c "$written" "$RIG/dying/alone.raw" | "$TOOLS/tool_verify_sim" -n "$written" ||
		rig_fail "$how: written are $written bytes, but not those"
	"$TOOLS/tool_journal" -c "$(journal_of alone "$RIG/dying")" "$RIG/dying" >"$RIG/audit" ||
		rig_fail "$how: the journal tells of data that are not there"
	rm -f "$RIG"/dying/alone*
done

# ---- the late error: every write succeeds, only the sync says that the data are nowhere
mkdir "$RIG/.tmpfs" "$RIG/liar"
drop_liar() {
	umount "$RIG/liar"
	losetup -d "${rig_device[liar]}"
	umount "$RIG/.tmpfs"
} 2>/dev/null
rig_at_exit+=(drop_liar)
# make_liar MIB: what it really has room for
make_liar() {
	drop_liar
	mount -t tmpfs -o size="$1"m none "$RIG/.tmpfs" || rig_fail "cannot mount a tmpfs"
	truncate -s 256M "$RIG/.tmpfs/image"
	rig_device[liar]=$(losetup --find --show "$RIG/.tmpfs/image") || rig_fail "no loop device"
	mkfs.ext4 -q -F -m 0 "${rig_device[liar]}" || rig_fail "no file system on it"
	mount -o noatime,noinit_itable,errors=continue "${rig_device[liar]}" "$RIG/liar" || rig_fail "cannot mount it"
}
for io in buffered direct; do
	make_liar 48
	start -s sim: -n 100000001 --io $io --name $io -o "$RIG/liar" --ring 16Mi --block 256Ki
	finish 60 2
	is outcome stopped
	is_less written_bytes 50000000
	is_more disk_lost_bytes 0
	[ "$(value disks.0.state)" != ok ] || rig_fail "$io: the disk is called ok"
	said_not 'complete'
	[ $io = direct ] || said 'not safely on disk'
done
# with a good disk beside it
make_liar 24
start -s sim:rate=160 -n 60000001 --io buffered --name late -o "$RIG/liar" -o "$RIG/large" --chunk 2Mi --ring 32Mi --block 256Ki
finish 60 1
is outcome degraded
is disks.1.state ok
is written_bytes 60000001
audit_targets=$RIG/large audit late "$RIG/liar" "$RIG/large"
gathered_sim 60000001 late "$RIG/liar" "$RIG/large"
