#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Prints each #include that goes upward or sideways: samples flow one way, and so do the includes.
# Includes of this project are written from the top: #include "ringbuf/ring.h".
set -u
cd "${0%/*}/.." || exit 1

check() {
	awk '
	BEGIN {
		may["ringbuf"] = " ringbuf "
		may["drivers"] = " drivers "
		may["recorder"] = " recorder drivers ringbuf "
		may["tools"] = " tools recorder drivers ringbuf "
		may["tests"] = " tests tools recorder drivers ringbuf "
	}
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split($0, part, "\"")
		path = part[2]
		folder = FILENAME
		sub(/\/.*/, "", folder)
		target = path
		if (!sub(/\/.*/, "", target)) {
			printf "%s:%d: \"%s\" is not written from the top\n", FILENAME, FNR, path
			bad = 1
		} else if (index(may[folder], " " target " ") == 0) {
			printf "%s:%d: %s/ includes %s\n", FILENAME, FNR, folder, path
			bad = 1
		} else if (path ~ /^tools\/replay\// && FILENAME !~ /^(tests|tools\/replay)\/|^tools\/(vsib-replay|vsib-sim|rd)\./) {
			printf "%s:%d: %s is of the programs that play alone\n", FILENAME, FNR, path
			bad = 1
		} else if (path ~ /^tools\/qualify\// && FILENAME !~ /^(tests|tools\/qualify)\/|^tools\/vsib-qualify/) {
			printf "%s:%d: %s is of vsib-qualify alone\n", FILENAME, FNR, path
			bad = 1
		}
	}
	END { exit bad }' "$@"
}

shopt -s nullglob
files=({ringbuf,drivers,recorder,tools,tools/qualify,tools/replay,tests,tests/fuzz}/*.[ch])
[ ${#files[@]} -gt 0 ] || exit 0
check "${files[@]}" && echo "layers: ${#files[@]} files, no include goes upward"
