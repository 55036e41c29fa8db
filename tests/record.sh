# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Recordings in end-to-end tests, and whether they are what they say; to be sourced by bash:
#
#	. "${0%/*}/../rig.sh"; . "${0%/*}/../record.sh"
#	record 0 -s sim: -n 1M -o "$RIG/a"      runs vsib-record, wants status 0, checks the account of its report
#	value disks.0.state                     prints from that report ($report)
#	is ring.overflow_count 0                the test fails unless the report says so; is_more KEY 0: a larger number
#	said 'clock was stepped'                the test fails unless its words ($words) match this expression
#	says 'block 7'; says_not 'gap'          the same with a text that is no expression
#	audit NAME "$RIG/a" "$RIG/b"            every journal tells the truth about the files; $RIG/gaps has the gaps, but for
#	                                        those that were filled while recording: these are in $RIG/filled
#	twice_bytes                             of the last audit: on two disks each
#	gathered FILE NAME "$RIG/a" ...         what vsib-gather makes of it is FILE, byte for byte
#	gathered_sim BYTES NAME "$RIG/a" ...    ... is the simulator's stream with the gaps of the last audit, BYTES in all
#	flip FILE OFFSET                        damages a byte
#	empty "$RIG/a"                          nothing lies in these directories
export LC_ALL=C
: "${BIN:=$PWD/build/bin}" "${TOOLS:=$PWD/build/tests}"
report=$RIG/report.json words=$RIG/words output=$RIG/output
same=--allow-same-device
# Sockets of these runs must not meet those of others.
export VSIB_RUNTIME_DIR=$RIG/run

# What a test that fails leaves running in the background.
kill_jobs() {
	local pid
	for pid in $(jobs -p); do
		# shellcheck disable=SC2046 # a list
		kill -KILL $(cat "/proc/$pid/task/$pid/children") "$pid"
	done
} 2>/dev/null
rig_at_exit+=(kill_jobs)

show_words() {
	echo "---- what it said:"
	tail -n 40 "$words"
}

# ended WANTED STATUS COMMAND...: WANTED is one status, or several with blanks between
ended() {
	local wanted=$1 status=$2
	shift 2
	case " $wanted " in
	*" $status "*) return ;;
	esac
	show_words
	rig_fail "status $status instead of $wanted: $*"
}

record() {
	local wanted=$1 status=0
	shift
	rm -f "$report"
	"$BIN/vsib-record" --json "$report" "$@" >"$output" 2>"$words" || status=$?
	ended "$wanted" "$status" vsib-record "$@"
	! [ -e "$report" ] || account
}

value() {
	"$TOOLS/tool_json" "$report" "$@" || { echo "FAILED: the report has no $*" >&2; return 1; }
}

is() {
	local got
	got=$(value "$1") || exit 1
	[ "$got" = "$2" ] && return
	show_words
	rig_fail "$1 is $got in the report; expected $2"
}

is_more() {
	local got
	got=$(value "$1") || exit 1
	awk "BEGIN { exit !($got > $2) }" || { show_words; rig_fail "$1 is $got in the report; expected more than $2"; }
}

is_less() {
	local got
	got=$(value "$1") || exit 1
	awk "BEGIN { exit !($got < $2) }" || { show_words; rig_fail "$1 is $got in the report; expected less than $2"; }
}

said() {
	grep -qE -- "$1" "$words" || { show_words; rig_fail "it did not say: $1"; }
}

said_not() {
	! grep -qE -- "$1" "$words" || { show_words; rig_fail "it said: $1"; }
}

says() {
	grep -qF -- "$1" "$words" || { show_words; rig_fail "nothing is said of: $1"; }
}

says_not() {
	! grep -qF -- "$1" "$words" || { show_words; rig_fail "this should not be said: $1"; }
}

sum() {
	awk '{ s += $1 } END { printf "%.0f\n", s }'
}

# Every byte has its place in the report, and every loss its gap.
account() {
	local text stream received lost written overflow disk discarded aborted gaps filled listed disks physical
	text=$(
		value stream_bytes source.received_bytes source.lost_bytes written_bytes ring.overflow_bytes disk_lost_bytes \
			discarded_bytes aborted_bytes gap_count filled_bytes
	) || exit 1
	# shellcheck disable=SC2086 # numbers
	set -- $text
	stream=$1 received=$2 lost=$3 written=$4 overflow=$5 disk=$6 discarded=$7 aborted=$8 gaps=$9 filled=${10}
	[ "$stream" -eq $((received + lost)) ] ||
		rig_fail "stream $stream is not received $received + lost by the source $lost"
	[ $((received + filled)) -eq $((written + overflow + disk + discarded + aborted)) ] ||
		rig_fail "received $received + filled $filled is not written $written + overflow $overflow + disk $disk + discarded $discarded + aborted $aborted"
	disks=$(value 'disks.*.written_bytes' | sum)
	physical=$((written * $(value copies) - $(value single_copy_bytes)))
	[ "$(value parity)" = false ] || physical=$disks
	[ "$disks" -eq "$physical" ] || rig_fail "the disks have $disks bytes; $written are written, $(value single_copy_bytes) of them once"
	is physical_bytes "$physical"
	listed=$(value 'gaps.#')
	[ "$listed" -eq "$gaps" ] || return 0
	[ "$gaps" -eq 0 ] || listed=$(value 'gaps.*.bytes' | sum)
	lost=$((lost + overflow + disk + aborted))
	# what is discarded behind the end is no gap
	[ "$listed" -ge $lost ] && [ "$listed" -le $((lost + discarded)) ] ||
		rig_fail "the report's gaps are $listed bytes, the losses $lost and $discarded discarded"
}

# journal_of NAME TARGET
journal_of() {
	if [ -e "$2/$1/$1.vsib.jsonl" ]; then
		echo "$2/$1/$1.vsib.jsonl"
	else
		echo "$2/$1.vsib.jsonl"
	fi
}

# audit NAME TARGET...; with audit_targets="A C" only the journals there (the others are gone or cut short)
audit() {
	local name=$1 target first=
	shift
	for target in ${audit_targets:-"$@"}; do
		"$TOOLS/tool_journal" "$(journal_of "$name" "$target")" "$@" >"$RIG/audit" 2>"$RIG/audit.errors" || {
			head -n 20 "$RIG/audit.errors"
			rig_fail "the journal of $name on $target is wrong"
		}
		[ -z "$first" ] || cmp -s "$RIG/audit" "$RIG/audit.first" || rig_fail "the journals on $first and $target differ"
		cp "$RIG/audit" "$RIG/audit.first"
		first=$target
	done
	sed -n 's/^gap \([0-9]* [0-9]*\) .*/\1/p' "$RIG/audit" >"$RIG/gaps"
	sed -n 's/^filled //p' "$RIG/audit" >"$RIG/filled"
}

# So many bytes of the stream the last audit has found in two copies, always on two different disks.
twice_bytes() {
	awk '$1 == "total" { print $6 }' "$RIG/audit"
}

# gap_bytes [CAUSE]: of the last audit
gap_bytes() {
	awk -v cause="${1-}" '$1 == "gap" && (cause == "" || $4 == cause) { s += $3 } END { printf "%.0f\n", s }' "$RIG/audit"
}

# gather WANTED ARGUMENT...: to $RIG/gathered
gather() {
	local wanted=$1 status=0
	shift
	"$BIN/vsib-gather" --force -o "$RIG/gathered" "$@" 2>"$words" >&2 || status=$?
	ended "$wanted" "$status" vsib-gather "$@"
}

gathered() {
	local file=$1
	shift
	gather 0 "$@"
	cmp "$file" "$RIG/gathered" || rig_fail "the gathered stream of $1 is not $file"
}

# The same twice: closed up, and with gaps filled. Removes what it made.
gathered_sim() {
	local bytes=$1 lost
	shift
	lost=$(gap_bytes)
	gather $((lost > 0)) "$@"
	"$TOOLS/tool_verify_sim" -n $((bytes - lost)) -G "$RIG/gaps" "$RIG/gathered" ||
		rig_fail "the gathered stream of $1 is not the simulator's"
	if [ "$lost" -gt 0 ]; then
		gather 1 --fill "$@"
		"$TOOLS/tool_verify_sim" -f -n "$bytes" -G "$RIG/gaps" "$RIG/gathered" ||
			rig_fail "the gathered stream of $1 with filled gaps is not the simulator's"
	fi
	rm "$RIG/gathered"
}

# flip FILE OFFSET: another byte
flip() {
	local byte
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	# shellcheck disable=SC2059 # the byte is in the format
	printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

empty() {
	local left
	left=$(find "$@" -mindepth 1 ! -name lost+found)
	[ -z "$left" ] || rig_fail "left behind: $left"
}

# The child of a vsib-record that runs in the background.
child_of() {
	local child="" try
	for try in {1..100}; do
		read -r child _ 2>/dev/null <"/proc/$1/task/$1/children"
		[ -z "$child" ] || break
		sleep 0.02
	done
	echo "$child"
}

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -le $end ] || return 1
		sleep 0.05
	done
}
