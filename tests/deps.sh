#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Looks for what the project needs on this machine; the list is in GNUmakefile.
#
#   tests/deps.sh missing PACKAGE:CHECK:PURPOSE...   prints the packages that are missing
#   tests/deps.sh check   ...                        the same as a sentence; fails when one is missing
#   tests/deps.sh install ...                        installs them (root, apt-get), or says how and fails
set -u
PATH=$PATH:/usr/sbin:/sbin

is_here() {
	case $1 in
	lib=*) pkg-config --exists "${1#lib=}" ;;
	bin=*) command -v "${1#bin=}" ;;
	header=*) printf '#include <%s>\n' "${1#header=}" | ${CC:-cc} -E -x c - ;;
	clang=*) echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize="${1#clang=}" -x c -o /dev/null - ;;
	*) echo "deps.sh: what is $1?" >&2; exit 64 ;;
	esac >/dev/null 2>&1
}

missing() {
	local line package check
	for line; do
		IFS=: read -r package check _ <<<"$line"
		is_here "$check" || printf '%s ' "$package"
	done
}

verb=$1
shift
packages=$(missing "$@")
packages=${packages% }
command="apt-get install -y --no-install-recommends $packages"

say_how() {
	echo "Missing on this machine, as Debian and Ubuntu name the packages: $packages"
	echo "Install them with:"
	echo "    sudo $command"
}

case $verb in
missing)
	printf '%s' "$packages"
	;;
check)
	[ -z "$packages" ] || { say_how; exit 1; }
	;;
install)
	[ -n "$packages" ] || exit 0
	if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
		say_how
		exit 1
	fi
	echo "Installing: $packages"
	export DEBIAN_FRONTEND=noninteractive
	# An update that fails is no reason to give up: the lists may be good enough.
	apt-get -q -o DPkg::Lock::Timeout=120 update || echo "deps: apt-get update failed, trying all the same"
	# shellcheck disable=SC2086 # the command is words on purpose
	apt-get -q -o DPkg::Lock::Timeout=120 ${command#apt-get} </dev/null || { echo "deps: could not install: $packages"; exit 1; }
	packages=$(missing "$@")
	[ -z "$packages" ] || { echo "deps: installed, but still not found: $packages"; exit 1; }
	;;
*)
	echo "deps.sh: missing, check or install?" >&2
	exit 64
	;;
esac
