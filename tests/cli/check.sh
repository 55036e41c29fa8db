#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# vsib-check as a user runs it: whole recordings, damaged ones, running ones, and those that were cut short.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
# shellcheck source=tests/record.sh
. "${0%/*}/../record.sh"
# shellcheck source=tests/cut.sh
. "${0%/*}/../cut.sh"
check=$BIN/vsib-check
cd "$RIG" || exit 1

# expect STATUS ARGUMENT...: of vsib-check; its words go to $words
expect() {
	local wanted=$1 status=0
	shift
	"$check" "$@" >"$output" 2>"$words" || status=$?
	ended "$wanted" $status vsib-check "$@"
}

# reports KEY VALUE: the check before had --json "$report"
reports() {
	local got
	got=$(value "$1") || exit 1
	[ "$got" = "$2" ] || rig_fail "$1 is $got in the report instead of $2"
}

fresh() {
	rm -rf a b c
	mkdir a b c
}

three() {
	fresh
	record 0 -s sim:,seed=3 -n 40M --name e --ring 64Mi $same -o a -o b -o c
}

# chunk NUMBER: where it is; any disk may have taken it
chunk() {
	echo [abc]/e/e."$(printf %08d "$1")"
}

# ---- whole ---------------------------------------------------------------------------------------------------------

fresh
record 0 -s sim: -n 30M --name one -o a $same
expect 0 a/one
says "one: good: 30000000 bytes"
expect 0 a/one.vsib.jsonl --json "$report"
reports schema vsib-check/1
reports outcome good
reports verified_bytes 30000000
reports bad_count 0
expect 0 -q a/one
[ ! -s "$words" ] || { show_words; rig_fail "--quiet says something"; }
expect 0 a/one.raw
says "a/one.raw is a piece of a/one"
expect 0 one a
expect 0 one --target a
rm -rf a/*
record 0 -s sim: -n 30M --name rolled --file-size 4Mi -o a $same
expect 0 a/rolled
expect 0 a/rolled.000003
three
expect 0 e a b c
expect 0 b/e --json -
grep -q '"segment_count": 10' "$output" || rig_fail "--json=-: not ten segments"
expect 0 "$(chunk 1)"

expect 0 --help
grep -q -- --recover "$output" || rig_fail "--help says nothing of --recover"
expect 0 --version
grep -q '^vsib-check [0-9]' "$output" || rig_fail "--version: $(cat "$output")"

# ---- usage, and what is not there ----------------------------------------------------------------------------------

echo hello >plain.vdif
expect 2 plain.vdif
says "plain.vdif: unknown format"
expect 64 --recover plain.vdif
says "nothing to recover it by"
expect 64
expect 64 --no-such-option a/e
expect 64 --dry-run a/e
says "--dry-run goes with --recover"
expect 64 --give-up-missing a/e
expect 64 a/..
expect 66 a/nothing
expect 66 --recover a/nothing
expect 66 e d9
expect 66 e a d9
says d9
expect 73 a/e --json no/such/folder
expect 74 a/e --json /dev/full

# ---- what is wrong is named ----------------------------------------------------------------------------------------

three
flip "$(chunk 4)" 1234567
expect 1 a/e --json "$report"
says "bad checksum: "
says "e/e.00000004 from file offset 0, 4194304 bytes, stream offset 16777216"
says "e: differences"
reports bad_count 1
reports bad.0.file e/e.00000004
reports bad.0.stream_offset 16777216
expect 1 --recover a/e # nothing to do about it, and nothing is made worse
says "nothing to recover"
says "bad checksum"
flip "$(chunk 4)" 1234567
expect 0 a/e

rm "$(chunk 2)"
expect 1 a/e --json "$report"
says "missing: "
says "e/e.00000002 is not there: 4194304 bytes of the stream from 8388608 to 12582912"
reports missing_count 1
reports missing.0.bytes 4194304

three
truncate -s 4000000 "$(chunk 3)"
expect 1 b/e
says "e.00000003 is 4000000 bytes long, the journal says 4194304"
expect 1 --recover b/e
says "e.00000003: left as it is, 4000000 bytes: shorter than the journal says"
[ "$(stat -c %s "$(chunk 3)")" -eq 4000000 ] || rig_fail "a short file was changed"

three
echo tail >>"$(chunk 0)"
cp "$(chunk 0)" a/e/e.00000077
cp "$(chunk 0)" a/e/e.00000078.part
expect 1 a/e
says "e/e.00000000 is 4194309 bytes long, the journal says 4194304"
says "e.00000077: not in the journal, not used"
says "e.00000078.part: not in the journal, not used"
says_not "bad checksum"

# the first byte that differs is told where there is a good copy of it
three
cp "$(chunk 1)" a/e/e.00000099
for i in a b c; do
	sed -i '/"file":"e\/e.00000001"/{p;s/00000001/00000099/;s/"target":[012]/"target":0/}' $i/e/e.vsib.jsonl
done
expect 0 a/e
flip "$(chunk 1)" 3000000
expect 1 a/e --json "$report"
says "the first byte that differs from a good copy is at file offset 3000000"
reports bad.0.first_difference 3000000

# ---- journals ------------------------------------------------------------------------------------------------------

three
sed -i '$d' b/e/e.vsib.jsonl
expect 0 a/e
says "journal $RIG/b/e/e.vsib.jsonl is shorter"
printf '{"type":"ev' >>b/e/e.vsib.jsonl
expect 0 a/e
says "ends in a torn line"
expect 0 --recover a/e
cmp a/e/e.vsib.jsonl b/e/e.vsib.jsonl || rig_fail "the shorter journal was not brought to the same content"

sed -i '5s/"bytes":4194304/"bytes":4194303/' c/e/e.vsib.jsonl
expect 2 a/e
says "contradicts"
cut_state a b c >state
expect 2 --recover a/e
says "contradict each other; nothing is changed"
cut_state a b c | cmp - state || rig_fail "a recovery with contradicting journals has changed something"

three
sed -i '5s/.*/garbage/' c/e/e.vsib.jsonl
expect 1 a/e
says "is damaged"
expect 0 --recover a/e
says "the damaged one is now e.vsib.jsonl.damaged"
cmp a/e/e.vsib.jsonl c/e/e.vsib.jsonl || rig_fail "the damaged journal was not replaced"
grep -q garbage c/e/e.vsib.jsonl.damaged || rig_fail "the damaged journal was not kept"
expect 0 a/e

three
for i in a b c; do sed -i 's/"written_bytes":40000000/"written_bytes":40000001/' $i/e/e.vsib.jsonl; done
expect 1 a/e --json "$report"
says "the end line says written_bytes 40000001, the lines before it come to 40000000"
three
for i in a b c; do sed -i '/"stream_offset":8388608,/d' $i/e/e.vsib.jsonl; done
expect 1 a/e
says "4194304 bytes of the stream are neither in a segment nor in a gap"
says "gap at stream offset 8388608: 4194304 bytes, unknown"

rm [abc]/e/*.jsonl
expect 1 e a b c
says "no journal"
expect 2 --recover e a b c
says "no journal"
rm "$(chunk 2)"
truncate -s -1 "$(chunk 1)"
expect 1 e a b c
says "missing: e.00000002 is not there: at stream offset 8388607, length not known"

# an empty recording, and one that holds nothing yet
fresh
: >nothing
record 66 -s file:nothing --name none -o a $same
if [ -e a/none.vsib.jsonl ]; then
	expect 0 a/none
	says "none: good: 0 bytes"
	expect 0 --recover a/none
fi

# ---- still being recorded ------------------------------------------------------------------------------------------

fresh
"$BIN/vsib-record" -s sim: -r 200 -d 60 --name run --ring 64Mi $same -o a -o b >"$output" 2>"$RIG/log" &
recorder=$!
wait_for 20 grep -qs segment a/run/run.vsib.jsonl || rig_fail "no segment in 20 s"
expect 1 a/run
says "still being recorded"
expect 2 --recover a/run
says "is still being recorded"
says "nothing is changed"
expect 2 --recover --dry-run run b
says "is still being recorded"
kill -0 $recorder || rig_fail "the recorder has ended"

# killed: what it had promised comes back
cut_kill_now $recorder
expect 1 a/run
says "cut short; --recover brings it into order"
cut_recovered run a b
expect 0 a/run

# ---- cut short, step by step ---------------------------------------------------------------------------------------

# one endless file, and one that has .part behind its name
for shape in "" "--file-size 64Mi"; do
	fresh
	# shellcheck disable=SC2086 # words
	"$BIN/vsib-record" -s sim: -r 100 -d 60 --name k $shape --ring 64Mi $same -o a >"$output" 2>"$RIG/log" &
	recorder=$!
	wait_for 20 grep -qs segment a/k.vsib.jsonl || rig_fail "no segment in 20 s"
	cut_kill_now $recorder
	data=a/k.raw
	[ -z "$shape" ] || data=a/k.000000
	long=$(stat -c %s $data* | tail -n 1)
	printf '{"type":"segm' >>a/k.vsib.jsonl
	cp -a a saved
	cut_state a >state
	expect 1 --recover --dry-run a/k
	says "would be cut from $long to"
	[ -z "$shape" ] || says "k.000000.part: would be renamed to k.000000"
	says "would be written"
	cut_state a | cmp - state || rig_fail "--dry-run has changed something"
	expect 0 --recover a/k --json "$report"
	says "cut from $long to"
	reports recovery.dry_run false
	reports recovery.steps.0.action cut
	audit k "$RIG/a"
	short=$(awk '$1 == "total" { print $2 }' "$RIG/audit")
	[ "$(stat -c %s $data)" -eq "$short" ] || rig_fail "$data is not cut to its $short bytes"
	gathered_sim "$short" k a

	# broken off after each step, a second recovery comes to the same end
	rm -rf good a
	mv saved a
	expect 0 --recover a/k
	tail -n 1 a/k.vsib.jsonl | grep -q '"outcome":"stopped","reason":"recovered"' || rig_fail "no end of a recovery"
	sed -i '$d' a/k.vsib.jsonl
	cp a/k.vsib.jsonl a/k.vsib.jsonl.recovery
	expect 0 --recover a/k
	[ ! -e a/k.vsib.jsonl.recovery ] || rig_fail "what a broken-off recovery has left is still there"
	tail -n 1 a/k.vsib.jsonl | grep -q '"reason":"recovered"' || rig_fail "no end after a broken-off recovery"
	expect 0 --recover a/k
	says "nothing to recover"
	rm -rf saved
done

# recovery itself killed at random moments
fresh
cut_seed
cut_kill_from_ms=3000 cut_kill_to_ms=5000
cut_kill -s sim: -r 300 -d 60 --name k --layout raw --file-size 4Mi --ring 64Mi $same -o a -o b
cut_promises k a b >promised
for i in 1 2 3 4 5 6 7 8; do
	"$check" --recover k a b >/dev/null 2>&1 &
	child=$!
	cut_random 0 12
	cut_sleep_ms "$cut_number"
	kill -KILL $child
	wait $child
done 2>/dev/null
if cut_has_start k a b; then
	expect "0 1" --recover k a b
	audit k a b
	cut_promises k a | comm -23 promised - | cmp - /dev/null || rig_fail "killed recoveries have lost something"
fi

# ---- a target that is not there ------------------------------------------------------------------------------------

fresh
"$BIN/vsib-record" -s sim: -r 200 -d 60 --name k --ring 64Mi $same -o a -o b -o c >"$output" 2>"$RIG/log" &
recorder=$!
wait_for 20 grep -qs '"segment","target":2' a/k/k.vsib.jsonl || rig_fail "no segment in 20 s"
cut_kill_now $recorder
head -c 100000 /dev/zero >a/k/k.00009999.part
mv c c.away
cut_promises k a b >promised
expect 1 --recover a/k
says "k.00009999.part: left as it is"
says "--give-up-missing"
says "missing: $RIG/c/"
[ -e a/k/k.00009999.part ] || rig_fail "a file that the missing journal may promise was removed"
cut_promises k a | comm -23 promised - | cmp - /dev/null || rig_fail "recovery without a target has lost something"
expect 1 --recover --give-up-missing a/k
[ ! -e a/k/k.00009999.part ] || rig_fail "--give-up-missing has not removed it"
# and it comes back, with a journal that knows more: that one counts
mv c.away c
last=$(grep -c . c/k/k.vsib.jsonl)
for i in a b; do
	# as if these two had been cut two lines earlier
	head -n $((last - 2)) c/k/k.vsib.jsonl >short
	tail -n 2 $i/k/k.vsib.jsonl >>short
	cp short $i/k/k.vsib.jsonl
done
expect "0 1" a/k
says "was recovered when less was known"
expect "0 1" --recover a/k
audit k "$RIG/a" "$RIG/b" "$RIG/c"

# ---- what must not be touched --------------------------------------------------------------------------------------

fresh
"$BIN/vsib-record" -s sim: -r 100 -d 60 --name k --file-size 64Mi --ring 64Mi $same -o a >"$output" 2>"$RIG/log" &
recorder=$!
wait_for 20 grep -qs segment a/k.vsib.jsonl || rig_fail "no segment in 20 s"
cut_kill_now $recorder
ln a/k.000000.part hard
expect "0 1" --recover a/k
says "hard link"
[ "$(stat -c %s hard)" -gt 60000000 ] || rig_fail "a file with a second name was cut"
rm hard
echo mine >a/k.000000
expect "0 1" --recover a/k
[ "$(cat a/k.000000)" = mine ] || rig_fail "a file was written over"
rm a/k.000000
mv a/k.000000.part secret
ln -s ../secret a/k.000000.part
long=$(stat -c %s secret)
expect 1 --recover a/k
[ "$(stat -c %s secret)" -eq "$long" ] || rig_fail "a symbolic link was followed"
rm a/k.000000.part
mv secret a/k.000000.part
# a name that leads out, and one that moves the cursor
start=$(head -n 1 a/k.vsib.jsonl)
{
	echo "$start"
	printf '{"type":"segment","target":0,"file":"../outside","file_offset":0,"bytes":1,"stream_offset":0}\n'
	printf '{"type":"segment","target":0,"file":"a\\nb\\u001b[2J","file_offset":0,"bytes":1,"stream_offset":1}\n'
} >k2
mkdir -p evil
cp k2 evil/k.vsib.jsonl
echo outside data >outside
expect 2 --recover evil/k
[ "$(cat outside)" = "outside data" ] || rig_fail "a file outside the target was changed"
! grep -q "$(printf '\033')" "$words" || rig_fail "a name moves the cursor"

# ---- rights, read-only, full ---------------------------------------------------------------------------------------

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$RIG"
	chmod -R go+rX a
	status=0
	setpriv --reuid 65534 --clear-groups "$check" --recover "$RIG/a/k" 2>"$words" || status=$?
	ended 2 $status "--recover of another user's files"
	says "Permission denied"
	chmod 700 a
	status=0
	setpriv --reuid 65534 --clear-groups "$check" "$RIG/a/k" 2>"$words" || status=$?
	ended 77 $status "no permission"
	chmod 755 a
else
	echo "not tested: permissions (needs root and setpriv)"
fi

if [ "$(id -u)" -eq 0 ] && command -v mkfs.ext4 >/dev/null && losetup --find >/dev/null 2>&1; then
	rig_disk usb1 120
	cp a/k.vsib.jsonl a/k.000000.part usb1/
	sed -i '/"recovered"/d' usb1/k.vsib.jsonl
	head -c 20000000 /dev/zero >>usb1/k.000000.part
	mv a a.away # where the journal says the target is
	mount -o remount,ro usb1
	expect 2 --recover usb1/k
	says "Read-only file system"
	mount -o remount,rw usb1
	dd if=/dev/zero of=usb1/filler bs=1M status=none 2>/dev/null
	dd if=/dev/zero of=usb1/filler2 bs=1k status=none 2>/dev/null
	cp usb1/k.vsib.jsonl journal
	# a full disk: the tail that is cut off makes room for the journal
	expect "0 1" --recover usb1/k
	# and where there is none, all stays as it was
	cp journal usb1/k.vsib.jsonl || rig_fail "the journal can't be put back"
	dd if=/dev/zero of=usb1/filler3 bs=1M status=none 2>/dev/null
	dd if=/dev/zero of=usb1/filler4 bs=1k status=none 2>/dev/null
	expect 2 --recover usb1/k
	says "No space left"
	cmp journal usb1/k.vsib.jsonl || rig_fail "a journal was damaged on a full disk"
	[ ! -e usb1/k.vsib.jsonl.recovery ] || rig_fail "half a journal was left"
	rm usb1/filler*
	expect "0 1" --recover usb1/k
	mv a.away a
else
	echo "not tested: full and read-only disks (needs root and loop devices)"
fi

# ---- kills, and two power cuts -------------------------------------------------------------------------------------

cut_kill_from_ms=2000
for shape in "-o a" "-o a --file-size 4Mi" "-o a -o b --layout vbs" "-o a -o b --layout raw --file-size 16Mi"; do
	fresh
	# shellcheck disable=SC2086 # words
	cut_kill -s sim: -r 250 -d 60 --name k --ring 64Mi $same $shape
	case $shape in
	*-o\ b*) cut_recovered k a b ;;
	*) cut_recovered k a ;;
	esac
done
fresh

if [ "$(id -u)" -eq 0 ] && command -v mkfs.xfs >/dev/null && losetup --find >/dev/null 2>&1; then
	cut_disks 2 300
	"$BIN/vsib-record" -s sim: -r 200 -d 60 --name k --ring 64Mi $same -o "$RIG/disk1" -o "$RIG/disk2" \
		>"$output" 2>"$RIG/log" &
	recorder=$!
	for i in 1 2; do
		cut_random 1500 3000
		cut_sleep_ms "$cut_number"
		cut_snapshot "$RIG/vault/snap$i"
	done
	cut_kill_now $recorder
	cut_detach
	for i in 1 2; do
		cut_attach "$RIG/vault/snap$i"
		cut_recovered k "${cut_targets[@]}"
		cut_detach
	done
else
	echo "not tested: power cuts (needs root, loop devices and mkfs.xfs)"
fi
exit 0
