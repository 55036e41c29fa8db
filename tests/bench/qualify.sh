#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What vsib-qualify says that a plain disk can do, beside fio's figures of the same minute: as fast as it goes, and paced.
# fio writes as a recording does: blocks of 2 MiB, eight in flight, past the page cache, to a preallocated file.
# BENCH_DIR names the folder that is tried (build/bench), TURNS how often. Goal: within 10 %.
set -u
. "${0%/*}/../measure.sh"
command -v fio >/dev/null || { echo "qualify: not run: needs fio"; exit 0; }
full_s=5 paced_s=${SECONDS_PACED:-10} rate_mbps=${RATE_MBPS:-512}
size_mb=$((rate_mbps * paced_s / 8 + 2000))
measure_folder $((size_mb * 1000000))
report=$folder/report.json

json() {
	"$TOOLS/tool_json" "$report" "$1"
}

# fio NAME SECONDS OPTION...: Mbit/s
fio_mbps() {
	local seconds=$1
	shift
	fio --name=bench --filename="$folder/fio" --rw=write --bs=2M --iodepth=8 --ioengine=io_uring --direct=1 \
		--size=${size_mb}M --fallocate=posix --time_based --runtime="$seconds" --end_fsync=1 --refill_buffers --randseed=1 \
		--output-format=json "$@" >"$report" 2>/dev/null </dev/null || { echo "fio failed" >&2; exit 1; }
	rm -f "$folder/fio"
	calculate "$(json jobs.0.write.bw_bytes) * 8 / 1e6" %.1f
}

# Any verdict will do: a machine that is shared is no quiet one. --quick: five seconds at full speed, as fio.
qualify() {
	"$BIN/vsib-qualify" -q --quick -r "$rate_mbps" -H 60s --ring 256Mi --scratch ${size_mb}M --time "${paced_s}s" --phase full --phase paced \
		--allow-same-device --live=none --json "$report" "$folder" 2>"$folder/words" </dev/null
	[ $? -le 3 ] || { cat "$folder/words"; exit 1; }
}

echo "what $fs can do: fio for $full_s s at full speed and for $paced_s s at $rate_mbps Mbit/s, and vsib-qualify between"
full_fio=() full_ours=() paced_fio=() paced_ours=() capability=()
for _ in $(seq "${TURNS:-3}"); do
	full_fio+=("$(fio_mbps "$full_s")")
	qualify
	full_ours+=("$(calculate "$(json disks.0.full.rate_bps) / 1e6" %.1f)")
	paced_ours+=("$(calculate "$(json runs.paced.rate_bps) / 1e6" %.1f)")
	capability+=("$(calculate "$(json verdict.capability_bps) / 1e6" %.1f)")
	full_fio+=("$(fio_mbps "$full_s")")
	paced_fio+=("$(fio_mbps "$paced_s" --rate=$((rate_mbps * 125000)))")
done
# What the disk was given is the simulator's and the ring's rate as well; the capability is of the time in which it had work.
printf '  full speed   vsib-qualify %s, capability %s; fio %s Mbit/s\n' "$(median "${full_ours[@]}")" "$(median "${capability[@]}")" "$(median "${full_fio[@]}")"
printf '  ratio        %.3f, of the capability %.3f (goal: 0.90 to 1.10); turn by turn: ours %s; fio before and after %s\n' \
	"$(calculate "$(median "${full_ours[@]}") / $(median "${full_fio[@]}")")" \
	"$(calculate "$(median "${capability[@]}") / $(median "${full_fio[@]}")")" "${full_ours[*]}" "${full_fio[*]}"
printf '  paced        vsib-qualify %s, fio %s Mbit/s, ratio %.3f (goal: 0.90 to 1.10)\n' \
	"$(median "${paced_ours[@]}")" "$(median "${paced_fio[@]}")" \
	"$(calculate "$(median "${paced_ours[@]}") / $(median "${paced_fio[@]}")")"
