# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Metadata of recordings in end-to-end tests; to be sourced by bash behind rig.sh and record.sh:
#
#	is_sigmf "$RIG/a" NAME NAME.000001 0 ci8 2      the data file's metadata keep SigMF's rules and say what the journal says
#	is_dada "$RIG/a/NAME.000001" 1 1000000          its DADA header is whole, with this number and this offset in the stream

# meta FILE KEY: of its metadata
meta() {
	"$TOOLS/tool_json" "$1" "$2" || rig_fail "$1 has no $2"
}

# expected_captures JOURNAL FILE HEAD SAMPLE: first sample in the file, and in the stream, by the segments
expected_captures() {
	"$TOOLS/tool_json" -l -t segment "$1" file file_offset bytes stream_offset | awk -v file="$2" -v head="$3" -v sample="$4" '
		$1 != file { next }
		!begun || $4 != next_offset { printf "%.0f %.0f\n", ($2 - head) / sample, $4 / sample }
		{ next_offset = $4 + $3; begun = 1 }'
}

# is_sigmf TARGET NAME FILE HEAD DATATYPE SAMPLE: the metadata of a data file keep the rules and are true
is_sigmf() {
	local file=$1/$3 of=$1/$3.sigmf-meta head=$4 type=$5 sample=$6 rest size
	case $3 in
	*.sigmf-data) of=$1/${3%.sigmf-data}.sigmf-meta ;;
	esac
	[ -e "$of" ] || rig_fail "no $of"
	grep -qE '^(c|r)(f32|f64|i32|i16|u32|u16|i8|u8)(_le|_be)?$' <<<"$type" || rig_fail "$type is no datatype"
	[ "$(meta "$of" global.core:datatype)" = "$type" ] || rig_fail "$of: datatype $(meta "$of" global.core:datatype)"
	[ "$(meta "$of" global.core:version)" = 1.2.5 ] || rig_fail "$of: version"
	meta "$of" annotations >/dev/null
	case $3 in
	*.sigmf-data) ! grep -q core:dataset "$of" || rig_fail "$of names a dataset" ;;
	*) [ "$(meta "$of" global.core:dataset)" = "$3" ] || rig_fail "$of: dataset" ;;
	esac
	paste -d ' ' <(meta "$of" 'captures.*.core:sample_start') <(meta "$of" 'captures.*.core:global_index') >"$RIG/captures"
	expected_captures "$1/$2.vsib.jsonl" "$3" "$head" "$sample" | diff - "$RIG/captures" ||
		rig_fail "$of: other captures than the journal's segments and gaps make"
	sort -nu "$RIG/captures" | cmp -s - "$RIG/captures" || rig_fail "$of: captures not in order"
	! meta "$of" 'captures.*.core:datetime' | grep -qvE '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$' ||
		rig_fail "$of: datetime $(meta "$of" 'captures.*.core:datetime')"
	[ "$head" -eq 0 ] || [ "$(meta "$of" captures.0.core:header_bytes)" -eq "$head" ] || rig_fail "$of: header_bytes"
	size=$(stat -c %s "$file") rest=$(((size - head) % sample))
	if [ $rest -gt 0 ]; then
		[ "$(meta "$of" global.core:trailing_bytes)" -eq $rest ] || rig_fail "$of: trailing bytes are not $rest"
	else
		! grep -q trailing_bytes "$of" || rig_fail "$of has trailing bytes"
	fi
}

# key FILE KEY: of its DADA header
key() {
	head -c 4096 "$1" | tr -d '\0' | awk -v key="$2" '$1 == key { sub(/^[^ ]+ /, ""); print; found = 1 } END { exit !found }'
}

key_is() {
	[ "$(key "$1" "$2")" = "$3" ] || rig_fail "$1: $2 is '$(key "$1" "$2")', expected '$3'"
}

# is_dada FILE NUMBER OFFSET
is_dada() {
	key_is "$1" HDR_SIZE 4096
	key_is "$1" OBS_OFFSET "$3"
	key_is "$1" FILE_NUMBER "$2"
	key_is "$1" FILE_NAME "${1##*/}"
	key_is "$1" FILE_SIZE $(($(stat -c %s "$1") - 4096))
	[ "$(head -c 12 "$1")" = 'HEADER DADA' ] || rig_fail "$1 does not begin as a DADA file"
	key "$1" UTC_START | grep -qE '^[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}:[0-9]{2}:[0-9]{2}$' || rig_fail "UTC_START $(key "$1" UTC_START)"
}
