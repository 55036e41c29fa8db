#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What other programs read of a recording is true: SigMF metadata beside raw files (captures as the journal has them, gaps
# too), DADA headers in front of them (which gathering leaves out, with a journal and without), NAME.cfg among chunks, the
# names of scans. Existing files of that kind are in the way, and go with the recording by --force.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../expect.sh"
. "${0%/*}/../metadata.sh"

mkdir "$RIG/a" "$RIG/b"
one=(-o "$RIG/a" "$same" --live none --ring 8Mi --block 256Ki)
two=(-o "$RIG/a" -o "$RIG/b" "$same" --live none --ring 8Mi --block 256Ki)

afresh() {
	rm -rf "$RIG"/[ab]/*
}

# ---- SigMF: one file, and several; gaps within a file and between two
record 0 -s sim: -n 1000001 -r 800 --name single "${one[@]}" --sigmf --sample-format ci16_le --channels 2 --frequency 1420.4M \
	--author 'A. N. Other' --description 'a "test"' --hardware dish
is_sigmf "$RIG/a" single single.raw 0 ci16_le 8
is metadata.files 1
is metadata.failed 0
said_not 'is not used'
of=$RIG/a/single.raw.sigmf-meta
[ "$(meta "$of" global.core:sample_rate)" = 12500000 ] || rig_fail "sample_rate $(meta "$of" global.core:sample_rate)"
[ "$(meta "$of" global.core:description)" = 'a "test"' ] || rig_fail "description"
[ "$(meta "$of" global.core:hw)" = dish ] && [ "$(meta "$of" global.core:author)" = 'A. N. Other' ] || rig_fail "hw, author"
[ "$(meta "$of" captures.0.core:frequency)" = 1420400000 ] || rig_fail "frequency"
record 1 -s sim:gap=4000@300000,gap=80000@1000000,gap=8@2000000 -n 4000000 --name rolled --file-size 1M "${one[@]}" --sigmf --sample-format cf32_le
audit rolled "$RIG/a"
[ "$(wc -l <"$RIG/gaps")" -eq 3 ] || rig_fail "not three gaps"
for i in 0 1 2 3; do
	is_sigmf "$RIG/a" rolled rolled.00000$i 0 cf32_le 8
done
[ "$(meta "$RIG/a/rolled.000000.sigmf-meta" 'captures.#')" = 3 ] || rig_fail "two gaps, and not three captures"
# a gap that leaves a part of a sample: the bytes are described, and that is said
record 1 -s sim:gap=3@1000 -n 100000 --name torn "${one[@]}" --sigmf --sample-format ri16_le
is_sigmf "$RIG/a" torn torn.raw 0 ru8 1
[ "$(meta "$RIG/a/torn.raw.sigmf-meta" global.vsib:sample_format)" = ri16_le ] || rig_fail "sample_format of torn"
# 2-bit data have no datatype; and a conforming pair
record 0 -s sim: -n 1M --name bits "${one[@]}" --sigmf
is_sigmf "$RIG/a" bits bits.raw 0 ru8 1
[ "$(meta "$RIG/a/bits.raw.sigmf-meta" global.vsib:sample_format)" = raw ] || rig_fail "sample_format of bits"
record 0 -s sim: -n 1M --name pair --file-size 600k --template 'p%02d.sigmf-data' "${one[@]}" --sigmf --sample-format ci8
is_sigmf "$RIG/a" pair p00.sigmf-data 0 ci8 2
is_sigmf "$RIG/a" pair p01.sigmf-data 0 ci8 2

# ---- in the way, and removed
record 73 -s sim: -n 1M --name pair2 --file-size 600k --template 'p%02d.sigmf-data' "${one[@]}"
rm "$RIG"/a/p0?.sigmf-data "$RIG/a/pair.vsib.jsonl"
record 73 -s sim: -n 1M --name pair2 --file-size 600k --template 'p%02d.sigmf-data' "${one[@]}" --sigmf --sample-format ci8
rm "$RIG/a"/p0?.sigmf-meta
rm "$RIG/a/bits.raw" "$RIG/a/bits.vsib.jsonl"
record 73 -s sim: -n 1M --name bits "${one[@]}"
said 'bits.raw.sigmf-meta exists'
record 0 -s sim: -n 1M --name bits --force "${one[@]}" --channels 1 --sample-format raw
said_not 'is not used'
record 0 -s sim: -n 1M --name bits --force "${one[@]}" --hardware dish
said '--hardware is not used: .* without --sigmf'
[ ! -e "$RIG/a/bits.raw.sigmf-meta" ] || rig_fail "--force left metadata that are not of this recording"
record 0 -s sim: -n 1M --name rolled --force "${one[@]}"
[ "$(ls "$RIG/a" | grep -c '^rolled')" -eq 2 ] || rig_fail "--force left: $(ls "$RIG/a")"
afresh

# ---- several targets: each file its own, on its own disk; two copies
record 0 -s sim: -n 4000001 -r 800 --name many --layout raw --file-size 500k "${two[@]}" --sigmf --sample-format ru8 --dada-header
for file in "$RIG"/[ab]/many.00000?; do
	number=$((10#${file##*.}))
	is_dada "$file" $number $((number * 500000))
	is_sigmf "${file%/*}" many "${file##*/}" 4096 ru8 1
done
audit many "$RIG/a" "$RIG/b"
gathered_sim 4000001 many "$RIG/a" "$RIG/b"
expect 0 "$BIN/vsib-check" "$RIG/a/many" --target "$RIG/b"
afresh
record 0 -s sim: -n 3M --name twice --copies 2 --layout raw --file-size 500k "${two[@]}" --dada-header --sigmf
audit twice "$RIG/a" "$RIG/b"
gathered_sim 3000000 twice "$RIG/a" "$RIG/b"
rm "$RIG"/[ab]/*.vsib.jsonl
"$TOOLS/tool_json" "$(ls "$RIG"/[ab]/twice-copy.000003.sigmf-meta)" captures.0.core:global_index | grep -qx 1500000 ||
	rig_fail "the second copy's metadata"
gathered_sim 3000000 twice "$RIG/a" "$RIG/b"
said 'DADA headers .* are left out'
gathered_sim 3000000 twice-copy "$RIG/a" "$RIG/b"
afresh

# ---- DADA: real data; the user's keys; true offsets behind a gap; without a journal
keys=$RIG/keys
printf '%s\n' '# a dish' 'TELESCOPE Effelsberg  # where' 'INSTRUMENT VSIB' 'SOURCE 3C 84' 'FREQ 1420.4' 'BW 16' 'NPOL 1' 'NBIT 8' \
	'NDIM 2' 'NCHAN 1' >"$keys"
stream=$RIG/stream
"$BIN/vsib-record" -s sim: -n 3000001 -o - --ring 8Mi --live none >"$stream" 2>/dev/null || rig_fail "no stream"
sources=("$stream")
if [ -n "${DATA-}" ] && [ -d "$DATA/radio" ]; then
	sources+=("$DATA/radio/sample.vdif" "$DATA/radio/sample.dada" "$DATA/radio/sample.m5b")
else
	echo "only the simulator: no sample files of radio telescopes (VSIB_DATA)"
fi
for source in "${sources[@]}"; do
	size=$(stat -c %s "$source") each=$((size / 3 / 8 * 8))
	ios=(direct)
	[ "$source" != "$stream" ] || ios+=(buffered)
	for io in "${ios[@]}"; do
		record 0 -s "file:$source" -r 512 --name real --file-size $each --io $io "${one[@]}" --dada-header="$keys"
		said_not 'which dspsr wants'
		for file in "$RIG"/a/real.00000?; do
			number=$((10#${file##*.}))
			is_dada "$file" $number $((number * each))
			key_is "$file" SOURCE '3C 84'
			key_is "$file" TELESCOPE Effelsberg
			key_is "$file" BYTES_PER_SECOND 64000000
			key_is "$file" TSAMP 0.03125
			tail -c +4097 "$file"
		done | cmp - "$source" || rig_fail "behind the headers is not $source"
		audit real "$RIG/a"
		gathered "$source" real "$RIG/a"
		rm "$RIG/a/real.vsib.jsonl"
		gathered "$source" real "$RIG/a"
		expect 1 "$BIN/vsib-check" "$RIG/a/real" # there is nothing to compare with
		afresh
	done
	# what came with a header is data, header and all
	record 0 -s "file:$source" --name plain "${one[@]}" --journal no
	gathered "$source" plain "$RIG/a"
	said_not 'left out'
	afresh
done
record 1 -s sim:gap=300000@900000 -n 3M --name gap --file-size 900k "${one[@]}" --dada-header
is_dada "$RIG/a/gap.000000" 0 0
is_dada "$RIG/a/gap.000001" 1 1200000
is_dada "$RIG/a/gap.000002" 2 2100000
said 'the DADA header has no INSTRUMENT .* which dspsr wants'
audit gap "$RIG/a"
gathered_sim 3000000 gap "$RIG/a"
afresh

# ---- a crash leaves valid headers, and --recover brings it into order
# crashed NAME FILE OPTION...: killed when FILE is there
crashed() {
	local name=$1 file=$2 pid child
	shift 2
	"$BIN/vsib-record" -s sim: -r 160 -d 60 --name "$name" "${one[@]}" --dada-header --sigmf "$@" >"$output" 2>"$words" &
	pid=$!
	wait_for 20 test -s "$RIG/a/$file" || rig_fail "no $file"
	child=$(child_of $pid)
	kill -KILL "$child" "$pid"
	wait $pid 2>/dev/null
}
crashed endless endless.raw
key_is "$RIG/a/endless.raw" OBS_OFFSET 0
! key "$RIG/a/endless.raw" FILE_SIZE >/dev/null || rig_fail "a file that was not finished has a FILE_SIZE"
crashed crash crash.000006 --file-size 1M
for file in "$RIG"/a/crash.00000?; do
	number=$((10#${file##*.}))
	is_dada "$file" $number $((number * 1000000))
done
for part in "$RIG"/a/crash.*.part; do
	[ -s "$part" ] || continue # it was just between two files, or had only begun one
	number=${part%.part} number=$((10#${number##*.}))
	key_is "$part" OBS_OFFSET $((number * 1000000))
done
expect '0 1' "$BIN/vsib-check" --recover "$RIG/a/crash"
status=0
"$BIN/vsib-gather" --force -o "$RIG/gathered" crash "$RIG/a" 2>"$words" || status=$?
[ $status -le 1 ] || { show_words; rig_fail "gather after a crash: $status"; }
[ "$(stat -c %s "$RIG/gathered")" -ge 6000000 ] || rig_fail "only $(stat -c %s "$RIG/gathered") bytes after the crash"
"$TOOLS/tool_verify_sim" -n "$(stat -c %s "$RIG/gathered")" "$RIG/gathered" || rig_fail "not the stream after the crash"
record 0 -s sim: -n 1M --name crash --force "${one[@]}"
[ "$(ls "$RIG/a" | grep -c '^crash')" -eq 2 ] || rig_fail "--force left: $(ls "$RIG/a")"
afresh

# ---- the .cfg of chunks
record 0 -s sim: -n 5000000 --name chunks --packet-size 8192 --chunk 1Mi "${two[@]}" --vbs-cfg
for target in "$RIG/a" "$RIG/b"; do
	printf '%s\n' 'packet_size = 8192L;' 'cumul = 5L;' 'total_packets = 610L;' 'filesize = 1048576L;' 'filesizemb = 1;' |
		diff - "$target/chunks/chunks.cfg" || rig_fail "chunks.cfg on $target"
done
audit chunks "$RIG/a" "$RIG/b"
gathered_sim 5000000 chunks "$RIG/a" "$RIG/b"
record 0 -s sim: -n 5000000 --name chunks --packet-size 5016 --chunk 1Mi "${two[@]}" --vbs-cfg --force --copies 2 --ring 16Mi
said 'no filesizemb'
! grep -q filesizemb "$RIG/a/chunks/chunks.cfg" || rig_fail "filesizemb, though it is wrong"
cmp "$RIG/a/chunks/chunks.cfg" "$RIG/b/chunks-copy/chunks-copy.cfg" || rig_fail "the .cfg of the copy"
record 0 -s sim: -n 1M --name chunks "${two[@]}" --force
[ ! -e "$RIG/a/chunks/chunks.cfg" ] && [ ! -e "$RIG/b/chunks-copy" ] || rig_fail "--force left a .cfg"
afresh

# ---- names of scans
scan=(--exp N26W1 --station Mh --scan No0001)
record 0 -s sim: -n 1M "${scan[@]}" "${one[@]}"
is name n26w1_mh_no0001
record 0 -s sim: -n 1M "${scan[@]}" "${two[@]}" # on one of them it is
is name n26w1_mh_no0001a
said 'a recording of the scan n26w1_mh_no0001 exists: this one is n26w1_mh_no0001a'
record 0 -s sim: -n 1M "${scan[@]}" -o "$RIG/b" "$same" --live none --ring 8Mi
is name n26w1_mh_no0001
printf 'exp = n26w1\nstation = mh\n' >"$RIG/conf"
record 0 -s sim: -n 1M --config "$RIG/conf" --scan no0001 "${one[@]}"
is name n26w1_mh_no0001b
record 0 -s sim: -n 1M "${scan[@]}" "${one[@]}" --force
is name n26w1_mh_no0001
record 73 -s sim: -n 1M --name n26w1_mh_no0001 "${one[@]}"
for letter in {c..z} {A..Z}; do
	touch "$RIG/a/n26w1_mh_no0001$letter.raw"
done
record 73 -s sim: -n 1M "${scan[@]}" "${one[@]}"
said 'all its repetitions, a to Z, exist'
afresh

# ---- after a crash a recovery leaves nothing half-written, and nobody else's
record 0 -s sim: -n 1M --name crash "${one[@]}" --sigmf
record 0 -s sim: -n 1M --name chunks "${one[@]}" --layout vbs --packet-size 8192 --vbs-cfg
record 0 -s sim: -n 1M --name pair --template 'p%02d.sigmf-data' --file-size 600k "${one[@]}" --sigmf --sample-format ci8
record 0 -s sim: -n 1M --name other --template 'o%02d.bin' --file-size 600k "${one[@]}" --sigmf
for journal in "$RIG"/a/{crash,chunks/chunks,pair,other}.vsib.jsonl; do
	sed -i '$d' "$journal"
done
half=("$RIG"/a/{crash.raw.sigmf-meta,chunks/chunks.cfg,p01.sigmf-meta,o01.bin.sigmf-meta}.part)
others=("$RIG"/a/{crash.raw.sigmf-meta,crash2.raw.sigmf-meta.part,crash.cfg.part,chunks/chunks.cfg,p01.sigmf-meta}
	"$RIG"/a/{p02.sigmf-meta,o02.bin.sigmf-meta,o01.sigmf-meta}.part)
touch "${half[@]}" "${others[@]}"
for name in crash chunks pair other; do
	timeout 30 "$BIN/vsib-check" --recover "$RIG/a/$name" 2>"$words" || rig_fail "$name: $(cat "$words")"
done
for f in "${half[@]}"; do
	[ ! -e "$f" ] || rig_fail "a recovery left $f"
done
for f in "${others[@]}"; do
	[ -e "$f" ] || rig_fail "a recovery removed $f"
done
afresh

# ---- refused, with the reason
refused() {
	local why=$1
	shift
	record 64 -s sim: -n 1M --name no "$@"
	said "$why"
	empty "$RIG/a" "$RIG/b"
}
record 64 -s sim: -n 1M --scan a.b "${one[@]}"
said "can't open a name with a '\\.'"
refused 'either --name' --scan x "${one[@]}"
refused '--dada-header: readers of VBS' --layout vbs --dada-header "${one[@]}"
refused '--dada-header: the files of layout mark6' --layout mark6 --packet-size 8032 --dada-header "${one[@]}"
refused '--sigmf: the files have units' --layout raw --stripe round --sigmf "${two[@]}"
refused '--sigmf: there are no files' --sigmf -o null: --live none
refused '--sigmf: a file .sigmf-data' --sigmf --template x.sigmf-data "${one[@]}"
refused '--vbs-cfg: it belongs' --vbs-cfg "${one[@]}"
refused '--vbs-cfg: it tells' --vbs-cfg --layout vbs "${one[@]}"
refused 'expected FORMAT, such as ci8' --sigmf --sample-format i8 "${one[@]}"
refused "depth '0': out of range; expected N, a whole number" --depth 0 "${one[@]}"
refused 'what to record from is missing behind udp:' -s udp: "${one[@]}"
echo 'UTC_START 2026-11-30-08:15:00' >"$keys"
record 78 -s sim: -n 1M --name no "${one[@]}" --dada-header="$keys"
said 'line 1: the recorder itself'
record 66 -s sim: -n 1M --name no "${one[@]}" --dada-header="$RIG/nothing"
