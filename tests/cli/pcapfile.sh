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
rig_need data mkfifo
list=$DATA/EXPECTED_pcap.tsv
[ -e "$list" ] || rig_skip "there is no list of captures: $list"

# take WANTED SOURCE OPTION...: the stream goes to $output. What an account is, other tests look at: these are many.
take() {
	local wanted=$1 status=0
	rm -f "$report"
	shift
	timeout 30 "$BIN/vsib-record" -s "$@" -o - --ring 1Mi --live none --json "$report" >"$output" 2>"$words" || status=$?
	ended "$wanted" $status vsib-record -s "$@"
}

# check WANTED: vsib-check, with a report
check() {
	local status=0
	rm -f "$report"
	timeout 30 "$BIN/vsib-check" --json "$report" "$file" 2>"$words" || status=$?
	ended "$1" $status vsib-check "$file"
}

# counted KEY-OF-CAPTURE PACKETS DATAGRAMS BYTES: in the report
counted() {
	local got
	got=$(value "$1.packets" "$1.datagrams" "$1.payload_bytes" | tr '\n' ' ') || exit 1
	[ "$got" = "$2 $3 $4 " ] || rig_fail "$file: $got are its packets, datagrams and bytes instead of $2 $3 $4"
}

# is_stream SHA256
is_stream() {
	local sum
	[ "$1" = - ] && return
	sum=$(sha256sum <"$output")
	[ "${sum%% *}" = "$1" ] || rig_fail "$file: the payloads have the checksum ${sum%% *} instead of $1"
}

# is_whole SOURCE: all that is known comes out of it
is_whole() {
	if [ "$datagrams" -eq 0 ]; then
		take 66 "$1"
		says "no UDP datagram is in it: $packets packets"
	else
		take 0 "$1"
	fi
	counted source.capture "$packets" "$datagrams" "$bytes"
	is_stream "$sum"
}

# Whatever their format is, its frames are another test's.
is_checked() {
	if [ "$datagrams" -eq 0 ]; then
		check 2
	else
		check "0 1"
	fi
	counted capture "$packets" "$datagrams" "$bytes"
	is capture.complete true
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
	check "1 2"
	is capture.left_out.cut "$cut"
	is capture.complete false
}

# It begins as a capture, and ends otherwise.
is_broken() {
	local wanted=1 why
	[ "$packets" -gt 0 ] || wanted=66
	take "$wanted" "pcapfile:$file"
	is source.capture.packets "$packets"
	why="the file cannot be read any further than packet $packets: ${error#pcap_loop: }"
	case $error in
	*truncated*) why="the file is cut at byte $(stat -c %s "$file"), behind packet $packets: ${error#pcap_loop: }" ;;
	esac
	says "$why"
	check "1 2" # what comes before it may be no UDP
	says "$why"
	is capture.packets "$packets"
	is capture.complete false
}

is_refused() {
	take 66 "pcapfile:$file"
	says "cannot be read as a capture: $error"
	! [ -e "$report" ] || rig_fail "$file was refused, and there is a report all the same"
	check 2
	case $error in
	*"file header bytes"* | "unknown file format") ;; # too short, or not like a capture: of no known format
	*) says "cannot be read as a capture: $error" ;;
	esac
}

count=0
while IFS=$'\t' read -r name packets status error _ datagrams bytes sum _ _ notes _ whole_bytes _; do
	file=$DATA/$name
	[ -e "$file" ] || continue
	count=$((count + 1))
	case $status:$packets in
	0:*) case $notes in
		*udp-cut*) has_cut_ones ;;
		*)
			is_whole "pcapfile:$file"
			case $name in
			derived/*) is_whole pcapfile:- < <(cat "$file") ;;
			*/test01?.pcapng | instrument/i*) is_whole pcapfile:- <"$file" ;;
			esac
			is_checked
			case $name in
			*/duplicate_id.pcap | */fragmented-1.pcap)
				is capture.overlapping_fragments 1
				says "1 fragment overlaps others: of each byte the first one is kept"
				;;
			esac
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

# ---- the same frames in other clothes --------------------------------------------------------------------------------

derived=$DATA/derived
original=$DATA/radio/vdifio_1.vdif
[ -e "$original" ] && [ -e "$derived/vdif_kt_8224_udp.pcap" ] || exit 0
mkdir "$RIG/a" "$RIG/b"

# Nanoseconds, and the longer headers of an old patch; on disks, with a journal, and back.
for kind in pcap nsecpcap modpcap; do
	file=$derived/vdif_kt_8224_udp.$kind
	record 0 -s "pcapfile:$file" --name "$kind" -o "$RIG/a" -o "$RIG/b" --block 8Ki --chunk 16Ki --ring 1Mi $same --live none
	audit "$kind" "$RIG/a" "$RIG/b"
	gathered "$original" "$kind" "$RIG/a" "$RIG/b"
	grep -q '"utc":"2015-04-16T09:41:02' "$RIG/a/$kind/$kind.vsib.jsonl" || rig_fail "the journal hasn't the packets' time"
	check 0
	is format.format vdif
	is format.frame_count 10
	is format.start_utc 2015-04-16T09:41:02.000000000Z
	is capture.first_utc 2015-04-16T09:41:02.000000000Z
	is capture.last_utc 2015-04-16T09:41:02.001125000Z
done

file=$derived/vdif_kt_8232_vtp_lost3.pcap
check 1
is format.packets_count 3
is format.missing_count 3
# three digits of the day are in the frames: the capture says which year
file=$derived/m5b_5016_vtp.pcapng
check 0
is format.start_utc 2014-06-13T05:30:01.000000000Z

# ---- what is wanted of it --------------------------------------------------------------------------------------------

file=$derived/vdif_kt_8224_udp.pcap
take 66 "pcapfile:$file,port=1"
says "10 for another port"
take 0 "pcapfile:$file,filter=udp and greater 8000"
cmp "$original" "$output" || rig_fail "a filter that all packets pass changes the stream"
take 66 "pcapfile:$file,filter=less 8000"
is source.capture.left_out.filtered 10
take 64 "pcapfile:$file,filter=udp and"
says 'the filter "udp and" is not understood'
take 64 sim: --as-recorded
says "has no time stamps"
take 64 "pcapfile:$file" --as-recorded -r 512
says "exclude each other"

# As recorded: three packets of an old kind, 0.2 s and 0.1 s apart.
datagram='45 00 00 20 00 00 00 00 40 11 00 00 0a 00 00 01 0a 00 00 02 03 e8 b4 93 00 0c 00 00 01 02 03 04'
capture() {
	printf 'd4 c3 b2 a1 02 00 04 00 00 00 00 00 00 00 00 00 00 00 04 00 65 00 00 00'
	printf ' 00 00 00 50 00 00 00 00 20 00 00 00 20 00 00 00 %s' "$datagram"
	printf ' 00 00 00 50 40 0d 03 00 20 00 00 00 20 00 00 00 %s' "$datagram"
	printf ' 00 00 00 50 e0 93 04 00 20 00 00 00 20 00 00 00 %s' "$datagram"
}
file=$RIG/slow.pcap
capture | sed 's/ *\([0-9a-f][0-9a-f]\)/\\x\1/g' | xargs -0 printf '%b' >"$file"
for how in ,as-recorded --as-recorded; do
	case $how in
	,*) take 0 "pcapfile:$file$how" ;;
	*) take 0 "pcapfile:$file" "$how" ;;
	esac
	is source.received_bytes 12
	is_more duration_s 0.299
done

# A pipe that stands still in the middle of a packet doesn't hold who has said how long he wants to wait.
mkfifo "$RIG/pipe"
exec 3<>"$RIG/pipe"
head -c 100 "$file" >&3
take 0 pcapfile:- -d 0.3 <&3
exec 3>&-
is source.received_bytes 4

# A signal ends a check also where no datagram comes for long: packets without a byte, a hole of the file.
file=$RIG/long.pcap
{ head -c 24 "$derived/vdif_kt_8224_udp.pcap" && printf '\0'; } >"$file"
truncate -s 1T "$file"
status=0
timeout --preserve-status -s INT -k 20 0.5 "$BIN/vsib-check" "$file" 2>"$words" || status=$?
ended 2 $status vsib-check "$file"
says "stopped by a signal"
rm "$file"
