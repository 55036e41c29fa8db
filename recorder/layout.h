/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layout.h - how a recording's files are cut and named
 *
 *   layout_plan() once -> layout_file_name() a file
 *
 * Layouts (the facts of vbs: FlexBuff chunks as jive5ab and vlbi-streamer read them):
 *   raw   <name>.raw; with a file size or time, or on several targets, files from a template (default <name>.%06d)
 *   vbs   <name>/<name>.NNNNNNNN, eight digits from 00000000, counted over the whole recording
 *   pcap  <name>.pcapng; with a file size or time, or on several targets, <name>.%06d.pcapng: savefiles of
 *         whole packets; each block is complete in itself, and may be filled in part
 *   mark6 <name>.vdif, .m5b or .mark6, one file of that name a disk: numbered blocks, each with a header
 *         and whole packets (mark6.h). A block stands wherever its disk's file ended when it was written
 * Words: a *file* gets whole *runs*; a run is what is written, synced and, if its disk fails,
 *        rewritten elsewhere as one; a *unit* is what goes to one disk before the stripe turns to
 *        the next.
 * Threads: pure functions over constant structs.
 */
#ifndef VSIB_RECORDER_LAYOUT_H
#define VSIB_RECORDER_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/mark6.h"

#define LAYOUT_NAME_LEN \
	1024 /* "<name>/<name>.%08d" with every '%' doubled, and a file's name behind that */
#define LAYOUT_NAME_MAX 150 /* of a recording, in bytes: its files' names must fit into 255 */
#define LAYOUT_ERROR_LEN 512
#define LAYOUT_CHUNK_MAX (UINT64_C(256) << 20)
#define LAYOUT_ALIGN UINT64_C(4096)
#define LAYOUT_SECOND (UINT64_C(1) << 63) /* in a file's number: of the second copy */
#define LAYOUT_PARITY (UINT64_C(1) << 62) /* in a file's number: of the parity */
#define LAYOUT_OTHER (LAYOUT_SECOND | LAYOUT_PARITY)
#define LAYOUT_COPY_SUFFIX "-copy" /* its recording's name ends so */
#define LAYOUT_PCAP_SUFFIX ".pcapng"
#define LAYOUT_PARITY_SUFFIX ".parity" /* between a recording's name and the parity file's number */

enum layout_kind { LAYOUT_RAW, LAYOUT_VBS, LAYOUT_MARK6, LAYOUT_PCAP };
enum stripe_policy { STRIPE_ANY, STRIPE_ROUND };

/* What the user asked for; 0 = not given. */
struct layout_request {
	enum layout_kind kind;
	enum stripe_policy stripe;
	unsigned disk_count;
	unsigned copies;    /* 0, 1 or 2 */
	bool has_parity;    /* the last disk's */
	bool is_stream;     /* null: or -: no files */
	bool is_dropped;    /* null: */
	bool is_historical; /* wr: a lost directory ends it, so nothing is held for the others */
	uint64_t ring_bytes;
	uint64_t block_bytes;
	uint64_t unit_bytes; /* wr: bytes that go to one directory in turn; 0 = a block, or a file */
	uint64_t frame_bytes; /* of the source */
	uint64_t chunk_bytes;
	uint64_t file_bytes;
	int64_t file_ns;
	uint64_t packet_bytes; /* mark6 */
	enum mark6_format packet_format;
};

/* What comes of it; constant while recording. */
struct layout_plan {
	enum layout_kind kind;
	enum stripe_policy stripe;
	uint64_t ring_bytes;  /* block_bytes x block_count */
	uint64_t block_bytes; /* multiple of lcm(frame, 4096); mark6: of 4096 */
	uint32_t block_count;
	uint64_t head_bytes; /* in front of a block's data, for headers that are written with them; else 0 */
	uint64_t data_bytes;   /* of the stream that fit into a block */
	uint64_t packet_bytes; /* a block's data are whole packets of the stream; 0 = any bytes */
	enum mark6_format packet_format;
	uint64_t unit_bytes; /* the stripe turns after so many bytes; 0 = at the end of a file */
	uint64_t file_bytes; /* a file is rolled at this size; 0 = never */
	int64_t file_ns; /* and ends with the block in which it is so long, by the stream's time; 0 = never */
	uint64_t run_bytes;   /* a run ends after so many bytes; 0 = each block is a run */
	uint64_t chunk_bytes; /* as printed: vbs: the file; several targets: the sync batch; else 0 */
	bool is_held;         /* blocks go back only when their run is durable (several targets) */
	bool has_second;      /* each run goes to two disks */
	bool has_parity;      /* the last disk gets the XOR of each row of blocks on the others */
	bool is_run_a_file;   /* a run's end is its file's end, whatever its size */
	bool is_lent; /* blocks come filled from the source, whole or in part: see source_lend() */
	/*
	 * And its memory is the ring's: no copy. With several disks it is not: a block that one of them keeps for
	 * ever would stop the source.
	 */
	bool is_borrowed;
	bool is_appended; /* one endless file a disk, and a block goes to the end of its disk's */
	uint32_t extent_max; /* extents a block's label must have room for */
};

/**
 * layout_plan() - from what was asked to what is done
 * @error: LAYOUT_ERROR_LEN, a sentence when refused Return: 0; -EINVAL when the pieces don't fit
 * together (ring too small, chunk no whole blocks ...).
 */
int layout_plan(struct layout_plan *plan, const struct layout_request *request, char *error);

/** layout_kind_name() - "raw", "vbs", "mark6" or "pcap" */
const char *layout_kind_name(enum layout_kind kind);

/** layout_is_utf8() - can it stand in a JSON file? */
bool layout_is_utf8(const char *text);

/**
 * layout_check_template() - exactly one %d or %0Nd, %% for a percent sign, no '/', UTF-8, short
 * enough for a file's name
 * @needs_number: false: a plain name is fine too
 * Return: 0; -EINVAL with the sentence in @error (LAYOUT_ERROR_LEN).
 */
int layout_check_template(const char *name_template, bool needs_number, char *error);

/**
 * layout_check_name() - a recording's name: no '.', no '/', UTF-8, not empty, not long; @error as
 * above. Return: 0; -EINVAL.
 */
int layout_check_name(const char *name, char *error);

/**
 * layout_default_template() - "<name>.raw", "<name>.%06d", "<name>/<name>.%08d", "<name>.vdif" ...
 * @buf: LAYOUT_NAME_LEN. A '%' in @name is doubled.
 */
void layout_default_template(char *buf, const struct layout_plan *plan, const char *name);

/** layout_parity_template() - "<name>.parity.%06d"; @buf: LAYOUT_NAME_LEN */
void layout_parity_template(char *buf, const char *name);

/**
 * layout_file_name() - name of file @number relative to its target
 * @buf:  LAYOUT_NAME_LEN
 * @number: LAYOUT_OTHER in it is ignored
 * @base: 0; or the offset in the file from which on this piece was rescued to another disk:
 *        "<final name>@<base>"
 */
void layout_file_name(char *buf, const char *name_template, uint64_t number, uint64_t base);

#endif
