#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
# san: skip
#
# More than 32 bits of everything: a ring of 6 GiB that goes round many times, a file of more than 4 GiB.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

available() {
	awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo
}

[ "$(available)" -ge 9000 ] || rig_skip "needs 9000 MiB of free memory, there are $(available)"

# 80 GiB through a ring of 6 GiB, and every byte is counted. 2 MiB blocks: 3072 of them in the ring.
start=$SECONDS
record 0 -s dev:/dev/zero -n 80Gi -o null: --ring 6Gi --live none
took=$((SECONDS - start))
is ring.capacity_bytes $((6 << 30))
is ring.asked_bytes $((6 << 30))
is source.received_bytes $((80 << 30))
is disks.0.written_bytes $((80 << 30))
is gap_count 0
[ $took -lt 60 ] || rig_fail "80 GiB from /dev/zero took $took s"

# Not a power of two, and blocks that do not divide it: rounded down, and told.
record 0 -s sim: -n 10G -o null: --ring 4097M --block 3Mi --live log
is ring.asked_bytes 4097000000
is ring.capacity_bytes $((4097000000 / (3 << 20) * (3 << 20)))
said 'asked for 4097000000 bytes, got [0-9]+'
is written_bytes 10000000000

# The content, too: twice round a ring of more than 4 GiB.
bytes=9000000001
"$BIN/vsib-record" -s sim: -n $bytes -o - --ring 4200Mi --live none 2>"$words" | "$TOOLS/tool_verify_sim" -n $bytes
status=("${PIPESTATUS[@]}")
ended 0 "${status[0]}" "vsib-record -n $bytes -o -"
[ "${status[1]}" -eq 0 ] || rig_fail "what came out of a ring of 4200 MiB is not the simulator's stream"

# And a file of more than 4 GiB; in memory, where it is quick.
rig_need root
[ "$(available)" -ge 6000 ] || rig_skip "80 GiB in $took s; the file of 4 GiB needs 6000 MiB of free memory, there are $(available)"
mkdir "$RIG/memory"
mount -t tmpfs -o size=4600m none "$RIG/memory" || rig_skip "80 GiB in $took s; cannot mount a tmpfs"
bytes=4400000001
record 0 -s sim: -n $bytes --name large -o "$RIG/memory" --ring 64Mi --live none
is written_bytes $bytes
"$TOOLS/tool_verify_sim" -n $bytes "$RIG/memory/large.raw" || rig_fail "large.raw is not the simulator's stream"
audit large "$RIG/memory"
echo "80 GiB in $took s"
