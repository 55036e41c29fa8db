#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Files that end by time (--file-time): with the block in which it has passed, by the stream's rate or by the packets'
# time stamps; or by --file-size, if that is first. On one disk and on several, of bytes and of whole packets; the files
# are the stream, also after a crash. While nothing comes there are no files. What can't be is refused.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../cut.sh"
. "${0%/*}/../veth.sh"
. "${0%/*}/../network.sh"
mkdir "$RIG/a" "$RIG/b"
timed=(-r 160 --block 64Ki --ring 4Mi --live none "$same") # 20 MB/s

# sizes NAME DIRECTORY...: of the files, in the order of their numbers
sizes() {
	local number=0 file found=
	for ((;; number++)); do
		for file in "${@:2}"; do
			file=$file/$1.$(printf %06d $number)
			[ ! -e "$file" ] || { found+="$(stat -c %s "$file") " && continue 2; }
		done
		break
	done
	echo "${found% }"
}

# ---- bytes, by the rate: 100 ms are 2 MB, which end in the 31st block

full=$((31 * 65536)) rest=$((9000000 - 4 * 31 * 65536))
record 0 -s sim: -n 9000000 --name one -o "$RIG/a" "${timed[@]}" --file-time 100ms
audit one "$RIG/a"
[ "$(sizes one "$RIG/a")" = "$full $full $full $full $rest" ] || rig_fail "one disk: $(sizes one "$RIG/a")"
gathered_sim 9000000 one "$RIG/a"
head -n 1 "$RIG/a/one.vsib.jsonl" | grep -qE '"file_ns": ?100000000[,}]' || rig_fail "the journal does not say how long a file is"

record 0 -s sim: -n 9000000 --name two --layout raw -o "$RIG/a" -o "$RIG/b" "${timed[@]}" --file-time 100ms
audit two "$RIG/a" "$RIG/b"
[ "$(sizes two "$RIG/a" "$RIG/b")" = "$full $full $full $full $rest" ] || rig_fail "two disks: $(sizes two "$RIG/a" "$RIG/b")"
gathered_sim 9000000 two "$RIG/a" "$RIG/b"
rm "$RIG/a/two.vsib.jsonl" "$RIG/b/two.vsib.jsonl" # by their names they are whole as well
gathered_sim 9000000 two "$RIG/a" "$RIG/b"

# whichever is first: sizes that are reached in 50 ms, and in 1 s
record 0 -s sim: -n 3000000 --name small -o "$RIG/a" "${timed[@]}" --file-time 100ms --file-size 1M
[ "$(sizes small "$RIG/a")" = "1000000 1000000 1000000" ] || rig_fail "size first: $(sizes small "$RIG/a")"
record 0 -s sim: -n 3000000 --name large -o "$RIG/a" "${timed[@]}" --file-time 100ms --file-size 20M
[ "$(sizes large "$RIG/a")" = "$full $((3000000 - full))" ] || rig_fail "time first: $(sizes large "$RIG/a")"

# killed in the middle of a file
cut_seed
cut_kill_from_ms=700 cut_kill_to_ms=1000
mkdir "$RIG/c" "$RIG/d"
cut_kill -s sim: -d 60 --name killed --layout raw -o "$RIG/c" "${timed[@]}" --file-time 200ms
cut_recovered killed "$RIG/c"
cut_kill -s sim: -d 60 --name dealt --layout raw -o "$RIG/c" -o "$RIG/d" "${timed[@]}" --file-time 200ms
cut_recovered dealt "$RIG/c" "$RIG/d"

# ---- what can't be

# refused SENTENCE OPTION...
refused() {
	record 64 -s sim: -n 1M --name refused -o "$RIG/a" -o "$RIG/b" "$same" "${@:2}"
	said "^vsib-record: .*$1"
}
for time in 0 -1s 1G '' 99999999999999h; do
	refused 'file-time' --layout raw --file-time "$time"
done
refused 'not with --stripe round' --layout raw --file-time 1s --stripe round
refused 'nor with --parity' --layout raw --file-time 1s --parity -o "$RIG/c"
refused 'file-time is for layout raw' --layout vbs --file-time 1s
refused 'no --file-time' --layout mark6 --packet-size 1000 --file-time 1s
refused 'file-size of at most' --layout raw --file-time 1s --copies 2
refused 'need a number' --layout raw --file-time 1s --template plain

# ---- by the packets' time stamps, however fast they are read

# Three bursts, at 0 to 7.3 ms, 14.3 to 19.7 and 45.1 to 52.3: of the later two the first block ends the file before.
captured=$DATA/instrument/mnacq2.pcap
if [ -e "$captured" ]; then
	record 0 -s "pcapfile:$captured" --name captured -o "$RIG/a" "$same" --ring 1Mi --block 4Ki --live none --file-time 10ms
	[ "$(sizes captured "$RIG/a")" = '94208 69632 80724' ] || rig_fail "by time stamps: $(sizes captured "$RIG/a")"
	gather 0 captured "$RIG/a"
	[ "$(stat -c %s "$RIG/gathered")" -eq 244564 ] || rig_fail "the files are not all of the packets"
fi

# ---- whole packets; then none for several files' time, then the next ones

veth_need
veth_up 9000 2>"$RIG/veth" || rig_skip "needs veth: $(cat "$RIG/veth")"
head -c $((8 * 5008)) /dev/urandom >"$RIG/sent_again" # nothing with a format, whose frames would be there twice
targets=("$disk" "$RIG/a")
listen pcap:cable,filter=udp --layout pcap --block 256Ki --file-time 200ms
send -f 5008 -c 480 -r 400 "$RIG/sent_again" 192.0.2.1 $port
sleep 0.8
send -f 5008 -c 8 -r 20000 "$RIG/sent_again" 192.0.2.1 $port
heard 0
packets received=488

# Each by itself. All but the last one are as long as was asked for, and the silence lies in one of them or behind one.
count=0 files=("$disk/$name".*.pcapng "$RIG/a/$name".*.pcapng) short=0
for file in "${files[@]}"; do
	rm -f "$report"
	! command -v tcpdump >/dev/null || tcpdump -r "$file" >"$output" 2>&1 || rig_fail "tcpdump does not read $file"
	rig_expect 0 "$BIN/vsib-record" -s "pcapfile:$file" -o null: --ring 8Mi --live none --json "$report" 2>"$words"
	count=$((count + $(value source.capture.packets)))
	first=$(date -d "$(value source.capture.first_utc)" +%s%N) last=$(date -d "$(value source.capture.last_utc)" +%s%N)
	[ $((last - first)) -ge 200000000 ] || short=$((short + 1))
done
[ $count -eq 488 ] && [ $short -le 1 ] || rig_fail "$count packets of 488 in ${#files[@]} files, $short too short"
[ ${#files[@]} -ge 4 ] || rig_fail "1.2 s of packets, and some more, in ${#files[@]} files of 0.2 s"
rig_expect 0 "$BIN/vsib-check" $name "${targets[@]}"
gather 0 $name "${targets[@]}"
rig_expect 0 "$BIN/vsib-record" -s "pcapfile:$RIG/gathered" -o null: --ring 8Mi --live none --json "$report" 2>"$words"
is source.capture.packets 488
