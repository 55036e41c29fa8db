#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# beside: yes
#
# The fuzz targets (tests/fuzz/) are true of their seeds, and of thousands of inputs made from these: they take arbitrary
# bytes without a crash, and what they promise holds. `make fuzz` looks further.
set -u
. "${0%/*}/../rig.sh"
fuzz=${0%/*}/../fuzz
: "${BIN:=$PWD/build/bin}" "${DATA:=}"

# Many small files: in memory where that can be.
memory=$(mktemp -d /dev/shm/vsib-rig.XXXXXX 2>/dev/null) || memory=$RIG
remove_memory() {
	rm -rf "$memory"
}
rig_at_exit+=(remove_memory)

names=()
for source in "$fuzz"/fuzz_*.c; do
	name=${source##*/}
	names+=("${name%.c}")
done
BIN=$BIN DATA=$DATA bash "$fuzz/seeds.sh" "$RIG/seeds" "${names[@]}" || rig_fail "no seeds could be made"
for name in "${names[@]}"; do
	case $name in
	fuzz_recover) count=150 ;; # files, and their syncs
	fuzz_journals | fuzz_names | fuzz_scan) count=500 ;;
	*) count=1500 ;;
	esac
	TMPDIR=$memory "$TOOLS/$name" -n $count -k "$memory/input" "$RIG/seeds/$name" || {
		status=$?
		kept=$PWD/build/fuzz/found/$name-replay
		mkdir -p "${kept%/*}"
		cp "$memory/input" "$kept"
		rig_fail "status $status; again: $TOOLS/$name $kept"
	}
done
