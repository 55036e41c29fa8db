#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
#   BIN=build/bin tests/check-manpages.sh DIR/PROGRAM.1...
#
# For each manual page: groff has nothing to complain about; the sections of the house are there; each option
# that `PROGRAM --help` lists stands in it, and each option that heads one of its paragraphs under OPTIONS is
# listed by --help. For each program: it has a page.
set -u
export LC_ALL=C
bad=0
option_names='--[a-z0-9][a-z0-9-]*|-[A-Za-z0-9?]'

complain() {
	echo "$*"
	bad=1
}

# options [LINE-PATTERN]: the option names that stand as words in the input's lines
options() {
	grep -E -- "${1:-.}" | grep -oE -- "(^|[^A-Za-z0-9-])($option_names)" | grep -oE -- "($option_names)\$" | sort -u
}

# argp's lines begin with "  -s, --source=SOURCE   what it is"; only the head counts.
help_options() {
	"$1" --help 2>/dev/null | grep -oE '^ {1,8}-([^ ]|, | --)+' | options
}

page_text() {
	groff -man -Tascii -P-cbou "$1" 2>/dev/null
}

# The heads of the paragraphs under OPTIONS.
page_options() {
	page_text "$1" | awk '/^[A-Z]/ { inside = /^OPTIONS/ } inside' | options '^ {3,10}-'
}

check_options() {
	local page=$1 program=$2 option
	while read -r option; do
		complain "$page: $option is in --help and not here"
	done < <(comm -23 <(help_options "$program") <(page_text "$page" | options))
	while read -r option; do
		complain "$page: $option is described, and --help does not list it"
	done < <(comm -13 <(help_options "$program") <(page_options "$page"))
}

check_page() {
	local page=$1 name warnings section
	name=${page##*/} name=${name%.1}
	warnings=$(groff -man -ww -z -Tascii "$page" 2>&1)
	[ -z "$warnings" ] || complain "$warnings"
	for section in NAME SYNOPSIS DESCRIPTION OPTIONS OUTPUT 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
		grep -qE "^\.SH \"?$section\"?\$" "$page" || complain "$page: no section $section"
	done
	if [ -x "$BIN/$name" ]; then
		check_options "$page" "$BIN/$name"
	else
		complain "$page: there is no program $BIN/$name"
	fi
}

for page; do
	check_page "$page"
done
for program in "$BIN"/*; do
	[ -x "$program" ] || continue
	compgen -G "*/${program##*/}.1" >/dev/null || complain "${program##*/}: no manual page"
done
[ $bad -ne 0 ] || echo "manual pages: $# pages, no warning, the same options as --help"
exit $bad
