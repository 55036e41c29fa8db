#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Datagrams from one network namespace to another, over a veth pair with an MTU of 9000: the highest rate of a ladder at which
# nothing is lost, and what a byte costs, of udp: -> ring -> nothing beside a bare recvmmsg() loop into the same memory
# again and again. Receive buffers of 16 MiB, so that the rate counts and not the buffer.
set -u
. "${0%/*}/../measure.sh"
. "${0%/*}/../rig.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../ladder.sh"
ladder_need udp
ladder='20000 30000 40000 50000 60000 75000 90000 110000 130000 160000'
bare=recvmmsg
ours=(-s "udp:192.0.2.1:$port,psn=le64,frame=$frame,rcvbuf=16Mi" --ring 16Mi)

bare_command() {
	command=("$TOOLS/tool_udp_sink" -n "$1" -f $((frame + 8)) -b 16Mi 192.0.2.1 "$port")
}

bare_missing() {
	missing=$(($1 - $(sed -n 's/received=\([0-9]*\) .*/\1/p' "$measure_log")))
}

is_ready() {
	[ -n "$("${near[@]}" ss -uHln "sport = :$port")" ]
}

ladder_compare
for ((run = 0; run < runs; run++)); do
	hear "$bare" 20000 3
	hear vsib-record 20000 3
done
show_cpu "$bare"
show_cpu vsib-record
compare vsib-record "$bare" cpu '<= 1.2'
