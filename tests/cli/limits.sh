#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Where a recording ends: a number of bytes, a time, the end of the source. To the byte, wherever that lies in a
# block, a chunk, a file.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

mkdir "$RIG/one" "$RIG/a" "$RIG/b" "$RIG/c"
small=(--ring 256Ki --block 4Ki "$same" --live none)
three=("$RIG/a" "$RIG/b" "$RIG/c")
to_three=(-o "${three[0]}" -o "${three[1]}" -o "${three[2]}")
block=4096
number=0

clear_targets() {
	rm -rf "$RIG/one"/* "$RIG"/[abc]/*
}

# whole_sim BYTES OPTION...: to one disk, to files that roll, and to three disks in both layouts
whole_sim() {
	local bytes=$1
	shift
	name=limit_$((number += 1))
	record 0 --name $name -o "$RIG/one" "${small[@]}" "$@"
	is stream_bytes "$bytes"
	[ "$(stat -c %s "$RIG/one/$name.raw")" -eq "$bytes" ] || rig_fail "$name.raw has $(stat -c %s "$RIG/one/$name.raw") bytes, not $bytes"
	"$TOOLS/tool_verify_sim" -n "$bytes" "$RIG/one/$name.raw" || rig_fail "$name.raw is not the simulator's stream"
	audit $name "$RIG/one"

	record 0 --name ${name}r --file-size 10000 -o "$RIG/one" "${small[@]}" "$@"
	is stream_bytes "$bytes"
	is disks.0.files $(((bytes + 9999) / 10000))
	cat "$RIG/one/${name}r".?????? | "$TOOLS/tool_verify_sim" -n "$bytes" || rig_fail "the files of ${name}r are not the stream"
	audit ${name}r "$RIG/one"

	record 0 --name ${name}v --chunk 8Ki "${to_three[@]}" "${small[@]}" "$@"
	is stream_bytes "$bytes"
	audit ${name}v "${three[@]}"
	gathered_sim "$bytes" ${name}v "${three[@]}"

	record 0 --name ${name}f --layout raw --file-size 20000 "${to_three[@]}" "${small[@]}" "$@"
	is stream_bytes "$bytes"
	audit ${name}f "${three[@]}"
	gathered_sim "$bytes" ${name}f "${three[@]}"
	[ -z "$(find "$RIG/one" "${three[@]}" -name '*.part')" ] || rig_fail "a .part is left after an orderly end"
	clear_targets
}

# -n, in every position relative to a block and a chunk
for bytes in 1 $((block - 1)) $block $((block + 1)) $((24 * block - 1)) $((24 * block)) $((24 * block + 1)) 123457; do
	whole_sim "$bytes" -s sim: -n "$bytes"
	is outcome complete
done

# the source ends: in a block, on a block
for bytes in $((9 * block + 17)) $((6 * block)); do
	whole_sim "$bytes" -s "sim:bytes=$bytes"
done

# -d of a source that is paced: its bytes, exactly; of another one: the time
record 0 -s sim:rate=64 -d 1 --name timed -o "$RIG/one" --ring 16Mi "$same" --live none
is stream_bytes 8000000
is_more duration_s 0.99
"$TOOLS/tool_verify_sim" -n 8000000 "$RIG/one/timed.raw" || rig_fail "timed.raw is not the simulator's stream"
record 0 -s dev:/dev/zero -d 500ms -o null: --ring 1Mi --live none
is_more duration_s 0.499
is_less duration_s 5
is_more stream_bytes 0
# both limits: the first one counts
record 0 -s sim:rate=64 -d 10 -n 1000000 -o null: --ring 1Mi --live none
is stream_bytes 1000000
is_less duration_s 5
record 0 -s sim:rate=8 -d 200ms -n 100M -o null: --ring 1Mi --live none
is stream_bytes 200000

# more is asked for than there is: all that there is, and the status says so
for given in "sim:bytes=100000" "sim:rate=64,bytes=100000"; do
	record 2 -s "$given" -n 100001 --name short -o "$RIG/one" --ring 1Mi "$same" --live none
	is outcome stopped
	is exit_status 2
	is written_bytes 100000
	"$TOOLS/tool_verify_sim" -n 100000 "$RIG/one/short.raw" || rig_fail "short.raw is not the simulator's stream"
	audit short "$RIG/one"
	clear_targets
done
record 2 -s sim:rate=64,bytes=100000 -d 10 -o null: --ring 1Mi --live none

# nothing comes: no input
: >"$RIG/nothing"
for given in sim:bytes=0 "file:$RIG/nothing" - dev:/dev/null; do
	record 66 -s "$given" --name nothing -o "$RIG/one" "${small[@]}" <"$RIG/nothing"
	is stream_bytes 0
	clear_targets
done

# 32 bits are not enough for what goes through: counters, gaps, positions
record 0 -s dev:/dev/zero -n 9Gi -o null: --ring 16Mi --live none
is stream_bytes $((9 << 30))
is disks.0.written_bytes $((9 << 30))
record 1 -s sim:gap=3G@5G,gap=5G@10G,pattern=const -n 15000000001 -o null: --ring 16Mi --live none
is source.lost_bytes 8000000000
is written_bytes 7000000001
is gaps.0.stream_offset 5000000000
is gaps.0.bytes 3000000000
is gaps.1.stream_offset 10000000000
echo "$number lengths, each in four layouts"
