#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Too few file descriptors for the targets: refused with the numbers before anything is made. With as many as it says
# it records, with files that are opened and closed all the time; and a low soft limit alone is raised.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

targets=() to=()
for number in 1 2 3 4 5; do
	mkdir "$RIG/d$number"
	targets+=("$RIG/d$number")
	to+=(-o "$RIG/d$number")
done
asked=($same -s sim: -n 3000001 --name few --ring 8Mi --block 64Ki --chunk 128Ki --live none "${to[@]}")

# limited OPTION LIMIT WANTED ARGUMENT...
limited() {
	local option=$1 limit=$2
	shift 2
	(ulimit "$option" "$limit" && record "$@") || exit 1
}

whole() {
	audit few "${targets[@]}"
	gathered_sim 3000001 few "${targets[@]}"
	rm -r "${targets[@]/%//few}"
}

limited -n 40 78 "${asked[@]}"
said '5 targets need [0-9]+ file descriptors, and [0-9]+ are open already; the limit is 40: raise it to [0-9]+'
empty "${targets[@]}"
enough=$(sed -n 's/.*raise it to \([0-9]*\).*/\1/p' "$words")
limited -n $((enough - 1)) 78 "${asked[@]}"
for engine in auto pwrite; do
	limited -n "$enough" 0 "${asked[@]}" --engine $engine
	whole
done
limited -Sn 20 0 "${asked[@]}"
whole
