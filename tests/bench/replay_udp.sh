#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Playback onto a cable (a veth pair with an MTU of 9000), as fast as it goes: datagrams of 8032 bytes from a file in the page
# cache, beside a bare sendmmsg() loop over the same file in memory, and beside tcpreplay --topspeed on the same
# packets as a savefile; then these packets as they are. The other end throws all away, so that sending alone is measured. Then paced: what 512 Mbit/s for PACE_SECONDS (60) cost, and how far from its moment each
# datagram goes out; and 1 Gbit/s with --pace precise.
set -u
. "${0%/*}/../measure.sh"
. "${0%/*}/../rig.sh"
. "${0%/*}/../veth.sh"
(rig_need root ip) || { echo "replay_udp: not run"; exit 0; }
veth_up 9000 2>/dev/null || { echo "replay_udp: not run, no network namespaces here"; exit 0; }
runs=${RUNS:-3}
frame=8032 frames=8192 rounds=200 port=46227
bytes=$((frame * frames * rounds))
measure_folder $((frame * frames * 3))
rig_at_exit+=(measure_undo)
sender=("${far[@]}")

head -c $((frame * frames)) /dev/urandom >"$folder/frames"
"$BIN/vsib-replay" "$folder/frames" -t "pcapfile:$folder/frames.pcap,frame=$frame,to=192.0.2.9:$port,from=192.0.2.2:$port" --live none -q ||
	exit 1
# They are for somebody who isn't there, behind the other end's address: what that end does with them is to throw them away.
"${far[@]}" ip neighbour add 192.0.2.9 lladdr "$("${near[@]}" cat /sys/class/net/cable/address)" dev cable || exit 1

udp="udp:192.0.2.9:$port,frame=$frame"
echo "$((frames * rounds)) datagrams of $frame bytes over veth, unpaced"
for ((run = 0; run < runs; run++)); do
	measure 'sendmmsg' $bytes "${sender[@]}" "$TOOLS/tool_udp_send" -f $frame -c $((frames * rounds)) "$folder/frames" 192.0.2.9 $port
	measure 'vsib-replay' $bytes "${sender[@]}" "$BIN/vsib-replay" "$folder/frames" --io buffered --loop $rounds -t "$udp" --live none -q --ring 16Mi
	measure 'vsib-replay, no GSO' $bytes "${sender[@]}" "$BIN/vsib-replay" "$folder/frames" --io buffered --loop $rounds \
		-t "$udp,gso=no" --live none -q --ring 16Mi
	measure 'vsib-replay, packets' $bytes "${sender[@]}" "$BIN/vsib-replay" "$folder/frames.pcap" --loop $rounds \
		-t pcap:cable --live none -q --ring 16Mi
	[ -z "$(command -v tcpreplay)" ] || measure 'tcpreplay' $bytes "${sender[@]}" tcpreplay --topspeed --preload-pcap \
		--loop $rounds -i cable "$folder/frames.pcap"
done
has_peer tcpreplay tcpreplay
for name in sendmmsg vsib-replay 'vsib-replay, no GSO' 'vsib-replay, packets' tcpreplay; do
	[ -z "${measure_cpu[$name]-}" ] || show "$name"
done
compare vsib-replay tcpreplay rate '>= 2'
compare vsib-replay sendmmsg rate '>= 0.9'
compare 'vsib-replay, packets' tcpreplay rate 'the more the better'

# ---- paced

# paced RATE SECONDS [OPTION]...: CPU of all of it, and how far from their moments they went out
paced() {
	local rate=$1 seconds=$2 count
	shift 2
	count=$((rate * 1000000 / 8 * seconds / (frame * frames) + 1))
	measure "paced $rate $*" $((rate * 125000 * seconds)) "${sender[@]}" "$BIN/vsib-replay" "$folder/frames" --loop $count -d "$seconds" \
		-r "$rate" -t "$udp" --live none -q --ring 16Mi --json "$RIG/paced.json" "$@"
	printf '  %d Mbit/s %s: %.1f %% of a core; error mean %.1f us, 99.9 %% below %.1f us, max %.1f us; %d underruns\n' "$rate" "$*" \
		"$(calculate "$(cost cpu_s) / $seconds * 100" %.1f)" "$(calculate "$(json_number mean_error_s "$RIG/paced.json") * 1e6" %.1f)" \
		"$(calculate "$(json_number p999_error_s "$RIG/paced.json") * 1e6" %.1f)" \
		"$(calculate "$(json_number max_error_s "$RIG/paced.json") * 1e6" %.1f)" "$(json_number underrun_count "$RIG/paced.json")"
}
seconds=${PACE_SECONDS:-60}
echo "paced, $seconds s each (goal: 512 Mbit/s at most 5 % of a core, mean error below 1000 us)"
paced 512 "$seconds"
paced 512 "$seconds" --pace sleep
paced 1000 $((seconds / 4)) --pace precise
