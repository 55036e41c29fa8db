#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# conf/: every key is an option and every option a key; each commented default is accepted; each profile records.
set -u
. "${0%/*}/../rig.sh"
conf=$(realpath "${0%/*}/../../conf")
export VSIB_RUNTIME_DIR=$RIG

keys() {
	sed -n 's/^#\([a-z][a-z-]*\) = .*/\1/p' "$conf/vsib-record.conf" | sort
}

# The long names that head a line of --help, without those that cannot stand in a file.
options() {
	"$BIN/vsib-record" --help | sed -n 's/^  *\(-[a-zA-Z?], \)\{0,1\}--\([a-z][a-z-]*\).*/\2/p' |
		grep -vxE 'config|help|usage|version' | sort -u
}

diff <(keys) <(options) || rig_fail "< only in conf/vsib-record.conf, > only in --help"

# What is said by example would not fit together (a start long ago); what is a default does.
sed 's/^#\([a-z]\)/\1/; /^start = /d; /^file-size = /d; /^file-time = /d; /^template = /d; /^exp = /d; /^station = /d; /^scan = /d' "$conf/vsib-record.conf" >"$RIG/all.conf"
rig_expect 0 "$BIN/vsib-record" --config "$RIG/all.conf" -s sim: -n 16Mi -o null: --json "$RIG/report.json"
grep -q '"name": *"experiment_scan1"' "$RIG/report.json" || rig_fail "the name of the file was not taken"
rig_expect 0 "$BIN/vsib-record" --config "$RIG/all.conf" -s sim: -n 16Mi -o null: --json "$RIG/report.json" --name other
grep -q '"name": *"other"' "$RIG/report.json" || rig_fail "the command line does not beat the file"

for rate in 128 256 512; do
	rig_expect 0 "$BIN/vsib-record" --config "$conf/$rate.conf" -s sim: -d 1 -o null: --json "$RIG/report.json"
	grep -q "\"stream_bytes\": *$((rate * 125000))" "$RIG/report.json" || rig_fail "$rate.conf: not a second of $rate Mbit/s"
done

echo 'rate = "fast"' >"$RIG/wrong.conf"
rig_expect 78 "$BIN/vsib-record" --config "$RIG/wrong.conf" -s sim: -n 1Mi -o null:
rig_expect 66 "$BIN/vsib-record" --config "$RIG/none.conf" -s sim: -n 1Mi -o null:
