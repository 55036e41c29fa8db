# shellcheck shell=bash
# shellcheck disable=SC2154 # report, words ... are of record.sh
# SPDX-License-Identifier: BSD-2-Clause
#
# What disks do to a recording, one scene a call; to be sourced by bash, after rig.sh and record.sh:
#
#	fault_disks                             mounts the disks: sick, which fails as it is told, and well1, well2
#	fault_error EIO failed 2 vbs            a scene: the fault, how many disks, the layout
#
# LAYOUT is raw (one file; on several disks block by block in turn), rolled (raw, files of 7 MB), vbs or mark6. The first of
# the disks is the sick one. Every scene records from the simulator and compares: exit status, outcome, state and
# error of the disk, the account to the byte, the journals with the files, and the gathered stream with what the
# simulator gave. With one disk what counts is a prompt end and that all is there that was promised; with several
# that nothing is lost. Each also makes sure that its fault was met. `in_two_copies SCENE...` plays it with --copies 2:
# then the account is that of both copies, no byte has both on one disk, and with three disks each has two at the end.
fault_all=(write fsync fsyncdir fallocate create rename truncate unlink) # what hangs when a disk hangs
fault_bytes=50000001 # 2 s
fault_long_bytes=150000001 # 6 s: time enough to do something when the journal has its first segment
fault_rate=200

declare -A fault_text=(
	[EIO]='Input/output error' [EFBIG]='File too large' [ENODEV]='No such device' [ENOSPC]='No space left on device'
	[EDQUOT]='Disk quota exceeded' [EROFS]='Read-only file system'
)

fault_disks() {
	rig_need fuse space:1500
	local disk
	for disk in sick well1 well2; do
		rig_fault $disk
	done
}

# ---- a scene

# scene WHAT DISKS LAYOUT: all is well and empty; sets name, disks, layout, targets, to, fault_ring, fault_data
scene() {
	local disk
	disks=$2 layout=$3 name=${1//[^A-Za-z0-9]/_}_$3$2
	is_within_reach=yes # the sick disk can cut off what others have written in its place
	fault_data='*.[r0-9]*' # the files of a recording without its journal
	[ "$layout" != mark6 ] || fault_data='*.vdif'
	echo "$1, $2 disk(s), $3"
	for disk in sick well1 well2; do
		rig_fault_set $disk reset
		rm -rf "${RIG:?}/$disk"/*
	done
	targets=("$RIG/sick" "$RIG/well1" "$RIG/well2")
	targets=("${targets[@]:0:disks}")
	to=("${targets[@]/#/--target=}")
	fault_ring=(--ring 32Mi --block 256Ki)
	case $3:$disks:$copies in
	raw:1:*) to+=(--layout raw) ;;
	raw:*:2) to+=(--layout vbs --stripe round --chunk 2Mi) ;; # no such raw files in two copies, but the same turn
	raw:*) # strict turn: what the sick disk should have waits in the ring
		to+=(--layout raw --stripe round --chunk 2Mi)
		fault_ring=(--ring 64Mi --block 256Ki)
		;;
	rolled:*:2) to+=(--layout raw --file-size 2M --chunk 2Mi) ;; # a file has to fit into the ring
	rolled:*) to+=(--layout raw --file-size 7M --chunk 2Mi) ;;
	vbs:*) to+=(--layout vbs --chunk 2Mi) ;;
	mark6:*) to+=(--layout mark6 --packet-size 1 --chunk 2Mi) ;; # so that all of the stream is whole packets
	*) rig_fail "scene: layout $3?" ;;
	esac
	if [ "$copies" -gt 1 ]; then # what has one copy waits in the ring for the other: of a disk that is stuck for 2 s
		to+=(--copies "$copies")
		fault_ring=(--ring 128Mi --block 256Ki)
	fi
	met=$(faults_met)
}

copies=1

# in_two_copies SCENE...
in_two_copies() {
	echo "two copies:"
	copies=2
	"$@"
	copies=1
}

faults_met() {
	rig_fault_ask sick | sed 's/.*met=\([0-9]*\).*/\1/'
}

held() {
	rig_fault_ask sick | sed 's/held=\([0-9]*\).*/\1/'
}

is_holding() {
	[ "$(held)" -gt 0 ]
}

was_met() {
	[ "$(faults_met)" -gt "$met" ] || rig_fail "the recording never met the fault"
}

# start OPTION...: in the background, with the signals a user's shell gives it
start() {
	rm -f "$report"
	started="vsib-record $* ${to[*]}"
	env --default-signal=INT,TERM,HUP "$BIN/vsib-record" --json "$report" --live log --name "$name" "${to[@]}" "$@" \
		>"$output" 2>"$words" &
	pid=$!
	child=$(child_of $pid)
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

# finish SECONDS WANTED
finish() {
	local status=0
	wait_for "$1" is_gone "$pid" || {
		kill -KILL "$pid"
		show_words
		rig_fail "still there after $1 s: $started"
	}
	wait "$pid" || status=$?
	ended "$2" $status "$started"
	[ -e "$report" ] || rig_fail "no report: $started"
	account
}

# paced SECONDS WANTED OPTION...: a source that can't wait
paced() {
	local seconds=$1 wanted=$2
	shift 2
	start -s sim: -r $fault_rate "${fault_ring[@]}" "$@"
	finish "$seconds" "$wanted"
}

has_segments() {
	[ "$(cat "$(journal_of "$name" "${targets[0]}")" 2>/dev/null | grep -c '"segment"')" -ge "$1" ]
}

# In the middle of it: something is in the journal already.
until_segments() {
	wait_for 20 has_segments "$1" || rig_fail "not $1 segments in the journal after 20 s: $started"
}

# has_event EVENT: in the journal of the last disk, which is well
has_event() {
	local journal
	journal=$(journal_of "$name" "${targets[disks - 1]}")
	grep -q "\"event\":\"$1\"" "$journal" || {
		show_words
		rig_fail "no event $1 in the journal; there are: $(grep -o '"event":"[^"]*"' "$journal" | sort | uniq -c | tr '\n' ' ')"
	}
}

# sick_is STATE[|STATE] ERROR-EXPRESSION
sick_is() {
	local state error
	state=$(value disks.0.state) error=$(value disks.0.error) || exit 1
	case "|$1|" in
	*"|$state|"*) ;;
	*) show_words && rig_fail "the sick disk is '$state'; expected $1" ;;
	esac
	grep -qE -- "$2" <<<"$error" || rig_fail "the error of the sick disk is: $error; expected: $2"
}

others_are_well() {
	local i
	for ((i = 1; i < disks; i++)); do
		is disks.$i.state ok
		is disks.$i.error null
	done
}

# nothing_lost BYTES: all of the stream is on the disks; the journals of those that are well say where
nothing_lost() {
	is stream_bytes "$1"
	is written_bytes "$1"
	is gap_count 0
	others_are_well
	rig_fault_set sick reset 2>/dev/null
	audit_targets="${targets[*]:${2-1}}" audit "$name" "${targets[@]}"
	[ $copies -eq 1 ] || two_copies
	gathered_sim "$1" "$name" "${targets[@]}"
	blocks_are_whole
}

# blocks_are_whole [-c] [-t]: of layout mark6, by the files alone: each number once, and nothing behind the last whole block
blocks_are_whole() {
	[ "$layout" = mark6 ] && [ "$is_within_reach" = yes ] || return 0
	local target files=()
	for target in "${targets[@]}"; do
		[ ! -e "$target/$name.vdif" ] || files+=("$target/$name.vdif")
	done
	"$TOOLS/tool_mark6" "$@" -f 0 -p 1 "${files[@]}" >"$RIG/blocks" || rig_fail "the files are not what their readers want"
}

# What the journals have on two disks is what the report says. With two disks, one of which has failed or was stuck for
# a while, there is one copy from there on; a third has taken the lost one's part, as much of it as was not safe yet.
two_copies() {
	local single
	single=$(value single_copy_bytes) || exit 1
	[ "$(twice_bytes)" -eq $(($(value written_bytes) - single)) ] ||
		rig_fail "$(twice_bytes) bytes are on two disks; $(value written_bytes) are written, $single of them once"
	[ "$disks" -eq 2 ] || [ "$single" -eq 0 ] || rig_fail "$single bytes have one copy although two good disks are left"
}

# degraded BYTES: a disk was lost and nothing else
degraded() {
	is outcome degraded
	is exit_status 1
	nothing_lost "$1"
}

# complete BYTES: and nothing happened
complete() {
	is outcome complete
	is exit_status 0
	is disks.0.state ok
	nothing_lost "$1" 0
}

# A recording that broke off: what its journal calls durable is there and right, and no more than the report says.
promises_kept() {
	local durable journal
	blocks_are_whole -c -t
	journal=$(journal_of "$name" "${targets[0]}")
	rig_fault_set sick reset 2>/dev/null
	if tail -n 1 "$journal" | grep -q '"type":"end"'; then # the journal was not hit
		audit "$name" "${targets[@]}"
		gathered_sim "$(value stream_bytes)" "$name" "${targets[@]}"
		return
	fi
	"$TOOLS/tool_journal" -c "$journal" "${targets[@]}" >"$RIG/audit" 2>"$RIG/audit.errors" || {
		cat "$RIG/audit.errors"
		rig_fail "the journal tells of data that are not there"
	}
	sed -n 's/^\(gap\|hole\) \([0-9]* [0-9]*\).*/\2/p' "$RIG/audit" >"$RIG/gaps"
	durable=$(awk '$1 == "total" { print $3 }' "$RIG/audit")
	[ "$durable" -gt 0 ] || rig_fail "nothing in the journal"
	[ "$durable" -le "$(value written_bytes)" ] || rig_fail "durable are $durable bytes, written are $(value written_bytes)"
	gather "0 1" "$name" "${targets[@]}"
	"$TOOLS/tool_verify_sim" -n "$durable" -G "$RIG/gaps" "$RIG/gathered" || rig_fail "what was durable is not the simulator's stream"
	rm -f "$RIG/gathered"
}

# stopped STATE[|STATE] ERROR: the only disk is gone; it ends at once
stopped() {
	is outcome stopped
	is exit_status 2
	sick_is "$1" "$2"
	is_more written_bytes 0
	is_more disk_lost_bytes 0
	is aborted_bytes 0
	promises_kept
}

# sick_run [WHAT...]: the same for most faults: told before the start where there are several disks, and when there is
# something to lose where there is one. That one ends soon after.
sick_run() {
	local gone
	if [ "$disks" -gt 1 ]; then
		rig_fault_set sick "${@/%/@5M}"
		paced 40 1 -n $fault_bytes
		was_met
		return
	fi
	start -s sim: -r $fault_rate "${fault_ring[@]}" -d 60
	until_segments 1
	rig_fault_set sick "$@"
	gone=${EPOCHREALTIME/./}
	finish 20 2
	was_met
	[ $((${EPOCHREALTIME/./} - gone)) -lt 6000000 ] || rig_fail "it went on for 6 s or more without a disk: $started"
}

# ---- scenes: errors

# fault_error ERRNO STATE DISKS LAYOUT: each write fails with it from some moment on
fault_error() {
	scene "$1" "$3" "$4"
	# a disk that is full still has what was reserved for its journal
	[ "$2" != full ] || rig_fault_set sick "only=$fault_data"
	sick_run "write:$1"
	said "${fault_text[$1]}"
	if [ "$disks" -gt 1 ]; then
		sick_is "$2" "${fault_text[$1]}"
		degraded $fault_bytes
	else
		stopped "$2" "${fault_text[$1]}"
	fi
}

# fault_once ERRNO DISKS LAYOUT: a single write fails, the disk would take the next. It is out nevertheless.
fault_once() {
	scene "$1 once" "$2" "$3"
	rig_fault_set sick "only=$fault_data"
	if [ "$disks" -gt 1 ]; then
		rig_fault_set sick "write:$1@5M*1"
		paced 40 1 -n $fault_bytes
		sick_is failed "${fault_text[$1]}"
		degraded $fault_bytes
	else
		rig_fault_set sick "write:$1@20M*1"
		paced 40 2 -n $fault_bytes
		stopped failed "${fault_text[$1]}"
	fi
	[ "$(faults_met)" -eq $((met + 1)) ] || rig_fail "$(($(faults_met) - met)) writes failed, not one"
}

# calls_before [OP]: so many calls are let pass first: with one disk until something is in the journal; of the syncs of
# directories those at the start, which promise nothing yet
calls_before() {
	case $disks:${to[*]}:${1-} in
	1:*--file-size*) echo 12 ;;
	1:*vbs*) echo 40 ;;
	*:fsyncdir) echo 3 ;;
	*) echo 1 ;;
	esac
}

# fault_call OP DISKS LAYOUT: create, rename, truncate, fsyncdir ... fails, once
fault_call() {
	scene "$1 fails" "$2" "$3"
	[ "$1" = fsyncdir ] || rig_fault_set sick "only=$fault_data"
	rig_fault_set sick "$1:EIO@$(calls_before "$1")*1"
	if [ "$disks" -gt 1 ]; then
		paced 40 1 -n $fault_bytes
		sick_is failed "${fault_text[EIO]}"
		degraded $fault_bytes
	else
		paced 40 2 -n $fault_long_bytes
		stopped failed "${fault_text[EIO]}"
	fi
	was_met
}

# fault_unfinished OP LAYOUT: one disk; the third file cannot be finished, because its fsync, rename ... fails. The first
# two were: synced, with their final names. So they count as written, whatever became of the third.
fault_unfinished() {
	local finished
	scene "$1 of the third file" 1 "$2"
	rig_fault_set sick "only=$fault_data" "$1:EIO@2*1"
	paced 40 2 -n $fault_bytes
	was_met
	sick_is failed "${fault_text[EIO]}"
	finished=$(find "$RIG/sick" -name '*.[0-9]*' ! -name '*.part' ! -name '*2' -printf '%s\n' | sum)
	[ "$finished" -gt 0 ] || rig_fail "no file has its final name: $(find "$RIG/sick" -type f | tr '\n' ' ')"
	[ "$(value written_bytes)" -ge "$finished" ] ||
		rig_fail "files of $finished bytes were synced and named before the fault; written are $(value written_bytes)"
	promises_kept
}

# gone_or_degraded ERROR
gone_or_degraded() {
	if [ "$disks" -gt 1 ]; then
		sick_is failed "$1"
		degraded $fault_long_bytes
	else
		stopped failed "$1"
	fi
}

# fault_gone DISKS LAYOUT: unplugged
fault_gone() {
	local error='Transport endpoint is not connected|Software caused connection abort'
	scene gone "$1" "$2"
	is_within_reach=no
	start -s sim: -r $fault_rate "${fault_ring[@]}" -n $fault_long_bytes
	until_segments 1
	rig_fault_kill sick
	finish 20 $((disks > 1 ? 1 : 2))
	# plugged in again
	rig_fault_end sick
	rig_fault sick
	gone_or_degraded "$error"
}

# fault_shutdown DISKS LAYOUT: a real file system, xfs, that shuts itself down
fault_shutdown() {
	rig_need loop mkfs.xfs xfs_io
	scene shutdown "$1" "$2"
	is_within_reach=no
	[ -n "${rig_device[block]-}" ] || rig_disk block 350 xfs
	rm -rf "$RIG/block"/*
	targets[0]=$RIG/block to[0]=--target=$RIG/block
	start -s sim: -r $fault_rate "${fault_ring[@]}" -n $fault_long_bytes
	until_segments 1
	rig_die block
	finish 20 $((disks > 1 ? 1 : 2))
	umount "$RIG/block" && mount "${rig_device[block]}" "$RIG/block" || rig_fail "the disk that was shut down can't be mounted again"
	gone_or_degraded "${fault_text[EIO]}"
	rm -rf "$RIG/block"/*
}

sync_was_met() {
	was_met
	sick_is failed "not safely on disk.*${fault_text[EIO]}"
	said 'not safely on disk'
	said_not 'complete'
}

# fault_sync DISKS LAYOUT: every write succeeds; one fsync tells, once, that the data are nowhere
fault_sync() {
	scene "sync fails" "$1" "$2"
	rig_fault_set sick "only=$fault_data" "fsync:EIO@$(calls_before)*1"
	if [ "$disks" -gt 1 ]; then
		paced 40 1 -n $fault_bytes
		sync_was_met
		degraded $fault_bytes
	else
		paced 40 2 -n $fault_long_bytes
		sync_was_met
		stopped failed 'not safely on disk'
	fi
}

# ---- scenes: oddities that cost nothing

# synchronous SCENE...: where the kernel waits for each write in the call that makes it, whoever calls
synchronous() {
	rig_fault_end sick
	rig_fault sick -s
	echo "synchronous:"
	"$@"
	rig_fault_end sick
	rig_fault sick
}

# fault_short DISKS LAYOUT: a write takes less than it was given; only `synchronous`
fault_short() {
	scene "short writes" "$1" "$2"
	rig_fault_set sick write:short=65536
	paced 40 0 -n $fault_bytes
	was_met
	complete $fault_bytes

	# what is left has no multiple of a disk's blocks
	scene "odd short writes" "$1" "$2"
	rig_fault_set sick "only=$fault_data" 'write:short=70001@5M*3'
	paced 40 0 -n $fault_bytes
	was_met
	complete $fault_bytes
}

# fault_no_direct DISKS LAYOUT: O_DIRECT is refused, at the open or at the first write: buffered, and said so
fault_no_direct() {
	local where
	for where in open write; do
		scene "no O_DIRECT ($where)" "$1" "$2"
		rig_fault_set sick direct=$where
		paced 40 0 -n $fault_bytes
		is disks.0.io buffered
		[ "$disks" -eq 1 ] || is disks.1.io direct
		said "$RIG/sick: .*buffered writes instead"
		complete $fault_bytes
	done
}

# fault_no_allocate DISKS LAYOUT: a file system that can't preallocate
fault_no_allocate() {
	scene "no fallocate" "$1" "$2"
	rig_fault_set sick fallocate:EOPNOTSUPP
	paced 40 0 -n $fault_bytes
	was_met
	complete $fault_bytes
}

# fault_rates LAYOUT: three disks of different speed, each used to its ability, by a source that takes what it can get
fault_rates() {
	local bytes=250000001 slow middle fast
	scene "different rates" 3 "$1"
	rig_fault_set sick rate=15M
	rig_fault_set well1 rate=30M
	rig_fault_set well2 rate=60M
	start -s sim: "${fault_ring[@]}" -n $bytes
	finish 60 0
	slow=$(value disks.0.written_bytes) middle=$(value disks.1.written_bytes) fast=$(value disks.2.written_bytes)
	echo "  15 MB/s: $slow, 30 MB/s: $middle, 60 MB/s: $fast bytes in $(value duration_s) s"
	if [ "$1" = raw ]; then # strict turn: all wait for the slow one
		is_less duration_s 15
	else
		# a seventh, two and four of it; chunks are coarse, and the machine may be busy
		[ "$slow" -gt $((bytes / 14)) ] && [ "$slow" -lt $((bytes * 3 / 14)) ] || rig_fail "the slow disk took $slow of $bytes bytes"
		[ "$slow" -lt "$middle" ] && [ "$middle" -lt "$fast" ] || rig_fail "a slower disk took more: $slow, $middle, $fast bytes"
		# 2.4 s, if each is busy all the time; a third of what they have would be the slow one's pace
		is_less duration_s 5
	fi
	complete $bytes
}

# ---- scenes: a write that takes its time

# bytes_of SECONDS: what comes meanwhile
bytes_of() {
	echo $(($1 * fault_rate * 125000))
}

# fault_pause SECONDS DISKS LAYOUT: the ring bridges it
fault_pause() {
	local ring=32
	scene "a write of $1 s" "$2" "$3"
	rig_fault_set sick "only=$fault_data" "write:stall=$1@5M*1"
	# the ring has to hold all that comes meanwhile: for the only disk, or for the one whose turn it is
	[ "$2" -gt $copies ] && [ "$3" != raw ] || ring=$((32 + 32 * $1))
	paced 60 0 -d $(($1 + 2)) --ring ${ring}Mi
	was_met
	is_more disks.0.worst_write_s "$1 - 0.1"
	is_less disks.0.worst_write_s "$1 + 2"
	complete "$(bytes_of $(($1 + 2)))"
}

alone=() # options of a disk that is alone

# fault_overflow SECONDS LAYOUT: one disk, and a ring that doesn't bridge it: the rest is lost, the disk is not. It is
# the last disk, which is never given up for slowness.
fault_overflow() {
	local bytes lost
	scene "a write of $1 s and a small ring" 1 "$2"
	rig_fault_set sick "only=$fault_data" "write:stall=$1@5M*1"
	paced 60 1 -d $(($1 + 2)) "${alone[@]}"
	bytes=$(bytes_of $(($1 + 2))) lost=$(value ring.overflow_bytes)
	was_met
	is outcome loss
	is disks.0.state ok
	is stream_bytes "$bytes"
	is disk_lost_bytes 0
	is_more disks.0.worst_write_s "$1 - 0.1"
	# the ring is 32 MiB, and a busy machine may lose some more
	[ "$lost" -gt $(($(bytes_of "$1") - 45000000)) ] && [ "$lost" -lt "$(bytes_of $(($1 + 1)))" ] ||
		rig_fail "$lost bytes lost while $(bytes_of "$1") came"
	audit "$name" "${targets[@]}"
	[ "$(gap_bytes overflow)" -eq "$lost" ] || rig_fail "the journal has gaps of $(gap_bytes overflow) bytes, the report of $lost"
	gathered_sim "$bytes" "$name" "${targets[@]}"
}

# ---- scenes: disks that are stuck, and what --disk-timeout makes of them

fault_timeout=(--disk-timeout 2)

# let_go: what hung goes on, and then nothing of the recorder is left
let_go() {
	rig_fault_set sick reset
	wait_for 10 is_gone "$child" || rig_fail "the recorder doesn't end although nothing holds it any more: $started"
}

# stuck BYTES: another disk has what the stuck one held; the report stands while the write is still held
stuck() {
	is_holding || rig_fail "the write came back before the report"
	is_within_reach=no
	has_event disk-stuck
	sick_is stuck .
	let_go
	degraded "$1"
}

# fault_stuck SECONDS DISKS LAYOUT: a single write that takes so long, longer than the recording
fault_stuck() {
	scene "stuck for $1 s" "$2" "$3"
	rig_fault_set sick "only=$fault_data" "write:stall=$1@5M*1"
	paced 10 1 -d 4 "${fault_timeout[@]}"
	is_more disks.0.worst_write_s 1.9
	stuck "$(bytes_of 4)"
}

# fault_stuck_default SECONDS DISKS LAYOUT: the same without the option: after 10 s, or
# sooner, if the ring doesn't last that long
fault_stuck_default() {
	scene "stuck for $1 s, by default" "$2" "$3"
	rig_fault_set sick "only=$fault_data" "write:stall=$1@5M*1"
	paced 20 1 -d 13
	is_more disks.0.worst_write_s 1.9
	stuck "$(bytes_of 13)"
}

# fault_hang DISKS LAYOUT: from some moment on nothing on the disk comes back, its journal and all
fault_hang() {
	scene hang "$1" "$2"
	start -s sim: -r $fault_rate "${fault_ring[@]}" -d 5 "${fault_timeout[@]}"
	until_segments 2
	rig_fault_set sick "${fault_all[@]/%/:hang}"
	finish 12 1
	stuck "$(bytes_of 5)"
}

# fault_hang_soon DISKS: in strict turn the ring fills with what the disk should have, long before the time limit: then
# that is not waited for
fault_hang_soon() {
	scene "hang, and the ring fills" "$1" raw
	start -s sim: -r $fault_rate "${fault_ring[@]}" -d 13 --disk-timeout 60
	until_segments 2
	rig_fault_set sick "${fault_all[@]/%/:hang}"
	finish 20 1
	stuck "$(bytes_of 13)"
}

# fault_hang_in OP DISKS LAYOUT: it is not the write that hangs, but a call before or behind it
fault_hang_in() {
	scene "hang in $1" "$2" "$3"
	[ "$1" = fsyncdir ] || rig_fault_set sick "only=$fault_data"
	rig_fault_set sick "$1:hang@2"
	paced 12 1 -d 5 "${fault_timeout[@]}"
	stuck "$(bytes_of 5)"
}

# fault_back DISKS LAYOUT: stuck, and then not any more: it takes part again
fault_back() {
	local before
	scene back "$1" "$2"
	rig_fault_set sick "only=$fault_data" 'write:stall=5@5M*1'
	start -s sim: -r $fault_rate "${fault_ring[@]}" -d 10 "${fault_timeout[@]}"
	wait_for 10 is_holding || rig_fail "the recording never met the fault"
	wait_for 10 eval '! is_holding' || rig_fail "a stall of 5 s is not over after 10 s"
	before=$(rig_fault_ask sick | sed 's/.*written=//')
	finish 16 "0 1"
	has_event disk-stuck
	has_event disk-back
	is disks.0.state ok
	is disks.0.error null
	is_more disks.0.worst_write_s 4.9
	case $(value outcome) in
	complete) is exit_status 0 ;;
	degraded) is exit_status 1 ;;
	*) rig_fail "outcome $(value outcome)" ;;
	esac
	[ "$(rig_fault_ask sick | sed 's/.*written=//')" -gt $((before + 10000000)) ] || rig_fail "back, but it got next to nothing"
	nothing_lost "$(bytes_of 10)"
}

# fault_hang_alone LAYOUT: one disk, and a write that never returns: the ring overflows; the first signal waits for the
# disk, the second doesn't
fault_hang_alone() {
	local asked
	scene "hang alone" 1 "$1"
	start -s sim: -r $fault_rate "${fault_ring[@]}" "${alone[@]}"
	until_segments 1
	rig_fault_set sick "${fault_all[@]/%/:hang}"
	sleep 3.5
	kill -INT "$pid"
	sleep 1.5
	is_gone "$pid" && { show_words && rig_fail "the first signal gave up what the disk holds"; }
	kill -INT "$pid"
	asked=${EPOCHREALTIME/./}
	finish 10 2
	asked=$(((${EPOCHREALTIME/./} - asked) / 1000))
	is_holding || rig_fail "the write came back before the report"
	[ $asked -lt 3500 ] || rig_fail "it took $asked ms after the second signal"
	said 'aborted by a second signal'
	is outcome stopped
	is_more ring.overflow_bytes 10000000
	is_more aborted_bytes 0
	sick_is stuck .
	let_go
	promises_kept
}

# with_timeout SCENE...: a disk that is alone has no time limit, whatever the option says
with_timeout() {
	alone=("${fault_timeout[@]}")
	"$@"
	alone=()
}
