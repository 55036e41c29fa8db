#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Configuration files: those that come with the recorder, what a key means, and who wins.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

conf=${0%/*}/../../conf
mkdir "$RIG/a" "$RIG/b" "$RIG/c"

write_conf() {
	printf '%s\n' "$@" >"$RIG/conf"
}

# ---- the profiles: the rate they are for, and the ring they promise; a smaller ring from the command line
for rate in 128 256 512; do
	record 0 --config "$conf/$rate.conf" -s sim: -o null: -d 200ms --ring 16Mi --live none
	is source.rate_bps ${rate}000000
	is stream_bytes $((rate * 25000))
	is ring.capacity_bytes $((16 << 20))
	promised=$(sed -n 's/^block = "\([0-9]*\)Mi"$/\1/p' "$conf/$rate.conf")
	is ring.block_bytes $((promised << 20))
done
if [ "$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)" -ge 2000 ]; then
	record 0 --config "$conf/128.conf" -s sim: -o null: -d 200ms --live none
	is ring.capacity_bytes $((256 << 20))
fi

# ---- the commented file: as it is, and every key in it with the value that stands there
record 0 --config "$conf/vsib-record.conf" -s sim: -o null: -n 1M --ring 1Mi --live none
is stream_bytes 1000000
keys=0
while read -r line; do
	case $line in
	exp\ * | station\ *) write_conf "$line" 'scan = "no1"' ;; # they name no scan
	*) write_conf "$line" ;;
	esac
	# what is right gets as far as the source
	record 64 --config "$RIG/conf" -s nonsense: -o null:
	said nonsense
	keys=$((keys + 1))
done < <(sed -n 's/^#\([a-z][a-z-]* = \)/\1/p' "$conf/vsib-record.conf")
[ $keys -gt 20 ] || rig_fail "only $keys keys found in vsib-record.conf"
# ... and every option is in it
"$BIN/vsib-record" --help | sed -n 's/^ .*--\([a-z][a-z-]*\)[= ].*/\1/p' | grep -vxE 'config|help|usage|version' | while read -r option; do
	grep -qE "^#$option = " "$conf/vsib-record.conf" || rig_fail "--$option is not in vsib-record.conf"
done || exit 1

# ---- what a file says, happens
write_conf '# a comment' 'source = "sim:,seed=3"' "target = { \"$RIG/a\", \"$RIG/b\" }" 'bytes = "3M"' 'name = "whole"' \
	'ring = "1Mi"' 'block = "16Ki"' 'chunk = "64Ki"' 'layout = "vbs"' 'stripe = "round"' 'allow-same-device = "yes"' \
	'live = "none"'
record 0 --config "$RIG/conf"
is stream_bytes 3000000
is name whole
is 'disks.#' 2
is ring.block_bytes 16384
is ring.chunk_bytes 65536
audit whole "$RIG/a" "$RIG/b"
gather 0 whole "$RIG/a" "$RIG/b"
"$TOOLS/tool_verify_sim" -s 3 -n 3000000 "$RIG/gathered" || rig_fail "not the stream of seed 3"
[ "$("$TOOLS/tool_json" -l -t start "$RIG/a/whole/whole.vsib.jsonl" stripe)" = round ] || rig_fail "the stripe of the file was not taken"

# ---- the command line wins, wherever it stands; its targets replace the file's
for order in before after; do
	line=(-n 1M --name $order --layout raw -o "$RIG/c")
	if [ $order = before ]; then
		record 0 "${line[@]}" --config "$RIG/conf"
	else
		record 0 --config "$RIG/conf" "${line[@]}"
	fi
	is stream_bytes 1000000
	is 'disks.#' 1
	"$TOOLS/tool_verify_sim" -s 3 -n 1000000 "$RIG/c/$order.raw" || rig_fail "$order.raw is not the stream of seed 3"
	empty_before=$(find "$RIG/a" "$RIG/b" -name "$order*")
	[ -z "$empty_before" ] || rig_fail "the file's targets were used, too: $empty_before"
done

# ---- one target without braces; mistakes name file and line
write_conf "target = \"$RIG/c\"" 'source = "sim:"'
record 0 --config "$RIG/conf" -n 1M --name single --ring 1Mi "$same" --live none
is 'disks.#' 1
write_conf 'source = "sim:"' '' 'ringg = "1Mi"'
record 78 --config "$RIG/conf" -o null:
said "$RIG/conf line 3: .*ringg"
write_conf 'source = "sim:"' 'ring = "4x"'
record 78 --config "$RIG/conf" -o null:
said "$RIG/conf.*ring.*4x"
echo "$keys keys"
