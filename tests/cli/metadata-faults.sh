#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Metadata that can't be written never harm the data: the recording is whole, degraded (status 1), and says so in report
# and journal; nothing half-written is left. What a ring that was full has cost is in the metadata.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../metadata.sh"

rig_need fuse space:300
rig_fault sick
mkdir "$RIG/well"
to=(-o "$RIG/sick" "$same" --live none --ring 8Mi --block 256Ki)

# unharmed NAME BYTES TARGET...: all of the stream is there, and the journal tells of the metadata
unharmed() {
	local name=$1 bytes=$2
	shift 2
	is outcome degraded
	is written_bytes "$bytes"
	is gap_count 0
	is disks.0.state ok
	said 'could not be written: .*; the data are not concerned'
	grep -q '"event":"metadata-failed"' "$(journal_of "$name" "$1")" || rig_fail "no event in the journal"
	[ "$("$TOOLS/tool_json" -l -t end "$(journal_of "$name" "$1")" exit_status)" = 1 ] || rig_fail "the journal's end says another status"
	[ -z "$(find "$@" -name '*.part')" ] || rig_fail "left: $(find "$@" -name '*.part')"
	rig_fault_set sick reset
	audit "$name" "$@"
	gathered_sim "$bytes" "$name" "$@"
}

for fault in write:ENOSPC fsync:EIO create:EACCES rename:EIO; do
	rig_fault_set sick reset "only=*.sigmf-meta*" $fault
	record 1 -s sim: -n 2500000 --name full --file-size 1M "${to[@]}" --sigmf --sample-format ci8 --force
	is metadata.files 0
	is metadata.failed 3
	unharmed full 2500000 "$RIG/sick"
	! ls "$RIG/sick" | grep -q sigmf || rig_fail "metadata are left after $fault: $(ls "$RIG/sick")"
done

# the one of the two targets that is well has its own
rig_fault_set sick reset "only=*.sigmf-meta*" write:ENOSPC
record 1 -s sim: -n 4M --name half --layout raw --file-size 500k "${to[@]}" -o "$RIG/well" --sigmf
[ "$(value metadata.failed)" -gt 0 ] && [ "$(value metadata.files)" -eq "$(ls "$RIG/well" | grep -c sigmf-meta)" ] ||
	rig_fail "$(value metadata.files) files, $(value metadata.failed) failed"
unharmed half 4000000 "$RIG/sick" "$RIG/well"

rig_fault_set sick reset "only=*.cfg*" write:EIO
record 1 -s sim: -n 4M --name cfg "${to[@]}" -o "$RIG/well" --packet-size 8000 --vbs-cfg
is metadata.failed 1
is metadata.files 1
unharmed cfg 4000000 "$RIG/sick" "$RIG/well"

# a disk that fails in the middle of a file: its beginning stays there, the rest goes on elsewhere, each with its own
rig_fault_set sick reset "only=dead.00000?.part" write:EIO@3M*1
record 1 -s sim: -r 400 -n 12M --name dead --layout raw --file-size 2M --chunk 512Ki --ring 16Mi "${to[@]}" -o "$RIG/well" --sigmf --sample-format ri8 \
	--dada-header
rig_fault_set sick reset
is outcome degraded
is disks.0.state failed
is written_bytes 12000000
is metadata.failed 0
audit dead "$RIG/sick" "$RIG/well"
gathered_sim 12000000 dead "$RIG/sick" "$RIG/well"
for file in "$RIG"/*/dead.00000*[0-9]; do
	case $file in
	*@*) is_sigmf "${file%/*}" dead "${file##*/}" 0 ri8 1 ;;
	*)
		is_sigmf "${file%/*}" dead "${file##*/}" 4096 ri8 1
		number=$((10#${file##*.}))
		# of a file whose disk has failed the rest is a file of its own
		is_dada "$file" $number "$("$TOOLS/tool_json" "$file.sigmf-meta" captures.0.vsib:stream_offset)"
		;;
	esac
done
ls "$RIG"/well/dead.*@*.sigmf-meta >/dev/null || rig_fail "no piece of a file on the other disk: $(ls "$RIG"/*)"

# no room for a header is no room for the data
rig_fault_set sick reset "only=none.raw" write:ENOSPC
record 2 -s sim: -n 1M --name none "${to[@]}" --dada-header
is disks.0.state full
is written_bytes 0
rig_fault_set sick reset

# ---- a disk that is slower than the source: overflows, and each ends a capture
rig_fault_set sick reset rate=8M
record 1 -s sim:burst=64Ki -r 160 -d 1 --name slow --file-size 4M "${to[@]}" --ring 2Mi --block 64Ki --sigmf --sample-format ci16_le --dada-header
rig_fault_set sick reset
is_more ring.overflow_bytes 0
audit slow "$RIG/sick"
[ -s "$RIG/gaps" ] || rig_fail "no gaps"
number=0
for file in "$RIG"/sick/slow.0000??; do
	is_sigmf "$RIG/sick" slow "${file##*/}" 4096 ci16_le 4
	is_dada "$file" $((number++)) "$("$TOOLS/tool_json" "$file.sigmf-meta" captures.0.vsib:stream_offset)"
done
captures=$(for file in "$RIG"/sick/slow.*.sigmf-meta; do "$TOOLS/tool_json" "$file" 'captures.#'; done | sum)
[ "$captures" -gt $number ] || rig_fail "$number files, $captures captures, and a gap"
gathered_sim "$(value stream_bytes)" slow "$RIG/sick"
