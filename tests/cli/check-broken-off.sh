#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# san: skip (a library is preloaded)
#
# A recovery that is killed before, or fails at, each single call that changes something: the next one comes to the
# same end as one that was never disturbed, and nothing that a journal promises is lost on the way.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
# shellcheck source=tests/record.sh
. "${0%/*}/../record.sh"
# shellcheck source=tests/cut.sh
. "${0%/*}/../cut.sh"
check=$BIN/vsib-check
shim=$(realpath "${0%/*}/../shim/die.c")
cd "$RIG" || exit 1
${CC:-gcc} -D_GNU_SOURCE -shared -fPIC -O1 -o die.so "$shim" -ldl || rig_fail "the shim cannot be compiled"

# A recording with everything in it that a recovery has to do.
mkdir a b
"$BIN/vsib-record" -s sim: -r 200 -d 60 --name k --layout raw --file-size 16Mi --ring 64Mi $same -o a -o b \
	>"$output" 2>"$words" &
recorder=$!
wait_for 20 grep -qs segment b/k.vsib.jsonl || rig_fail "no segment in 20 s"
cut_kill_now $recorder
promised=$(cut_promises k a b | wc -l)
[ "$promised" -gt 1 ] || rig_fail "only $promised segments"
last=$(cut_promises k a | sed -n '1s/.*"file":"\([^"]*\)".*/\1/p')
mv a/"$last" a/"$last".part 2>/dev/null || mv b/"$last" b/"$last".part
find a b -name "$last.part" -exec sh -c 'head -c 5000 /dev/zero >>"$1"' sh {} \;
head -c 9000 /dev/zero >a/k.009999.part
sed -i '$d' b/k.vsib.jsonl
echo garbage >>b/k.vsib.jsonl # kept as damaged
cut_promises k a b >promises
cp -a a a.saved
cp -a b b.saved

again() {
	rm -rf a b
	cp -a a.saved a
	cp -a b.saved b
}

shape() {
	find a b -type f ! -name '*.damaged*' -printf '%p %s\n' | sort
}

# undisturbed; how many calls are there?
status=0
LD_PRELOAD=$RIG/die.so DIE_COUNT=$RIG/calls "$check" --recover --give-up-missing k a b 2>"$words" || status=$?
ended "0 1" $status vsib-check --recover
for what in "cut from" "renamed to" "removed:" "written:" "damaged one"; do
	grep -q "$what" "$words" || { show_words; rig_fail "this recovery is no test: $what"; }
done
audit k a b
shape >wanted
calls=$(stat -c %s calls)
[ "$calls" -gt 10 ] || rig_fail "only $calls calls"

for how in DIE_AT FAIL_AT; do
	for ((n = 1; n <= calls; n++)); do
		again
		status=0
		{ env LD_PRELOAD="$RIG/die.so" $how=$n "$check" --recover --give-up-missing k a b >"$output" 2>"$words" ||
			status=$?; } 2>/dev/null # the shell's own words about a killed process
		[ $how = FAIL_AT ] || [ $status -eq 137 ] || rig_fail "call $n of $calls does not kill: status $status"
		cut_promises k a b | comm -23 promises - | cmp -s - /dev/null || rig_fail "$how=$n has lost a promise"
		for target in a b; do
			[ -s $target/k.vsib.jsonl ] || rig_fail "$how=$n: no journal in $target"
		done
		status=0
		"$check" --recover --give-up-missing k a b 2>"$words" || status=$?
		ended "0 1" $status "the recovery after $how=$n"
		shape | diff wanted - || rig_fail "$how=$n: another end"
		audit k a b
	done
done
echo "$calls calls, each killed and failed"
