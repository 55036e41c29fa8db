#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# vsib-gather on Mark6 sets that it did not write: versions 1 and 2, by any name, blocks in any order, with all that a
# crash, a lost disk and a damaged header leave behind. The packets are real VDIF, compared byte for byte.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
# shellcheck source=tests/record.sh
. "${0%/*}/../record.sh"
# shellcheck source=tests/expect.sh
. "${0%/*}/../expect.sh"
# shellcheck source=tests/mark6.sh
. "${0%/*}/../mark6.sh"
gather=$BIN/vsib-gather

# ---- whole ------------------------------------------------------------------------------------------

build
expect 0 "$gather" scan -o out d1 d2
same stream out
says "9 pieces"
rm out
expect 0 "$gather" d2/scan -o out d1
same stream out
"$gather" d1/scan.vdif d2/scan.vdif 2>"$words" | cmp - stream || rig_fail "by their paths"
"$gather" anything d1/scan.vdif d2/scan.vdif 2>"$words" | cmp - stream || rig_fail "by a name and their paths"
"$gather" d1/scan d2 d1/scan.vdif d2/scan.vdif d1 2>"$words" | cmp - stream || rig_fail "named twice"
says_not "more than once"

# by its content, not by its name, and a plain file of such a name is none
mv d1/scan.vdif d1/scan
mv d2/scan.vdif d2/scan.m5b
cp stream d2/scan.vdif
: >d1/scan.mark6
"$gather" scan d1 d2 2>"$words" | cmp - stream || rig_fail "by other names"
says "d2/scan.vdif: no Mark6 file"
says "d1/scan.mark6: nothing was written to it"
expect 66 "$gather" scan -o out2 d1 d2/scan.vdif
says "neither a directory nor a file of a Mark6 set"

# below a target no symbolic link is followed, and a recording of another kind has nothing to do with it
build
mv d2/scan.vdif elsewhere
ln -s ../elsewhere d2/scan.vdif
expect 1 "$gather" scan -o out3 d1 d2
says "d2/scan.vdif: is a symbolic link, not used"
says "4 blocks are missing"
rm d1/scan.vdif
cp stream d1/scan.raw
expect 0 "$gather" scan -o out4 d1 d2
same stream out4
says_not "symbolic link"

# out of order within files, an odd number of disks, a block of no packets
rm -rf d1 d2 d3 out
for d in 1 2 3; do
	header d$d/s.mark6
done
blocks d1/s.mark6 7 0 8
le 9 8 >>d1/s.mark6
blocks d2/s.mark6 3 2 1 6
blocks d3/s.mark6 5 4
expect 0 "$gather" s -o out d1 d2 d3
same stream out
expect 0 "$gather" s --list d1 d2 d3 >list
[ "$(sed -n 1p list)" = "data	0	$payload	$((20 + payload + 2 * 8))	-	$PWD/d1/s.mark6" ] ||
	[ "$(sed -n 1p list)" = "data	0	$payload	$((20 + payload + 2 * 8))	-	d1/s.mark6" ] ||
	rig_fail "--list: $(sed -n 1p list)"

# version 1: all blocks but the last are as long as the file says
rm -rf d1 d2 out
header d1/rec 1
header d2/rec 1
blocks_v1 d1/rec 3 1 8
blocks_v1 d2/rec 0 2 4 5 6 7
expect 0 "$gather" rec -o out d1 d2
same stream out
says "the last block is short"
truncate -s -1 d1/rec
rm out
expect 1 "$gather" rec -o out d1 d2
cmp -n $((25 * packet)) stream out || rig_fail "version 1, cut off"
[ "$(stat -c %s out)" -eq $((25 * packet)) ] || rig_fail "version 1, cut off: $(stat -c %s out) bytes"
says "d1/rec ends within block 8 at offset $((20 + 2 * (payload + 4)))"

# packets of unknown format and length
rm -rf d1 out
header d1/u 2 $((payload + 8)) 2 0
blocks d1/u 0 1 2 3 4 5 6 7 8
expect 0 "$gather" d1/u -o out
same stream out

mark5b() {
	local stream_bytes=40064 payload=10016
	cp "$DATA/radio/sample.m5b" stream
	header d1/m.m5b 2 $((payload + 8)) 1 $payload
	header d2/m.m5b 2 $((payload + 8)) 1 $payload
	blocks d1/m.m5b 2 0
	blocks d2/m.m5b 3 1
	expect 0 "$gather" m -o m.out d1 d2
	same "$DATA/radio/sample.m5b" m.out
	expect 0 "$BIN/vsib-check" m d1 d2
	says "packets (mark5b) of 10016 bytes"
}
mark5b
frames

# ---- what is missing --------------------------------------------------------------------------------

fill() { # FROM BYTES: of the stream, multiples of four
	yes $'\x44\x33\x22\x11' | tr -d '\n' | head -c "$2" |
		dd of=filled bs=4 seek=$(($1 / 4)) conv=notrunc status=none
}

gaps() { # NUMBER...: the stream with these blocks as fill pattern
	local number
	cp stream filled
	for number; do
		fill $((number * payload)) $payload
	done
}

build
rm d2/scan.vdif
expect 1 "$gather" scan -o out d1 d2
[ "$(stat -c %s out)" -eq $((stream_bytes - 4 * payload)) ] || rig_fail "one disk of two: $(stat -c %s out) bytes"
says "block 1 is in no file: $payload bytes of the stream from $payload to $((2 * payload))"
says "4 blocks are missing"
rm out
expect 1 "$gather" scan --fill -o out d1
gaps 1 3 5 7
same filled out

rm -rf d1 d2 out
header d1/scan
blocks d1/scan 3 7 8
expect 1 "$gather" d1/scan --fill -o out --json report
says "blocks 0 to 2 (3 blocks) are in no file"
says "blocks 4 to 6 (3 blocks) are in no file"
gaps 0 1 2 4 5 6
same filled out
grep -q '"blocks 4 to 6"' report || rig_fail "the report: $(cat report)"

# ---- blocks that are there twice --------------------------------------------------------------------

build
blocks d2/scan.vdif 4 0
expect 0 "$gather" scan -o out d1 d2
same stream out
says "2 blocks are there more than once, with the same bytes, and are used once; the first is block 0"
printf X | dd of=d2/scan.vdif bs=1 seek=$(($(stat -c %s d2/scan.vdif) - 100)) conv=notrunc status=none
rm out
expect 2 "$gather" scan -o out d1 d2
says "block 0 is there twice with different bytes: in"
says "d1/scan.vdif at offset 20 and in"
[ ! -e out ] || rig_fail "something was written of a set that contradicts itself"

# a write that failed, and the block again on another disk
build
blocks d2/scan.vdif 4
truncate -s -7000 d2/scan.vdif
expect 0 "$gather" scan -o out d1 d2
same stream out
says "d2/scan.vdif: block 4 at offset $((20 + 4 * (payload + 8))) is cut off by the end of the file"
says "blocks that are cut are there a second time"

# ---- cut short --------------------------------------------------------------------------------------

# within a packet, within the header, behind the header
build
truncate -s -7000 d2/scan.vdif # 7000: a packet and a part of one
expect 1 "$gather" scan --fill -o out d1 d2
says "d2/scan.vdif ends within block 7 at offset $((20 + 3 * (payload + 8))): $((2 * packet)) bytes of the stream"
cp stream filled
fill $((22 * packet)) $((2 * packet))
same filled out
for cut in 3 8; do
	build
	truncate -s $((20 + 4 * (payload + 8) + cut)) d1/scan.vdif
	expect 1 "$gather" scan --force -o out d1 d2
	cmp -n $((8 * payload)) stream out || rig_fail "cut off $cut bytes behind a block"
	[ "$(stat -c %s out)" -eq $((8 * payload)) ] || rig_fail "cut off $cut bytes behind a block"
	[ $cut -eq 8 ] || says "3 bytes at offset $((20 + 4 * (payload + 8))) are less than a block header"
done
says "d1/scan.vdif ends within block 8"
build
truncate -s 21 d2/scan.vdif
expect 1 "$gather" scan -o out d1 d2
says "1 bytes at offset 20 are less than a block header"
truncate -s 17 d2/scan.vdif
expect 2 "$gather" scan --force -o out d1 d2
says "it ends within the file header"

# space that was only allocated, as zeros and as a hole
build
head -c 50000 /dev/zero >>d1/scan.vdif
truncate -s +100M d2/scan.vdif
expect 0 "$gather" scan -o out d1 d2
same stream out
says "50000 bytes of zeros behind the last block, from offset $(($(stat -c %s d1/scan.vdif) - 50000)) on"
says "104857600 bytes of zeros behind the last block"

# a block of which the header was written and not all packets
build
end=$(stat -c %s d2/scan.vdif)
truncate -s -$((packet + 100)) d2/scan.vdif
truncate -s "$end" d2/scan.vdif
truncate -s +1M d2/scan.vdif
expect 1 "$gather" scan --fill -o out d1 d2
says "block 7 at offset $((20 + 3 * (payload + 8))) ends in zeros and was not written to its end: $packet of $payload bytes"

# ---- headers that can't be true ---------------------------------------------------------------------

try_poke() { # OFFSET NUMBER WORDS: in the third block of d2
	build
	poke d2/scan.vdif $((20 + 2 * (payload + 8) + $1)) "$2"
	expect 2 "$gather" scan --fill -o out d1 d2
	says "d2/scan.vdif: the block header at offset $((20 + 2 * (payload + 8))) has $3"
	says "block 5 is in no file"
	gaps 5
	same filled out
}

try_poke 0 -5 "a number below 0"
try_poke 4 -5 "a size below 0"
try_poke 4 7 "a size smaller than the header itself"
try_poke 4 $((payload + 9)) "a size larger than the file's block size"

# the last header of a file: nothing to go on with
build
poke d2/scan.vdif $((20 + 3 * (payload + 8) + 4)) 0
expect 1 "$gather" scan -o out d1 d2
says "and no block follows"
# a size that is too small, but not impossible: what stands there is no header
build
poke d2/scan.vdif $((20 + 2 * (payload + 8) + 4)) 20
expect 2 "$gather" scan -o out d1 d2
says "the block header at offset $((20 + 2 * (payload + 8))) has a wrong size (20)"
same stream out
# with no block behind it nothing tells so
build
poke d2/scan.vdif $((20 + 3 * (payload + 8) + 4)) 20
rm -f out
expect 1 "$gather" scan -o out d1 d2
says "1 blocks are not whole packets"
says "and no block follows"

# ---- files of different sets ------------------------------------------------------------------------

try_header() { # ARGUMENTS OF header
	build
	header d2/scan.vdif "$@"
	expect 2 "$gather" scan -o out d1 d2
	says "are of different sets"
	[ ! -e out ] || rig_fail "something was written of two sets"
}

try_header 1
try_header 2 $((payload + 8)) 1
try_header 2 $((payload + 8)) 0 $((packet / 2))
try_header 2 $((2 * payload + 8))
build
header d2/scan.vdif 3
expect 2 "$gather" scan -o out d1 d2
says "d2/scan.vdif is not used: the file header makes no sense: version 3"
build
mkdir d1/scan
part 0 $payload >d1/scan/scan.00000000
expect 2 "$gather" scan -o out d1 d2
says "several recordings are called scan"
exit 0
