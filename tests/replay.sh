# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034,SC2154 # words is of record.sh; played is for is_played and its likes
#
# Playing back in end-to-end tests; to be sourced by bash behind rig.sh and record.sh:
#
#	play WANTED vsib-replay ...     runs it with a JSON report ($played); wants this status, and checks the account of the report
#	is_played KEY VALUE             that report says so
#	played_value KEY                prints from it
played=$RIG/played.json

played_value() {
	"$TOOLS/tool_json" "$played" "$@" || { echo "FAILED: the player's report has no $*" >&2; return 1; }
}

is_played() {
	local got
	got=$(played_value "$1") || exit 1
	[ "$got" = "$2" ] && return
	show_words
	rig_fail "$1 is $got in the player's report; expected $2"
}

# Each byte that was given to the player has gone out, is less than a frame, or was in the ring when it was stopped.
played_account() {
	local text
	text=$(played_value feed.data_bytes sent_bytes rest_bytes unsent_bytes) || exit 1
	# shellcheck disable=SC2086 # numbers
	set -- $text
	[ "$1" -eq $(($2 + $3 + $4)) ] || rig_fail "$1 bytes were given to the player, and $2 are sent, $3 a rest, $4 unsent"
}

play() {
	local wanted=$1 status=0
	shift
	rm -f "$played"
	timeout 120 "$BIN/vsib-replay" --json "$played" --live none "$@" >"$output" 2>"$words" || status=$?
	ended "$wanted" $status vsib-replay "$@"
	! [ -e "$played" ] || played_account
}
