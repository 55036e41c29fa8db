#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Datagrams of a capture by their numbers: without them in front the frames are those of the instrument, byte for byte, what
# the capture lacks is a gap of its length, and what it has twice is there once.
. "${0%/*}/../rig.sh"
. "${0%/*}/../record.sh"
rig_need data
disk=$RIG/disk
mkdir "$disk"
frames=$DATA/radio/vdifio_1.vdif # 10 of 8224 bytes
captured=$DATA/derived/vdif_kt_8232_vtp

# order WANTED NAME FILE DETAILS [OPTION...]
order() {
	record "$1" -s "pcapfile:$3,$4" -o "$disk" "$same" --name "$2" --ring 8Mi --live log "${@:5}"
	audit "$2" "$disk"
}

order 0 whole "$captured.pcap" psn=auto
said 'psn=le64,frame=8224'
gathered "$frames" whole "$disk"
order 0 halves "$DATA/derived/m5b_5016_vtp.pcapng" psn=le64 --block 4Ki
gathered "$DATA/radio/sample.m5b" halves "$disk"
order 0 headers "$DATA/derived/vdif_5032_udp6.pcap" psn=vdif -r 100
gathered "$DATA/radio/sample.vdif" headers "$disk"

order 1 holes "${captured}_lost3.pcap" window=2
is source.packets.received 7
is source.packets.lost 3
is source.packets.kernel_drops 0
printf '%s\n' '24672 16448' '57568 8224' | diff - "$RIG/gaps" || rig_fail "the gaps are not where numbers are missing"

# as they are
order 0 none "$captured.pcap" psn=none
is source.packets.received 10
is written_bytes $((10 * 8232))
