#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What cannot work is refused before the first byte: with the right status, a sentence that says what is wrong, and
# without a trace in any target.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
rig_need loop

rig_disk a 48
rig_disk b 48
rig_disk full 16
rig_disk locked 16
targets=("$RIG/a" "$RIG/b" "$RIG/full" "$RIG/locked")
small=(--ring 256Ki --block 4Ki --live none)
refusals=0

# Everything that lies in the targets, with size and time.
inventory() {
	find "${targets[@]}" -mindepth 1 ! -name lost+found -printf '%p %s %T@ %m\n' | sort
}

# refused STATUS SENTENCE OPTION...: one sentence of the program, nothing on stdout, no report, nothing made or changed
refused() {
	local wanted=$1 sentence=$2
	shift 2
	inventory >"$RIG/before"
	record "$wanted" "$@"
	inventory | diff "$RIG/before" - || { show_words; rig_fail "refused, but the targets are not as before: vsib-record $*"; }
	grep -qE -- "^vsib-record: .*$sentence" "$words" || { show_words; rig_fail "no sentence like '$sentence' from: vsib-record $*"; }
	[ ! -s "$output" ] || rig_fail "words on the standard output: vsib-record $*"
	[ -z "$(find "$RIG" -maxdepth 1 -name 'report.json*')" ] || rig_fail "a report of a refused recording: vsib-record $*"
	refusals=$((refusals + 1))
}

good=(-s sim: -n 1M)
to_a=(-o "$RIG/a" "${small[@]}")

# ---- sources
refused 64 'nonsense' -s nonsense: "${to_a[@]}"
refused 64 'colour' -s sim:colour=red "${to_a[@]}"
refused 64 'rate=' -s sim:rate=fast "${to_a[@]}"
refused 64 '' -s '' "${to_a[@]}"
refused 66 'No such file' -s dev:/dev/vsib-is-not-here "${to_a[@]}"
refused 66 'No such file' -s "file:$RIG/no-such-file" "${to_a[@]}"
refused 66 'is a directory' -s "file:$RIG" "${to_a[@]}"
refused 64 'is a regular file; use file:' -s "dev:$words" "${to_a[@]}"
refused 64 'no source' "${to_a[@]}"

# ---- targets
refused 64 'no target' "${good[@]}"
refused 73 'No such file' "${good[@]}" -o "$RIG/is-not-here" "${small[@]}"
refused 73 'No such file' "${good[@]}" "${to_a[@]}" -o "$RIG/b/is-not-here"
refused 73 'is not a directory' "${good[@]}" -o "$words" "${small[@]}"
refused 73 'path is empty' "${good[@]}" -o '' "${small[@]}"
refused 73 'is a block device.*mount it' "${good[@]}" -o "${rig_device[b]}" "${small[@]}"
refused 73 'same directory' "${good[@]}" "${to_a[@]}" -o "$RIG/a"
refused 73 'same directory' "${good[@]}" "${to_a[@]}" -o "$RIG/b/../a/." "$same"
mkdir "$RIG/b/1" "$RIG/b/2"
refused 73 'same device.*--allow-same-device' "${good[@]}" -o "$RIG/b/1" -o "$RIG/b/2" "${small[@]}"
refused 64 'null:' "${good[@]}" "${to_a[@]}" -o null:
refused 64 'only target' "${good[@]}" "${to_a[@]}" -o -
refused 64 'both want stdout' "${good[@]}" -o - --json -
rmdir "$RIG/b/1" "$RIG/b/2"

# A directory of the root file system is where a disk is not mounted.
if [ "$(stat -c %d /)" = "$(stat -c %d "$RIG")" ]; then
	mkdir "$RIG/not-mounted"
	targets+=("$RIG/not-mounted")
	refused 73 'lies on the root file system.*--allow-same-device' "${good[@]}" -o "$RIG/not-mounted" "${small[@]}"
	refused 73 'lies on the root file system' "${good[@]}" "${to_a[@]}" -o "$RIG/not-mounted"
fi

mount -o remount,ro "$RIG/locked" || rig_fail "cannot remount"
refused 73 'Read-only file system' "${good[@]}" -o "$RIG/locked" "${small[@]}"
refused 73 'Read-only file system' "${good[@]}" "${to_a[@]}" -o "$RIG/locked"

# Nothing left at all: not even the journal has room. On the disk that has room nothing may stay either.
dd if=/dev/zero of="$RIG/full/fill" bs=64k 2>/dev/null
while printf x 2>/dev/null >>"$RIG/full/fill2" && [ "$(stat -f -c %f "$RIG/full")" -gt 0 ]; do
	dd if=/dev/zero of="$RIG/full/fill2" bs=1k oflag=append conv=notrunc 2>/dev/null
done
refused 73 'No space left' "${good[@]}" -o "$RIG/full" "${small[@]}"
refused 73 'No space left' "${good[@]}" "${to_a[@]}" -o "$RIG/full"
refused 73 'No space left' "${good[@]}" --layout raw --file-size 64Ki "${to_a[@]}" -o "$RIG/full"

# ---- the right to do it
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
if nobody test -x "$BIN/vsib-record" 2>/dev/null; then
	install -m 600 /dev/null "$RIG/secret"
	chmod 755 "$RIG"
	run=$BIN/vsib-record
	for case in "-s sim: -o $RIG/a" "-s file:$RIG/secret -o $RIG/a" "-s sim: -o $RIG/b -o $RIG/a"; do
		status=0
		# shellcheck disable=SC2086 # words
		nobody "$run" $case -n 1M "${small[@]}" >"$output" 2>"$words" || status=$?
		ended 77 $status "as nobody: vsib-record $case"
		said 'Permission denied'
		empty "$RIG/a" "$RIG/b"
	done
fi

# ---- names
for name in with.dot a/b '' "$(printf 'tab\tname')" "$(printf '%0200d' 0)"; do
	refused 64 "can't be used" "${good[@]}" "${to_a[@]}" --name "$name"
done
for template in '%s' '%d%d' 'x%5d' 'a/%d' '' 'end%'; do
	refused 64 'template' "${good[@]}" "${to_a[@]}" --file-size 64Ki --template "$template"
done
refused 64 'need a number' "${good[@]}" "${to_a[@]}" --file-size 64Ki --template plain

# ---- what exists is never touched
record 0 "${good[@]}" "${to_a[@]}" --name first
record 0 "${good[@]}" --chunk 16Ki "${to_a[@]}" -o "$RIG/b" --name second
cat "$RIG/a/first.raw" >"$RIG/copy"
for name in first second; do
	refused 73 "$name.*exists.*--force" "${good[@]}" "${to_a[@]}" --name $name
	refused 73 "$name.*exists" "${good[@]}" "${to_a[@]}" -o "$RIG/b" --name $name
	refused 73 "$name.*exists" "${good[@]}" --layout raw --file-size 64Ki "${to_a[@]}" -o "$RIG/b" --name $name
	refused 73 "$name.*exists" "${good[@]}" --journal no "${to_a[@]}" --name $name
done
cmp "$RIG/copy" "$RIG/a/first.raw" || rig_fail "first.raw was changed by a refused recording"
# what only a crash leaves counts as well
mv "$RIG/a/first.raw" "$RIG/a/third.raw.part"
refused 73 'third.*exists' "${good[@]}" "${to_a[@]}" --name third
rm -rf "$RIG"/a/* "$RIG"/b/*

# ---- figures
for size in -1 1e9 '' 0 16EiB 99999999999999999999 4x 1.5 ' 1' '1 ' +1 k 1kk 1,5k 9223372036854775808 nan; do
	refused 64 '--bytes' -s sim: "${to_a[@]}" "--bytes=$size"
done
for option in --ring --block --chunk --file-size; do
	for size in -1 '' 0 16EiB 4x; do
		refused 64 "$option" -s sim: "${to_a[@]}" "$option=$size"
	done
done
for rate in -1 1e9 '' 0 99999999999999999999 99999999T 4x ' 1' +1 0.0000000001 512Mbit 1,5; do
	refused 64 '--rate' "${good[@]}" "${to_a[@]}" "--rate=$rate"
done
for time in -1 1e9 '' 0 99999999999999999999 4x ' 1' +1 1m1h 1.5h30m 300000000000h s; do
	refused 64 '--duration' -s sim: "${to_a[@]}" "--duration=$time"
done
for bad in --stripe=both --layout=zip --io=fast --on-overflow=cry --checksum=md5 --journal=maybe --lock=2 --huge-pages=all \
	--numa-node=-1 --numa-node=4096 --live=loud --start=tomorrow --start=2026-13-01T00:00:00Z --log-interval=0 --silence=x; do
	refused 64 "${bad%%=*}" "${good[@]}" "${to_a[@]}" "$bad"
done
# what is right is taken: K is k, 1000
record 0 -s sim: -n 1K -o null: --ring 1MiB --live none
is stream_bytes 1000
record 0 -s sim: -n 1.5k -o null: --ring 1MiB --live none
is stream_bytes 1500
record 0 -s sim: -n 1Ki -o null: --ring 1MiB --live none
is stream_bytes 1024

# ---- figures that don't go together
refused 64 'ring of .* bytes holds' "${good[@]}" -o "$RIG/a" --ring 64Ki --block 64Ki
refused 64 'block of 1000 bytes' "${good[@]}" -o "$RIG/a" --ring 64Ki --block 1000
refused 64 'chunk' "${good[@]}" -o "$RIG/a" -o "$RIG/b" --ring 256Ki --block 4Ki --chunk 128Ki
refused 64 'no whole block' "${good[@]}" -o "$RIG/a" -o "$RIG/b" --ring 256Ki --block 16Ki --chunk 4Ki
refused 64 '--file-size' "${good[@]}" "${to_a[@]}" -o "$RIG/b" --layout raw
refused 64 '--file-size is for layout raw' "${good[@]}" "${to_a[@]}" --layout vbs --file-size 64Ki

# ---- options and configuration
for bad in --no-such-option -Z stray; do
	status=0
	"$BIN/vsib-record" "${good[@]}" "${to_a[@]}" $bad >"$output" 2>"$words" || status=$?
	ended 64 $status vsib-record $bad
	said '^(vsib-record|.*/vsib-record):'
	empty "$RIG/a"
done
configuration() {
	printf '%s\n' "$1" >"$RIG/conf"
}
for bad in 'rigng = "1Gi"' 'ring = "4x"' 'ring = "1Gi' 'target = "/a", "/b"' 'ring { }' 'layout = "zip"'; do
	configuration "$bad"
	refused 78 "$RIG/conf" "${good[@]}" "${to_a[@]}" --config "$RIG/conf"
done
refused 66 'is-not-here' "${good[@]}" "${to_a[@]}" --config "$RIG/is-not-here"

# ---- memory
free_mib=$(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo)
refused 78 "a ring of $((free_mib / 4 * 8)) MiB doesn.t fit: available memory leaves [0-9]+ MiB.*largest ring here is [0-9]+ MiB" \
	"${good[@]}" -o "$RIG/a" --ring $((free_mib / 4 * 8))Mi --block 4Mi --huge-pages no --live none
refused 78 'MiB' "${good[@]}" -o "$RIG/a" --ring 4Ei --block 1Gi --huge-pages no --live none
if [ "$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages)" = 0 ]; then
	refused 78 'huge' "${good[@]}" -o "$RIG/a" --ring 64Mi --huge-pages require --live none
fi

# a memory cgroup that is smaller than the machine; the test itself stays outside
group=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/self/mounts)
if [ -n "$group" ] && mkdir "$group/vsib-test.$$" 2>/dev/null; then
	group=$group/vsib-test.$$
	rig_at_exit+=("rmdir '$group'")
	in_group() {
		bash -c 'echo $BASHPID >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
	}
	echo $((300 << 20)) >"$group/memory.limit_in_bytes"
	status=0
	in_group "$BIN/vsib-record" "${good[@]}" -o "$RIG/a" --ring 1Gi --huge-pages no --live none >"$output" 2>"$words" || status=$?
	ended 78 $status "vsib-record in a memory cgroup of 300 MiB, --ring 1Gi"
	said "a ring of 1024 MiB doesn't fit: the memory cgroup's limit leaves [12][0-9]{2} MiB"
	empty "$RIG/a"
	status=0
	in_group "$BIN/vsib-record" "${good[@]}" -o null: --ring 100Mi --huge-pages no --live none >"$output" 2>"$words" || status=$?
	ended 0 $status "vsib-record in a memory cgroup of 300 MiB, --ring 100Mi"
	status=0
	in_group "$BIN/vsib-qualify" -r 64 --ring 1Gi "$same" "$RIG/a" >"$output" 2>"$words" || status=$?
	ended 78 $status "vsib-qualify in a memory cgroup of 300 MiB, --ring 1Gi"
	said "a ring of 1024 MiB doesn't fit: the memory cgroup's limit leaves [12][0-9]{2} MiB"
fi

# ---- the report
status=0
"$BIN/vsib-record" "${good[@]}" "${to_a[@]}" --json "$RIG/is-not-here/report" >"$output" 2>"$words" || status=$?
ended 73 $status "--json in a directory that is not there"
said "can't write the report to $RIG/is-not-here/report: No such file"
empty "$RIG/a" "$RIG/b"
echo "$refusals refusals"
