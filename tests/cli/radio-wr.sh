#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Files of real instruments through wr: block b goes to directory b mod n, as block b / n of it, and so many
# blocks to a file. Checked by cutting the sample file up in the same way, and by joining the files again.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
rig_need data split
[ -x "$BIN/wr" ] || rig_skip "there is no $BIN/wr"

block=4096
recordings=0

# expect_file FILE BLOCK...: its content is these blocks of the sample file
expect_file() {
	local made=$1
	shift
	cat "$@" | cmp - "$made" || rig_fail "${made#"$RIG"/} of $file is not made of: ${*##*/}"
}

# check_files NDIRS PER_FILE: which block lies where
check_files() {
	local ndirs=$1 per_file=$2 dir number count=0 blocks
	for ((dir = 0; dir < ndirs; dir++)); do
		mapfile -t blocks < <(printf '%s\n' "$RIG"/cut/* | awk -v n="$ndirs" -v d=$dir 'NR % n == (d + 1) % n')
		for ((number = 0; number * per_file < ${#blocks[@]}; number++)); do
			expect_file "$(printf '%s/d%d/t%06d' "$RIG" $dir $number)" "${blocks[@]:number * per_file:per_file}"
			count=$((count + 1))
		done
	done
	number=$(find "$RIG"/d? -type f | wc -l)
	[ "$number" -eq $count ] || rig_fail "$number files instead of $count: $(find "$RIG"/d? -type f)"
}

# wr_to WANTED NDIRS PER_FILE BLOCKS: the directories are in $RIG, the templates are left in templates
wr_to() {
	local wanted=$1 ndirs=$2 per_file=$3 count=$4 dir arguments=() status=0
	templates=()
	for ((dir = 0; dir < ndirs; dir++)); do
		mkdir -p "$RIG/d$dir"
		templates+=("$RIG/d$dir/t%06d")
		arguments+=("$RIG/d$dir/t%06d" "$per_file")
	done
	rm -f "$report"
	"$BIN/wr" --ring=256Ki --json="$report" $block "$count" 0 0 0 0 "$ndirs" "${arguments[@]}" \
		<"$file" >"$output" 2>"$words" || status=$?
	ended "$wanted" $status wr $block "$count" 0 0 0 0 "$ndirs" "${arguments[@]}"
	! [ -e "$report" ] || account
	recordings=$((recordings + 1))
}

# whole WANTED NDIRS PER_FILE BLOCKS BYTES
whole() {
	local pieces
	rm -rf "$RIG/cut"
	mkdir "$RIG/cut"
	head -c "$5" "$file" >"$RIG/prefix"
	split -b $block -a 4 "$RIG/prefix" "$RIG/cut/"
	pieces=$((($5 + block - 1) / block))
	wr_to "$1" "$2" "$3" "$4"
	is written_bytes "$5"
	check_files "$2" "$3"
	# fewer blocks than directories: the last ones got no file, and there is nothing to join from there
	gathered "$RIG/prefix" --round $block "${templates[@]:0:pieces}"
	rm -rf "$RIG"/d?
}

for file in "$DATA"/radio/*; do
	size=$(stat -c %s "$file")
	blocks=$((size / block))
	whole 0 1 1000000 $blocks $((blocks * block))
	whole 0 2 1000000 $blocks $((blocks * block))
	whole 0 3 2 $blocks $((blocks * block))
	# asked for more than there is: all of it, and not the normal end
	whole 2 3 1000000 $((blocks + 2)) "$size"
done

# The historical report line, and nothing on the standard output.
file=$RIG/noise
head -c $((64 * block)) /dev/urandom >"$file"
wr_to 0 3 1000000 64
grep -qE '^Took [0-9]+\.[0-9]{6} seconds, [0-9]+\.[0-9]{6} Mbits\(dec\)/s \([0-9.]+% of PCI33\), usleeps = [0-9]+\.' "$words" ||
	rig_fail "the report line is not the historical one: $(cat "$words")"
[ ! -s "$output" ] || rig_fail "wr wrote to the standard output: $(head -n 3 "$output")"

# The same once more: nothing is overwritten.
cp -r "$RIG/d0" "$RIG/before"
wr_to 73 3 1000000 64
diff -r "$RIG/before" "$RIG/d0" || rig_fail "a refused wr changed the files of the one before"
echo "$recordings recordings"
