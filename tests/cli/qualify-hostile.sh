#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# beside: yes
#
# vsib-qualify where the system is against it: io_uring refused, a memory limit below the ring, a limit of file sizes,
# a report that nobody reads, a former report and a tree of sysfs that somebody made up, a file system that shuts down,
# turns read-only or is filled by others in the middle of a run. Each time a clear sentence, the right status, nothing left.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
. "${0%/*}/../qualify.sh"
rig_need loop mkfs.xfs xfs_io space:2000
# Threads are left to themselves here, and one that ends while LeakSanitizer looks makes it fail.
[ -z "${ASAN_OPTIONS-}" ] || export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
mkdir "$RIG/a"
quiet_machine
tiny=(-r 64 -H 2s --ring 16Mi --scratch 64Mi "$same" --quick --time 2s)

# ---- a report that nobody reads: the verdict is told all the same; it is waited for at the end
mkfifo "$RIG/pipe"
timeout 60 "$BIN/vsib-qualify" --live=none --json "$RIG/pipe" "${tiny[@]}" --phase paced "$RIG/a" 2>"$RIG/pipe.words" &
pipe_pid=$!

# ---- io_uring refused; a sanitizer wants to be loaded first
if [ -z "${SAN-}" ]; then
	shim=$RIG/no_uring.so
	${CC:-gcc} -D_GNU_SOURCE -shared -fPIC -o "$shim" "${0%/*}/../shim/no_uring.c" || rig_fail "the shim does not compile"
	LD_PRELOAD=$shim qualify '0 1' "${tiny[@]}" --phase paced "$RIG/a"
	is runs.paced.engine pwrite
	LD_PRELOAD=$shim qualify 3 "${tiny[@]}" --phase paced --engine io_uring "$RIG/a"
	said 'io_uring'
fi

# ---- files may not be as long as the stream
(ulimit -f 17000 && qualify '0 1' "${tiny[@]}" --phase paced --phase read-back --time 5s -H 5s "$RIG/a") || exit 1
is disks.0.read_back.wrong_bytes 0
(ulimit -f 100 && qualify 73 "${tiny[@]}" --phase paced "$RIG/a") || exit 1
said 'ulimit -f'
empty "$RIG/a"

# ---- a former report that somebody made up
for text in '' '[' '[]' '{}' '{"schema":"vsib-qualify/1"}' '{"schema":"vsib-qualify/1","disks":3,"verdict":[]}' \
	'{"schema":"vsib-qualify/1","disks":[{"serial":null,"full":{"rate_bps":1e308}}],"verdict":{"result":"PASS"}}'; do
	printf '%s' "$text" >"$RIG/old.json"
	timeout 20 "$BIN/vsib-qualify" --live=none "${tiny[@]}" --phase rollover --baseline "$RIG/old.json" "$RIG/a" 2>"$words"
	ended 78 $? "a former report of $text"
	says "$RIG/old.json"
done
yes '[' | head -100000 | tr -d '\n' >"$RIG/old.json"
timeout 20 "$BIN/vsib-qualify" --live=none "${tiny[@]}" --baseline "$RIG/old.json" "$RIG/a" 2>"$words"
ended 78 $? "a former report that is all brackets"
for old in "$RIG/pipe" "$RIG" /dev/zero; do
	timeout 20 "$BIN/vsib-qualify" --live=none "${tiny[@]}" --baseline "$old" "$RIG/a" 2>"$words"
	ended '66 78' $? "$old as a former report"
	says "$old"
done

# ---- a tree that somebody made up: pipes, links out of it and in circles, noise
tree=$RIG/tree
mkdir -p "$tree/proc/self" "$tree/proc/pressure" "$tree/sys/dev/block" "$tree/sys/devices"
mkfifo "$tree/proc/meminfo" "$tree/proc/self/mountinfo" "$tree/proc/diskstats" "$tree/proc/pressure/io"
ln -s / "$tree/sys/block"
ln -s loop "$tree/sys/devices/loop"
for node in /sys/dev/block/*; do
	ln -s ../../devices/loop "$tree/sys/dev/block/${node##*/}"
done
VSIB_SYSROOT=$tree qualify '0 1 3' "${tiny[@]}" --phase paced "$RIG/a"
head -c 100000 /dev/urandom >"$RIG/noise"
rm -rf "$tree"
mkdir -p "$tree/proc/self" "$tree/proc/pressure"
for file in meminfo self/mountinfo diskstats pressure/io; do cp "$RIG/noise" "$tree/proc/$file"; done
VSIB_SYSROOT=$tree qualify '0 1 3' "${tiny[@]}" --phase paced "$RIG/a"
VSIB_SYSROOT=$RIG/nowhere qualify 78 "${tiny[@]}" --phase paced "$RIG/a"
said 'VSIB_SYSROOT'
empty "$RIG/a"

# ---- what befalls a file system in the middle of a run; each beside the others
begin() {
	local name=$1 wanted=$2
	shift 2
	trial "$name" "$wanted" -r 64 -H 30s --ring 64Mi --quick --time 30s --phase paced "$@"
	await "$name" paced
}
rig_disk gone 400 xfs
rig_disk fixed 400
rig_disk filled 400
begin gone 2 "$RIG/gone"
begin fixed 2 "$RIG/fixed"
# it takes more than there is room for, so that it begins new files, and lets old ones go, all the time
begin filled 3 -r 160 -H 10s "$RIG/filled"
rig_die gone
rig_read_only fixed
fallocate -l 10G "$RIG/filled/others" 2>/dev/null || dd if=/dev/zero of="$RIG/filled/others" bs=1M 2>/dev/null
settle gone
has_reason IO_ERROR
said '[Ii]nput/output error'
settle fixed
has_reason IO_ERROR
said '[Rr]ead-only'
settle filled
has_reason FULL
has_no_reason IO_ERROR
said 'filled by others'
rm "$RIG/filled/others"
empty "$RIG/fixed" "$RIG/filled"

wait $pipe_pid
ended 74 $? "a report into a pipe"
words=$RIG/pipe.words
said '^(PASS|MARGINAL|INCONCLUSIVE|FAIL) .*64 Mbit/s'
said 'nobody has read from it'
