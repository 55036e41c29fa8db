# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034 # near and far are for who sources this
#
# Two machines with a cable between them, as network namespaces; to be sourced by bash behind rig.sh, which undoes them at
# the end:
#
#	veth_need                  ends the test with 77 where that can't be had
#	veth_up [MTU]              "${near[@]}" COMMAND, "${far[@]}" COMMAND: run there. Both ends are called cable, near is
#	                           192.0.2.1 and, where there is IPv6, fd00:77::1 and fe80::1; far has a 2 at its end
#	has_ipv6                   of this machine: true where it has its own address ::1

near=() far=()
veth_spaces=("vsib-$$-near" "vsib-$$-far")
rig_at_exit+=(veth_down)

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

has_ipv6() {
	[ -e /proc/net/if_inet6 ] && grep -q 00000000000000000000000000000001 /proc/net/if_inet6
}

# veth_end SPACE NUMBER MTU
veth_end() {
	ip -n "$1" link set lo up && ip -n "$1" link set cable mtu "$3" up &&
		ip -n "$1" address add "192.0.2.$2/24" dev cable || return 1
	! has_ipv6 || { ip -n "$1" address add "fd00:77::$2/64" dev cable nodad &&
		ip -n "$1" address add "fe80::$2/64" dev cable nodad; }
}

veth_up() {
	local mtu=${1:-9000}
	veth_down
	ip netns add "${veth_spaces[0]}" && ip netns add "${veth_spaces[1]}" &&
		ip link add cable netns "${veth_spaces[0]}" type veth peer name cable netns "${veth_spaces[1]}" &&
		veth_end "${veth_spaces[0]}" 1 "$mtu" && veth_end "${veth_spaces[1]}" 2 "$mtu" || return 1
	near=(ip netns exec "${veth_spaces[0]}") far=(ip netns exec "${veth_spaces[1]}")
}
