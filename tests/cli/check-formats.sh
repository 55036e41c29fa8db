#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# vsib-check on the frames themselves: files of real instruments give the values that are known of them, as plain
# files and as recordings; frames that are left out, doubled, swapped, damaged or cut are found where they are; and
# bytes that are nothing are said to be of no known format.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
# shellcheck source=tests/record.sh
. "${0%/*}/../record.sh"
rig_need data
radio=$DATA/radio
check=$BIN/vsib-check
cd "$RIG" || exit 1

# expect STATUS ARGUMENT...: of vsib-check, with a report
expect() {
	local wanted=$1 status=0
	shift
	rm -f "$report"
	timeout 30 "$check" --json "$report" "$@" >"$output" 2>"$words" || status=$?
	ended "$wanted" $status vsib-check "$@"
}

# reports KEY=VALUE...: of the format in the report
reports() {
	local pair got
	for pair; do
		got=$(value "format.${pair%%=*}") || rig_fail "$* has not ${pair%%=*}"
		[ "$got" = "${pair#*=}" ] || { show_words; rig_fail "$file: ${pair%%=*} is $got instead of ${pair#*=}"; }
	done
}

# ---- what is known of the files ------------------------------------------------------------------------------------

# NAME | options | values in the report. Times that leave out a part of the date need the day.
table="
sample.vdif          |                      | format=vdif vdif_version=1 edv=3 legacy=false frame_bytes=5032 payload_bytes=5000 \
	channels=1 bits=2 complex=false thread_count=8 frame_count=16 start_utc=2014-06-16T05:56:07.000000000Z \
	end_utc=2014-06-16T05:56:07.001250000Z frame_rate=1600.000000000 frame_rate_from=header payload_bps=512000000 \
	length_s=0.001250000 bytes_length_s=0.001250000 threads.0.station=0xfffc threads.0.thread=1 threads.3.thread=7 \
	threads.4.thread=0 threads.0.epoch=28 threads.0.second=14363767 threads.7.missing=0
sample_mwa.vdif      | --frame-rate 10000   | format=vdif vdif_version=0 edv=0 frame_bytes=544 channels=2 bits=8 complex=true \
	thread_count=1 frame_count=10 start_utc=2015-10-03T20:49:45.000000000Z end_utc=2015-10-03T20:49:45.001000000Z \
	frame_rate_from=given threads.0.station=mw threads.0.frame=0
sample_mwa.vdif      |                      | frame_rate_from=unknown start_utc=2015-10-03T20:49:45.000000000Z
sample_bps1.vdif     | --frame-rate 2000    | format=vdif vdif_version=0 edv=0 frame_bytes=8032 channels=16 bits=1 complex=false \
	thread_count=1 frame_count=2 start_utc=2018-09-24T13:11:21.567500000Z threads.0.frame=1135 threads.0.station=wz
vdifio_1.vdif        |                      | format=vdif vdif_version=0 edv=0 frame_bytes=8224 channels=4 bits=2 complex=false \
	thread_count=1 frame_count=10 start_utc=2015-04-16T09:41:02.000000000Z threads.0.frame=59866 threads.0.station=KT
vdifio_1.vdif        | --frame-rate 62500   | payload_bps=4096000000 start_utc=2015-04-16T09:41:02.957856000Z
sample.m5b           | --not-after 2015-01-01T00:00:00Z | format=mark5b frame_bytes=10016 user=48813 test=false frame_count=4 \
	start_utc=2014-06-13T05:30:01.000000000Z end_utc=2014-06-13T05:30:01.000625000Z frame_rate=6400.000000000 \
	frame_rate_from=header payload_bps=512000000 crc_count=0
sample_16track.m4    | --not-after 2020-01-01T00:00:00Z | format=mark4 tracks=16 frame_bytes=40000 leading_bytes=22124 \
	frame_count=2 start_utc=2013-11-03T06:00:00.770000000Z end_utc=2013-11-03T06:00:00.775000000Z payload_bps=128000000 \
	bad_track_count=0 trailing_bytes=0
sample_32track.m4    | --not-after 2020-01-01T00:00:00Z | format=mark4 tracks=32 frame_bytes=80000 leading_bytes=9656 \
	frame_count=2 start_utc=2015-01-11T01:23:10.485000000Z payload_bps=256000000 bad_track_count=0 trailing_bytes=344
sample.m4            | --not-after 2020-01-01T00:00:00Z | format=mark4 tracks=64 frame_bytes=160000 leading_bytes=2696 \
	frame_count=2 start_utc=2014-06-16T07:38:12.475000000Z payload_bps=512000000 bad_track_count=0
sample_32track_fanout2.m4 | --not-after 2020-01-01T00:00:00Z | format=mark4 tracks=32 leading_bytes=17436 frame_count=2 \
	start_utc=2017-03-04T04:42:26.025000000Z payload_bps=256000000 bad_track_count=0
sample_64track_fanout2_ft.m4 | --not-after 2020-01-01T00:00:00Z | format=mark4 tracks=64 leading_bytes=124288 frame_count=1 \
	start_utc=2019-05-08T17:32:21.072500000Z bad_track_count=0
sample_arochime.vdif | --frame-rate 390625  | format=vdif vdif_version=1 edv=0 channels=1024 bits=4 complex=true thread_count=2 \
	frame_count=10 start_utc=2016-04-22T08:45:35.788759040Z threads.0.epoch=0 threads.0.second=514629935 threads.0.station=AQ
"
checked=0 absent=
while IFS='|' read -r name options values; do
	name=${name// /}
	[ -n "$name" ] || continue
	file=$radio/$name
	if [ ! -e "$file" ]; then
		absent+=" $name"
		continue
	fi
	# shellcheck disable=SC2086 # lists
	expect 0 "$file" $options
	# shellcheck disable=SC2086
	reports $values missing_count=0 duplicate_count=0 late_count=0 invalid_count=0 fill_count=0 skipped_count=0
	[ "$(wc -l <"$words")" -le 24 ] || rig_fail "$name: more than a screen"
	checked=$((checked + 1))
done <<<"$table"
[ $checked -gt 0 ] || rig_skip "there are no sample files in $radio"

# Two stations' times in one file, and a file of disorder: told, and no more is known of them.
for name in sample_vlbi.vdif sample_drao_corrupted.vdif; do
	[ -e "$radio/$name" ] || { absent+=" $name"; continue; }
	file=$radio/$name
	expect 1 "$file"
	[ "$(value format.disorder_count)" -gt 0 ] || rig_fail "$name: no disorder"
done

# ---- as recordings --------------------------------------------------------------------------------------------------

mkdir a b
for name in sample.vdif sample.m5b sample_16track.m4; do
	file=$radio/$name
	record 0 -s "file:$file" --name "r${checked}" --layout vbs --chunk 16Ki --ring 256Ki --block 4Ki $same -o a -o b --live none
	expect 0 "r${checked}" a b --not-after 2020-01-01T00:00:00Z
	reports trailing_bytes=0 missing_count=0
	[ "$(value verified_bytes)" -eq "$(stat -c %s "$file")" ] || rig_fail "$name: not all is verified"
	checked=$((checked + 1))
done
# A piece that is not there: 16384 bytes from 16384 on; frame 3 is cut, 4 and 5 gone, 6 has no header any more. Frames are
# found again where they belong.
file=$radio/sample.vdif
if [ -e "$file" ]; then
	record 0 -s "file:$file" --name hole --layout vbs --chunk 16Ki --ring 256Ki --block 4Ki $same -o a -o b --live none
	rm [ab]/hole/hole.00000001
	expect 1 hole a b
	reports frame_count=12 missing_count=4 torn_count=1 skipped_count=0 damaged_count=0 trailing_bytes=0
fi
record 0 -s sim:,seed=99 -n 3M --name sim -o a $same --live none
expect 0 a/sim
reports format=sim seed=99
expect 0 a/sim --no-format
! value format >/dev/null 2>&1 || rig_fail "--no-format: a format is reported"
record 0 -s dev:/dev/urandom -n 1M --name noise -o a $same --live none
expect 0 a/noise
reports format=unknown
grep -q 'no known format' "$words" || rig_fail "nothing is said of an unknown format"

# ---- damaged ones ----------------------------------------------------------------------------------------------------

# frames FILE SIZE FIRST COUNT: of a file of frames
frames() {
	dd if="$1" bs="$2" skip="$3" count="$4" status=none
}

whole=$radio/vdifio_1.vdif size=8224 file=damaged.vdif
[ -e "$whole" ] || rig_skip "there is no $whole"

{ frames "$whole" $size 0 4 && frames "$whole" $size 5 5; } >$file
expect 1 $file
reports frame_count=9 missing_count=1 faults.0.kind=missing faults.0.stream_offset=$((4 * size)) faults.0.count=1 threads.0.missing=1

{ frames "$whole" $size 0 4 && frames "$whole" $size 3 7; } >$file
expect 1 $file
reports frame_count=11 missing_count=0 duplicate_count=1 faults.0.kind=duplicate faults.0.stream_offset=$((4 * size))

{ frames "$whole" $size 0 4 && frames "$whole" $size 5 1 && frames "$whole" $size 4 1 && frames "$whole" $size 6 4; } >$file
expect 1 $file
reports frame_count=10 missing_count=0 late_count=1 faults.1.kind=late faults.1.stream_offset=$((5 * size))

if [ -e "$radio/sample.vdif" ]; then
	{ frames "$radio/sample.vdif" 5032 0 6 && frames "$radio/sample.vdif" 5032 7 9; } >$file
	expect 1 $file
	reports frame_count=15 missing_count=1 thread_count=8
fi

# put OFFSET BYTE: in octal
put() {
	# shellcheck disable=SC2059 # the byte is in the format
	printf "\\$2" | dd of=$file bs=1 seek="$1" conv=notrunc status=none
}

cp "$whole" $file && chmod u+w $file && put $((6 * size + 3)) 200 # the bit for invalid
expect 1 $file
reports frame_count=10 invalid_count=1
cp "$whole" $file && put $((6 * size + 9)) 7 # the length
expect 1 $file
reports frame_count=9 damaged_count=1 missing_count=1 faults.0.kind=damaged faults.0.stream_offset=$((6 * size))
cp "$whole" $file && put $((6 * size + 2)) 377 # the second
expect 1 $file
reports frame_count=10 stray_count=1 missing_count=1

head -c $((10 * size - 1)) "$whole" >$file
expect 1 $file
reports frame_count=9 trailing_bytes=$((size - 1))
tail -c +101 "$whole" >$file
expect 1 $file
reports frame_count=9 leading_bytes=$((size - 100))
{ frames "$whole" $size 0 4 && head -c 1000 /dev/urandom && frames "$whole" $size 4 6; } >$file
expect 1 $file
reports frame_count=10 skipped_count=1000 missing_count=0 faults.0.kind=skipped faults.0.stream_offset=$((4 * size))

whole=$radio/sample.m5b
if [ -e "$whole" ]; then
	cp "$whole" $file && put $((10016 + 12)) 0
	expect 1 $file
	reports frame_count=4 crc_count=1 missing_count=1
fi

head -c 100000 /dev/urandom >$file
expect 2 $file
grep -q "unknown format" "$words" || rig_fail "random bytes: nothing is said"
: >$file
expect 2 $file
grep -q "empty file" "$words" || rig_fail "an empty file: nothing is said"
expect 64 --frame-rate 0 $file
expect 64 --not-after yesterday $file
echo "$checked files and recordings${absent:+; not there:$absent}"
