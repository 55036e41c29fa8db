#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs one group of tests and prints one line for each: programs as many at a time as there are processors, and scripts
# that say that they mostly wait beside them; then the other scripts, which mount, throttle and record against the clock,
# one after the other.
#
#   [SAN=thread|address,undefined] [DATA=DIR] [TIMEOUT=300] [TALLY=FILE] tests/run.sh SOURCE...
#   tests/run.sh --total FILE       the sum over the groups that were run with TALLY=FILE
#
# SOURCE is tests/NAME.c (its program is build/tests/NAME) or a script. Programs and scripts get BIN, TOOLS
# and DATA in the environment, an empty standard input, and a time limit. They end with 0 (passed),
# 77 (skipped, the reason on the last line) or anything else (failed). A source given twice is run once. In the
# first 25 lines of a source:
#   timeout: N     N seconds instead of 300
#   san: skip      not run under sanitizers (too heavy, or it measures time)
#   alone: yes     a program that is not to run beside others
#   beside: yes    a script that may
# The whole output of each test is kept under build/log/ (build/san-*/log/).
set -u
export LC_ALL=C

default_timeout=${TIMEOUT:-300}
shown_lines=200
passed=0 failed=0 skipped=0 child=
jobs=()

total() {
	local p=0 f=0 s=0 a b c
	while read -r a b c; do
		p=$((p + a)) f=$((f + b)) s=$((s + c))
	done <"$1"
	echo "$p passed, $f failed, $s skipped"
	[ "$f" -eq 0 ] && [ "$p" -gt 0 ]
}

if [ "${1-}" = --total ]; then
	total "$2"
	exit
fi
if [ $# -eq 0 ]; then
	echo "run.sh: no tests are given" >&2
	exit 64
fi

case ${SAN:=} in
'') build=build group='normal build' ;;
*) build=build/san-${SAN%%,*} group="-fsanitize=$SAN" ;;
esac
logs=$build/log
mkdir -p "$logs"
export BIN=$PWD/$build/bin TOOLS=$PWD/$build/tests DATA=${DATA-}

# log_name SOURCE: of this source alone, whatever others are called in their folders
log_name() {
	local name=${1#tests/}
	name=${name%.*}
	echo "${name//\//-}"
}

# A sanitizer's report goes to a file of its own: a test that expects a program to fail, or reads what it
# prints, would hide it. 86: a status that no program of ours ends with.
sanitizer_environment() {
	local common="exitcode=86:log_path='$PWD/$1'"
	export TSAN_OPTIONS="$common:second_deadlock_stack=1"
	export ASAN_OPTIONS="$common:detect_leaks=1:detect_stack_use_after_return=1"
	export LSAN_OPTIONS="exitcode=86"
	export UBSAN_OPTIONS="$common:print_stacktrace=1"
}

# head_says KEY FILE: the value behind `KEY:` in the head of the file, or nothing
head_says() {
	sed -n "1,25s/^[[:space:]#/*]*$1:[[:space:]]*\([a-z0-9]*\).*/\1/p" "$2" | head -n 1
}

# cmocka skips inside a program that passes: say so on its line.
skipped_inside() {
	sed -n 's/^\[  SKIPPED \] \([0-9][0-9]*\) test(s), listed below:.*/ (\1 of its tests skipped)/p' "$1" | head -n 1
}

stop() {
	trap '' INT TERM HUP
	[ -z "$child$*" ] || { kill -TERM $child "$@" && wait $child "$@"; } 2>/dev/null
	exit 130
}

# run_limited SECONDS LOG COMMAND...: its status; 124 or 137 when the time was over
run_limited() {
	local limit=$1 log=$2
	shift 2
	timeout -k 30 "$limit" "$@" </dev/null >"$log" 2>&1 &
	child=$!
	wait "$child"
	local status=$?
	child=
	return $status
}

line() {
	printf '  %-5s %-36s %s\n' "$1" "$2" "$3"
}

fail() {
	line FAIL "$1" "$2"
	tail -n $shown_lines "$3" | sed 's/^/        | /'
	failed=$((failed + 1))
}

run_one() {
	local source=$1 name=${1#tests/} limit log sanitizer status start tenths seconds reports command
	name=${name%.*}
	log=$logs/$(log_name "$source").log
	sanitizer=${log%.log}.sanitizer
	if [ ! -f "$source" ]; then
		: >"$log"
		fail "$name" "there is no $source" "$log"
		return
	fi
	if [ -n "$SAN" ] && [ "$(head_says san "$source")" = skip ]; then
		line skip "$name" "asks not to be run under sanitizers"
		skipped=$((skipped + 1))
		return
	fi
	limit=$(head_says timeout "$source")
	limit=${limit:-$default_timeout}
	[ -z "$SAN" ] || limit=$((limit * 2))
	case $source in
	*.sh) command=(bash "$source") ;;
	*) command=("$TOOLS/${source##*/}") command[0]=${command[0]%.c} ;;
	esac
	rm -f "$sanitizer".*
	sanitizer_environment "$sanitizer"
	start=${EPOCHREALTIME/./}
	run_limited "$limit" "$log" "${command[@]}"
	status=$?
	tenths=$(((${EPOCHREALTIME/./} - start) / 100000))
	seconds=$((tenths / 10)).$((tenths % 10))
	reports=$(cat "$sanitizer".* 2>/dev/null | head -n $shown_lines)
	[ -z "$reports" ] || printf '%s\n' "$reports" >>"$log"

	if [ -n "$reports" ]; then
		fail "$name" "the sanitizer reports (status $status, $seconds s)" "$log"
	elif [ $status -eq 0 ]; then
		line ok "$name" "$seconds s$(skipped_inside "$log")"
		passed=$((passed + 1))
	elif [ $status -eq 77 ]; then
		line skip "$name" "$(tail -n 1 "$log")"
		skipped=$((skipped + 1))
	elif [ $status -eq 124 ] || { [ $status -eq 137 ] && [ $tenths -ge $((limit * 10)) ]; }; then
		fail "$name" "not finished after $limit s" "$log"
	elif [ $status -gt 128 ] && kill -l $status >/dev/null 2>&1; then
		fail "$name" "ended by SIG$(kill -l $status), $seconds s" "$log"
	else
		fail "$name" "status $status, $seconds s" "$log"
	fi
}

# run_beside SOURCE: in the background; what it prints and counts is taken by take_ended
run_beside() {
	local files
	files=$logs/$(log_name "$1")
	rm -f "$files.line" "$files.count" # of one that was stopped
	(
		trap stop INT TERM HUP
		passed=0 failed=0 skipped=0
		run_one "$1" >"$files.line"
		echo "$passed $failed $skipped" >"$files.count"
	) &
	jobs+=("$!:$1")
}

# take_ended MOST: waits until no more than so many are running
take_ended() {
	local job still p f s
	while [ ${#jobs[@]} -gt "$1" ]; do
		wait -n "${jobs[@]%%:*}" || :
		still=()
		for job in "${jobs[@]}"; do
			if kill -0 "${job%%:*}" 2>/dev/null; then
				still+=("$job")
				continue
			fi
			job=$logs/$(log_name "${job#*:}")
			cat "$job.line"
			read -r p f s <"$job.count" || { p=0 f=1 s=0; }
			passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
			rm -f "$job.line" "$job.count"
		done
		jobs=("${still[@]}")
	done
}

# kind_of SOURCE: program, script (both to run beside others), or alone
kind_of() {
	case $1 in
	*.c) [ "$(head_says alone "$1")" = yes ] && echo alone || echo program ;;
	*) [ -f "$1" ] && [ "$(head_says beside "$1")" = yes ] && echo script || echo alone ;;
	esac
}

# scripts_running: how many of the jobs are scripts
scripts_running() {
	printf '%s\n' "${jobs[@]}" | grep -c '\.sh$'
}

stop_all() {
	echo "stopped"
	stop "${jobs[@]%%:*}"
}
trap stop_all INT TERM HUP

# Two runs of one source at a time would write to the same log.
sources=()
for source; do
	[[ " ${sources[*]} " = *" $source "* ]] || sources+=("$source")
done
set -- "${sources[@]}"

echo "==== $group"
for source; do
	[ "$(kind_of "$source")" != script ] || run_beside "$source"
done
for source; do
	[ "$(kind_of "$source")" = program ] || continue
	run_beside "$source"
	take_ended $(($(nproc) - 1 + $(scripts_running)))
done
take_ended 0
for source; do
	[ "$(kind_of "$source")" != alone ] || run_one "$source"
done
if [ -n "${TALLY-}" ]; then
	echo "$passed $failed $skipped" >>"$TALLY"
	echo "     $group: $passed ok, $failed FAIL, $skipped skip"
else
	echo "$passed passed, $failed failed, $skipped skipped"
fi
[ $failed -eq 0 ]
