#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 1800
#
# Power cuts at random moments: recorders that are killed, and disks that are snapshotted in the middle of it. Each
# time vsib-check --recover must make a recording of what is left, with every byte that a journal called safe; in two
# copies also when either of the disks doesn't come back.
# SEED=N repeats a run; KILLS and CUTS say how many; SHAPES='*copies*' takes only those that match.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
# shellcheck source=tests/record.sh
. "${0%/*}/../record.sh"
# shellcheck source=tests/cut.sh
. "${0%/*}/../cut.sh"
kills=${KILLS:-30} cuts=${CUTS:-40}
cuts_of_one=5
rig_need space:3500
cut_seed

shapes=(
	"1"
	"1 --file-size 4Mi"
	"2 --layout vbs"
	"1 --file-size 64Mi"
	"2 --layout raw --file-size 4Mi"
	"2 --layout raw --file-size 8Mi --stripe round"
	"1 --io buffered"
	"2 --layout raw --file-size 64Mi"
	"2 --layout vbs --chunk 4Mi --io buffered"
	"2 --copies 2"
	"2 --copies 2 --layout raw --file-size 4Mi"
	"2 --copies 2 --stripe round --chunk 2Mi"
)
for i in "${!shapes[@]}"; do
	# shellcheck disable=SC2053 # a pattern
	[[ ${shapes[i]} == ${SHAPES:-*} ]] || unset "shapes[i]"
done
shapes=("${shapes[@]}")

# shape NUMBER: sets targets=() from $disks and options=()
shape() {
	local parts i
	read -ra parts <<<"${shapes[$1 % ${#shapes[@]}]}"
	targets=() outputs=()
	for ((i = 0; i < parts[0]; i++)); do
		targets+=("${disks[i]}")
		outputs+=(-o "${disks[i]}")
	done
	options=("${parts[@]:1}")
}

has_copies() {
	[[ " ${options[*]}" == *" --copies 2"* ]]
}

# snapshot_without DISK FILE
snapshot_without() {
	cp --reflink=always "$2" "$RIG/vault/try" || rig_fail "no copy of the snapshot"
	cut_attach "$RIG/vault/try"
	umount "$1" || rig_fail "$1 is in use"
	cut_recovered_without "$1" k "${targets[@]}"
	mount "${rig_device[${1##*/}]}" "$1" || rig_fail "$1 can't be mounted again"
	cut_detach
	rm "$RIG/vault/try"
}

for ((n = 0; n < kills; n++)); do
	disks=("$RIG/k1" "$RIG/k2")
	rm -rf "${disks[@]}"
	mkdir "${disks[@]}"
	shape $n
	cut_random 50 400
	echo "kill $n: $cut_number Mbit/s, ${#targets[@]} targets ${options[*]}"
	cut_kill -s sim: -r "$cut_number" -d 60 --name k --ring 64Mi $same "${outputs[@]}" "${options[@]}"
	! has_copies || cut_recovered_without_each k "${targets[@]}"
	cut_recovered k "${targets[@]}"
done
rm -rf "$RIG/k1" "$RIG/k2"

cut_disks 2 300
disks=("${cut_targets[@]}")
for ((n = 0; n * cuts_of_one < cuts; n++)); do
	shape $n
	cut_random 50 $((${#targets[@]} * 160))
	# every other time one of two disks is slow: what is safe has holes
	slow=
	[ ${#targets[@]} -lt 2 ] || ! [ -w "$rig_throttle_file" ] || [ $((RANDOM % 2)) -eq 0 ] || slow=disk$((RANDOM % 2 + 1))
	[ -z "$slow" ] || rig_throttle $slow 2000000
	echo "disk $n: $cut_number Mbit/s, ${#targets[@]} targets ${options[*]}${slow:+, $slow is slow}"
	"$BIN/vsib-record" -s sim: -r "$cut_number" -d 60 --name k --ring 64Mi $same "${outputs[@]}" "${options[@]}" \
		>"$output" 2>"$words" &
	recorder=$!
	for ((i = 0; i < cuts_of_one; i++)); do
		cut_random 300 3500
		cut_sleep_ms "$cut_number"
		cut_snapshot "$RIG/vault/snap$i"
	done
	[ -z "$slow" ] || rig_release $slow
	kill -0 $recorder 2>/dev/null || { show_words; rig_fail "the recorder has ended by itself"; }
	cut_kill_now $recorder
	cut_detach
	for ((i = 0; i < cuts_of_one; i++)); do
		! has_copies || for lost in "${targets[@]}"; do
			snapshot_without "$lost" "$RIG/vault/snap$i"
		done
		cut_attach "$RIG/vault/snap$i"
		cut_recovered k "${targets[@]}"
		cut_detach
		rm "$RIG/vault/snap$i"
	done
	cut_format
done
