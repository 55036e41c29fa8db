#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Both engines at several depths, /dev/zero -> ring of 64 MiB -> one file with direct I/O until it is on the disk,
# beside dd, mbuffer and fio. fio makes nothing and passes nothing on: it is what this disk can be given.
# BENCH_DIR names the disk's folder (build/bench); a folder of our own is made in it.
#
# Two rates: "moving" is from the first byte until the last one is safe, as vsib-record and fio tell it themselves;
# "in all" also has the start and the end of the program. CPU is always that of the whole program.
# shellcheck disable=SC2154 # measure_log ... are of measure.sh
set -u
. "${0%/*}/../measure.sh"
bytes=$((4 << 30))
runs=${RUNS:-3}
depths='1 2 4 8 16'
default_depth=8 # of blocks of this size
declare -A measure_moving=()
measure_folder $bytes
who_pid='' # of the recorder that runs beside us, while its threads are looked at
end_who() {
	[ -z "$who_pid" ] || { kill "$who_pid"; wait "$who_pid"; }
} 2>/dev/null
measure_at_exit=(end_who "${measure_at_exit[@]}") # first, while its folder is there
report=$folder/report.json

# ---- huge pages, for all who can use them

huge_file=/proc/sys/vm/nr_hugepages
huge_count=128 # 64 MiB in use, and as much that the last one who had them may not have given back yet
huge_before=$(cat $huge_file)
huge_free() {
	awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo
}
# Memory may have to be moved about first, and what somebody had until just now may not be free yet.
reserve_huge() {
	local try
	for try in 1 2 3 4 5; do
		echo $((huge_before + huge_count)) >$huge_file
		[ "$(huge_free)" -lt $huge_count ] || return 0
		sleep "0.$try"
	done
}
if [ -w $huge_file ]; then
	measure_at_exit+=("echo $huge_before >$huge_file")
	reserve_huge
fi
if [ "$(huge_free)" -ge $((huge_count / 2)) ]; then
	pages='2 MiB pages, reserved ones, for vsib-record and fio' ours=--huge-pages=require theirs=mmaphuge
else
	pages='no 2 MiB pages can be reserved: vsib-record may get transparent ones, fio has small ones'
	ours=--huge-pages=try theirs=mmap
fi
registered=1
if [ "$(id -u)" -ne 0 ] && [ "$(ulimit -l)" != unlimited ] && [ "$(ulimit -l)" -lt $((128 << 10)) ]; then
	registered=0 pages+="; too little may be locked (ulimit -l): fio's are not registered"
fi

# ---- one run each

# A disk that has just been told that 4 GiB are free, or that has a limit it ran into, is slower for a moment: who
# comes next must not pay for who went before.
clean() {
	rm -rf "${folder:?}"/*
	sync -f "$folder"
	sleep 1
}

fail() {
	echo "FAILED: $*"
	exit 1
}

# moved NAME FILE SECONDS: all of it is there, and was under way for so long
moved() {
	local size
	size=$(stat -c %s "$folder/$2")
	[ "$size" -eq $bytes ] || fail "$1 wrote $size of $bytes bytes"
	measure_moving[$1]+=" $(calculate "$bytes / 1e9 / ($3)" %.4f)"
}

recorder=("$BIN/vsib-record" -s dev:/dev/zero -n "$bytes" -o "$folder" --name bench --layout raw --ring 64Mi --block 2Mi
	--allow-same-device "$ours" --json "$report")

record() { # NAME OPTION...
	local name=$1
	shift
	clean
	measure "$name" $bytes "${recorder[@]}" "$@"
	moved "$name" bench.raw "$(json_number duration_s "$report")"
}

run_engine() { # ENGINE DEPTH
	record "$1, depth $2" --engine "$1" --depth "$2"
}

run_unsummed() {
	record 'io_uring, no checksums' --engine io_uring --depth $default_depth --checksum none
}

# The ring is made and touched once, however long the recording: told apart, spread over this one's bytes.
run_start() {
	clean
	measure start $bytes "${recorder[@]}" --bytes 4Mi --engine io_uring --depth $default_depth
}

run_dd() {
	clean
	measure dd $bytes dd if=/dev/zero of="$folder/bench" bs=4M count=$((bytes >> 22)) oflag=direct conv=fsync
	moved dd bench "$(cost wall_s)"
}

run_mbuffer() {
	clean
	# It ends with 1 when its one volume is full.
	MEASURE_STATUS='0 1' measure mbuffer $bytes \
		mbuffer -q -f -i /dev/zero -o "$folder/bench" -m 64M -s 4M -D "${bytes}b"
	moved mbuffer bench "$(cost wall_s)"
}

run_fio() { # DEPTH
	clean
	measure "fio, depth $1" $bytes fio --name=bench --filename="$folder/bench" --size=$bytes --rw=write --bs=2M \
		--direct=1 --ioengine=io_uring --iodepth="$1" --fixedbufs=$registered --registerfiles=1 --iomem=$theirs \
		--zero_buffers=1 --fallocate=native --end_fsync=1 --output-format=json --output="$report"
	moved "fio, depth $1" bench "$(json_number job_runtime "$report") / 1000"
}

# ---- who spends it

# Nanoseconds of CPU of each thread by what it is there for, into thread_ns; looked at every 20 ms as long as
# process $1 lives. What a thread did after the last look is missed, and who lived for less than one.
declare -A thread_ns=()
look_at_threads() {
	local pid=$1 task ns name nap
	local -A last=()
	exec {nap}<> <(:)
	while [ -d "/proc/$pid/task/$pid" ]; do
		for task in "/proc/$pid/task"/*; do
			read -r name <"$task/comm" && read -r ns _ <"$task/schedstat" && last[$name ${task##*/}]=$ns
		done 2>/dev/null
		read -r -t 0.02 -u "$nap"
	done
	exec {nap}<&-
	thread_ns=()
	for name in "${!last[@]}"; do
		ns=${last[$name]}
		case $name in
		writer* | hand* | pwrite* | iou-wrk*) name=writer ;;
		reader*) name=reader ;;
		*) name=other ;;
		esac
		thread_ns[$name]=$((${thread_ns[$name]-0} + ns))
	done
}

# A run of its own, so that the looking is not in anybody's figures.
declare -A who_writer=() who_reader=() who_other=() who_seen=()
run_who() { # ENGINE
	local name="$1, depth $default_depth" child='' status=0 all
	clean
	"${recorder[@]}" --engine "$1" --depth $default_depth >"$measure_log" 2>&1 </dev/null &
	who_pid=$!
	# The program that does it is the child of the one that is started.
	while [ -z "$child" ] && [ -d "/proc/$who_pid/task/$who_pid" ]; do
		read -r child _ <"/proc/$who_pid/task/$who_pid/children"
	done 2>/dev/null
	[ -z "$child" ] || look_at_threads "$child"
	wait "$who_pid" || status=$?
	who_pid=''
	[ $status -eq 0 ] || { cat "$measure_log"; fail "status $status: $name"; }
	all=$(tr -d '\n' <"$report" | sed -n 's/.*"cpu_s" *: *{ *"user" *: *\([0-9.e-]*\) *, *"sys" *: *\([0-9.e-]*\).*/\1 + \2/p')
	who_writer[$name]+=" $(calculate "${thread_ns[writer]-0} / $bytes" %.4f)"
	who_reader[$name]+=" $(calculate "${thread_ns[reader]-0} / $bytes" %.4f)"
	who_other[$name]+=" $(calculate "${thread_ns[other]-0} / $bytes" %.4f)"
	who_seen[$name]+=" $(calculate "100 * (${thread_ns[writer]-0} + ${thread_ns[reader]-0} + ${thread_ns[other]-0}) / 1e9 / ($all)" %.1f)"
}

# ---- all of them

echo "/dev/zero -> ring of 64 MiB, blocks of 2 MiB -> $fs, direct I/O, synced: $((bytes >> 30)) GiB a run, median of $runs, in an order drawn for each round"
echo "  $pages"
has_peer mbuffer mbuffer && mbuffer=yes || mbuffer=
has_peer fio fio && fio=yes || fio=
candidates() {
	local depth
	# twice: what all are compared with
	printf '%s\n' run_dd run_dd run_unsummed 'run_who io_uring' 'run_who pwrite' run_start ${mbuffer:+run_mbuffer}
	for depth in $depths; do
		printf "%s $depth\n" 'run_engine io_uring' 'run_engine pwrite' ${fio:+run_fio}
	done
}

for ((run = 0; run < runs; run++)); do
	while read -r -u 3 what; do
		$what
	done 3< <(candidates | shuf)
done

row() {
	printf '  %-24s %7.3f CPU s/GB   %6.2f GB/s moving   %6.2f GB/s in all   (moving, each run:%s)\n' "$1" \
		"$(median_of "$1" cpu)" "$(median_of "$1" moving)" "$(median_of "$1" rate)" "${measure_moving[$1]}"
}

# fastest NAME: the depth at which it is
fastest() {
	local depth
	for depth in $depths; do
		echo "$(median_of "$1, depth $depth" moving) $1, depth $depth"
	done | sort -g | tail -n 1 | cut -d ' ' -f 2-
}

for engine in io_uring pwrite ${fio:+fio}; do
	for depth in $depths; do
		row "$engine, depth $depth"
	done
done
row 'io_uring, no checksums'
row dd
[ -z "$mbuffer" ] || row mbuffer
show_cpu start

name="io_uring, depth $default_depth"
best=$(fastest io_uring)
echo "  the default, $name${best:+; fastest is $best}:"
compare "$name" dd rate '>= 1.3'
compare "$name" dd cpu '<= 1'
[ -z "$mbuffer" ] || compare "$name" mbuffer cpu '<= 0.55'
[ -z "$fio" ] || compare "$name" "$(fastest fio)" moving '>= 0.85'
[ "$best" = "$name" ] || { compare "$best" dd rate '>= 1.3'; [ -z "$fio" ] || compare "$best" "$(fastest fio)" moving '>= 0.85'; }

# Of each round, and then the median: both were measured within a minute.
differences() {
	# shellcheck disable=SC2086 # lists
	paste <(printf '%s\n' $1) <(printf '%s\n' $2) | awk '{ print $1 - $2 }'
}
# shellcheck disable=SC2046 # a list
printf '  %-24s %7.3f CPU s/GB   (goal: <= 0.06)\n' checksums \
	"$(median $(differences "${measure_cpu[$name]}" "${measure_cpu[io_uring, no checksums]}"))"

echo "  who spends it (looked at every 20 ms: the last look of each thread, and who is gone before, is missed)"
for name in "io_uring, depth $default_depth" "pwrite, depth $default_depth"; do
	# shellcheck disable=SC2086 # lists
	printf '  %-24s %7.3f CPU s/GB the writer, its hand and its workers (goal: <= 0.06), %.3f the reader, %.3f all else; %.0f %% of it seen   (writer, each run:%s)\n' \
		"$name" "$(median ${who_writer[$name]})" "$(median ${who_reader[$name]})" "$(median ${who_other[$name]})" \
		"$(median ${who_seen[$name]})" "${who_writer[$name]}"
done
