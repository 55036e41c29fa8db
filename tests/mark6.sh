# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Mark6 sets made by hand, byte by byte, of real VDIF frames. To be sourced behind rig.sh, by bash; goes to $RIG:
#
#	stream                         the frames, $stream_bytes of them; $payload bytes make a block
#	build                          d1/scan.vdif and d2/scan.vdif: nine blocks of it, the last one short
#	header d3/scan.vdif 1          a file of version 1, no blocks yet
#	blocks d3/scan.vdif 7 0 3      blocks of these numbers behind it; blocks_v1 for version 1
#	poke d1/scan.vdif 24 -5        a word in the middle of it

rig_need data
cd "$RIG" || exit 1

le() { # NUMBER...: 32 bits each, little-endian
	local number
	for number; do
		# shellcheck disable=SC2059 # the format is made here
		printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((number & 255)) $((number >> 8 & 255)) \
			$((number >> 16 & 255)) $((number >> 24 & 255)))"
	done
}

packet=5032
payload=$((3 * packet))

# header FILE [VERSION [BLOCK [FORMAT [PACKET]]]]
header() {
	mkdir -p "${1%/*}"
	le $((0xfeed6666)) "${2:-2}" "${3:-$((payload + (${2:-2} == 1 ? 4 : 8)))}" "${4:-0}" "${5:-$packet}" >"$1"
}

part() { # FROM BYTES: of the stream
	tail -c +$(($1 + 1)) stream | head -c "$2"
}

# blocks FILE NUMBER...: of version 2, payload as it is in the stream
blocks() {
	local file=$1 number bytes
	shift
	for number; do
		bytes=$((stream_bytes - number * payload < payload ? stream_bytes - number * payload : payload))
		le "$number" $((bytes + 8))
		part $((number * payload)) $bytes
	done >>"$file"
}

blocks_v1() {
	local file=$1 number
	shift
	for number; do
		le "$number"
		part $((number * payload)) $payload
	done >>"$file"
}

poke() { # FILE OFFSET NUMBER
	le "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

build() {
	rm -rf d1 d2 out
	header d1/scan.vdif
	header d2/scan.vdif
	blocks d1/scan.vdif 0 2 4 6 8
	blocks d2/scan.vdif 1 3 5 7
}

frames() { # sixteen real ones, and ten of them again
	cat "$DATA/radio/sample.vdif" "$DATA/radio/sample.vdif" | head -c $((26 * packet)) >stream
	stream_bytes=$(stat -c %s stream)
	[ "$stream_bytes" -eq $((26 * packet)) ] || rig_fail "the sample has $stream_bytes bytes"
}
frames
