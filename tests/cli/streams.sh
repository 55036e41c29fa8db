#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The three standard streams: data or JSON only on stdout, words only on stderr, whatever state they are in; the
# same in a locale with a decimal comma. And two recorders that want the same name.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

mkdir "$RIG/a" "$RIG/b"
small=(--ring 1Mi --block 16Ki "$same")
vsib_record=$BIN/vsib-record
bytes=5000001
"$vsib_record" -s sim: -n $bytes -o - --ring 1Mi >"$RIG/stream" 2>"$words" || rig_fail "no test data: $(cat "$words")"
"$TOOLS/tool_verify_sim" -n $bytes "$RIG/stream" || rig_fail "the stream on stdout is not the simulator's"

# piped WANTED-OF-THE-RECORDER WANTED-OF-THE-OTHER: what PIPESTATUS of the last pipe should be
piped() {
	local got=("${PIPESTATUS[@]}")
	[ "${got[*]}" = "$*" ] && return
	show_words
	rig_fail "the ends of the pipe ended with ${got[*]} instead of $*"
}

# ---- stdout
"$vsib_record" -s "file:$RIG/stream" -o - --json "$report" --ring 1Mi --live line 2>"$words" | cmp - "$RIG/stream"
piped 0 0
account
is written_bytes $bytes

# the reader has enough: an orderly end, not SIGPIPE, and not for ever
for given in sim: sim:rate=200 dev:/dev/zero; do
	rm -f "$report"
	timeout -k 5 60 "$vsib_record" -s $given -o - --json "$report" --ring 1Mi --live none 2>"$words" | head -c 1048576 >"$output"
	piped 2 0
	account
	is outcome stopped
	[ "$(stat -c %s "$output")" -eq 1048576 ] || rig_fail "head got $(stat -c %s "$output") bytes"
	[ $given = dev:/dev/zero ] || "$TOOLS/tool_verify_sim" "$output" || rig_fail "what head got is not the stream"
	said 'Broken pipe'
done

# a full or missing stdout is an error, not an end
if [ -w /dev/full ]; then
	rm -f "$report"
	status=0
	"$vsib_record" -s sim: -n $bytes -o - --json "$report" --ring 1Mi --live none >/dev/full 2>"$words" || status=$?
	ended 2 $status "vsib-record -o - >/dev/full"
	account
	is written_bytes 0
	said 'No space left'
fi
status=0
"$vsib_record" -s sim: -n $bytes -o - --ring 1Mi --live none >&- 2>"$words" || status=$?
[ $status -ne 0 ] || rig_fail "$bytes bytes went to a closed stdout"

# ---- JSON on stdout is all that is there, with warnings, events and a live line
for live in line log none; do
	"$vsib_record" -s sim:pattern=zero,gap=64Ki@1M -n $bytes -o null: --json - --ring 1Mi --live $live >"$report" 2>"$words"
	ended 1 $? vsib-record --json -
	account
	is source.lost_bytes 65536
	is schema vsib-report/1
done

# ---- stdin
"$TOOLS/tool_fifo_feed" -m 30000 "$RIG/stream" /dev/stdout | "$TOOLS/tool_nonblock" \
	"$vsib_record" -s - -o "$RIG/a" --name nonblock "${small[@]}" --json "$report" --live none 2>"$words"
piped 0 0
account
gathered "$RIG/stream" nonblock "$RIG/a"

status=0
record 66 -s - -o "$RIG/a" --name closed "${small[@]}" <&-
said 'standard input'
rm -rf "$RIG"/a/*
record 66 -s - -o "$RIG/a" --name write-only "${small[@]}" 0>"$RIG/not-for-reading"
rm -rf "$RIG"/a/*

# ---- stderr closed: nobody reads the words, and they must not come out among the data
for closed in 1 2 3; do
	rm -f "$report"
	status=0
	case $closed in
	1) "$vsib_record" -s sim:gap=64Ki@1M -n $bytes -o "$RIG/a" --name closed --json "$report" "${small[@]}" 2>&- || status=$? ;;
	2) "$vsib_record" -s sim:gap=64Ki@1M -n $bytes -o "$RIG/a" --name closed --json "$report" "${small[@]}" 2>&- <&- || status=$? ;;
	3) "$vsib_record" -s sim:gap=64Ki@1M -n $bytes -o "$RIG/a" --name closed --json "$report" "${small[@]}" 2>&- <&- >&- || status=$? ;;
	esac
	[ $status -eq 1 ] || rig_fail "status $status instead of 1 with stderr closed"
	account
	is written_bytes $((bytes - 65536))
	audit closed "$RIG/a"
	gathered_sim $bytes closed "$RIG/a"
	rm -rf "$RIG"/a/*
done
"$vsib_record" -s sim:gap=64Ki@1M -n $bytes -o - --ring 1Mi 2>&- | "$TOOLS/tool_verify_sim" -g 1000000:65536 -n $((bytes - 65536))
piped 1 0

# ---- a locale with a decimal comma
mkdir "$RIG/locale" "$RIG/comma"
for program in vsib-record vsib-gather; do
	printf '#!/bin/sh\nLOCPATH=%q LC_ALL=de_DE.UTF-8 exec %q "$@"\n' "$RIG/locale" "$BIN/$program" >"$RIG/comma/$program"
	chmod +x "$RIG/comma/$program"
done
if localedef -i de_DE -f UTF-8 "$RIG/locale/de_DE.UTF-8" 2>/dev/null &&
	[ "$(env LOCPATH="$RIG/locale" LC_ALL=de_DE.UTF-8 bash -c 'printf %.1f 1,5' 2>/dev/null)" = 1,5 ]; then
	echo 'silence = "1.5s"' >"$RIG/conf"
	real=$BIN
	BIN=$RIG/comma
	record 0 -s sim:rate=12.5M -d 1.5 -o "$RIG/a" --name comma --config "$RIG/conf" --ring 1.5M --block 16Ki "$same" \
		--live log --log-interval 0.1
	is stream_bytes 2343750
	is source.rate_bps 12500000
	is ring.asked_bytes 1500000
	is_more duration_s 1.49
	said '^t=[0-9]+\.[0-9]'
	said_not '[0-9],[0-9]'
	! grep -qE '[0-9],[0-9]' "$report" || rig_fail "a decimal comma in the report"
	audit comma "$RIG/a"
	gathered_sim 2343750 comma "$RIG/a"
	record 64 -s sim: -r 12,5 -o null:
	BIN=$real
else
	echo "the locale de_DE cannot be made here: not tried"
fi
rm -rf "$RIG"/a/*

# ---- one name, two recorders: one wins, the other one is refused and breaks nothing
for i in 1 2 3 4 5 6; do
	targets=("$RIG/a") to=(-o "$RIG/a")
	[ $((i % 2)) -eq 0 ] || targets=("$RIG/a" "$RIG/b") to=(-o "$RIG/a" -o "$RIG/b" --chunk 64Ki)
	for k in 1 2; do
		"$vsib_record" -s sim:,seed=$k -n 2000001 --name twins "${to[@]}" "${small[@]}" --json "$RIG/report.$k" --live none \
			>"$output" 2>"$RIG/words.$k" &
		pids[k]=$!
	done
	for k in 1 2; do
		states[k]=0
		wait "${pids[k]}" || states[k]=$?
	done
	case "${states[*]}" in
	'0 73') winner=1 ;;
	'73 0') winner=2 ;;
	*)
		tail -n 5 "$RIG"/words.?
		rig_fail "two recorders with one name ended with ${states[*]}; one 0 and one 73 are right"
		;;
	esac
	cp "$RIG/report.$winner" "$report"
	account
	audit twins "${targets[@]}"
	gather 0 twins "${targets[@]}"
	"$TOOLS/tool_verify_sim" -s $winner -n 2000001 "$RIG/gathered" || rig_fail "the winner's data were harmed"
	rm -rf "$RIG"/[ab]/*
done
