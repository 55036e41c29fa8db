#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# vsib-status as a user runs it: nothing there, a recorder at work, several, left-over sockets.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
status=$BIN/vsib-status
cd "$RIG" || exit 1
export VSIB_RUNTIME_DIR=$RIG/run

expect() {
	local wanted=$1 result=0
	shift
	"$@" >out 2>err || result=$?
	[ "$result" -eq "$wanted" ] || { cat out err; rig_fail "status $result instead of $wanted: $*"; }
}

has() { # FILE TEXT
	grep -qF -- "$2" "$1" || { cat "$1"; rig_fail "$1 says nothing of: $2"; }
}

expect 1 "$status"
has err "no recorder runs (there is no $RIG/run)"
mkdir run
expect 1 "$status" --once
has err "looked in $RIG/run"
expect 1 "$status" nobody
has err "no recorder nobody runs"
expect 64 "$status" --interval 0
expect 64 "$status" --interval soon
expect 64 "$status" a b
expect 64 "$status" --no-such-option
expect 0 "$status" --help
has out "--interval"
expect 0 "$status" --version
has out "vsib-status "
touch run/not.a.socket run/plain.77.sock
expect 1 "$status"
has err "plain.77.sock"
rm run/*

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$RIG"
	chmod 700 run
	expect 77 setpriv --reuid 65534 --clear-groups "$status"
	chmod 755 run
fi

[ -x "$BIN/vsib-record" ] || rig_skip "needs vsib-record, which is not built"

# record NAME SECONDS: in the background, its number in $recorder, until its socket is there
record() {
	"$BIN/vsib-record" -s sim: -r 16 -d "$2" --name "$1" --ring 64Mi -o null: 2>"$1.log" &
	recorder=$!
	for try in $(seq 50); do
		compgen -G "run/$1.*.sock" >/dev/null && return
		sleep 0.1
	done
	cat "$1.log"
	rig_fail "$1 opens no socket"
}

record one 30
one=$recorder
expect 0 "$status"
has out "one  "
has out "source   sim:"
has out "ring     ["
has out "lost     nothing"
expect 0 "$status" --json one
[ "$(wc -l <out)" -eq 1 ] || rig_fail "--json: not one line"
has out '"schema":"vsib-status/1"'
pid=$(sed 's/.*"pid": *\([0-9]*\).*/\1/' out)
expect 0 "$status" "$pid"
[ "$pid" = "$one" ] || rig_fail "pid $pid is not the one that was started, $one"
expect 1 "$status" two

record two 3
expect 0 "$status" --json
[ "$(wc -l <out)" -eq 2 ] || rig_fail "--json: not two lines for two recorders"

# it follows the second recorder until that ends, and says that it ran
expect 0 timeout 20 "$status" --interval 200ms --json two
[ "$(wc -l <out)" -ge 3 ] || rig_fail "--interval: $(wc -l <out) lines in some seconds"
wait "$recorder"

# stopped, it doesn't answer; killed, it leaves its socket; neither is removed or waited for longer than 2 s
child=$(ps -o pid= --ppid "$pid" | tr -d ' ')
kill -STOP "$child"
expect 0 timeout 10 "$status"
has err "doesn't answer within 2 s"
kill -CONT "$child"
kill -KILL "$child"
wait "$one" 2>/dev/null
if compgen -G 'run/one.*.sock' >/dev/null; then
	expect 1 "$status"
	has err "left over"
	compgen -G 'run/one.*.sock' >/dev/null || rig_fail "the socket is gone"
fi
exit 0
