#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Captures through pcapfile: and vsib-check: of each sample file the packets, datagrams, bytes and the checksum of the
# payloads are what is known of them; one that is cut or damaged gives what lies before, says where, and ends with 1;
# what is no capture, or has no UDP in it, is said to be so and ends with 66. Ports, filters, time stamps, pipes.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
# shellcheck source=tests/record.sh
. "${0%/*}/../record.sh"
rig_need data
list=$DATA/EXPECTED_pcap.tsv
[ -e "$list" ] || rig_skip "there is no list of captures: $list"

# take WANTED SOURCE OPTION...: the stream goes to $output
take() {
	local wanted=$1 source=$2
	shift 2
	record "$wanted" -s "$source" -o - --ring 2Mi --live none "$@"
}

# is_stream BYTES SHA256
is_stream() {
	local sum
	is source.received_bytes "$1"
	[ "$2" = - ] && return
	sum=$(sha256sum <"$output")
	[ "${sum%% *}" = "$2" ] || rig_fail "$file: the payloads have the checksum ${sum%% *} instead of $2"
}

# is_whole SOURCE: all that is known comes out of it
is_whole() {
	if [ "$datagrams" -eq 0 ]; then
		take 66 "$1"
		says "no UDP datagram is in it: $packets packets"
	else
		take 0 "$1"
	fi
	is source.capture.packets "$packets"
	is source.capture.datagrams "$datagrams"
	is source.capture.payload_bytes "$bytes"
	is_stream "$bytes" "$sum"
}

# Two of the list are put together from fragments that don't belong together. Of the one, the first fragment is 88 s
# older than the others; with the younger one in its place the checksum of UDP is right. In the other they overlap.
correct() {
	case $file in
	*/duplicate_id.pcap)
		sum=3ee507686b7caa4e31fc7ade3e7cfceb9587dc0722476cf2b0e26ead22f4cc0a
		take 1 "pcapfile:$file"
		is_stream "$bytes" "$sum"
		is source.capture.incomplete_fragments 1
		;;
	*/fragmented-1.pcap)
		take 66 "pcapfile:$file"
		is source.capture.packets 3
		is source.capture.datagrams 0
		;;
	*) return 1 ;;
	esac
}

# Datagrams that the capture cut short are lost, and it is known how much that is.
has_cut_ones() {
	local cut=${notes##*\'udp-cut\': }
	cut=${cut%%[!0-9]*}
	take "1 66" "pcapfile:$file"
	is source.capture.packets "$packets"
	is source.capture.left_out.cut "$cut"
	is source.capture.datagrams $((datagrams - cut))
	says "$cut cut short by the capture"
	[ "$whole_bytes" = - ] || is stream_bytes "$whole_bytes"
}

# It begins as a capture, and ends otherwise.
is_broken() {
	local wanted=1
	[ "$packets" -gt 0 ] || wanted=66
	take "$wanted" "pcapfile:$file"
	is source.capture.packets "$packets"
	says "${error#pcap_loop: }"
	case $error in
	*truncated*) says "the file is cut at byte $(stat -c %s "$file"), behind packet $packets" ;;
	*) says "the file cannot be read any further than packet $packets" ;;
	esac
}

is_refused() {
	take 66 "pcapfile:$file"
	says "cannot be read as a capture: $error"
	! [ -e "$report" ] || rig_fail "$file was refused, and there is a report all the same"
}

count=0
while IFS=$'\t' read -r name packets status error _ datagrams bytes sum _ _ notes _ whole_bytes _; do
	file=$DATA/$name
	[ -e "$file" ] || continue
	count=$((count + 1))
	case $status:$packets in
	0:*) correct || case $notes in
		*udp-cut*) has_cut_ones ;;
		*)
			is_whole "pcapfile:$file"
			is_whole pcapfile:- <"$file"
			is_whole pcapfile:- < <(cat "$file")
			;;
		esac ;;
	*:-)
		case $error in
		"unknown data link type"*) datagrams=0 bytes=0 packets=0 sum=- is_whole "pcapfile:$file" ;;
		*) is_refused ;;
		esac
		;;
	*) is_broken ;;
	esac
done < <(sed -e 1d -e 's/\t\t/\t-\t/g' "$list")
[ $count -gt 0 ] || rig_skip "there are no captures in $DATA"
echo "$count captures"
