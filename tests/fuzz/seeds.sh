#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Makes what the fuzz targets begin with; none of it is kept with the sources.
#
#   tests/fuzz/seeds.sh FOLDER fuzz_NAME...     FOLDER/fuzz_NAME/* for each
#
# From the sample files in DATA, where they are, and from recordings that BIN/vsib-record makes here. A target
# fuzz_NAME has a function seeds_NAME; without one its only seed is a newline.
set -eu
export LC_ALL=C
: "${BIN:=build/bin}" "${DATA:=}"
BIN=$(realpath "$BIN")
conf=$(realpath "${0%/*}/../../conf")
folder=$(mkdir -p "$1" && realpath "$1")
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/vsib-seeds.XXXXXX")
trap 'rm -rf "$work"' EXIT
export VSIB_RUNTIME_DIR=$work/run

# record STATUS FOLDER ARGUMENT...: a recording called scan; its targets are FOLDER/1 ... FOLDER/$targets
targets=1
record() {
	local wanted=$1 at=$work/$2 status=0 i where=()
	shift 2
	for ((i = 1; i <= targets; i++)); do
		mkdir -p "$at/$i"
		where+=(-o "$at/$i")
	done
	"$BIN/vsib-record" --name scan --allow-same-device --io buffered --ring 1Mi --block 4Ki --live none \
		"$@" "${where[@]}" >/dev/null 2>"$work/words" || status=$?
	[ $status -eq "$wanted" ] || { cat "$work/words" >&2; return 1; }
}

# Of each layout one, and one in which bytes were lost.
make_recordings() {
	[ ! -d "$work/raw" ] || return 0
	record 0 raw -s sim: -n 20000
	record 0 rolled -s sim: -n 40000 --file-size 8Ki
	record 1 gaps -s sim:gap=5000@8192 -n 40000
	targets=2
	record 0 vbs -s sim: -n 200000 --chunk 64Ki
	record 0 copies -s sim: -n 40000 --copies 2
	if [ -e "$DATA/radio/sample_mwa.vdif" ]; then
		record 0 mark6 -s "file:$DATA/radio/sample_mwa.vdif" --layout mark6 --packet-size 272
	fi
	targets=3 record 0 parity -s sim: -n 60000 --parity
	targets=1
}

# texts FOLDER TEXT...: a seed for each
texts() {
	local at=$1 count=0 text
	shift
	mkdir -p "$at"
	for text; do
		count=$((count + 1))
		printf '%b' "$text" >"$at/text$count"
	done
}

# heads FOLDER FILE BYTES...: its first so many, a seed for each number
heads() {
	local at=$1 file=$2 bytes name
	shift 2
	[ -e "$file" ] || return 0
	name=${file##*/}
	for bytes; do
		head -c "$bytes" "$file" >"$at/$name.$bytes"
	done
}

seeds_units() {
	texts "$1" 4096 64Ki 1.5G 4GiB 16MB 0.5Ei 512 1.6Gbps 64MB/s 32MiB/s 8000bps 3bit/s 32MHz 12.5M 90 30s 1.5s 500ms \
		1h30m 2d3h4m5s6ms7us8.0ns 0x1f 2026-11-30T08:15:00Z 2026-11-30T08:15:00.123456789Z @1780000000.5 \
		1678-01-01T00:00:00Z '18446744073709551615\n\0377\0377\0377\0377' '9223372036854775807ns'
}

seeds_succession() {
	texts "$1" '\001\001\001\001\001\001\001\001\x20\0' '\001\002\001\0\001\0377\002\001\001\003\x40\0' \
		'\001\001\x7f\001\001\0200\001\x40\001\001\x30\0' 'aaaaaaaabbbbaaaaaaaacccc\003\0\0\0\001'
}

seeds_source() {
	texts "$1" /dev/x /a,,b,key=1,other=64Ki sim:rate=512,gap=64Ki@10M,stall=2@30,buffer=8M \
		sim:seed=7,bytes=1M,burst=64Ki,rate=8M,silence=30,pattern=zero,stuck=3 sim:pattern=const,gap=1@1,gap=2@4 \
		path:/x,key=0x10 'none:key=10ms,other=1.5G' -,key=1 /p,key
}

seeds_template() {
	texts "$1" 't%06d\nt000001\0\0\0\0\0\0\0\0\001' 'a%%b%d.raw\na%b7' 'scan\nscan' '%099d' 'plain' 'x%ldy%%\nx5y%' \
		'4096\n100\n6\n1\n0\n0\n1\n/d/t%03d\n10' '1000\n7\n0\n0\n1\n1\n2\na/x%d\n1\nb/y\n9'
}

seeds_config() {
	local file
	for file in "$conf"/*.conf; do
		sed 's/^#\([a-z][a-z-]* = \)/\1/' "$file" >"$1/${file##*/}"
	done
	# shellcheck disable=SC2016 # the file has the dollar
	texts "$1" 'source = "sim:"\ntarget = {"/a", "/b"}\nrate = 512\n' "name = 'x'\n# y\nring=\"1Gi\"" 'rate = "${HOME}"\n/* */'
}

# Three frames of @1 bytes of a file, each with a number of 8 bytes in front.
numbered() {
	local i
	for i in 0 1 2; do
		printf '%b' "\\x0$((i + 1))\\0\\0\\0\\0\\0\\0\\0"
		tail -c +$((i * $1 + 1)) "$2" | head -c "$1"
	done
}

# A frame of CODIF with this number: 64 bytes of header and 64 more.
codif() {
	printf '%b' "\\x0$1\\0\\0\\0" '\x10\0\0\0' '\x10\010\0\001' '\0\0\001\0' '\0\0\0\0\0\0\0\0' '\001\0\001\0' '\010\0\0\0' \
		'\0\001\0\0\0\0\0\0' '\xfe\xca\xed\xfe'
	head -c 84 "$conf/vsib-record.conf"
}

seeds_detect() {
	local file
	if [ -e "$DATA/radio/sample_mwa.vdif" ]; then
		numbered 272 "$DATA/radio/sample_mwa.vdif" >"$1/numbered"
	fi
	{ codif 0; codif 1; codif 2; } >"$1/codif"
	make_recordings
	heads "$1" "$work/raw/1/scan.raw" 128 3000
	for file in "$DATA"/radio/*.vdif; do
		heads "$1" "$file" 2100 17000
	done
	heads "$1" "$DATA/radio/sample.m5b" 21000
	heads "$1" "$DATA/radio/sample_16track.m4" 43000 84000
	heads "$1" "$DATA/radio/sample_32track.m4" 84000
	heads "$1" "$DATA/radio/sample.dada" 5000
	texts "$1" '\0\0\0\0\0\0\0\x1e\004\0\0\0\0\0\0\040aaaabbbb\0\0\0\0aaaaaaaa\001\0\0\0\0\0\0\x1e\004\0\0\0\0\0\0\040aaaabbbb\0\0\0\0aaaaaaaa'
}

# It walks each twice: without the longest.
seeds_scan() {
	seeds_detect "$1"
	rm -f "$1"/*.84000
}

seeds_savefile() {
	local file
	for file in "$DATA"/pcap/*.pcap* "$DATA"/pcap/pcapng-le/* "$DATA"/derived/*pcap* "$DATA"/instrument/*.pcap; do
		heads "$1" "$file" 500 6000
	done
}

# Packets as they lie in a savefile: behind its 24 bytes and 16 of their own.
seeds_packet() {
	local file
	for file in "$DATA"/pcap/*.pcap "$DATA"/derived/*.pcap "$DATA"/instrument/*.pcap; do
		[ -e "$file" ] || continue
		tail -c +41 "$file" | head -c 2000 >"$1/${file##*/}"
	done
}

seeds_datagrams() {
	local i
	if [ -e "$DATA/radio/sample_mwa.vdif" ]; then
		numbered 272 "$DATA/radio/sample_mwa.vdif" >"$1/numbered"
	fi
	for i in 0 1 2 3 4 5 6 7; do
		texts "$1/$i" '\001\0\0\0\0\0\0\0aaaa\002\0\0\0\0\0\0\0bbbb\004\0\0\0\0\0\0\0cccc\003\0\0\0\0\0\0\0dddd'"\\0\\013\\0\\013\\0\\013\\0\\013\\0\\0\\01\\0\\0\\0\\0$i"
	done
}

# In the short form of journal_text.h.
short_journals() {
	texts "$1" 'b 0 4096 8000000\ns 0 0 0 4096 0\ns 0 0 4096 100 4096\ng 4196 10 1\nc 10 5000\ne 4206\n' \
		'b 1 4096\ns 0 4 0 8192 0\ns 1 5 0 8192 8192\ns 1 4 0 8192 0\nc 100 9000000000\n' \
		'b 0 4096\ns 0 1 0 4096 0 1\ns 1 0 0 4096 4096 1\np 1 3 0 4096 0\np 1 3 4096 8 1 4\ne 8192 8\n' \
		'b 2 1000\ns 0 2 28 500 0\ng 500 20 4\nr\ng 520 30 3\ne 550\n'
}

seeds_journal() {
	local file name
	make_recordings
	short_journals "$1"
	while read -r file; do
		name=${file#"$work/"}
		name=$1/${name//\//-}
		cp "$file" "$name"
		head -n -1 "$file" >"$name.open"
		head -c -200 "$file" >"$name.torn"
	done < <(find "$work" -name '*.jsonl')
}

# With a byte of 0x1e between two of one recording.
seeds_journals() {
	local file name two
	seeds_journal "$1"
	texts "$1/short" 'b 0 4096\ns 0 0 0 4096 0\ne 4096\n\x1eb 0 4096\ns 0 0 0 4096 0\ng 4096 10 0\n' \
		'b 0 4096\ns 0 1 0 4096 0 1\ns 1 1 0 4096 4096 1\np 1 3 0 4096 0\n\x1eb 0 4096\ns 0 1 0 4096 0 1\nr\n'
	for file in "$1"/*-1-*.jsonl; do
		name=${file##*/}
		two=$1/${name/-1-/-2-}
		[ -e "$two" ] || continue
		{ cat "$file"; printf '\x1e'; cat "$two.torn"; } >"$1/$name.two"
		{ cat "$file.open"; printf '\x1e'; cat "$two"; } >"$1/$name.three"
	done
}

seeds_recover() {
	seeds_journals "$1"
}

seeds_names() {
	texts "$1" 'scan\nscan.raw\n0' 'scan\nscan.000000\nscan.000001\nscan.000003.part\nscan.000002\n333' \
		'scan\nscan/scan.00000000\nscan/scan.00000001\nscan/scan.00000003\n333' 'scan\nscan.vdif\n3' \
		'scan\nscan.parity.000000\nscan.000000@512\nother\n123' 't%03d\nt000\nt001\n11' '%d\n1\n2\n3\n13'
}

# block NUMBER BYTES: of a Mark6 file, with as many bytes of payload, less 8
block() {
	printf '%b' "$(printf '\\x%02x\\0\\0\\0\\x%02x\\0\\0\\0' "$1" "$2")"
	head -c $(($2 - 8)) "$conf/vsib-record.conf"
}

seeds_mark6() {
	local file head='\x66\x66\xed\xfe\002\0\0\0\x58\0\0\0\002\0\0\0\010\0\0\0'
	make_recordings
	for file in "$work"/mark6/*/scan.vdif; do
		heads "$1" "$file" 6000 1500
	done
	{ printf '%b' "$head"; block 0 88; block 2 88; block 1 24; printf '\0\0\0\0\0\0'; } >"$1/three"
	{ printf '%b' "$head"; block 1 88; head -c 100 /dev/zero; printf '\001\0\0\0\0'; } >"$1/zeros"
	{ printf '%b' "${head/\\002/\\001}"; block 0 88; block 1 88; block 2 88; printf '\0\0\0\0\0'; } >"$1/version1"
	{ printf '%b' "$head"; block 0 88; block 9 250; block 0 88; block 2 60; printf '\0\0\0\0\002'; } >"$1/damaged"
}

seeds_baseline() {
	texts "$1" '{"schema":"vsib-qualify/1","utc":"2026-01-01T00:00:00Z","verdict":{"result":"PASS","rate_bps":1e6,"capability_bps":9e8},"disks":[{"serial":"EX4T-1001","blocks":{"points":[{"block_bytes":4096,"rate_bps":1e6},{"block_bytes":8192,"rate_bps":2e6}]},"depths":{"points":[{"depth":1,"rate_bps":1e6}]},"read":{"points":[{"position":0.5,"rate_bps":1e8}]},"full":{"disks":[{"rate_curve":{"bytes":[1,2],"rate_bps":[3,4]}}]}}],"ring":{"high_water_bytes":100},"series":{"t_s":[0,1],"ring_bytes":[5,6]},"replay":[{"rate_bps":1e6,"ring_bytes":100}]}' \
		'{"schema":"vsib-qualify/1","verdict":{},"disks":[{"serial":"other"}]}' '[]' '{"schema":"vsib-report/1"}'
}

seeds_status() {
	local recorder
	texts "$1" 'scan.1.sock\n' '{"name":"a","ring":{"capacity_bytes":1e300},"disks":[{}],"warnings":["a",1]}' '[]' '{\n}\r\n'
	"$BIN/vsib-record" -s sim: -r 8 -d 60 -o null: --name scan --ring 1Mi --live none >/dev/null 2>&1 &
	recorder=$!
	for _ in {1..100}; do
		"$BIN/vsib-status" --json >"$1/running" 2>/dev/null && break
		sleep 0.02
	done
	kill -INT "$recorder"
	wait "$recorder" || :
}

for target; do
	texts "$folder/$target" '\n'
	if declare -F "seeds_${target#fuzz_}" >/dev/null; then
		"seeds_${target#fuzz_}" "$folder/$target"
	fi
done
