#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Several disks at once, made slow on purpose, so that this machine's own disk, on which they all lie, is not what
# is measured: what they take together beside the sum of what each takes alone, equal ones and unequal ones; what
# 512 Mbit/s to four disks costs; what two copies cost beside one; and a disk that stalls for a minute (STALL_S), which must lose nothing.
# shellcheck disable=SC2154 # report, words ... are of record.sh
set -u
. "${0%/*}/../measure.sh"
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
rig_at_exit+=(measure_undo)
(rig_need loop throttle space:4500) || { echo "disks: not run"; exit 0; }

rig_disk a 1300
for disk in b c d; do
	rig_disk $disk 900
done

disks_of() {
	local disk
	for disk; do
		printf '%s\n' -o "$RIG/$disk"
	done
}

remove() {
	local disk
	for disk in a b c d; do
		rm -rf "${RIG:?}/$disk/$name"*
	done
}

# whole BYTES: that many are written, and nothing else became of any
whole() {
	is stream_bytes "$1"
	is written_bytes "$1"
	is gap_count 0
	is outcome complete
}

# MB/s at which the source could be read while the ring was full, which is what the disks took: from the line a
# second that is told, without the first three seconds (the ring fills) and without the drain at the end, in
# which the slowest disk is still at its last chunks when the others are through.
steady() {
	sed -n 's/^t=\([0-9.]*\) state=recording .*stream_bytes=\([0-9]*\) .*/\1 \2/p' "$words" |
		awk '$1 >= 3 { if (!n++) { t = $1; b = $2 } u = $1; e = $2 } END { printf "%.2f\n", (u > t ? (e - b) / (u - t) / 1e6 : 0) }'
}

# stream BYTES DISK...: as fast as they take it; into mbps, from the first byte until all is safe
stream() {
	local bytes=$1
	local -a targets
	shift
	name=bench
	mapfile -t targets < <(disks_of "$@")
	record 0 -s dev:/dev/zero -n "$bytes" --name $name "${targets[@]}" --stripe any --live log --log-interval 1s
	whole "$bytes"
	mbps=$(calculate "$bytes / 1e6 / $(value duration_s)" %.2f)
	taken=$(value 'disks.*.written_bytes' | awk '{ printf " %.0f", $1 / 1e6 }')
	remove
}

# together TITLE SECONDS DISK:MBPS...
together() {
	local title=$1 seconds=$2 pair disk rate sum=0 alone=0 mbps_steady all=()
	shift 2
	echo "$title"
	for pair; do
		disk=${pair%:*} rate=${pair#*:}
		rig_throttle "$disk" $((rate * 1000000))
		stream $((rate * 1000000 * 8)) "$disk"
		printf '  a disk of %d MB/s alone: %.2f MB/s\n' "$rate" "$mbps"
		alone=$(calculate "$alone + $mbps" %.2f)
		sum=$((sum + rate))
		all+=("$disk")
	done
	stream $((sum * 1000000 * seconds)) "${all[@]}"
	mbps_steady=$(steady)
	printf '  together: %.2f MB/s while it goes on, %.2f MB/s until all is safe; each took%s MB\n' "$mbps_steady" "$mbps" "$taken"
	printf '  together / sum of each alone: %.3f while it goes on (goal: >= 0.95), %.3f until all is safe (goal: >= 0.95)\n' \
		"$(calculate "$mbps_steady / $alone")" "$(calculate "$mbps / $alone")"
	for pair; do
		rig_release "${pair%:*}"
	done
}

together 'four disks of 30 MB/s' 20 a:30 b:30 c:30 d:30
together 'disks of 60, 30 and 15 MB/s' 20 a:60 b:30 c:15

# ---- what it costs

seconds=15 name=cost
mapfile -t targets < <(disks_of a b c d)
echo "512 Mbit/s from the simulator to four disks, checksums on, $seconds s"
measure cost $((seconds * 64000000)) "$BIN/vsib-record" -s sim: -r 512 -d $seconds --name $name "${targets[@]}" --json "$report"
account
whole $((seconds * 64000000))
printf '  CPU %.2f %% of one core (goal: <= 6 %%); ring: at most %s of %s bytes\n' \
	"$(calculate "100 * $(cost cpu_s) / $(cost wall_s)")" "$(value ring.high_water_bytes)" "$(value ring.capacity_bytes)"
remove

# ---- two copies

# cost_of_copies COPIES: of 256 Mbit/s to four disks, and what the disks take when each has 30 MB/s
cost_of_copies() {
	local bytes=$((seconds * 32000000)) disk fast
	name=copies
	measure copies "$bytes" "$BIN/vsib-record" -s sim: -r 256 -d $seconds --name $name "${targets[@]}" --copies "$1" --json "$report"
	account
	whole $bytes
	remove
	for disk in a b c d; do
		rig_throttle $disk 30000000
	done
	record 0 -s dev:/dev/zero -n 1200M --name $name "${targets[@]}" --copies "$1" --live none
	whole 1200000000
	for disk in a b c d; do
		rig_release $disk
	done
	remove
	fast=$(calculate "1200 / $(value duration_s)" %.2f)
	printf '  copies %d: %.3f CPU s/GB of the stream; at most %.2f MB/s of it, %.2f MB/s to each disk of 30 MB/s; %.3f bytes written for each\n' \
		"$1" "$(calculate "$(cost cpu_s) * 1e9 / $bytes")" "$fast" "$(calculate "$fast * $1 / 4")" \
		"$(calculate "$(value physical_bytes) / $(value written_bytes)")"
}

seconds=10
echo "two copies beside one: 256 Mbit/s from the simulator to four disks, checksums on, and as fast as four slow disks go"
cost_of_copies 1
cost_of_copies 2

# ---- a stall

stall_s=${STALL_S:-60}
name=stall seconds=$((stall_s + 15))
mapfile -t targets < <(disks_of a b c)
echo "256 Mbit/s to three disks of 30 MB/s, ring of 256 MiB, one of them stalls for $stall_s s"
for disk in a b c; do
	rig_throttle $disk 30000000
done
(
	sleep 5
	rig_throttle c 1
	sleep "$stall_s"
	rig_throttle c 30000000
) &
# 1: something was lost, or the disk was not back at the end: told below.
record '0 1' -s sim: -r 256 -d $seconds --name $name "${targets[@]}" --ring 256Mi
wait $! || rig_fail "the disk could not be made to stall"
is stream_bytes $((seconds * 32000000))
printf '  %s bytes lost (goal: 0); ring: at most %s of %s bytes; each took%s MB; the third is %s, its worst write took %.1f s\n' \
	"$(value ring.overflow_bytes)" "$(value ring.high_water_bytes)" "$(value ring.capacity_bytes)" \
	"$(value 'disks.*.written_bytes' | awk '{ printf " %.0f", $1 / 1e6 }')" "$(value disks.2.state)" "$(value disks.2.worst_write_s)"
remove
