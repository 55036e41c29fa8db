# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Two machines with a cable between them, as network namespaces; to be sourced by bash, behind rig.sh and record.sh
# or by a bench script, which has to do what is in veth_down itself at its end:
#
#	veth_need                  ends the test with 77 where that can't be had
#	veth_up [MTU]              "${near[@]}" COMMAND, "${far[@]}" COMMAND: run there. Both ends are called cable, near is
#	                           192.0.2.1 and fd00:77::1, far has a 2 at its end
#	listen SOURCE [OPTION...]  a recorder at the near end, to $disk as $name, takes what comes from now on: $recorder
#	send OPTION... FILE ADDR PORT     tool_udp_send at the far end
#	inject OPTION... FILE      tool_inject there, out of the cable
#	heard WANTED               the recorder is stopped with a signal, and ends with this status: its report is there
#	packets lost=0 ...         so it says in its report's source.packets
#	told 'psn=vdif'            the recorder's words match this expression

near=() far=()
veth_spaces=("vsib-$$-near" "vsib-$$-far")

veth_down() {
	local space
	for space in "${veth_spaces[@]}"; do
		ip netns del "$space" 2>/dev/null
	done
}

veth_need() {
	rig_need root ip
	ip netns add "${veth_spaces[0]}" 2>/dev/null || rig_skip "needs network namespaces"
	ip netns del "${veth_spaces[0]}"
}

veth_end() {
	ip -n "$1" link set lo up && ip -n "$1" link set cable mtu "$3" up &&
		ip -n "$1" address add "192.0.2.$2/24" dev cable &&
		ip -n "$1" address add "fd00:77::$2/64" dev cable nodad
}

veth_up() {
	local mtu=${1:-9000}
	veth_down
	ip netns add "${veth_spaces[0]}" && ip netns add "${veth_spaces[1]}" &&
		ip link add cable netns "${veth_spaces[0]}" type veth peer name cable netns "${veth_spaces[1]}" &&
		veth_end "${veth_spaces[0]}" 1 "$mtu" && veth_end "${veth_spaces[1]}" 2 "$mtu" || return 1
	near=(ip netns exec "${veth_spaces[0]}") far=(ip netns exec "${veth_spaces[1]}")
}

recorder='' recordings=0

is_recording() {
	"$BIN/vsib-status" --json "$name" 2>/dev/null | grep -q '"state": *"recording"' || ! kill -0 "$recorder" 2>/dev/null
}

listen() {
	name=live_$((recordings += 1))
	rm -f "$report"
	"${near[@]}" "$BIN/vsib-record" -s "$@" --name $name -o "$disk" "$same" --ring 8Mi --live log --json "$report" >"$words" 2>&1 &
	recorder=$!
	wait_for 10 is_recording && kill -0 $recorder 2>/dev/null || { show_words; rig_fail "no recorder listens to $1"; }
}

send() {
	"${far[@]}" "$TOOLS/tool_udp_send" "$@" >"$RIG/sent" || rig_fail "tool_udp_send $*"
}

inject() {
	"${far[@]}" "$TOOLS/tool_inject" "${@:1:$#-1}" cable "${*: -1}" >"$RIG/sent" || rig_fail "tool_inject $*"
}

heard() {
	kill -INT $recorder
	ends "$1"
}

# ends WANTED: the same, without a signal
ends() {
	local status=0
	wait $recorder || status=$?
	ended "$1" $status "the recorder of $name"
	account
}

packets() {
	local pair
	for pair; do
		is "source.packets.${pair%=*}" "${pair#*=}"
	done
}
