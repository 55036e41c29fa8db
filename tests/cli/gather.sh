#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# vsib-gather as a user runs it. The recordings are made by hand; at the end by vsib-record and wr, where they are.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
# shellcheck source=tests/record.sh
. "${0%/*}/../record.sh"
# shellcheck source=tests/expect.sh
. "${0%/*}/../expect.sh"
gather=$BIN/vsib-gather
cd "$RIG" || exit 1

# ---- a recording by hand: six chunks of 100000 bytes on two targets ---------------------------------

sums=(17eaed818ee86fb0 cebab3e99a95e475 3098f428dcad12c0 7dcb1b874b74eb45 26a3340cb856cab0 5904ff991d0a5268)
seq 100000 199999 | head -c 600000 >stream
printf '%s  stream\n' 9358044e7f3f1f991be24ab523233ef7502e56d80f4dd20cb5c9b31e3d06bfc6 | sha256sum -c --quiet ||
	rig_fail "seq and head made another stream"

segment() { # CHUNK: its line
	printf '{"type":"segment","target":%d,"file":"scan/scan.%08d","file_offset":0,"bytes":100000,"stream_offset":%d,"xxh3":"%s"}\n' \
		$(($1 % 2)) "$1" $(($1 * 100000)) "${sums[$1]}"
}

build() { # the journal's lines behind the start line come from the standard input
	rm -rf d1 d2
	mkdir -p d1/scan d2/scan
	split -b 100000 -a 8 -d stream d1/scan/scan.
	mv d1/scan/scan.0000000[135] d2/scan/
	{
		printf '{"type":"start","schema":"vsib-journal/1","name":"scan","layout":"vbs","stripe":"any","targets":[{"path":"%s/d1"},{"path":"%s/d2"}],"utc":"2026-11-30T08:15:00.000000000Z","host":"h","pid":1}\n' "$RIG" "$RIG"
		cat
	} >d1/scan/scan.vsib.jsonl
	cp d1/scan/scan.vsib.jsonl d2/scan/
}

segments() {
	local i
	for i; do
		segment "$i"
	done
}

end() {
	printf '{"type":"end","outcome":"complete","exit_status":0,"stream_bytes":%d}\n' "$1"
}

build_whole() {
	build < <(segments 0 2 1 3 5 4 && end 600000)
}

# ---- whole ------------------------------------------------------------------------------------------

build_whole
expect 0 "$gather" scan -o out d1 d2
same stream out
expect 0 "$gather" d2/scan -o out2
same stream out2
expect 0 "$gather" d1/scan/scan.vsib.jsonl >out3
same stream out3
expect 0 "$gather" -o - -- d1/scan/ >out4
same stream out4
"$gather" d1/scan 2>"$words" | cmp - stream || rig_fail "the pipe carries something else"

expect 0 "$gather" --list d1/scan >list
[ "$(wc -l <list)" -eq 6 ] || rig_fail "--list has not six lines"
[ "$(sed -n 4p list)" = "data	300000	100000	0	${sums[3]}	$RIG/d2/scan/scan.00000003" ] ||
	rig_fail "--list: $(sed -n 4p list)"

expect 0 "$gather" --help >help
grep -q -- '--fill' help || rig_fail "--help says nothing of --fill"
expect 0 "$gather" --version >version
grep -q '^vsib-gather [0-9]' version || rig_fail "--version: $(cat version)"

# ---- the output -------------------------------------------------------------------------------------

expect 73 "$gather" d1/scan -o out
says "not overwritten without --force"
echo old >small
expect 0 "$gather" d1/scan -o small --force
same stream small
expect 73 "$gather" d1/scan -o no/such/folder
expect 73 "$gather" d1/scan -o d1
expect 73 "$gather" d1/scan --force -o d2/scan/scan.00000001
says "piece of the recording itself"
expect 73 "$gather" d1/scan --force -o d2/scan/scan.vsib.jsonl
[ "$(stat -c %s d2/scan/scan.00000001)" -eq 100000 ] || rig_fail "a piece was overwritten"
expect 2 "$gather" d1/scan -o /dev/full
says "/dev/full is partial: 0 of 600000 bytes"
expect 0 "$gather" d1/scan -o /dev/null
(trap '' PIPE; "$gather" d1/scan 2>"$words"; echo $? >status) | true
[ "$(cat status)" -eq 2 ] || rig_fail "a closed pipe: status $(cat status)"
says "the stream is partial"

mkfifo fifo
# shellcheck disable=SC2217 # it only has to hold the FIFO open
sleep 30 <fifo &
sleeper=$!
"$gather" d1/scan -o fifo 2>"$words" &
child=$!
for try in 1 2 3 4 5 6 7 8 9; do
	sleep 0.2
	kill -INT $child 2>/dev/null || break
done
wait $child
status=$?
kill $sleeper
wait $sleeper 2>/dev/null
[ $status -eq 2 ] || rig_fail "stopped by INT: status $status"
says "fifo is partial"

# ---- usage, and what is not there -------------------------------------------------------------------

expect 64 "$gather"
expect 64 "$gather" --no-such-option d1/scan
expect 64 "$gather" --fill=zero d1/scan
expect 64 "$gather" --json=- d1/scan
expect 73 "$gather" d1/scan -o out10 --json no/such/folder
expect 74 "$gather" d1/scan -o out11 --json /dev/full
expect 64 "$gather" --list --json list.json d1/scan
says "--json doesn't go with --list"
expect 64 "$gather" --round=0 d1/x
expect 64 "$gather" --round=1k --target d1 d1/x
expect 64 "$gather" d1/.. -o out9
expect 66 "$gather" d1/nothing -o out9
expect 66 "$gather" scan -o out9 d1 d9
says d9
expect 66 "$gather" d9/scan -o out9
[ ! -e out9 ] || rig_fail "an output was made for nothing"

# ---- gaps -------------------------------------------------------------------------------------------

build < <(
	segments 0 1
	printf '{"type":"gap","stream_offset":200000,"bytes":150000,"cause":"overflow"}\n'
	printf '{"type":"segment","target":0,"file":"scan/scan.00000002","file_offset":0,"bytes":100000,"stream_offset":350000,"xxh3":"%s"}\n' "${sums[2]}"
	end 450007
)
rm d[12]/scan/scan.0000000[345]
pattern() { # FROM TO
	awk -v from="$1" -v to="$2" 'BEGIN { split("D 3 \" \021", p, " "); for (i = from; i < to; i++) printf "%s", p[i % 4 + 1] }'
}
head -c 300000 stream >closed
{
	head -c 200000 stream
	pattern 200000 350000
	head -c 300000 stream | tail -c 100000
	pattern 450000 450007
} >filled
expect 1 "$gather" d1/scan -o gap1
same closed gap1
says "gap at stream offset 200000: 150000 bytes, overflow"
says "gap at stream offset 450000: 7 bytes, unknown"
expect 1 "$gather" d1/scan -o gap2 --fill
same filled gap2
expect 1 "$gather" --fill=pattern d1/scan -o gap3
same filled gap3
expect 1 "$gather" --fill pattern scan -o gap4 d1 d2
same filled gap4
expect 1 "$gather" --fill=vdif-invalid d1/scan -o gap9
says "no VDIF frames come before it"
same filled gap9
expect 1 "$gather" --fill none scan -o gap5 d1 d2
same closed gap5
expect 1 "$gather" --fill --json report.json d1/scan -o gap6
grep -q '"outcome": "gaps"' report.json && grep -q '"filled_bytes": 150007' report.json &&
	grep -q '"schema": "vsib-gather/1"' report.json && grep -q '"cause": "overflow"' report.json ||
	{ cat report.json; rig_fail "the report"; }
expect 1 "$gather" --json=- d1/scan -o gap7 >report2.json
grep -q '"bytes_out": 300000' report2.json || rig_fail "the report on standard output"

# many gaps: the first are listed, the rest is counted
build < <(
	for i in $(seq 0 99); do
		printf '{"type":"segment","target":0,"file":"scan/scan.00000000","file_offset":%d,"bytes":10,"stream_offset":%d}\n' \
			$((i * 10)) $((i * 20))
	done
	end 2000
)
expect 1 "$gather" d1/scan -o gap8
[ "$(grep -c 'gap at' "$words")" -eq 20 ] || rig_fail "not 20 gaps are listed"
says "more gaps"
says "100 gaps"

# ---- pieces missing, broken, too many ---------------------------------------------------------------

build_whole
rm d2/scan/scan.00000003
expect 1 "$gather" d1/scan -o miss1
says "missing: $RIG/d2/scan/scan.00000003 is not there: 100000 bytes of the stream from 300000 to 400000"
[ "$(stat -c %s miss1)" -eq 500000 ] || rig_fail "the rest is not there"

build_whole
mv d2 moved
expect 1 "$gather" d1/scan -o moved1
says "--target"
expect 0 "$gather" d1/scan --target moved -o moved2
same stream moved2
expect 0 "$gather" d1/scan moved -o moved3
same stream moved3
rm -r moved

build_whole
printf X | dd of=d2/scan/scan.00000003 bs=1 seek=500 conv=notrunc status=none
expect 2 "$gather" d1/scan -o bad1 --json bad.json
says "bad checksum: $RIG/d2/scan/scan.00000003 from file offset 0, 100000 bytes, stream offset 300000"
[ "$(stat -c %s bad1)" -eq 600000 ] || rig_fail "bad data are not written"
grep -q '"outcome": "trouble"' bad.json || rig_fail "the report of bad data"
expect 2 "$gather" d1/scan -o bad2 --strict
{ head -c 300000 stream; tail -c 200000 stream; } | cmp - bad2 || rig_fail "--strict"

build_whole
echo 'not json' >>d1/scan/scan.vsib.jsonl
echo stray >d1/scan/scan.00000077
expect 0 "$gather" d1/scan -o odd1
says "scan.00000077: not in the journal, not used"
same stream odd1

build < <(segments 0 1 2 3 4 5; printf '{"type":"seg')
expect 1 "$gather" d1/scan -o odd2
says "still running, or was cut short"
same stream odd2

build_whole
sed -i 's/"pid":1}/"pid":2}/' d2/scan/scan.vsib.jsonl
expect 2 "$gather" scan -o odd3 d1 d2
says "different recordings are called scan"
[ ! -e odd3 ] || rig_fail "an output of two recordings"

# ---- without a journal ------------------------------------------------------------------------------

build_whole
rm d[12]/scan/*.jsonl
expect 0 "$gather" scan -o bare1 d2 d1
same stream bare1
cp d1/scan/scan.00000002 d2/scan/
expect 0 "$gather" scan -o bare2 d1 d2
says "the same bytes"
printf X >>d2/scan/scan.00000002
expect 2 "$gather" scan -o bare3 d1 d2
says "different contents"
rm d[12]/scan/scan.00000002
expect 1 "$gather" scan -o bare4 d1 d2 --fill
says "scan.00000002 is not there"
[ "$(stat -c %s bare4)" -eq 600000 ] || rig_fail "a missing chunk of known length was not filled"

# names that are no UTF-8, which a report's strings have to be
odd=$'odd\xff'
mkdir "$odd"
cp d1/scan/scan.00000000 "$odd/scan.000000"
touch "$odd/scan.000001.part"
expect 1 "$gather" "$odd/scan" -o "$odd.out" --json odd.json
grep -qF '"output": "odd?.out"' odd.json && grep -qF '"target": "odd?"' odd.json || { cat odd.json; rig_fail "names with odd bytes"; }

# ---- units in turn, as wr writes them ---------------------------------------------------------------

rm -rf r1 r2 r3
mkdir r1 r2 r3
for unit in $(seq 0 59); do # the last one short
	dd if=stream bs=10000 skip="$unit" count=1 status=none | head -c $((unit == 59 ? 1234 : 10000)) \
		>>"r$((unit % 3 + 1))/t$(printf %06d $((unit / 3 / 4)))"
done
head -c 591234 stream >wr.stream
expect 0 "$gather" --round 10000 -o wr1 r1/t%06d r2/t%06d r3/t%06d
same wr.stream wr1
expect 0 "$gather" --round=10k -o wr2 r1/t%06d r2/t%06d r3/t%06d
same wr.stream wr2
truncate -s 15000 r2/t000004
expect 1 "$gather" --round 10000 -o wr3 r1/t%06d r2/t%06d r3/t%06d
says "r2/t%06d ends"
rm r3/t000001
expect 1 "$gather" --round 10000 -o wr4 --fill r1/t%06d r2/t%06d r3/t%06d
says "missing: r3/t000001"
[ "$(stat -c %s wr4)" -eq 591234 ] || rig_fail "missing units were not filled"

# ---- no permission, a full disk, a disk mounted elsewhere -------------------------------------------

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	build_whole
	chmod 755 "$RIG"
	chmod 700 d1/scan
	expect 77 setpriv --reuid 65534 --clear-groups "$gather" "$RIG/d1/scan" -o /dev/null
	chmod 755 d1/scan
	expect 77 setpriv --reuid 65534 --clear-groups "$gather" "$RIG/d1/scan" -o "$RIG/denied"
else
	echo "not tested: permissions (needs root and setpriv)"
fi

if [ "$(id -u)" -eq 0 ] && command -v mkfs.ext4 >/dev/null && losetup --find >/dev/null 2>&1; then
	rig_disk usb1 20
	rig_disk usb2 20
	truncate -s 30M big.raw
	mkdir -p d3
	mv big.raw d3/big.raw
	expect 2 "$gather" d3/big -o usb1/out
	says "No space left"
	says "removed"
	[ ! -e usb1/out ] || rig_fail "a file for which there is no room was left"

	uuid=$(blkid -p -o value -s UUID "${rig_device[usb2]}")
	rm -rf d1 d2
	mkdir -p usb1/rec/scan usb2/rec/scan
	split -b 100000 -a 8 -d stream usb1/rec/scan/scan.
	mv usb1/rec/scan/scan.0000000[135] usb2/rec/scan/
	{
		printf '{"type":"start","schema":"vsib-journal/1","name":"scan","layout":"vbs","stripe":"any","targets":[{"path":"%s/usb1/rec"},{"path":"%s/usb2/rec","fs_uuid":"%s"}],"utc":"2026-11-30T08:15:00.000000000Z","host":"h","pid":1}\n' "$RIG" "$RIG" "$uuid"
		segments 0 1 2 3 4 5
		end 600000
	} >usb1/rec/scan/scan.vsib.jsonl
	cp usb1/rec/scan/scan.vsib.jsonl usb2/rec/scan/
	umount usb2
	mkdir media
	mount "${rig_device[usb2]}" media || rig_fail "mount"
	expect 0 "$gather" usb1/rec/scan -o uuid1
	same stream uuid1
	umount media
	expect 1 "$gather" usb1/rec/scan -o uuid2
else
	echo "not tested: full and moved disks (needs root and loop devices)"
fi

# ---- what the programs of the house write -----------------------------------------------------------

if [ -x "$BIN/vsib-record" ]; then
	mkdir e1 e2 e3
	for layout in "vbs" "raw --file-size 8Mi" "raw --stripe round --file-size 16Mi"; do
		rm -rf e?/* e.out
		# shellcheck disable=SC2086 # words
		expect 0 "$BIN/vsib-record" -s sim:,seed=3 -n 50000000 --name e --layout $layout --ring 64Mi --allow-same-device \
			-o e1 -o e2 -o e3 >/dev/null
		expect 0 "$gather" e -o e.out e3 e1 e2
		says whole
		says_not "not used"
		"$BIN/vsib-record" -s sim:,seed=3 -n 50000000 -o - 2>/dev/null | cmp - e.out ||
			rig_fail "layout $layout: not what the source sent"
	done
	rm -rf e?/* e.out
	expect 0 "$BIN/vsib-record" -s sim:,seed=3 -n 50000000 --name e --ring 64Mi --allow-same-device -o e1 >/dev/null
	expect 0 "$gather" e1/e -o e.out
	"$BIN/vsib-record" -s sim:,seed=3 -n 50000000 -o - 2>/dev/null | cmp - e.out || rig_fail "one raw file"

	# killed in the middle: what the journal had by then is there, in order
	rm -rf e?/* e.out
	"$BIN/vsib-record" -s sim:,seed=3 -r 400 -d 60 --name e --layout vbs --ring 64Mi --allow-same-device -o e1 -o e2 \
		2>e.log &
	child=$!
	for try in $(seq 150); do
		sleep 0.1
		grep -q '"segment"' e1/e/e.vsib.jsonl 2>/dev/null && break
	done
	# shellcheck disable=SC2046 # words
	kill -KILL $child $(ps -o pid= --ppid $child)
	wait $child 2>/dev/null
	expect 1 "$gather" e1/e -o e.out
	says "still running, or was cut short"
	[ -s e.out ] || rig_fail "nothing is left of a recording that was killed"
	"$BIN/vsib-record" -s sim:,seed=3 -n "$(stat -c %s e.out)" -o - 2>/dev/null | cmp - e.out ||
		rig_fail "what is left of a recording that was killed"
else
	echo "not tested: recordings of vsib-record (not built)"
fi
if [ -x "$BIN/wr" ]; then
	mkdir w1 w2
	expect 0 "$BIN/wr" 16000 30 0 0 0 0 2 w1/t%06d 7 w2/t%06d 4 <stream >/dev/null
	expect 0 "$gather" --round 16000 -o wr9 w1/t%06d w2/t%06d
	head -c 480000 stream | cmp - wr9 || rig_fail "not what wr wrote"
else
	echo "not tested: recordings of wr (not built)"
fi
exit 0
