# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # what the script has to give, and near and far of veth.sh
#
# How many datagrams a second vsib-record takes without loss, and what a byte costs, beside a bare loop; to be sourced by
# bench scripts behind measure.sh, rig.sh and veth.sh. A number of 8 bytes and a frame of 8032 in each datagram. The sender has
# the other CPU for itself, as far as the machine has more than one.
#
#	ladder_need udp            the cable, and what is sent; ends the script where that can't be had
#	send_after RATE COUNT      to the near end, in the background ($sender), as soon as somebody is_ready
#	hear NAME RATE SECONDS     by vsib-record or the bare loop; how many of the datagrams were not taken, in $missing
#	highest HEAR NAME SECONDS  in $best, the highest of the rates in $ladder at which nothing is missing when HEAR NAME RATE
#	                           SECONDS is called; HEAR is hear, or a function that sets $missing as it does
#	ladder_compare             that of vsib-record and of the bare loop, and the ratio
#
# The script gives:
#
#	bare=recvmmsg              the bare loop's name
#	bare_command COUNT         puts its command into the array command
#	bare_missing COUNT         puts into $missing what it says in $measure_log
#	ours=(-s SOURCE ...)       vsib-record's options
#	is_ready                   true when somebody listens at the near end
runs=${RUNS:-3}
frame=8032 port=46227
receiver_cpu=0 sender_cpu=$(($(nproc) > 1))
sender=
rig_at_exit+=(measure_undo stop_sender)

ladder_need() {
	(rig_need root ip taskset) || { echo "$1: not run"; exit 0; }
	veth_up 9000 2>/dev/null || { echo "$1: not run, no network namespaces here"; exit 0; }
	head -c $((frame * 64)) /dev/urandom >"$RIG/frames"
	receiver=("${near[@]}" taskset -c "$receiver_cpu")
}

send_after() {
	{
		until is_ready; do
			sleep 0.05
		done
		sleep 0.7
		exec "${far[@]}" taskset -c "$sender_cpu" "$TOOLS/tool_udp_send" -f $frame -p le64 -r "$1" -b 32 -c "$2" \
			"$RIG/frames" 192.0.2.1 $port
	} >/dev/null &
	sender=$!
}

# It would wait for ever for somebody who listens.
stop_sender() {
	[ -z "$sender" ] || { kill "$sender" && wait "$sender"; }
	sender=
} 2>/dev/null

hear() {
	local count=$(($2 * $3)) command
	case $1 in
	vsib-record)
		command=("$BIN/vsib-record" "${ours[@]}" -o null: -n $((count * frame)) -d $(($3 + 8)) --live none
			--json "$RIG/report.json")
		;;
	*) bare_command $count ;;
	esac
	send_after "$2" $count
	MEASURE_STATUS='0 1 2' measure "$1" $((count * frame)) "${receiver[@]}" "${command[@]}"
	wait "$sender"
	sender=
	case $1 in
	vsib-record) missing=$((count - $(json_number received "$RIG/report.json"))) ;;
	*) bare_missing $count ;;
	esac
}

# Up the ladder as long as nothing is missing, each step tried twice.
highest() {
	local rate
	best=0
	for rate in $ladder; do
		"$1" "$2" "$rate" "$3"
		[ "$missing" -eq 0 ] || "$1" "$2" "$rate" "$3"
		[ "$missing" -eq 0 ] || break
		best=$rate
	done
	unset "measure_cpu[$2]" "measure_rate[$2]" "measure_rss[$2]"
}

in_gbps() {
	calculate "$1 * $frame * 8 / 1e9" %.2f
}

ladder_compare() {
	local bare_best
	echo "datagrams of $((frame + 8)) bytes over veth, receiver on CPU $receiver_cpu, sender on CPU $sender_cpu"
	highest hear "$bare" 1
	bare_best=$best
	highest hear vsib-record 1
	printf '  without loss: %s %d datagrams/s (%s Gbit/s), vsib-record %d (%s Gbit/s)\n' \
		"$bare" "$bare_best" "$(in_gbps "$bare_best")" "$best" "$(in_gbps "$best")"
	[ "$bare_best" -eq 0 ] ||
		printf '  vsib-record, rate without loss %.2f x %s   (goal: >= 0.9)\n' "$(calculate "$best / $bare_best")" "$bare"
}
