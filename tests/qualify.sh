# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # words, report and output are of record.sh
#
# Qualifications in end-to-end tests; to be sourced by bash behind rig.sh and record.sh:
#
#	quiet_machine                         what others do to disks and processors is not seen from here on
#	qualify 0 -r 64 "$RIG/a"              runs vsib-qualify, wants status 0; its report is $report, its words $words
#	trial NAME 2 -r 64 ...                the same in the background, with a report and words of its own,
#	settle NAME                           which are waited for and looked at here; a status that was not wanted fails
#	has_reason DEFICIT; has_no_reason OVERFLOW
#	await NAME paced                      until it is in this phase and has done something of it
#	near 8388608 10 $bytes_per_s          the test fails unless the last is within so many % of the first

declare -A trial_pid=() trial_wanted=()

# The counters of the kernel stand still: a shared machine always has somebody who writes.
quiet_machine() {
	local name
	mkdir -p "$RIG/.sys/proc/pressure"
	cp /proc/diskstats "$RIG/.sys/proc/diskstats"
	for name in io cpu memory; do
		printf '%s avg10=0.00 avg60=0.00 avg300=0.00 total=0\n' some full >"$RIG/.sys/proc/pressure/$name"
	done
	export VSIB_SYSROOT=$RIG/.sys:/
}

qualify() {
	local wanted=$1 status=0
	shift
	rm -f "$report"
	timeout 200 "$BIN/vsib-qualify" --live=log --json "$report" "$@" >"$output" 2>"$words" || status=$?
	ended "$wanted" "$status" vsib-qualify "$@"
}

trial() {
	local name=$1
	trial_wanted[$name]=$2
	shift 2
	timeout 200 "$BIN/vsib-qualify" --live=log --json "$RIG/$name.json" "$@" >"$RIG/$name.output" 2>"$RIG/$name.words" &
	trial_pid[$name]=$!
}

settle() {
	local status=0
	report=$RIG/$1.json words=$RIG/$1.words
	wait "${trial_pid[$1]}" 2>/dev/null || status=$?
	ended "${trial_wanted[$1]}" "$status" "trial $1"
}

# await NAME PHASE: until that trial is in this phase, and something of it is done
await() {
	local try
	for try in {1..400}; do
		grep -qsE "phase=$2 .*done=0\.(0*[1-9]|[1-9])" "$RIG/$1.words" && return
		kill -0 "${trial_pid[$1]}" 2>/dev/null || break
		# a line now, of the program below timeout; before it has said something it may not know this signal yet
		grep -qs "step=" "$RIG/$1.words" && pkill -USR1 -P "${trial_pid[$1]}" -x vsib-qualify
		sleep 0.05
	done
	words=$RIG/$1.words
	show_words
	rig_fail "trial $1 never came to phase $2 ($try)"
}

reasons() {
	value 'verdict.reasons.*.code'
}

has_reason() {
	reasons | grep -qx "$1" || { show_words; rig_fail "no reason $1 among:" $(reasons); }
}

has_no_reason() {
	! reasons | grep -qx "$1" || { show_words; rig_fail "a reason $1"; }
}

near() {
	awk "BEGIN { exit !($3 >= $1 * (1 - $2 / 100) && $3 <= $1 * (1 + $2 / 100)) }" ||
		{ show_words; rig_fail "$3 is not within $2 % of $1: $4"; }
}
