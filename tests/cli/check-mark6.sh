#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# vsib-check on Mark6 sets: without a journal their structure, with one the checksums and the headers between them; and
# --recover, which leaves files that other programs read: whole blocks, and nothing behind them.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
# shellcheck source=tests/record.sh
. "${0%/*}/../record.sh"
# shellcheck source=tests/expect.sh
. "${0%/*}/../expect.sh"
# shellcheck source=tests/mark6.sh
. "${0%/*}/../mark6.sh"
gather=$BIN/vsib-gather check=$BIN/vsib-check
block=$((payload + 8))
# The packets are a sample's, over and over: what their times say of that is not looked at (--no-format).


# ---- without a journal ------------------------------------------------------------------------------

build
expect 0 "$check" --no-format scan d1 d2 --json report
says "a Mark6 set of version 2: 9 blocks in 2 files, packets (vdif) of $packet bytes; 0 blocks missing"
says "there is no journal"
says "scan: good"
for word in '"outcome": "good"' '"block_count": 9' '"file_count": 2' '"packet_format": "vdif"' "\"packet_bytes\": $packet" \
	'"journal": null'; do
	grep -qF "$word" report || rig_fail "the report has not $word: $(cat report)"
done
expect 0 "$check" --no-format d1/scan.vdif d2
expect 1 "$check" --no-format d1/scan.vdif
says "4 blocks missing"
expect 1 "$check" stream
says "frames of $packet bytes"
expect 64 "$check" --recover stream
says "belongs to no recording"

# a disk is not there; a block twice; one of other than whole packets; a header; another set
build
rm d2/scan.vdif
expect 1 "$check" --no-format scan d1 d2
says "missing: block 3 is in no file"
build
blocks d2/scan.vdif 2
expect 1 "$check" --no-format scan d1 d2
says "1 there more than once"
build
poke d1/scan.vdif $((20 + 4 * block + 4)) $((packet + 1 + 8))
truncate -s $((20 + 4 * block + packet + 1 + 8)) d1/scan.vdif
expect 1 "$check" --no-format scan d1 d2
says "1 blocks are not whole packets of $packet bytes, the first at offset $((20 + 4 * block))"
build
poke d2/scan.vdif $((20 + block)) -1
expect 2 "$check" --no-format scan d1 d2
says "the block header at offset $((20 + block)) has a number below 0"
build
header d2/scan.vdif 1
expect 2 "$check" --no-format scan d1 d2
says "are of different sets"

# version 1
rm -rf d1 d2
header d1/rec 1
blocks_v1 d1/rec 2 0 1
expect 0 "$check" --no-format d1/rec
says "a Mark6 set of version 1: 3 blocks in 1 files"

# ---- recovery without a journal ---------------------------------------------------------------------

build
truncate -s -7000 d1/scan.vdif # into block 8
truncate -s +8M d2/scan.vdif   # space that was only allocated
expect 1 "$check" --no-format scan d1 d2
says "d1/scan.vdif is $(stat -c %s d1/scan.vdif) bytes long, its last whole block ends at $((20 + 4 * block))"
sums=$(cat d1/scan.vdif d2/scan.vdif | sha256sum)
expect 1 "$check" --no-format --recover --dry-run scan d1 d2
says "d1/scan.vdif: would be cut from $((20 + 4 * block + 8 + 2 * packet - 7000)) to $((20 + 4 * block)) bytes"
says "d2/scan.vdif: would be cut from $((20 + 4 * block + 8388608)) to $((20 + 4 * block)) bytes: 8388608 behind the last whole block"
[ "$(cat d1/scan.vdif d2/scan.vdif | sha256sum)" = "$sums" ] || rig_fail "--dry-run has changed something"
expect 0 "$check" --no-format --recover scan d1 d2 --json report
grep -q '"action": "cut"' report || rig_fail "the report tells no step: $(cat report)"
says "d1/scan.vdif: cut from"
expect 0 "$check" --no-format --recover scan d1 d2
says "nothing to recover"
expect 0 "$gather" scan -o out d1 d2
head -c $((8 * payload)) stream | cmp - out || rig_fail "recovered, and not the stream's first eight blocks"

# what may be blocks, or not, stays
build
head -c $((3 * block)) /dev/urandom | tr '\0' '\377' >rubbish
printf '\377\377\377\377' | cat - rubbish >>d2/scan.vdif
cp d2/scan.vdif before
expect 2 "$check" --no-format --recover scan d1 d2
says "left as it is"
says "no header in them"
same before d2/scan.vdif

# ---- with a journal ---------------------------------------------------------------------------------

# journal NUMBER...: of these blocks, without checksums, on both targets
journal() {
	local number bytes before
	{
		printf '{"type":"start","schema":"vsib-journal/1","name":"scan","layout":"mark6","stripe":"any","template":"scan.vdif","file_bytes":0,"packet_format":"vdif","packet_bytes":%d,"targets":[{"path":"%s/d1"},{"path":"%s/d2"}],"utc":"2026-11-30T08:15:00.000000000Z","host":"h","pid":1}\n' \
			$packet "$RIG" "$RIG"
		for number; do
			before=$((number / 2))
			bytes=$((number == 8 ? 2 * packet : payload))
			printf '{"type":"segment","target":%d,"file":"scan.vdif","file_offset":%d,"bytes":%d,"stream_offset":%d}\n' \
				$((number % 2)) $((20 + before * block + 8)) $bytes $((number * payload))
		done
	} >d1/scan.vsib.jsonl
	cp d1/scan.vsib.jsonl d2/
}

journal_end() {
	printf '{"type":"end","outcome":"complete","exit_status":0,"stream_bytes":%d}\n' "$1" |
		tee -a d1/scan.vsib.jsonl >>d2/scan.vsib.jsonl
}

build
journal 0 1 2 3 4 5 6 7 8
journal_end "$stream_bytes"
expect 0 "$check" --no-format d1/scan
says_not "Mark6 set"
expect 0 "$check" --no-format d2/scan.vdif
expect 0 "$gather" d2/scan.vdif -o out
same stream out
rm out
# the data are right, and other programs would not find them
poke d1/scan.vdif $((20 + block + 4)) 5
expect 1 "$check" --no-format d1/scan
says "d1/scan.vdif: the block header at offset $((20 + block)) has a size smaller than the header itself"
says "programs that go by the headers won't read it"
expect 0 "$gather" d1/scan -o out
same stream out

# cut short: three blocks are not in the journal, one of them torn, and zeros behind
build
journal 0 1 2 3 4 5
truncate -s $((20 + 4 * block - 9000)) d1/scan.vdif
truncate -s +5M d2/scan.vdif
expect 1 "$check" --no-format d1/scan
says "the recording was cut short"
expect 1 "$check" --no-format --recover --dry-run d1/scan
says "d1/scan.vdif: would be cut"
expect 0 "$check" --no-format --recover d1/scan
says "d1/scan.vdif: cut from $((20 + 4 * block - 9000)) to $((20 + 3 * block)) bytes"
says "d2/scan.vdif: cut from $((20 + 4 * block + 5242880)) to $((20 + 3 * block)) bytes"
[ ! -e d1/scan ] || rig_fail "a folder has come to be"
for d in d1 d2; do
	grep -q '"end"' $d/scan.vsib.jsonl || rig_fail "$d: the journal has no end"
done
expect 0 "$gather" d1/scan --force -o out
head -c $((6 * payload)) stream | cmp - out || rig_fail "recovered, with the journal"
rm d?/scan.vsib.jsonl
expect 0 "$check" --no-format scan d1 d2
says "6 blocks in 2 files"
expect 0 "$gather" scan --force -o out d1 d2
head -c $((6 * payload)) stream | cmp - out || rig_fail "recovered, without the journal"

# nothing of a disk came to be safe
build
journal 0 2
expect 1 "$check" --no-format --recover d1/scan
[ ! -e d2/scan.vdif ] || rig_fail "a file of which nothing is promised is still there"
says "d2/scan.vdif: removed"
exit 0
