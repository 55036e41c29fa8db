# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # words is of record.sh
#
# Programs that are to end in a certain way; to be sourced by bash behind rig.sh and record.sh:
#
#	expect 1 vsib-gather ...       runs it; the test fails unless it ends with status 1; says has its words
#	same FILE FILE                 the test fails unless they are the same, byte for byte

expect() {
	local wanted=$1 status=0
	shift
	timeout 60 "$@" 2>"$words" || status=$?
	ended "$wanted" $status "$@"
}

same() {
	cmp "$1" "$2" || rig_fail "$1 and $2 differ"
}
