#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs fuzz targets that are linked with libFuzzer, as many at a time as there are CPUs, and says what came of it:
#
#   tests/fuzz/run.sh SECONDS fuzz_NAME...     FUZZERS: the folder of the programs; BIN, DATA: as for seeds.sh
#
# What they find out stays in build/fuzz/: corpus/ (the next run goes on from there), found/ (inputs that ended a
# target, were slow or leaked), log/. Status 1 when there was one.
set -u
export LC_ALL=C
seconds=$1
shift
out=build/fuzz
input_seconds=10 # a parser that takes longer hangs
failed=0
declare -A name_of=()

case $seconds in
'' | *[!0-9]*) echo "run.sh: SECONDS is a whole number, not '$seconds'" >&2; exit 64 ;;
esac
mkdir -p $out/corpus $out/found $out/log
# Files of the targets' own lie in memory where that can be; a target that crashes leaves them.
memory=/dev/shm
[ -w $memory ] || memory=${TMPDIR:-/tmp}
work=$(mktemp -d "$memory/vsib-fuzz.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2317 # by a signal
stop() {
	trap '' INT TERM HUP
	kill -TERM "${!name_of[@]}" 2>/dev/null
	wait
	exit 130
}
trap stop INT TERM HUP

# Words of the seeds that libFuzzer puts in: keys, units, names.
make_words() {
	grep -aohE '[A-Za-z_%@.]{2,24}' -r "$work/seeds/$1" | sort -u | head -n 400 | sed 's/.*/"&"/' >"$work/$1.words"
}

start() {
	local name=$1
	mkdir -p "$out/corpus/$name" "$work/$name"
	make_words "$name"
	TMPDIR=$work/$name "$FUZZERS/$name" -max_total_time="$seconds" -timeout=$input_seconds -rss_limit_mb=1024 \
		-dict="$work/$name.words" -print_final_stats=1 -artifact_prefix="$out/found/$name-" "$out/corpus/$name" "$work/seeds/$name" \
		>"$out/log/$name.log" 2>&1 &
	name_of[$!]=$name
}

# say NAME STATUS: its line
say() {
	local log=$out/log/$1.log count coverage found
	count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
	found=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
	if [ "$2" -eq 0 ]; then
		printf '  %-18s %10s executions, coverage %5s  ok\n' "$1" "${count:-0}" "${coverage:-0}"
		return
	fi
	failed=1
	printf '  %-18s %10s executions, coverage %5s  FOUND %s\n' "$1" "${count:-?}" "${coverage:-?}" "${found:-nothing, but status $2}"
	grep -m 3 -E '^SUMMARY|ERROR:|runtime error|not true' "$log" | sed 's/^/      /'
	[ -z "$found" ] || echo "      again: $FUZZERS/$1 $found"
	echo "      more: $log"
}

# take_ended MOST: waits until no more than so many are running
take_ended() {
	local pid status
	while [ ${#name_of[@]} -gt "$1" ]; do
		status=0
		wait -n -p pid "${!name_of[@]}" || status=$?
		say "${name_of[$pid]}" $status
		unset "name_of[$pid]"
	done
}

bash "${0%/*}/seeds.sh" $work/seeds "$@" || { echo "run.sh: no seeds" >&2; exit 1; }
echo "==== $# targets, $seconds s each"
for name; do
	take_ended $(($(nproc) - 1))
	start "$name"
done
take_ended 0
exit $failed
