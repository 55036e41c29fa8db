#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# san: skip (a library is preloaded)
#
# How writes are made: io_uring where it is allowed, threads where it is not, which is said once; either by name; the
# bytes are the same.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
shim=$RIG/no_uring.so
${CC:-gcc} -D_GNU_SOURCE -shared -fPIC -o "$shim" "${0%/*}/../shim/no_uring.c" || rig_fail "the shim does not compile"
mkdir "$RIG/a" "$RIG/b"
both=("$RIG/a" "$RIG/b")
to_both=(-o "${both[0]}" -o "${both[1]}" --chunk 1Mi --ring 16Mi --block 128Ki "$same")

same_bytes() { # NAME
	audit "$1" "${both[@]}"
	gathered_sim 20000001 "$1" "${both[@]}"
	rm -rf "$RIG/a/$1" "$RIG/b/$1"
}

record 0 -s sim: -n 20000001 --name threads --engine pwrite --depth 3 "${to_both[@]}"
is disks.0.engine pwrite
is disks.1.depth 3
same_bytes threads

# refused: threads instead, and a sentence, once
LD_PRELOAD=$shim record 0 -s sim: -n 20000001 --name refused "${to_both[@]}"
is disks.0.engine pwrite
said 'io_uring is refused'
[ "$(grep -c '^vsib: io_uring is refused' "$words")" -eq 1 ] || rig_fail "it was not said once: $(cat "$words")"
[ "$(grep -o 'io_uring is refused' "$report" | wc -l)" -eq 1 ] || rig_fail "the report has that warning more than once"
same_bytes refused
# asked for by name: refused before the source starts
LD_PRELOAD=$shim rig_expect 78 "$BIN/vsib-record" -s sim: -n 1M --engine io_uring -o "$RIG/a" --name no "$same" 2>"$words"
grep -q 'engine auto' "$words" || rig_fail "what to do is not said: $(cat "$words")"
[ -z "$(ls "$RIG/a")" ] || rig_fail "a refused start left $(ls "$RIG/a")"

# allowed, where it is: probed by name
if "$BIN/vsib-record" -s sim: -n 20000001 --engine io_uring --name ring --json "$report" "${to_both[@]}" --live none 2>"$words"; then
	is disks.0.engine io_uring
	same_bytes ring
else
	grep -q 'io_uring is refused' "$words" || rig_fail "io_uring: $(cat "$words")"
	echo "io_uring is refused on this machine"
fi
