# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What bench scripts share; to be sourced by bash. A candidate is measured several times, in turns with the
# others, so that what else goes on in the machine meets all of them; what is compared is the medians of one run.
#
#	measure NAME BYTES COMMAND...     one run: CPU seconds of all its processes and wall time; any status that
#	                                  MEASURE_STATUS allows (a list, "0" when not set)
#	show NAME                         its medians: CPU s/GB, GB/s, memory
#	show_cpu NAME                     only its CPU s/GB, for what has no rate
#	compare NAME OTHER cpu|rate GOAL  the ratio of the medians, and the goal beside it (words)
#
#	measure_folder BYTES              a folder of our own in $BENCH_DIR (build/bench): $folder, on $fs; gone at the end.
#	                                  Ends the script where so many bytes and a little more have no room
#
# Nothing here fails because something is slow.
export LC_ALL=C
declare -A measure_cpu=() measure_rate=() measure_rss=()
measure_cost=$(mktemp "${TMPDIR:-/tmp}/vsib-cost.XXXXXX") || exit 1
measure_log=$measure_cost.log
measure_at_exit=()
measure_undo() {
	local command
	for command in "${measure_at_exit[@]}"; do
		eval "$command"
	done
	rm -f "$measure_cost" "$measure_log"
}
trap measure_undo EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The value behind KEY= in the last cost line.
cost() {
	sed -n "s/.*\b$1=\([^ ]*\).*/\1/p" "$measure_cost"
}

calculate() {
	awk "BEGIN { printf \"${2:-%.3f}\", $1 }"
}

measure() {
	local name=$1 bytes=$2 status=0
	shift 2
	"$TOOLS/tool_cpu" -f "$measure_cost" "$@" >"$measure_log" 2>&1 </dev/null || status=$?
	case " ${MEASURE_STATUS:-0} " in
	*" $status "*) ;;
	*)
		echo "$name: status $status: $*"
		tail -n 20 "$measure_log" | sed 's/^/    /'
		exit 1
		;;
	esac
	measure_cpu[$name]+=" $(calculate "$(cost cpu_s) / ($bytes / 1e9)" %.4f)"
	measure_rate[$name]+=" $(calculate "($bytes / 1e9) / $(cost wall_s)" %.4f)"
	measure_rss[$name]+=" $(cost max_rss_bytes)"
}

median() {
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# median_of NAME cpu|rate|rss
median_of() {
	local -n values=measure_$2
	# shellcheck disable=SC2086 # a list
	median ${values[$1]}
}

show() {
	printf '  %-30s %7.3f CPU s/GB   %6.2f GB/s   %6.0f MB resident   (CPU of each run:%s)\n' "$1" \
		"$(median_of "$1" cpu)" "$(median_of "$1" rate)" "$(calculate "$(median_of "$1" rss) / 1e6" %.0f)" "${measure_cpu[$1]}"
}

show_cpu() {
	printf '  %-30s %7.3f CPU s/GB   (each run:%s)\n' "$1" "$(median_of "$1" cpu)" "${measure_cpu[$1]}"
}

# The runs of a turn follow one another: what disturbs one disturbs the other, and their ratios tell how much.
ratios_of_turns() {
	local -n ours=measure_$3 theirs=measure_$3
	# shellcheck disable=SC2086 # lists
	paste -d ' ' <(printf '%s\n' ${ours[$1]}) <(printf '%s\n' ${theirs[$2]}) |
		awk '$2 { r = $1 / $2; if (!n++ || r < least) least = r; if (r > most) most = r }
		     END { printf "%.2f to %.2f", least, most }'
}

compare() {
	local what
	[ -n "${measure_cpu[$2]-}" ] || return 0
	case $3 in cpu) what='CPU per GB' ;; *) what=throughput ;; esac
	printf '  %-30s %7.2f x %s   (goal: %s; turn by turn %s)\n' "$1, $what" \
		"$(calculate "$(median_of "$1" "$3") / $(median_of "$2" "$3")" %.4f)" "$2" "$4" "$(ratios_of_turns "$1" "$2" "$3")"
}

# shellcheck disable=SC2034 # $fs is for who calls
measure_folder() {
	local needed_mb=$((($1 >> 20) + 1024)) free_mb
	folder=${BENCH_DIR:-build/bench}
	mkdir -p "$folder" && folder=$(mktemp -d "$(realpath "$folder")/run.XXXXXX") || exit 1
	measure_at_exit+=("rm -rf '$folder'")
	fs=$(df --output=fstype "$folder" | tail -n 1)
	free_mb=$(df --output=avail -m "$folder" | tail -n 1)
	[ "$free_mb" -ge "$needed_mb" ] && return
	echo "not run: $needed_mb MiB are needed in $folder, $((free_mb)) are free"
	exit 0
}

# has_peer PROGRAM PACKAGE
has_peer() {
	command -v "$1" >/dev/null && return
	echo "  $1 is not here (package $2): not compared"
	return 1
}

# json_number KEY FILE: the first number behind "KEY": in the file
json_number() {
	tr -d '\n' <"$2" | grep -oE "\"$1\" *: *-?[0-9.eE+-]+" | head -n 1 | sed 's/.*: *//'
}
