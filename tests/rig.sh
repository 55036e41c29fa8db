# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Real disks for end-to-end tests: loop-mounted, slow, full, dying. To be sourced, by bash:
#
#	. "${0%/*}/../rig.sh"                   makes the work folder $RIG
#	rig_need root loop throttle             ends the test with 77 and the reason when one is not to be had
#	rig_disk usb1 400                       400 MiB of ext4, mounted at $RIG/usb1
#	rig_disk usb2 400 xfs -b 4096           xfs on a device with 4096-byte sectors (options as for losetup)
#	rig_throttle usb1 8388608               writes to it at 8 MiB/s from now on; 1: as good as stuck
#	rig_throttle_reads usb1 8388608         the same with reads
#	rig_release usb1                        full speed again
#	rig_read_only usb1; rig_die usb2        what happens to disks
#	rig_fault sick                          a disk that fails as it is told, mounted at $RIG/sick (rig_need fuse)
#	rig_fault_set sick write:EIO@20M        from now on; the words stand in tests/tool_faultfs.c
#	rig_fault_kill sick                     gone: each operation ends with ENOTCONN
#	rig_expect 1 vsib-gather ...            runs it; the test fails unless it ends with status 1
#	rig_fail 'the second journal has a hole'
#
# At the end of the test, however it ends, all of it is undone. The undoing does not remember what was made:
# it looks for mounts and loop devices that lie under $RIG, so a half-made disk goes too. It does remember the
# programs behind rig_fault: they end first, since with them ends what hangs in their mounts.

PATH=$PATH:/usr/sbin:/sbin
: "${TOOLS:=$PWD/build/tests}"
RIG=$(mktemp -d "${TMPDIR:-/tmp}/vsib-rig.XXXXXX") || exit 1
RIG=$(realpath "$RIG")
declare -A rig_device=() rig_fault_pid=()
rig_at_exit=() # commands to run first, as the test adds them

# The folder of cgroup v1's blkio controller, where the kernel has it.
rig_blkio=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ { print $2; exit }' /proc/self/mounts)
rig_throttle_file=$rig_blkio/blkio.throttle.write_bps_device
rig_read_throttle_file=$rig_blkio/blkio.throttle.read_bps_device

rig_skip() {
	echo "$*"
	exit 77
}

rig_fail() {
	echo "FAILED: $*"
	exit 1
}

rig_expect() {
	local wanted=$1 status=0
	shift
	"$@" || status=$?
	[ "$status" -eq "$wanted" ] || rig_fail "status $status instead of $wanted: $*"
}

# rig_need root|loop|throttle|fuse|data|space:MIB|PROGRAM ...
rig_need() {
	local what free
	for what; do
		case $what in
		root) [ "$(id -u)" -eq 0 ] || rig_skip "needs root" ;;
		loop)
			rig_need root losetup mount mkfs.ext4
			losetup --find >/dev/null 2>&1 || rig_skip "needs loop devices"
			;;
		throttle)
			rig_need root
			[[ -n $rig_blkio && -w $rig_throttle_file ]] || rig_skip "needs the blkio throttle of cgroup v1"
			;;
		fuse)
			[[ -c /dev/fuse && -r /dev/fuse && -w /dev/fuse ]] || rig_skip "needs /dev/fuse"
			[ "$(id -u)" -eq 0 ] || rig_need fusermount3
			rig_need "$TOOLS/tool_faultfs"
			;;
		data) [[ -n ${DATA-} && -d $DATA ]] || rig_skip "needs the sample files (VSIB_DATA)" ;;
		space:*)
			free=$(df --output=avail -m "$RIG" | tail -n 1)
			[ "$free" -ge "${what#space:}" ] || rig_skip "needs ${what#space:} MiB free in ${RIG%/*}, there are $((free))"
			;;
		*) command -v "$what" >/dev/null || rig_skip "needs the program $what" ;;
		esac
	done
}

# rig_disk NAME SIZE_MB [ext4|xfs] [LOSETUP-OPTION...]
rig_disk() {
	local name=$1 size=$2 fs=${3:-ext4} image=$RIG/.image/$1 options=noatime
	shift $(($# < 3 ? $# : 3))
	mkdir -p "$RIG/.image" "$RIG/$name"
	truncate -s "${size}M" "$image" || rig_fail "no $size MiB for $name"
	# Without direct I/O below, a write would only reach the page cache of the disk underneath.
	rig_device[$name]=$(losetup --find --show --direct-io=on "$@" "$image" 2>/dev/null || losetup --find --show "$@" "$image") ||
		rig_fail "no loop device for $name"
	case $fs in
	# No reserve for root and no background work on the inode tables: what is free is free, what writes is the test.
	ext4) mkfs.ext4 -q -F -m 0 "${rig_device[$name]}" && options=$options,noinit_itable ;;
	xfs) rig_need mkfs.xfs && mkfs.xfs -q -f "${rig_device[$name]}" ;;
	*) rig_fail "rig_disk: $fs?" ;;
	esac || rig_fail "mkfs.$fs failed on $name ($size MiB)"
	mount -t "$fs" -o "$options" "${rig_device[$name]}" "$RIG/$name" || rig_fail "$name cannot be mounted"
}

rig_device_number() {
	# shellcheck disable=SC2046,SC2183 # it is two words
	printf '%d:%d' $(stat -c '0x%t 0x%T' "$1")
}

# rig_throttle NAME BYTES_PER_S
rig_throttle() {
	echo "$(rig_device_number "${rig_device[$1]}") $2" >"$rig_throttle_file" || rig_fail "cannot throttle $1"
}

rig_throttle_reads() {
	echo "$(rig_device_number "${rig_device[$1]}") $2" >"$rig_read_throttle_file" || rig_fail "cannot throttle $1"
}

rig_release() {
	rig_throttle "$1" 0
}

# The disk of this name turns read-only, as ext4 does after an error.
rig_read_only() {
	mount -o remount,abort "$RIG/$1" || rig_fail "$1 cannot be made read-only"
}

# The disk of this name is gone: each write and each sync ends with EIO.
rig_die() {
	rig_need xfs_io
	xfs_io -x -c 'shutdown -f' "$RIG/$1" || rig_fail "$1 cannot be shut down"
}

# rig_fault NAME [-s]: -s: synchronous, see there; the directory behind it is $RIG/.back/NAME, its control socket $RIG/.back/NAME.ctl
rig_fault() {
	local name=$1 try
	shift
	mkdir -p "$RIG/.back/$name" "$RIG/$name"
	rm -f "$RIG/.back/$name.ctl"
	"$TOOLS/tool_faultfs" "$@" "$RIG/.back/$name" "$RIG/$name" "$RIG/.back/$name.ctl" >"$RIG/.back/$name.log" 2>&1 &
	rig_fault_pid[$name]=$!
	for try in {1..100}; do
		rig_fault_set "$name" 2>/dev/null && return
		kill -0 "${rig_fault_pid[$name]}" 2>/dev/null || break
		sleep 0.05
	done
	rig_fail "$name cannot be mounted: $(cat "$RIG/.back/$name.log")"
}

# rig_fault_ask NAME [WORD...]: prints held=N met=N written=N; fails when nobody answers
rig_fault_ask() {
	local name=$1
	shift
	"$TOOLS/tool_faultfs" -c "$RIG/.back/$name.ctl" "$@"
}

rig_fault_set() {
	rig_fault_ask "$@" >/dev/null
}

# The program behind it is gone at once, and what hangs in the mount comes back with ENOTCONN (or, later, EIO).
rig_fault_kill() {
	local pid=${rig_fault_pid[$1]}
	kill -KILL "$pid"
	wait "$pid"
	unset "rig_fault_pid[$1]"
} 2>/dev/null

# rig_fault_end NAME: unmounted; the directory behind it stays
rig_fault_end() {
	[ -z "${rig_fault_pid[$1]-}" ] || rig_fault_kill "$1"
	umount "$RIG/$1" 2>/dev/null || fusermount3 -q -u "$RIG/$1" || umount -l "$RIG/$1"
}

rig_loops() {
	losetup --list --noheadings --output NAME,BACK-FILE 2>/dev/null | awk -v rig="$RIG/" 'index($2, rig) == 1 { print $1 }'
}

rig_mounts() {
	awk -v rig="$RIG/" 'index($2, rig) == 1 { print $2 }' /proc/self/mounts | tac
}

# Whoever still has a file of the work folder open is of this test: nobody else knows the folder.
rig_users() {
	local fd pid
	for fd in /proc/[0-9]*/fd/* /proc/[0-9]*/cwd; do
		case $(readlink "$fd" 2>/dev/null) in
		"$RIG"/*)
			pid=${fd#/proc/} pid=${pid%%/*}
			[ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] || echo "$pid"
			;;
		esac
	done | sort -u
}

rig_undo() {
	local status=$? device path try command users name
	trap '' INT TERM HUP
	trap - EXIT
	set +e
	cd /
	for command in "${rig_at_exit[@]}"; do
		eval "$command"
	done
	# Faults and throttles first: what comes next has to wait for writes.
	for name in "${!rig_fault_pid[@]}"; do
		rig_fault_kill "$name"
	done
	if [ -w "$rig_throttle_file" ]; then
		for device in $(rig_loops); do
			echo "$(rig_device_number "$device") 0" >"$rig_throttle_file"
			echo "$(rig_device_number "$device") 0" >"$rig_read_throttle_file"
		done
	fi
	for try in 1 2 3 4 5 6 7 8; do
		for path in $(rig_mounts); do
			umount "$path" 2>/dev/null || fusermount3 -q -u "$path" 2>/dev/null
		done
		[ -n "$(rig_mounts)" ] || break
		users=$(rig_users)
		# shellcheck disable=SC2086 # a list
		[ -z "$users" ] || kill -KILL $users 2>/dev/null
		sleep 0.$((try * 12))
	done
	for path in $(rig_mounts); do
		echo "rig: $path is still in use; unmounted lazily"
		umount -l "$path"
	done
	for device in $(rig_loops); do
		losetup -d "$device"
	done
	rm -rf --one-file-system "$RIG"
	exit $status
}
trap rig_undo EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
