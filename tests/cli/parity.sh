#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Recordings with --parity: any one disk is taken away, and vsib-gather makes the same stream, byte for byte; a damaged byte
# is rebuilt; what can't be is told, by both tools. Also with files of a size and without, with the end of the stream and
# losses of the source in the middle of blocks, with a disk that fails while it is recorded, and after a kill.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../cut.sh"
cd "$RIG" || exit 1

# recorded STATUS DISKS OPTION...: the recording "scan" on a, b, c ..., and what vsib-gather makes of it: the file whole
recorded() {
	local wanted=$1 status=0
	targets=(a b c d)
	targets=("${targets[@]:0:$2}")
	shift 2
	rm -rf a b c d away whole
	mkdir -p "${targets[@]}"
	"$BIN/vsib-record" --parity --ring 8Mi --block 64Ki --name scan "$same" "${targets[@]/#/--target=}" "$@" \
		>"$output" 2>"$words" || status=$?
	ended "$wanted" $status vsib-record "$@"
	gather "$wanted" scan "${targets[@]}"
	said_not 'rebuilt'
	mv gathered whole
}

same_stream() {
	cmp whole gathered || rig_fail "$1: another stream"
}

# without STATUS DISK: the stream is the same, whichever disk is not there. What the disk had is counted.
without() {
	local lost
	mkdir -p away
	mv "$2" away/
	gather "$1" scan "${targets[@]/#$2/away}"
	same_stream "without $2"
	lost=$(find "away/$2" -name 'scan.0*' -printf '%s\n' | sum)
	if [ "$lost" -gt 0 ]; then
		said "$2/scan\.0.* is not there: .* are rebuilt from the parity"
		said ", $lost bytes rebuilt\$"
	else
		said "$2/scan\.parity\..* is not there: it is parity, nothing of the stream"
		said_not 'bytes rebuilt'
	fi
	mv "away/$2" .
}

without_each() {
	local disk
	for disk in "${targets[@]}"; do
		without "$1" "$disk"
	done
}

# checked STATUS ARGUMENT...
checked() {
	local wanted=$1 status=0
	shift
	"$BIN/vsib-check" "$@" >"$output" 2>"$words" || status=$?
	ended "$wanted" $status vsib-check "$@"
}

damage() { # FILE OFFSET
	printf '\0\377\0\377\0\377\0\377' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# ---- each disk in turn; the stream ends in the middle of a block, and of a row -------------------------------------

for disks in 3 4; do
	for options in "" "--file-size 256Ki" "--checksum none"; do
		# shellcheck disable=SC2086 # a list
		recorded 0 $disks -s sim: -n 3000001 $options
		"$TOOLS/tool_verify_sim" -n 3000001 whole || rig_fail "not the simulator's stream"
		without_each 0
		checked 0 scan "${targets[@]}"
	done
done
sample=$DATA/radio/sample_32track.m4
if [ -e "$sample" ]; then
	recorded 0 3 -s "file:$sample" --block 4Ki --ring 1Mi --file-size 20Ki
	cmp "$sample" whole || rig_fail "not the file"
	without_each 0
fi

# ---- losses of the source: a block has several stretches of the stream ------------------------------------------------

recorded 1 3 -s sim:rate=1G,gap=10000@100000,gap=300000@500008,gap=8@1200000,gap=64Ki@1500000,burst=100000 -n 3000000
grep -q row_offset a/scan.vsib.jsonl || rig_fail "no block is split"
without_each 1

# ---- damage -------------------------------------------------------------------------------------------------------------

recorded 0 4 -s sim: -n 3000001 --file-size 256Ki
# a disk of other bytes than it had
cp -r c c.good
for file in c/scan.0*; do
	head -c "$(stat -c %s $file)" /dev/zero >"$file.new"
	mv "$file.new" "$file"
done
gather 0 --json report.json scan "${targets[@]}"
same_stream "a disk of zeros"
is rebuilt_bytes 983040
rm -r c
mv c.good c

# single bytes
damage b/scan.000001 5
damage c/scan.000005 100000
gather 0 --json report.json scan "${targets[@]}"
same_stream "two damaged blocks"
said 'b/scan\.000001: what is wrong with it is rebuilt from the parity'
said '0 bad checksums, 0 unreadable, 131072 bytes rebuilt$'
is rebuilt_bytes 131072
is bad_checksum_count 0
gather 0 --strict scan "${targets[@]}"
same_stream "two damaged blocks, --strict"
checked 1 --json report.json scan "${targets[@]}"
said 'bad checksum: b/scan\.000001 from file offset 0, 65536 bytes, stream offset 65536; it can be rebuilt'
said '131072 of 131072 wrong bytes can be rebuilt'
is rebuildable_bytes 131072
is bad.0.rebuildable true

# in another row, nothing of the parity's segment but that row is lost
damage d/scan.parity.000000 70000
gather 0 scan "${targets[@]}"
same_stream "damaged in several rows"
checked 1 --json report.json scan "${targets[@]}"
said 'bad checksum: d/scan\.parity\.000000 .* parity'
said '131072 of 131072 wrong bytes can be rebuilt'
is parity.bad_count 1

# in the same row it can't be
damage d/scan.parity.000000 10
gather 2 scan "${targets[@]}"
said "can't rebuild b/scan\.000001 from file offset 0 \(stream offset 65536, 65536 bytes\): d/scan\.parity\.000000 has other bytes"
said '1 bad checksums, 0 unreadable, 65536 bytes rebuilt$'
gather 2 --strict --fill scan "${targets[@]}"
cmp <(cmp -l whole gathered | awk '$1 <= 65536 || $1 > 131072' | head) /dev/null || rig_fail "more than the bad block is filled"
checked 1 scan "${targets[@]}"
said "stream offset 65536; it can't be rebuilt"

# ---- two disks ----------------------------------------------------------------------------------------------------------

recorded 0 4 -s sim: -n 3000001
mkdir away
mv b d away/
gather 1 --fill scan a c
said 'missing: .*b/scan\.000001 is not there: [0-9]* bytes of the stream'
said '[1-9][0-9]* gaps, [1-9][0-9]* bytes filled'
said_not 'rebuilt'
mv away/d .
mv c away/
gather 1 scan a d
said 'missing: .*b/scan\.000001 is not there'
said 'missing: .*c/scan\.000002 is not there'
checked 1 scan a d
said 'missing: .*b/scan\.000001 is not there'
said '0 of [0-9]* wrong bytes can be rebuilt'
mv away/b .
checked 1 scan a b d
said 'missing: .*c/scan\.000002 is not there: .*, which the parity makes up for'
mv away/c .
mv d away/
checked 1 scan a b c
said 'missing: .*d/scan\.parity\.000000 is not there: [0-9]* bytes of parity'
mv away/d .
# cut off: no more than what lies behind is rebuilt
truncate -s 200000 c/scan.000002
gather 0 scan "${targets[@]}"
same_stream "a file that is cut off"
said 'c/scan\.000002 is 200000 bytes long, .* are rebuilt from the parity'

# ---- no journal -------------------------------------------------------------------------------------------------------

rm ./*/scan.vsib.jsonl
gather 0 scan "${targets[@]}"
said 'd/scan\.parity\.000000: parity, and there is no journal that tells of what, not used'

# right_or_missing ARGUMENT...: what is not filled is the simulator's, and what is filled is said to be missing
right_or_missing() {
	gather "0 1" --fill --json report.json "$@"
	paste -d ' ' <(value 'gaps.*.stream_offset') <(value 'gaps.*.bytes') >gaps
	"$TOOLS/tool_verify_sim" -f -n "$(value stream_bytes)" -G gaps gathered || rig_fail "not the simulator's stream: $*"
}

# ---- killed -----------------------------------------------------------------------------------------------------------

has_parity() {
	[ "$(cat "$1" 2>/dev/null | grep -c '"parity"')" -gt 1 ]
}

targets=(a b c)
rm -rf a b c d away
mkdir a b c away
"$BIN/vsib-record" --parity -s sim: -r 50 --ring 8Mi --block 64Ki --name scan --file-size 4Mi "$same" -o a -o b -o c \
	>"$output" 2>"$words" &
wait_for 20 has_parity c/scan.vsib.jsonl || rig_fail "no parity in the journal after 20 s"
cut_kill_now $!
checked "0 1" --recover scan a b c
[ -z "$(find a b c -name '*.part')" ] || rig_fail "--recover has left: $(find a b c -name '*.part')"
audit scan a b c
for disk in a b c; do
	mv $disk away/
	right_or_missing scan "${targets[@]/#$disk/away}"
	mv away/$disk .
done

# ---- a disk that fails meanwhile --------------------------------------------------------------------------------------

(rig_need fuse) >/dev/null || rig_skip "all but the disk that fails: it needs fuse"
rig_fault sick
for place in a c; do
	rig_fault_set sick reset
	rm -rf a b c away sick/*
	mkdir a b c
	rmdir $place
	ln -s sick $place
	rig_fault_set sick 'only=*.[p0-9]*' 'write:EIO@1M'
	status=0
	"$BIN/vsib-record" --parity -s sim: -r 200 -n 6000001 --ring 8Mi --block 64Ki --chunk 256Ki --name scan "$same" -o a -o b -o c \
		>"$output" 2>"$words" || status=$?
	ended 1 $status "vsib-record, a disk that fails"
	rig_fault_set sick reset
	gather 0 scan a b c
	"$TOOLS/tool_verify_sim" -n 6000001 gathered || rig_fail "not the simulator's stream"
	mv gathered whole
	# the one that has failed can go: nothing is missing
	mkdir away
	mv $place away/
	gather 0 scan "${targets[@]/#$place/away}"
	same_stream "without the disk that has failed"
	mv away/$place .
	# of another one what has been recorded since then, with one disk less, is as far as there is parity
	for disk in a b; do
		[ $disk != $place ] || continue
		mv $disk away/
		right_or_missing scan "${targets[@]/#$disk/away}"
		is stream_bytes 6000001
		is_more rebuilt_bytes 0
		mv away/$disk .
	done
done
