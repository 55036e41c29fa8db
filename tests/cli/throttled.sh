#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
# san: skip
#
# 20 s at 512 Mbit/s to two disks, one of which takes less than a third of it: nothing is lost. Then with disks and
# ring that are too small: what is lost is the same in report, journal and stream, to the byte.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
rig_need loop throttle space:3000
[ "$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)" -ge 2500 ] || rig_skip "needs 2500 MiB of free memory"

# stream WANTED GATHER-OPTION... -- VERIFY-OPTION...: through a pipe, there is much of it
stream() {
	local wanted=$1 options=() status
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$BIN/vsib-gather" "${options[@]}" "$name" "$RIG/fast" "$RIG/slow" 2>"$words" | "$TOOLS/tool_verify_sim" "$@"
	status=("${PIPESTATUS[@]}")
	ended "$wanted" "${status[0]}" vsib-gather "${options[@]}" "$name"
	[ "${status[1]}" -eq 0 ] || rig_fail "the gathered stream is not the simulator's (${options[*]})"
}

rig_disk fast 1500
rig_disk slow 700
rig_throttle slow 20000000

# ---- one slow disk, a ring that bridges it
name=bridged bytes=1280000000
record 0 -s sim: -r 512 -d 20 --name $name -o "$RIG/fast" -o "$RIG/slow" --ring 512Mi --block 2Mi
is stream_bytes $bytes
is written_bytes $bytes
is gap_count 0
is outcome complete
is ring.capacity_bytes $((512 << 20))
is_more ring.high_water_bytes 2097151
is_less ring.high_water_bytes $(((512 << 20) + 1))
is_more ring.high_water_s 0
is_less ring.high_water_s 60
fast=$(value disks.0.written_bytes) slow=$(value disks.1.written_bytes)
# 20 MB/s for some 20 s and the time it takes to drain, at the most; and it did not idle
[ "$slow" -lt $((fast * 7 / 10)) ] || rig_fail "the slow disk took $slow bytes, the fast one $fast"
[ "$slow" -gt 200000000 ] || rig_fail "the slow disk took only $slow bytes"
# a block of 2 MiB at 20 MB/s
is_more disks.1.worst_write_s 0.05
is_more disks.0.worst_write_s 0
[ "$(value 'disks.1.write_hist.counts.*' | sum)" -eq $((slow / 2097152)) ] ||
	[ "$(value 'disks.1.write_hist.counts.*' | sum)" -eq $((slow / 2097152 + 1)) ] ||
	rig_fail "the histogram of the slow disk has $(value 'disks.1.write_hist.counts.*' | sum) writes for $slow bytes"
said 'high-water mark [0-9]+ bytes'
said 'worst write [0-9.]+ s at file offset'
audit $name "$RIG/fast" "$RIG/slow"
stream 0 -- -n $bytes
rm -rf "$RIG/fast/$name" "$RIG/slow/$name"

# ---- both slow, and a ring for a quarter of a second
rig_throttle fast 20000000
name=lossy bytes=384000000
record 1 -s sim: -r 512 -d 6 --name $name -o "$RIG/fast" -o "$RIG/slow" --ring 16Mi --block 1Mi
rig_release fast
rig_release slow
is stream_bytes $bytes
is outcome loss
is ring.high_water_bytes "$(value ring.capacity_bytes)"
lost=$(value ring.overflow_bytes)
# 24 of 64 MB/s, less what the ring and the start bridge, more what disks lose in hiccups
[ "$lost" -gt 50000000 ] && [ "$lost" -lt 340000000 ] || rig_fail "$lost of $bytes bytes lost"
[ "$(value 'gaps.*.cause' | sort -u)" = overflow ] || rig_fail "other causes than overflow: $(value 'gaps.*.cause' | sort -u)"
audit $name "$RIG/fast" "$RIG/slow"
# report, journal, stream: the same gaps
[ "$(gap_bytes overflow)" -eq "$lost" ] || rig_fail "the journal has gaps of $(gap_bytes overflow) bytes, the report of $lost"
paste -d ' ' <(value 'gaps.*.stream_offset') <(value 'gaps.*.bytes') | sort -n | diff - "$RIG/gaps" ||
	rig_fail "the gaps of the report are not those of the journal"
stream 1 -- -n $((bytes - lost)) -G "$RIG/gaps"
stream 1 --fill -- -f -n $bytes -G "$RIG/gaps"
echo "slow disk $slow, fast disk $fast bytes; then $lost bytes lost in $(wc -l <"$RIG/gaps") gaps"
