#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A sampler that is dead sends data all the same: constant ones, or with a bit that never moves. Noise is not
# complained about.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"

# warned EXPRESSION SOURCE: in the words, in the report, and the recording itself is good
warned() {
	record 0 -s "$2" -r 64 -d 3 -o null: --ring 16Mi --live none
	is stream_bytes 24000000
	said "$1"
	value 'warnings.*' | grep -qE -- "$1" || rig_fail "not among the report's warnings: $1"
	[ "$(grep -cE -- "^vsib: .*$1" "$words")" -eq 1 ] || { show_words; rig_fail "told more than once: $1"; }
}

# All at the same time: each is a recording of three seconds.
(warned 'data are constant \(0x00000000' sim:pattern=zero) & jobs=($!)
(RIG=$RIG report=$report.2 words=$words.2 output=$output.2; warned 'data are constant' sim:pattern=const) & jobs+=($!)
(report=$report.3 words=$words.3 output=$output.3; warned 'never change: mask 0x00000000 at 1, mask 0x00000080 at 0' sim:stuck=7) & jobs+=($!)
(report=$report.4 words=$words.4 output=$output.4; warned 'never change: mask 0x00000000 at 1, mask 0x80000000 at 0' sim:stuck=31) & jobs+=($!)
for job in "${jobs[@]}"; do
	wait "$job" || exit 1
done

# Noise, and real silence of the source, are no dead sampler.
record 0 -s sim: -r 64 -d 3 -o null: --ring 16Mi --live none
said_not 'constant|never change'
is 'warnings.#' 0

# In the journal, too, with the moment.
mkdir "$RIG/a"
record 0 -s sim:pattern=zero -r 64 -d 3 -o "$RIG/a" --name dead --ring 16Mi "$same" --live none
audit dead "$RIG/a"
[ "$("$TOOLS/tool_json" -l -t event "$RIG/a/dead.vsib.jsonl" event)" = data-constant ] ||
	rig_fail "no data-constant event in the journal"
