#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Files of real instruments go through every kind of source that reads bytes, to one disk and to three, and come
# back as they were.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
rig_need data mkfifo
[ -n "$(find "$DATA/radio" -type f)" ] || rig_skip "there are no sample files in $DATA/radio"

one=$RIG/one three=("$RIG/a" "$RIG/b" "$RIG/c")
mkdir "$one" "${three[@]}"
mkfifo "$RIG/fifo"
small=(--ring 256Ki --block 4Ki "$same" --live none)

# Pieces of all sizes, with pauses.
record_fifo() {
	local status=0 feeder
	"$TOOLS/tool_fifo_feed" -p 2 "$file" "$RIG/fifo" &
	feeder=$!
	record 0 -s "dev:$RIG/fifo" "$@"
	wait $feeder || status=$?
	[ $status -eq 0 ] || rig_fail "the writer of the FIFO ended with $status"
}

# record_as KIND OPTION...
record_as() {
	local kind=$1
	shift
	case $kind in
	file) record 0 -s "file:$file" "$@" ;;
	stdin) record 0 -s - "$@" <"$file" ;;
	pipe) record 0 -s - "$@" < <(cat "$file") ;;
	fifo) record_fifo "$@" ;;
	esac
	is stream_bytes "$size"
	is written_bytes "$size"
	is outcome complete
}

raw() {
	record_as "$1" --name "$name" -o "$one" "${small[@]}"
	cmp "$file" "$one/$name.raw" || rig_fail "$kind: the file on the disk is not $file"
	audit "$name" "$one"
	gathered "$file" "$one/$name"
}

vbs() {
	local target chunks count=0
	record_as "$1" --name "$name" --layout vbs --chunk 16Ki -o "${three[0]}" -o "${three[1]}" -o "${three[2]}" "${small[@]}"
	audit "$name" "${three[@]}"
	gathered "$file" "$name" "${three[@]}"
	for target in "${three[@]}"; do
		chunks=$(find "$target/$name" -name "$name.????????" | wc -l)
		count=$((count + chunks))
		[ "$chunks" -gt 0 ] || [ "$size" -le 32768 ] || rig_fail "$kind: $target got nothing of $file"
	done
	[ $count -eq $(((size + 16383) / 16384)) ] || rig_fail "$kind: $count chunks of 16 KiB for $size bytes"
}

number=0
for file in "$DATA"/radio/*; do
	size=$(stat -c %s "$file")
	for kind in file stdin pipe fifo; do
		name=radio_$((number += 1))
		raw $kind
		vbs $kind
	done
	rm -rf "$one"/* "$RIG"/[abc]/*
done
echo "$number recordings to one disk, as many to three"
