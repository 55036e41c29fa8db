#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# san: skip
#
# Somebody sets the wall clock while a recording runs: back by an hour, then forward by two. Duration, rate and the
# times of losses don't move; that it happened is in journal and report.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
compiler=${CC:-cc}
rig_need "${compiler%% *}"
$compiler -O2 -shared -fPIC -o "$RIG/clock.so" "${0%/*}/../shim/clock.c" || rig_fail "the clock cannot be compiled"

mkdir "$RIG/a"
before=$(date +%s)
# 10 MB/s; a loss before the first step, one between them, one behind the second
status=0
CLOCK_STEPS="1.5:-3600 3.5:7200" LD_PRELOAD=$RIG/clock.so "$BIN/vsib-record" --json "$report" \
	-s sim:rate=80,gap=64Ki@5M,gap=64Ki@25M,gap=64Ki@48M -d 5 -o "$RIG/a" --name stepped --ring 32Mi "$same" --live none \
	>"$output" 2>"$words" || status=$?
ended 1 $status "vsib-record under a clock that is stepped"
after=$(date +%s)
account
is stream_bytes 50000000
is source.lost_bytes $((3 * 65536))
is gap_count 3
is_more duration_s 4.9
is_less duration_s 20
is_less rate_bps 90000000
is_more rate_bps 20000000
audit stepped "$RIG/a"
gathered_sim 50000000 stepped "$RIG/a"

# every time lies between start and end, as if nothing had happened, and they go forward
in_order() {
	local what=$1 last=0 text seconds count=0
	while read -r text; do
		seconds=$(date -d "$text" +%s) || rig_fail "$what: '$text' is no time"
		[ "$seconds" -ge $((before - 1)) ] && [ "$seconds" -le $((after + 1)) ] ||
			rig_fail "$what: $text does not lie between $(date -u -d @$before +%T) and $(date -u -d @$after +%T)"
		[ "$seconds" -ge $last ] || rig_fail "$what: $text is before the one before"
		last=$seconds count=$((count + 1))
	done
	[ $count -ge "$2" ] || rig_fail "$what: only $count times"
}
value 'gaps.*.utc' | in_order "the report's gaps" 3 || exit 1
for type in gap segment end; do
	"$TOOLS/tool_json" -l -t $type "$RIG/a/stepped.vsib.jsonl" utc | in_order "the journal's $type lines" 1 || exit 1
done

# a gap's time is its place in the stream: 0.5, 2.5 and 4.8 s behind the start
first=$(date -d "$(value utc)" +%s.%N)
for gap in 0:0.5 1:2.5 2:4.8; do
	at=$(date -d "$(value "gaps.${gap%%:*}.utc")" +%s.%N)
	awk -v at="$at" -v first="$first" -v right="${gap#*:}" 'BEGIN { late = at - first - right; exit !(late > -0.2 && late < 5) }' ||
		rig_fail "gap ${gap%%:*} is at $at, the start was at $first; ${gap#*:} s between them would be right"
done

# both steps are told, each once
[ "$("$TOOLS/tool_json" -l -t event "$RIG/a/stepped.vsib.jsonl" event | grep -c '^clock-step$')" -eq 2 ] ||
	rig_fail "not two clock-step events in the journal: $("$TOOLS/tool_json" -l -t event "$RIG/a/stepped.vsib.jsonl" event text)"
value 'warnings.*' >"$RIG/warnings"
for step in -3600 7200; do
	awk -v step=$step '/clock was stepped by/ { for (i = 1; i < NF; i++) if ($i == "by" && ($(i + 1) - step) ^ 2 < 1) n++ } END { exit n != 1 }' \
		"$RIG/warnings" || rig_fail "the step by $step s is not among the warnings: $(cat "$RIG/warnings")"
done
