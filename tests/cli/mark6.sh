#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Layout mark6: frames of real instruments and the simulator's stream go to one disk and to three; the files are what
# their readers want, by a parser that knows nothing of the recorder, and what it makes of them is the stream. With a
# stream that ends within a packet, with packets that an overflow has torn, and after a kill as well.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

one=$RIG/one three=("$RIG/a" "$RIG/b" "$RIG/c")
mkdir "$one" "${three[@]}"
to_three=(-o "${three[0]}" -o "${three[1]}" -o "${three[2]}")
small=(--ring 768Ki --block 32Ki "$same" --live none)

# blocks FORMAT PACKET SUFFIX TARGET...: all of the recording $name, each once; their packets in $RIG/packets
blocks() {
	local format=$1 packet=$2 suffix=$3 target files=()
	shift 3
	for target; do
		[ ! -e "$target/$name$suffix" ] || files+=("$target/$name$suffix")
	done
	"$TOOLS/tool_mark6" "${crashed[@]}" -f "$format" -p "$packet" "${size[@]}" -o "$RIG/packets" "${files[@]}" >"$RIG/blocks" ||
		rig_fail "the files of $name are not what readers want: ${files[*]}"
	size=()
}
crashed=() size=()

# ---- frames of instruments
instrument() {
	local file=$DATA/radio/$1 format=$2 packet=$3 suffix=$4 word=$5
	name=${1/./_}_one
	record 0 -s "file:$file" --name "$name" --layout mark6 --packet-format "$word" --packet-size "$packet" -o "$one" "${small[@]}"
	is written_bytes "$(stat -c %s "$file")"
	is disks.0.io buffered
	blocks "$format" "$packet" "$suffix" "$one"
	cmp "$file" "$RIG/packets" || rig_fail "one disk: the blocks of $name are not $file"
	said_not 'does not begin with a packet'
	audit "$name" "$one"
	for stripe in any round; do
		name=${1/./_}_$stripe
		record 0 -s "file:$file" --name "$name" --layout mark6 --packet-format "$word" --packet-size "$packet" --stripe $stripe \
			"${to_three[@]}" "${small[@]}"
		is outcome complete
		is written_bytes "$(stat -c %s "$file")"
		blocks "$format" "$packet" "$suffix" "${three[@]}"
		cmp "$file" "$RIG/packets" || rig_fail "stripe $stripe: the blocks of $name are not $file"
		audit "$name" "${three[@]}"
		[ $stripe = any ] || awk -v three="${three[*]}" 'BEGIN { split(three, target, " ") }
			$1 == "block" && index($3, target[$2 % 3 + 1] "/") != 1 { exit 1 }' "$RIG/blocks" ||
			rig_fail "blocks of $name are not on the disk whose turn it was"
	done
}
if (rig_need data) >/dev/null && [ -e "$DATA/radio/sample.vdif" ]; then
	instrument sample.vdif 0 5032 .vdif vdif
	instrument sample_bps1.vdif 0 8032 .vdif vdif
	instrument vdifio_1.vdif 0 8224 .vdif vdif
	instrument sample.m5b 1 10016 .m5b mark5b
	instrument sample.dada 2 1064 .mark6 unknown
	said 'unknown format'
	name=lie
	record 0 -s "file:$DATA/radio/sample.vdif" --name $name --layout mark6 --packet-size 5024 -o "$one" "${small[@]}"
	said 'does not begin with a packet of format vdif and 5024 bytes'
	record 0 -s "file:$DATA/radio/sample.vdif" --name ${name}2 --layout mark6 --packet-size 10016 --packet-format mark5b -o "$one" "${small[@]}"
	said 'does not begin with a packet of format mark5b'
else
	echo "without the sample files"
fi

# ---- blocks as Mark6 has them, and a stream that ends within a packet: it is told, and no loss
name=classic bytes=$((5 * 1245 * 8032 + 4000))
record 0 -s sim: -n $bytes --name $name --layout mark6 --packet-size 8032 --stripe round "${to_three[@]}" --ring 160Mi "$same" --live none
is discarded_bytes 4000
is gap_count 0
said 'ended within a packet: its last 4000 bytes'
size=(-b $((1245 * 8032 + 8)))
blocks 0 8032 .vdif "${three[@]}"
"$TOOLS/tool_verify_sim" -n $((bytes - 4000)) "$RIG/packets" || rig_fail "the blocks are not the simulator's stream"
[ "$(tail -n 1 "$RIG/blocks")" = "total 5 $((bytes - 4000))" ] || rig_fail "not five blocks: $(tail -n 1 "$RIG/blocks")"
audit $name "${three[@]}"
grep -q '"layout":"mark6".*"packet_format":"vdif","packet_bytes":8032' "$RIG/c/$name.vsib.jsonl" || rig_fail "the journal does not say what the packets are"
grep -q '"event":"packet-torn"' "$RIG/c/$name.vsib.jsonl" || rig_fail "the journal does not say that the stream ended within a packet"
gather 0 $name "${three[@]}"
cmp "$RIG/packets" "$RIG/gathered" || rig_fail "vsib-gather has made something else of it"
rig_expect 0 "$BIN/vsib-check" $name "${three[@]}" 2>"$words"

# ---- the same name again is refused, and replaced when that is wanted
record 73 -s sim: -n 1M --name $name --layout mark6 --packet-size 8032 -o "${three[1]}" "${small[@]}"
record 0 -s sim: -n $((100 * 1000)) --name $name --layout mark6 --packet-size 1000 --force "${to_three[@]}" "${small[@]}"
blocks 0 1000 .vdif "${three[@]}"
"$TOOLS/tool_verify_sim" -n 100000 "$RIG/packets" || rig_fail "the old recording is still there"

# ---- files named as the recording is, as jive5ab has them
name=plain
record 0 -s sim: -n 1M --name $name --template $name --layout mark6 --packet-size 1000 "${to_three[@]}" "${small[@]}"
record 73 -s sim: -n 1M --name $name --layout vbs "${to_three[@]}" "${small[@]}"
record 0 -s sim: -n 100k --name $name --template $name --layout mark6 --packet-size 1000 --force "${to_three[@]}" "${small[@]}"
blocks 0 1000 "" "${three[@]}"
"$TOOLS/tool_verify_sim" -n 100000 "$RIG/packets" || rig_fail "the old recording is still there"
gather 0 $name "${three[@]}"
cmp "$RIG/packets" "$RIG/gathered" || rig_fail "vsib-gather has made something else of it"

# ---- the device loses bytes: whole packets all the same, and each loss has its gap
name=torn
record 1 -s "sim:gap=12345@1000000" -n 3000000 --name $name --layout mark6 --packet-size 8032 "${to_three[@]}" "${small[@]}"
is source.lost_bytes 12345
is gap_count 3
blocks 0 8032 .vdif "${three[@]}"
audit $name "${three[@]}"
"$TOOLS/tool_verify_sim" -G "$RIG/gaps" "$RIG/packets" || rig_fail "the blocks are not the simulator's stream without what is lost"
grep -h '"segment"' "$RIG/a/$name.vsib.jsonl" | sed 's/.*"bytes":\([0-9]*\),"stream_offset":\([0-9]*\).*/\1 \2/' |
	awk '$1 % 8032 || $2 % 8032 { exit 1 }' || rig_fail "a segment that is not whole packets"

# ---- what can't be is refused with the reason
refused() {
	local wanted=$1
	shift
	record 64 -s sim: -n 1M --name refused --layout mark6 "$@" -o "$one" "${small[@]}"
	said "$wanted"
	[ -z "$(find "$one" -name 'refused*')" ] || rig_fail "something was made: $*"
}
refused 'needs the size of the packets'
refused 'no --file-size' --packet-size 1000 --file-size 1M
refused 'no --unit' --packet-size 1000 --unit 1M
refused 'holds no packet' --packet-size 40000
refused 'expected BYTES' --packet-size 0
refused 'vdif|mark5b|unknown' --packet-size 1000 --packet-format mark4

# ---- SIGKILL: every block that the journals name is whole
name=killed
has_segments() {
	[ "$(cat "$RIG/a/killed.vsib.jsonl" 2>/dev/null | grep -c '"segment"')" -ge 5 ]
}
"$BIN/vsib-record" -s sim:rate=80 --on-overflow wait --name $name --layout mark6 --packet-size 8032 --chunk 256Ki --ring 4Mi --block 64Ki \
	"${to_three[@]}" "$same" --live none 2>"$words" &
pid=$!
wait_for 30 has_segments || rig_fail "no five segments in the journal after 30 s"
kill -KILL "$(child_of $pid)"
wait $pid
crashed=(-c -t)
blocks 0 8032 .vdif "${three[@]}"
crashed=()
for target in "${three[@]}"; do
	"$TOOLS/tool_journal" -c "$target/$name.vsib.jsonl" "${three[@]}" >"$RIG/audit" || rig_fail "the journal on $target tells of data that are not there"
	# TARGET FILE_OFFSET BYTES of its segments: each must be a block
	sed -n 's/.*"segment","target":\([0-9]\),.*"file_offset":\([0-9]*\),"bytes":\([0-9]*\),.*/\1 \2 \3/p' "$target/$name.vsib.jsonl" |
		awk -v three="${three[*]}" -v name=$name 'BEGIN { split(three, target, " ") }
			FNR == NR { seen[$3 " " $4 " " $5] = 1; next }
			!seen[target[$1 + 1] "/" name ".vdif " $2 " " $3] { exit 1 }' "$RIG/blocks" - ||
		rig_fail "the journal on $target names a block that is not in the files"
done

# ---- and recovered files have nothing behind their last whole block
rig_expect 0 "$BIN/vsib-check" --recover $name "${three[@]}" >"$words" 2>&1
crashed=(-c)
blocks 0 8032 .vdif "${three[@]}"
gather "0 1" $name "${three[@]}"
cmp "$RIG/packets" "$RIG/gathered" || rig_fail "vsib-gather has made something else of it"
