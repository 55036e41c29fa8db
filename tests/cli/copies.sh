#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# --copies 2 as a user sees it: whichever disk is gone, the stream is whole; damage in one copy costs nothing, in both
# it is told; either copy is a recording by its names alone; a recorder that is killed leaves on each disk all that
# its journal called safe there; what it costs stands in the report; what can't be is refused.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
# shellcheck source=tests/record.sh
. "${0%/*}/../record.sh"
# shellcheck source=tests/cut.sh
. "${0%/*}/../cut.sh"
cd "$RIG" || exit 1
bytes=30000001
"$BIN/vsib-record" -s sim: -n $bytes -o - >stream 2>"$words" || rig_fail "no stream to compare with"

# fresh DISK...: empty ones; sets disks=(a b ...)
fresh() {
	disks=("$@")
	rm -rf a b c
	mkdir "$@"
}

# two_copies OPTION...: on all of the disks
two_copies() {
	record 0 -s sim: -n $bytes --name e --ring 64Mi --block 256Ki --copies 2 $same "${disks[@]/#/--target=}" "$@"
	is outcome complete
	is copies 2
	is written_bytes $bytes
	is single_copy_bytes 0
	is physical_bytes $((2 * bytes))
	said "copies +two: $((2 * bytes)) bytes on the disks, 2.000 for each byte recorded$"
	audit e "${disks[@]}"
	[ "$(twice_bytes)" -eq $bytes ] || rig_fail "$(twice_bytes) of $bytes bytes are on two disks"
}

# check STATUS ARGUMENT...: of vsib-check
check() {
	local wanted=$1 status=0
	shift
	"$BIN/vsib-check" "$@" >"$output" 2>"$words" || status=$?
	ended "$wanted" $status vsib-check "$@"
}

# ---- each disk in turn is gone, and its journal with it; then all the journals

for shape in "a b:" "a b c:--chunk 2Mi" "a b c:--chunk 2Mi --stripe round" "a b:--layout raw --file-size 3M" \
	"a b c:--layout raw --file-size 3M --checksum none"; do
	# shellcheck disable=SC2086 # words
	fresh ${shape%%:*}
	# shellcheck disable=SC2086
	two_copies ${shape#*:}
	check 0 e "${disks[@]}"
	gathered stream e "${disks[@]}"
	for gone in "${disks[@]}"; do
		mv "$gone" away
		left=()
		for disk in "${disks[@]}"; do
			[ "$disk" = "$gone" ] || left+=("$disk")
		done
		gathered stream e "${left[@]}"
		said 'copies make up for all bytes of [0-9]+ missing files'
		check 1 "${left[0]}/e" --json "$report"
		said "missing: .*/$gone/e.* is not there; its bytes are all there in other files"
		is missing.0.bytes 0
		is gap_bytes 0
		mv away "$gone"
	done
	for disk in "${disks[@]}"; do
		rm "$(journal_of e "$disk")"
	done
	gathered stream e "${disks[@]}"
	gathered stream e-copy "${disks[@]}"
done

# ---- damage

fresh a b
two_copies
first=$(find a b -name e.00000002) second=$(find a b -name e-copy.00000002) told=0
cp "$first" good
for damaged in "$first" "$second"; do
	flip "$damaged" 1234567
	gathered stream e a b
	if grep -q "bad checksum: .*$damaged" "$words"; then # it is the one that was looked at first
		said 'is used instead'
		told=$((told + 1))
	fi
	check 1 e a b --json "$report"
	said "bad checksum: .*$damaged from file offset 0, .* differs from a good copy is at file offset 1234567"
	is bad.# 1
	truncate -s 100000 "$damaged"
	gathered stream e a b
	check 1 e a b
	said "missing: .*$damaged is 100000 bytes long"
	cp good "$damaged"
done
[ $told -eq 1 ] || rig_fail "gather told of $told wrong checksums of two"
flip "$first" 1234567
flip "$second" 7654
gather 2 e a b
said "bad checksum: .*$first"
said "bad checksum: .*$second"
[ "$(cmp -l stream gathered | wc -l)" -eq 1 ] || rig_fail "more than the damaged byte differs"
gather 2 --strict e a b
[ "$(stat -c %s gathered)" -eq $((bytes - $(stat -c %s "$first"))) ] || rig_fail "--strict has left out something else"
check 1 e a b --json "$report"
is bad.# 2
cp good "$second"
gathered stream e a b
rm good
check 1 "$second" # a piece stands for its recording
said "$second is a piece of .*e, which is checked"

# ---- an old recording goes whole, and no other one with it

fresh a b
two_copies
rm -r a/e b/e
record 73 -s sim: -n 1M --name e --copies 2 $same -o a -o b
said 'e-copy exists: recordings are never overwritten'
touch a/e-copy/notes.txt
record 73 -s sim: -n 1M --name e --copies 2 $same -o a -o b --force
said 'e-copy/notes.txt is in the way'
rm a/e-copy/notes.txt
two_copies --force
record 0 -s sim: -n 1M --name e --layout vbs $same -o a -o b --force
[ -z "$(find a b -name 'e-copy*')" ] || rig_fail "the old second copy is still there"
record 0 -s sim: -n 1M --name e-copy --layout vbs $same -o a
record 73 -s sim: -n 1M --name e --copies 2 $same -o a -o b --force
said 'a/e-copy is a recording of its own'
check 0 e a b
check 0 a/e-copy
fresh a b
two_copies --layout raw --file-size 3M
touch a/e-copy.000099.part
two_copies --layout raw --file-size 5M --force
[ "$(find a b -name 'e*' ! -name '*.jsonl' | wc -l)" -eq 14 ] || rig_fail "not two copies of seven files: $(find a b -name 'e*')"

# ---- refused

# refused SENTENCE OPTION...
refused() {
	local sentence=$1
	shift
	record 64 -s sim: -n 1M --ring 32Mi --copies 2 $same "$@"
	grep -qE -- "^vsib-record: .*$sentence" "$words" || { show_words; rig_fail "no sentence like '$sentence': $*"; }
	[ ! -s "$output" ] || rig_fail "words on the standard output: $*"
	empty a b
}

fresh a b
refused 'at least two directories' -o a
refused 'at least two directories' -o null:
refused 'at least two directories' -o -
refused 'file-size' -o a -o b --layout raw
refused '--file-size of at most' -o a -o b --layout raw --file-size 1G
refused 'not --stripe round' -o a -o b --layout raw --stripe round --file-size 1G
refused 'template' -o a -o b --layout raw --file-size 1M --template t%d
refused 'copies' -o a -o b --copies 3

# ---- killed, and then a disk is lost as well

has_segments() {
	[ "$(cat "$(journal_of k "$1")" 2>/dev/null | grep -c '"segment"')" -ge 4 ]
}

fresh a b
cut_seed
"$BIN/vsib-record" -s sim: -r 300 -d 60 --name k --copies 2 --ring 32Mi --block 256Ki $same -o a -o b >"$output" 2>"$words" &
recorder=$!
wait_for 20 has_segments a && wait_for 20 has_segments b || rig_fail "no segments in the journals after 20 s"
cut_random 0 500
cut_sleep_ms "$cut_number"
cut_kill_now $recorder
cut_recovered_without_each k a b
[ "$safe" -gt 1000000 ] || rig_fail "next to nothing was safe"
cut_recovered k a b
