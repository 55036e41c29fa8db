#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# --fill of vsib-record and of vsib-gather: what was filled while recording is the same stream, byte for byte, as what is
# filled afterwards, in every layout; each gap is told by all programs, and none of it is filled twice. Invalid VDIF frames
# are those that are missing, in number, order, thread and time; where that can't be known, the pattern and the reason.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
# shellcheck source=tests/record.sh
. "${0%/*}/../record.sh"
# shellcheck source=tests/expect.sh
. "${0%/*}/../expect.sh"
# shellcheck source=tests/cut.sh
. "${0%/*}/../cut.sh"
cd "$RIG" || exit 1
fill=(--fill pattern)

# The gaps of the last audit, filled or not, are where the stream has fill; all else is the simulator's.
filled_sim() { # BYTES NAME TARGET...
	local bytes=$1
	shift
	gather 1 --fill "$@"
	cat "$RIG/gaps" "$RIG/filled" >all
	"$TOOLS/tool_verify_sim" -f -n "$bytes" -G all gathered || rig_fail "$1 with all its fill is not the simulator's stream"
}

# ---- every layout: filled while it is recorded, or afterwards ---------------------------------------

gaps=gap=1@300001,gap=700000@1M,gap=5M@2M,gap=100k@7999999
lost=5800001 bytes=8099999
compared() { # TARGETS OPTION...
	local targets=(a b c)
	targets=("${targets[@]:0:$1}")
	shift
	rm -rf a b c
	mkdir a b c
	record 1 -s "sim:$gaps" -n $bytes --name closed --ring 4Mi --block 64Ki "$same" "${targets[@]/#/--target=}" "$@"
	is source.lost_bytes $lost
	is filled_bytes 0
	record 1 -s "sim:$gaps" -n $bytes --name filled --ring 4Mi --block 64Ki "$same" "${fill[@]}" "${targets[@]/#/--target=}" "$@"
	is source.lost_bytes $lost
	is filled_bytes $lost
	is outcome loss
	said "filled $lost = written"
	audit closed "${targets[@]}"
	gather 1 --fill closed "${targets[@]}"
	mv gathered afterwards
	audit filled "${targets[@]}"
	[ "$(awk '{ s += $2 } END { print s }' "$RIG/filled")" -eq $lost ] || rig_fail "the journal's filled gaps: $(cat "$RIG/filled")"
	filled_sim "$(stat -c %s afterwards)" filled "${targets[@]}"
	cmp afterwards gathered || rig_fail "filled while recording is another stream: $*"
	# nothing to close up, and it is told
	gather 1 filled "${targets[@]}"
	cmp afterwards gathered || rig_fail "without --fill it is another stream: $*"
	says '700000 bytes, source; filled by the recorder'
	says 'written as it is'
	expect 1 "$BIN/vsib-check" --no-format --json check.json filled "${targets[@]}"
	says '; filled by the recorder'
	[ "$("$TOOLS/tool_json" check.json filled_bytes)" = $lost ] && [ "$("$TOOLS/tool_json" check.json 'account.#')" = 0 ] ||
		{ cat check.json; rig_fail "vsib-check's report"; }
}

compared 1
compared 2
compared 2 --copies 2
compared 3 --parity
mv b away # rebuilt with the fill that was on it
gather 1 filled a c
cmp afterwards gathered || rig_fail "rebuilt without one disk it is another stream"
mv away b

# Packets that are torn by a gap are filled up with fill while they are recorded, and discarded when it is closed up:
# so these gaps are of whole ones. What the end has torn is discarded, fill or not.
gaps=gap=1k@300k,gap=700000@1M,gap=5M@2M,gap=100k@7M lost=5801000 bytes=8000000
compared 2 --layout mark6 --packet-size 1000
record 1 -s sim:gap=1@300001,gap=7999@492001 -n 1M --name torn --layout mark6 --packet-size 1000 --ring 4Mi --block 64Ki "$same" "${fill[@]}" -o a
is filled_bytes 8000
is discarded_bytes 0
audit torn a
filled_sim 1000000 torn a
record 1 -s sim:gap=100k@899999 -n 999999 --name torn2 --layout mark6 --packet-size 1000 --ring 4Mi --block 64Ki "$same" "${fill[@]}" -o a
is_more discarded_bytes 998
is filled_bytes 100000
audit torn2 a
expect 1 "$BIN/vsib-check" --no-format --json check.json torn2 a
[ "$("$TOOLS/tool_json" check.json 'account.#')" = 0 ] || { cat check.json; rig_fail "vsib-check's account"; }

# a board's way: at its rate, and with a memory of its own that overflows
rm -rf a
mkdir a
record 1 -s sim:rate=400,buffer=1M,stall=300ms@100ms -d 0.6 --name board "${fill[@]}" "$same" -o a
is_more filled_bytes 1000000
is filled_bytes "$(value source.lost_bytes)"
audit board a
filled_sim "$(value stream_bytes)" board a

# the list, and the report
expect 1 "$BIN/vsib-gather" --list --target a a/board >list
grep -q '^filled	[0-9]*	[0-9]*	source$' list || rig_fail "the list: $(cat list)"
expect 1 "$BIN/vsib-gather" --json report2.json a/board -o out
[ "$("$TOOLS/tool_json" report2.json recorder_filled_bytes)" = "$(value filled_bytes)" ] &&
	[ "$("$TOOLS/tool_json" report2.json filled_bytes gap_count)" = "$(printf '0\n0')" ] || rig_fail "the report: $(cat report2.json)"

# ---- a ring that is too small for it: the rest is closed up -----------------------------------------

record 1 -s sim:rate=400,gap=30M@500k -n 31M --name small --ring 512Ki --block 64Ki "${fill[@]}" "$same" -o a
is source.lost_bytes 30000000
is_more filled_bytes 60000
is_less filled_bytes 30000000
audit small a
[ "$(gap_bytes source)" -eq $((30000000 - $(value filled_bytes))) ] || rig_fail "gaps of $(gap_bytes source) bytes"
filled_sim 31000000 small a
rm -rf a gathered

# ---- killed: what is safe of the fill stays fill -------------------------------------------------------

has_fill() {
	grep -q '"filled":true' a/killed.vsib.jsonl 2>/dev/null && grep -q '"stream_offset":[1-9][0-9]\{6\}.*xxh3' a/killed.vsib.jsonl
}
mkdir a
"$BIN/vsib-record" -s sim:rate=160,gap=300k@100k,gap=3M@1M,gap=1M@20M,gap=1M@40M,gap=1M@60M --name killed --file-size 1Mi "${fill[@]}" \
	--ring 8Mi --block 64Ki "$same" -o a >"$output" 2>"$words" &
wait_for 20 has_fill || rig_fail "no fill in the journal after 20 s"
cut_kill_now $!
expect "0 1" "$BIN/vsib-check" --recover --no-format killed a
audit killed a
[ -s "$RIG/filled" ] || rig_fail "no fill in the journal"
filled_sim "$(awk '$1 == "total" { print $2 }' "$RIG/audit")" killed a
rm -rf a gathered

# ---- refused ----------------------------------------------------------------------------------------

mkdir a
record 64 -s sim: -n 1M --fill vdif-invalid "$same" -o a
says 'sim:'
says 'vsib-gather --fill=vdif-invalid'
empty a

# ---- frames that are missing: 200 of 8 threads, over a second's end ---------------------------------

frame=8224
"$TOOLS/tool_vdif" 8100 | tail -c $((200 * frame)) >frames
invalid() { # FRAME COUNT: what stands for them
	local i
	for ((i = $1; i < $1 + $2; i++)); do
		tail -c +$((i * frame + 1)) frames | head -c 3
		printf '\200'
		tail -c +$((i * frame + 5)) frames | head -c 28
		head -c $((frame - 32)) fill
	done
}
awk 'BEGIN { for (i = 0; i < 2056; i++) printf "D3\"\021" }' >fill

# gapped FROM BYTES...: a recording of the frames with gaps at these places, and its stream with nothing for them in closed
gapped() {
	local at=0 file=0 total=$((200 * frame))
	rm -rf d1
	mkdir d1
	: >d1/scan.raw
	{
		printf '{"type":"start","schema":"vsib-journal/1","name":"scan","layout":"raw","stripe":"any","targets":[{"path":"%s/d1"}],"utc":"2026-11-30T08:15:00.000000000Z","host":"h","pid":1}\n' "$RIG"
		while [ $# -gt 0 ] || [ $at -lt $total ]; do
			local end=${1:-$total} gap=${2:-0}
			shift $(($# < 2 ? $# : 2))
			if [ "$end" -gt $at ]; then
				tail -c +$((at + 1)) frames | head -c $((end - at)) >>d1/scan.raw
				printf '{"type":"segment","target":0,"file":"scan.raw","file_offset":%d,"bytes":%d,"stream_offset":%d}\n' \
					$file $((end - at)) $at
				file=$((file + end - at))
			fi
			[ "$gap" -eq 0 ] ||
				printf '{"type":"gap","stream_offset":%d,"bytes":%d,"cause":"source"}\n' "$end" "$gap"
			at=$((end + gap))
		done
		printf '{"type":"end","stream_bytes":%d}\n' $total
	} >d1/scan.vsib.jsonl
}

all() { # FRAME COUNT...: the frames, those invalid
	local at=0
	while [ $# -gt 0 ]; do
		tail -c +$((at * frame + 1)) frames | head -c $((($1 - at) * frame))
		invalid "$1" "$2"
		at=$(($1 + $2))
		shift 2
	done
	tail -c +$((at * frame + 1)) frames
}

# within a turn, over the second's end, two causes side by side, and at the end
gapped $((20 * frame)) $((3 * frame)) $((91 * frame)) $((25 * frame)) $((140 * frame)) $((7 * frame)) $((147 * frame)) \
	$((9 * frame)) $((197 * frame)) $((3 * frame))
all 20 3 91 25 140 16 197 3 >expected
expect 1 "$BIN/vsib-gather" --fill=vdif-invalid --json report3.json d1/scan -o frames1
same expected frames1
[ "$("$TOOLS/tool_json" report3.json fill filled_bytes invalid_bytes unframed_gap_count)" = \
	"$(printf '%s\n' vdif-invalid $((47 * frame)) $((47 * frame)) 0)" ] || rig_fail "the report: $(cat report3.json)"
expect 1 "$BIN/vsib-check" --json check2.json frames1
[ "$("$TOOLS/tool_json" check2.json format.missing_count format.invalid_count)" = "$(printf '0\n47')" ] ||
	rig_fail "vsib-check finds other frames: $(cat check2.json)"

# no whole number of frames, and none before it: the pattern, and the reason
gapped 0 $((2 * frame)) $((50 * frame)) $((frame + 8)) $((100 * frame)) $frame
expect 1 "$BIN/vsib-gather" --fill=vdif-invalid --json report4.json d1/scan -o frames2
says "gap at stream offset 0: $((2 * frame)) bytes get the pattern instead of invalid VDIF frames: no VDIF frames come before it"
says 'it is no whole number of frames of 8224 bytes'
expect 1 "$BIN/vsib-gather" --fill d1/scan -o frames3
[ "$("$TOOLS/tool_json" report4.json invalid_bytes unframed_gap_count)" = "$(printf '%s\n' $frame 2)" ] ||
	rig_fail "the report: $(cat report4.json)"
cmp -s <(head -c $((100 * frame)) frames2) <(head -c $((100 * frame)) frames3) || rig_fail "what can't be frames is not the pattern"
[ "$(stat -c %s frames2)" -eq $((200 * frame)) ] || rig_fail "it has $(stat -c %s frames2) bytes"
exit 0
