#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs the models of the ring's protocol through spin, every state of them.
#
#   tests/verify.sh ringbuf/NAME.pml...
#
# A model says in comment lines of its own how it is run:
#   /* verify: WORDS */                 one exhaustive run; several lines, several runs; none: one plain run
#   /* mutant: WORDS expect-error */    a run of the model broken on purpose, in which the error must be found:
#                                       a model that cannot fail proves nothing
# WORDS: -DNAME[=VALUE] for spin's preprocessor; cc:OPTION for the verifier's compiler (cc:-DCOLLAPSE);
#        pan:OPTION for the verifier (pan:-m1000000; pan:-a or pan:-l for liveness); unreached-ok when statements
#        that are never reached are meant to be there. A mutant runs with the words of the first verify line too.
set -u
export LC_ALL=C
cd "${0%/*}/.." || exit 1
top=$PWD
limit_s=900
bad=0

# model_lines KIND FILE: the words of each comment line of that kind
model_lines() {
	sed -n "s|^[[:space:]]*/\* *$1:[[:space:]]*\(.*\)\*/.*|\1|p" "$2"
}

# build_verifier MODEL WORD...: build/verify/.../pan
build_verifier() {
	local model=$1 word spin=() cc=(-O2 -w) safety=-DSAFETY
	shift
	pan=(-m1000000)
	for word; do
		case $word in
		-D*) spin+=("$word") ;;
		cc:*) cc+=("${word#cc:}") ;;
		pan:-[alf]*) pan+=("${word#pan:}") safety= ;;
		pan:*) pan+=("${word#pan:}") ;;
		unreached-ok) ;;
		*) echo "$model: what is $word?"; return 1 ;;
		esac
	done
	case " ${cc[*]} " in *" -DNP "*) safety= ;; esac
	spin "${spin[@]}" -a "$top/$model" >spin.log 2>&1 || { cat spin.log; return 1; }
	"${CC:-cc}" "${cc[@]}" ${safety:+"$safety"} -o pan pan.c >cc.log 2>&1 || { cat cc.log; return 1; }
}

is_complete() {
	! grep -qE 'max search depth too small|Search not completed|reached -DMEMLIM|out of memory|Bit statespace' "$1"
}

errors_found() {
	sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$1" | head -n 1
}

# Statements that no run came to; a process without an end never reaches it.
unreached() {
	awk '/^unreached in/ { where = $0; next } where && /^\t[^(]/ && !/-end-/ { print "    " where ": " $0 }' "$1" | tr -s '\t ' ' ' | sed 's,^ *,        ,'
}

say_result() {
	local verdict=$1 what=$2
	awk -v verdict="$verdict" -v what="$what" '
	/states, stored/ && !states { states = $1 }
	/depth reached/ { depth = $0; sub(/.*depth reached /, "", depth); sub(/,.*/, "", depth) }
	/total actual memory usage/ { memory = $1 }
	END { printf "  %-4s %-46s %s states, depth %s, %s MB\n", verdict, what, states, depth, memory }' pan.log
}

in_folder() {
	local folder=$top/build/verify/${1//[^A-Za-z0-9_.=-]/_}
	rm -rf "$folder"
	mkdir -p "$folder" && cd "$folder" || return 1
}

run_verifier() {
	timeout "$limit_s" ./pan "${pan[@]}" >pan.log 2>&1
	[ $? -ne 124 ] || echo "Search not completed: $limit_s s are over" >>pan.log
}

# verify MODEL WORDS
verify() {
	local model=$1 words=$2 errors
	in_folder "$model $words" || return 1
	# shellcheck disable=SC2086 # words
	build_verifier "$model" $words || return 1
	run_verifier
	errors=$(errors_found pan.log)
	if [ "$errors" != 0 ]; then
		say_result FAIL "$model $words"
		echo "    ${errors:-no count of} errors; to see how it comes to it:"
		echo "    cd ${PWD#"$top"/} && spin -t -p -l -g $(grep -oE -- '-D[^ ]+' <<<"$words" | tr '\n' ' ')$top/$model"
		grep -E '^pan:' pan.log | head -n 5 | sed 's/^/    /'
		return 1
	fi
	is_complete pan.log || { say_result FAIL "$model $words"; echo "    the search was cut short: see ${PWD#"$top"/}/pan.log"; return 1; }
	if [[ " $words " != *" unreached-ok "* ]] && [ -n "$(unreached pan.log)" ]; then
		say_result FAIL "$model $words"
		echo "    no error, but parts of the model were never run:"
		unreached pan.log
		return 1
	fi
	say_result ok "$model $words"
}

# mutant MODEL WORDS: fails unless an error is found
mutant() {
	local model=$1 words=$2 errors
	in_folder "$model mutant $words" || return 1
	# shellcheck disable=SC2086 # words
	build_verifier "$model" $words || return 1
	run_verifier
	errors=$(errors_found pan.log)
	if [ "${errors:-0}" -gt 0 ] && ! grep -qE '^pan:.*max search depth' pan.log; then
		say_result ok "$model, broken: $words"
		grep -E '^pan:[0-9]*:' pan.log | head -n 1 | sed 's/^/         found: /'
	else
		say_result FAIL "$model, broken: $words"
		echo "    the verifier does not find what is broken here on purpose"
		return 1
	fi
}

verify_model() {
	local model=$1 words runs
	mapfile -t runs < <(model_lines verify "$model")
	[ ${#runs[@]} -gt 0 ] || runs=('')
	for words in "${runs[@]}"; do
		(verify "$model" "${words% }") || bad=1
	done
	while read -r words; do
		if [[ $words != *expect-error* ]]; then
			echo "$model: mutant without expect-error: $words"
			bad=1
			continue
		fi
		(mutant "$model" "${runs[0]% } ${words//expect-error/}") || bad=1
	done < <(model_lines mutant "$model")
}

[ $# -gt 0 ] || { echo "verify: there is no model"; exit 1; }
for model; do
	echo "$model"
	verify_model "$model"
done
[ $bad -eq 0 ] && echo "verify: every model holds, every broken one is found out"
exit $bad
