#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# `make demo`: a recording from end to end, without hardware, in some ten seconds. Needs BIN (build/bin).
set -u
export LC_ALL=C
bin=${BIN:-build/bin}
name=demo
seconds=5
mbps=512
needed_mb=800

say() {
	printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[01]*m//g'; fi
}

die() {
	printf '\nDEMO FAILED: %s\n' "$*"
	exit 1
}

# Shown as a person would type it, then run.
run() {
	printf '$ %s\n' "${*//$work/\$T}"
	"$@"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/vsib-demo.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

free_mb=$(df --output=avail -m "$work" | tail -n 1)
[ "$free_mb" -ge $needed_mb ] || die "$needed_mb MiB are needed in ${work%/*}, $((free_mb)) are free; TMPDIR names another place"

disks=("$work/disk1" "$work/disk2" "$work/disk3")
mkdir "${disks[@]}"

say "1. Record $seconds s of simulated samples at $mbps Mbit/s, striped over three directories."
echo "   They stand for three disks; being on one, they need --allow-same-device. The ring is large enough for"
echo "   the whole of it, so that not even a slow disk loses a sample. (\$T is a temporary directory.)"
run "$bin/vsib-record" -s sim:,seed=1 -r $mbps -d $seconds --name $name --layout vbs --ring 384Mi --allow-same-device \
	-o "${disks[0]}" -o "${disks[1]}" -o "${disks[2]}" ||
	die "vsib-record ended with status $?"

say "2. What is on the disks now: chunks of the stream, and beside them the journal, which says what is where."
(cd "$work" && find . -type f -printf '%10s  %P\n' | sort -k2 | awk 'NR <= 20; END { if (NR > 20) print "            ... " NR - 20 " more" }')

say "3. Gather the pieces into one file again; every checksum of the journal is compared on the way."
run "$bin/vsib-gather" $name -o "$work/gathered" "${disks[@]}" ||
	die "vsib-gather ended with status $?: a piece is missing or differs"

bytes=$(stat -c %s "$work/gathered")
[ "$bytes" -gt 0 ] || die "nothing was recorded"
say "4. Let the simulator write the same $bytes bytes once more, straight to cmp."
echo "$ vsib-record -s sim:,seed=1 -n $bytes -o - | cmp - \$T/gathered"
"$bin/vsib-record" -s sim:,seed=1 -n "$bytes" -o - 2>"$work/second.log" | cmp - "$work/gathered"
status=("${PIPESTATUS[@]}")
[ "${status[1]}" -eq 0 ] || die "what was gathered is not what the source sent"
[ "${status[0]}" -eq 0 ] || { cat "$work/second.log"; die "the second vsib-record ended with status ${status[0]}"; }

say "OK: $bytes bytes recorded, striped, gathered, and every one of them is the simulator's."
echo "
Where to go next:
   README                             a first recording to a disk of yours, the words, where things are
   $bin/vsib-record --help       the options;   man -l recorder/vsib-record.1   the whole story
   make check                         all the tests"
