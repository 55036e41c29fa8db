# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034,SC2154 # name is for who sources this; report and words are of record.sh, near and far of veth.sh
#
# A recorder that listens to the network, and somebody who sends to it; to be sourced by bash behind rig.sh, record.sh and
# veth.sh. Both are on this machine, or where veth_up has put near and far:
#
#	listen SOURCE [OPTION...]         a recorder at the near end takes, as $name, what comes from now on: its pid is $recorder
#	send OPTION... FILE ADDR PORT     tool_udp_send at the far end
#	inject OPTION... FILE             tool_inject there, out of the cable
#	heard WANTED                      the recorder is stopped with a signal, and ends with this status: account and journals are
#	                                  right; ends WANTED: the same without the signal
#	whole FILE COUNT                  heard without loss: so many datagrams, FILE on the disk and gathered
#	told 'psn=vdif'                   the recorder's words ($told, also while it runs) match this expression
#	packets lost=0 ...                so it says in its report's source.packets
#	filled FILE FRAME INDEX...        FILE as it is when these frames are missing: $RIG/with_fill, $RIG/closed, and $RIG/holes
#
# Recorded is to $disk; a test may put other directories into targets, in the order in which the recorder gets them.

disk=$RIG/disk
mkdir "$disk"
targets=("$disk")
told=$RIG/told
recorder='' recordings=0
# Not among the ports that the kernel gives to whoever asks for any.
port=$((20000 + $$ % 12000))
no_trouble='lost=0 late=0 duplicate=0 reordered=0 stray=0 unwanted=0 restarts=0 kernel_drops=0'

is_recording() {
	"$BIN/vsib-status" --json "$name" 2>/dev/null | grep -q '"state": *"recording"' || ! kill -0 "$recorder" 2>/dev/null
}

listen() {
	name=live_$((recordings += 1))
	rm -f "$report"
	"${near[@]}" "$BIN/vsib-record" --ring 8Mi -s "$@" --name $name "${targets[@]/#/--target=}" "$same" --live log \
		--json "$report" >"$told" 2>&1 &
	recorder=$!
	wait_for 10 is_recording && kill -0 "$recorder" 2>/dev/null || { cat "$told"; rig_fail "no recorder listens to $1"; }
}

send() {
	"${far[@]}" "$TOOLS/tool_udp_send" "$@" >"$RIG/sent" || rig_fail "tool_udp_send $*"
}

inject() {
	"${far[@]}" "$TOOLS/tool_inject" "${@:1:$#-1}" cable "${*: -1}" >"$RIG/sent" || rig_fail "tool_inject $*"
}

heard() {
	kill -INT "$recorder"
	ends "$1"
}

ends() {
	local status=0
	wait "$recorder" || status=$?
	cp "$told" "$words"
	ended "$1" $status "the recorder of $name"
	account
	# of nothing nothing is kept
	[ $status -eq 66 ] || audit "$name" "${targets[@]}"
}

whole() {
	heard 0
	cmp "$1" "$disk/$name.raw" || rig_fail "$name: not what was sent"
	gathered "$1" "$disk/$name"
	# shellcheck disable=SC2086 # a list
	packets received="$2" $no_trouble
}

told() {
	grep -qE -- "$1" "$told" || { cat "$told"; rig_fail "it did not say: $1"; }
}

packets() {
	local pair
	for pair; do
		is "source.packets.${pair%=*}" "${pair#*=}"
	done
}

filled() {
	local frame=$2 count i
	count=$(($(stat -c %s "$1") / frame))
	: >"$RIG/with_fill"
	: >"$RIG/closed"
	: >"$RIG/holes"
	for ((i = 0; i < count; i++)); do
		if [[ " ${*:3} " = *" $i "* ]]; then
			head -c "$frame" < <(while printf '\x44\x33\x22\x11'; do :; done 2>/dev/null) >>"$RIG/with_fill"
			echo "$((i * frame)) $frame" >>"$RIG/holes"
		else
			dd if="$1" bs="$frame" skip=$i count=1 status=none | tee -a "$RIG/closed" >>"$RIG/with_fill"
		fi
	done
}
