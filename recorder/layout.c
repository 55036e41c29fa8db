/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/layout.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/journal.h"
#include "recorder/segment.h"
#include "ringbuf/ring.h"

/* four of them are still in the cache: see is_far_ahead() in reader.c */
#define DEFAULT_BLOCK (UINT64_C(2) << 20)
#define DROPPED_BYTES (UINT64_C(1) << 20) /* of a block, for null: */
#define MARK6_HEAD_BYTES 64 /* both headers, and the data behind them begin a cache line */
#define ESCAPED_LEN (2 * (LAYOUT_NAME_MAX + sizeof(LAYOUT_COPY_SUFFIX)))
#define LABEL_EXTENTS 16 /* room for a dozen losses of the source within one block */

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* A stream without files has no headers either. */
static bool is_mark6(const struct layout_request *request)
{
	return request->kind == LAYOUT_MARK6 && !request->is_stream;
}

/*
 * Bytes that a block must be a multiple of: whole frames, and whole pages for direct I/O. Where headers
 * stand between them, see plan_packets().
 */
static uint64_t block_quantum(const struct layout_request *request)
{
	uint64_t part = is_mark6(request) ? 0 : request->frame_bytes;

	return part ? part / gcd(part, LAYOUT_ALIGN) * LAYOUT_ALIGN : LAYOUT_ALIGN;
}

/* As many whole packets as Mark6 itself puts into a block; one at least. */
static uint64_t classic_data(uint64_t packet_bytes)
{
	uint64_t count = (MARK6_BLOCK_BYTES_CLASSIC - MARK6_BLOCK_HEADER_BYTES) / packet_bytes;

	return (count ? count : 1) * packet_bytes;
}

static uint64_t classic_block(uint64_t packet_bytes)
{
	uint64_t bytes = MARK6_HEAD_BYTES + classic_data(packet_bytes);

	return (bytes + LAYOUT_ALIGN - 1) / LAYOUT_ALIGN * LAYOUT_ALIGN;
}

/* Of the ring a block takes a small part, so that each disk has four at least, see plan_chunk(). */
static uint64_t default_block(const struct layout_request *request)
{
	uint64_t most = is_mark6(request) ? classic_block(request->packet_bytes) : DEFAULT_BLOCK;
	uint64_t count = UINT64_C(4) * request->disk_count, least = is_mark6(request) ? 16 : 32;
	uint64_t share = request->ring_bytes / (count > least ? count : least);

	return share < most ? share : most;
}

static int plan_blocks(struct layout_plan *plan, const struct layout_request *request, char *error)
{
	uint64_t quantum = block_quantum(request);
	uint64_t wanted = request->block_bytes, count;
	uint64_t least = request->disk_count + UINT64_C(1);

	if (wanted == 0) {
		wanted = default_block(request);
		wanted = wanted < quantum ? quantum : wanted;
	}
	plan->block_bytes = wanted / quantum * quantum;
	if (plan->block_bytes == 0 || plan->block_bytes > UINT32_MAX / 2) {
		snprintf(error, LAYOUT_ERROR_LEN,
			 "a block of %" PRIu64 " bytes is impossible: it must be a multiple of %" PRIu64
			 " (whole frames and whole pages) below 2 GiB",
			 wanted, quantum);
		return -EINVAL;
	}
	count = request->ring_bytes / plan->block_bytes;
	if (count > RING_BLOCK_COUNT_MAX)
		count = RING_BLOCK_COUNT_MAX;
	if (count < least) {
		snprintf(error, LAYOUT_ERROR_LEN,
			 "a ring of %" PRIu64 " bytes holds %" PRIu64 " blocks of %" PRIu64
			 " bytes; %" PRIu64
			 " are needed for %u disks: a larger --ring or a smaller --block",
			 request->ring_bytes, count, plan->block_bytes, least, request->disk_count);
		return -EINVAL;
	}
	plan->block_count = (uint32_t)count;
	plan->ring_bytes = count * plan->block_bytes;
	return 0;
}

/* What of a block is for the stream, and what of the stream belongs together in it. */
static int plan_packets(struct layout_plan *plan, const struct layout_request *request, char *error)
{
	uint64_t room = plan->block_bytes - MARK6_HEAD_BYTES;

	plan->data_bytes = plan->block_bytes;
	plan->is_lent = request->kind == LAYOUT_PCAP;
	plan->is_borrowed = plan->is_lent && request->disk_count == 1;
	/* nothing waits for a whole block, and a part of it comes round while it is in the cache of its core */
	if (request->is_dropped && !plan->is_lent && plan->data_bytes > DROPPED_BYTES)
		plan->data_bytes = DROPPED_BYTES;
	if (!is_mark6(request))
		return 0;
	plan->is_appended = true;
	plan->head_bytes = MARK6_HEAD_BYTES;
	plan->packet_bytes = request->packet_bytes;
	plan->packet_format = request->packet_format;
	plan->data_bytes = room / plan->packet_bytes * plan->packet_bytes;
	if (request->block_bytes == 0 && plan->data_bytes > classic_data(plan->packet_bytes))
		plan->data_bytes = classic_data(plan->packet_bytes);
	if (plan->data_bytes > 0)
		return 0;
	snprintf(error, LAYOUT_ERROR_LEN,
		 "a block of %" PRIu64 " bytes holds no packet of %" PRIu64
		 " bytes and its headers: a larger --block, or a larger --ring",
		 plan->block_bytes, plan->packet_bytes);
	return -EINVAL;
}

/*
 * The chunk: so small that each disk can own two while one is filled and the ring still has as
 * much again; whole blocks. With one disk nothing is held for it and a chunk may be as large as
 * files go.
 */
static int plan_chunk(struct layout_plan *plan, const struct layout_request *request, char *error)
{
	uint64_t share = plan->ring_bytes / (UINT64_C(4) * request->disk_count);
	uint64_t chunk = request->chunk_bytes ? request->chunk_bytes : share;

	if (!request->chunk_bytes && chunk > LAYOUT_CHUNK_MAX)
		chunk = LAYOUT_CHUNK_MAX;
	chunk = chunk / plan->block_bytes * plan->block_bytes;
	if (chunk == 0 && !request->chunk_bytes)
		chunk = plan->block_bytes;
	if (chunk == 0) {
		snprintf(error, LAYOUT_ERROR_LEN,
			 "a chunk of %" PRIu64 " bytes holds no whole block of %" PRIu64 " bytes",
			 request->chunk_bytes, plan->block_bytes);
		return -EINVAL;
	}
	if (plan->is_held && chunk > plan->ring_bytes / (request->disk_count + 1)) {
		snprintf(error, LAYOUT_ERROR_LEN,
			 "chunks of %" PRIu64 " bytes for %u disks don't fit into a ring of %" PRIu64
			 " bytes: a chunk stays in the ring until it is safely on its disk; a larger --ring or a smaller --chunk",
			 chunk, request->disk_count, plan->ring_bytes);
		return -EINVAL;
	}
	plan->chunk_bytes = chunk;
	return 0;
}

static int plan_raw(struct layout_plan *plan, const struct layout_request *request, char *error)
{
	plan->file_bytes = request->file_bytes;
	plan->file_ns = request->file_ns;
	if (request->disk_count == 1) {
		plan->chunk_bytes = 0;
		return 0;
	}
	if (plan->stripe == STRIPE_ROUND && plan->file_ns) {
		snprintf(error, LAYOUT_ERROR_LEN,
			 "--file-time needs whole files to each target: not with --stripe round, nor with --parity");
		return -EINVAL;
	}
	if (plan->stripe == STRIPE_ROUND) {
		plan->unit_bytes = request->unit_bytes ? request->unit_bytes : plan->block_bytes;
	} else if (request->file_bytes == 0 && request->file_ns == 0) {
		snprintf(error, LAYOUT_ERROR_LEN,
			 "layout raw on %u targets needs --file-size or --file-time (whole files to each), or --stripe round (block by block in turn), or use --layout vbs",
			 request->disk_count);
		return -EINVAL;
	}
	if (!plan->is_held) {
		plan->chunk_bytes = 0;
		return 0;
	}
	plan->run_bytes = plan->chunk_bytes;
	if (plan->file_bytes && plan->file_bytes <= plan->run_bytes) {
		plan->run_bytes = plan->file_bytes;
		plan->is_run_a_file = true;
	}
	if (plan->has_second && !plan->is_run_a_file) {
		snprintf(error, LAYOUT_ERROR_LEN,
			 "--copies with layout raw needs files that stay in the ring until both copies are safe: --file-size of at most %" PRIu64
			 " bytes here, and not --stripe round; or --layout vbs",
			 plan->run_bytes);
		return -EINVAL;
	}
	return 0;
}

static int check_mark6(const struct layout_request *request, char *error)
{
	const char *why = NULL;

	if (request->packet_bytes == 0)
		why = "needs the size of the packets: --packet-size BYTES, 8032 for instance";
	else if (request->file_bytes)
		why = "has one file a target, for those who gather them: no --file-size";
	else if (request->file_ns)
		why = "has one file a target, for those who gather them: no --file-time";
	else if (request->unit_bytes)
		why = "turns from target to target with each block: no --unit, but --block";
	if (!why)
		return 0;
	snprintf(error, LAYOUT_ERROR_LEN, "layout mark6 %s", why);
	return -EINVAL;
}

static void plan_mark6(struct layout_plan *plan, const struct layout_request *request)
{
	if (request->stripe == STRIPE_ROUND && request->disk_count > 1)
		plan->unit_bytes = plan->data_bytes;
	if (!plan->is_held)
		plan->chunk_bytes = 0;
	plan->run_bytes = plan->chunk_bytes;
}

static int check_copies(const struct layout_request *request, char *error)
{
	const char *why = NULL;

	if (request->copies <= 1)
		return 0;
	if (request->copies > 2)
		why = "one or two copies can be made";
	else if (request->is_stream || request->disk_count < 2)
		why = "each copy goes to another disk: at least two directories are needed (-o)";
	else if (request->is_historical)
		why = "not with the file names of wr";
	else if (request->kind == LAYOUT_MARK6)
		why = "not with layout mark6, of which a disk has one file";
	if (!why)
		return 0;
	snprintf(error, LAYOUT_ERROR_LEN, "--copies %u: %s", request->copies, why);
	return -EINVAL;
}

static int check_parity(const struct layout_plan *plan, const struct layout_request *request, char *error)
{
	const char *why = NULL;

	if (!request->has_parity)
		return 0;
	if (request->is_stream || request->disk_count < 3)
		why = "at least three directories are needed: the last one's disk is for the parity of the others";
	else if (request->copies > 1)
		why = "either that or --copies";
	else if (request->is_historical)
		why = "not with the file names of wr";
	else if (request->kind != LAYOUT_RAW)
		why = "only with layout raw";
	else if (request->unit_bytes && request->unit_bytes != plan->block_bytes)
		why = "a disk gets a block in turn: without --unit";
	else if (request->file_bytes % plan->block_bytes)
		why = "--file-size must be whole blocks";
	if (!why)
		return 0;
	snprintf(error, LAYOUT_ERROR_LEN, "--parity: %s", why);
	return -EINVAL;
}

/* A block is where packets begin and end: nothing ends within it. */
static int check_pcap(const struct layout_plan *plan, const struct layout_request *request, char *error)
{
	const char *why = NULL;

	if (request->kind != LAYOUT_PCAP)
		return 0;
	if (request->stripe == STRIPE_ROUND && request->disk_count > 1)
		why = "gives each disk whole files: no --stripe round";
	else if (request->unit_bytes)
		why = "gives each disk whole files: no --unit";
	else if (request->disk_count > 1 && request->file_bytes == 0 && request->file_ns == 0)
		why = "on several targets gives each disk whole files: --file-size or --file-time";
	else if (request->file_bytes && request->file_bytes < plan->block_bytes)
		why = "has whole blocks in a file: a larger --file-size, or a smaller --block";
	if (!why)
		return 0;
	snprintf(error, LAYOUT_ERROR_LEN, "layout pcap %s", why);
	return -EINVAL;
}

int layout_plan(struct layout_plan *plan, const struct layout_request *request, char *error)
{
	int ret = is_mark6(request) ? check_mark6(request, error) : 0;

	if (ret < 0)
		return ret;
	memset(plan, 0, sizeof(*plan));
	plan->kind = request->kind;
	plan->stripe = request->has_parity ? STRIPE_ROUND : request->stripe;
	plan->is_held = request->disk_count > 1 && !request->is_stream && !request->is_historical;
	ret = check_copies(request, error);
	if (ret == 0)
		ret = plan_blocks(plan, request, error);
	if (ret == 0)
		ret = check_parity(plan, request, error);
	if (ret == 0)
		ret = check_pcap(plan, request, error);
	if (ret == 0)
		ret = plan_packets(plan, request, error);
	if (ret < 0)
		return ret;
	plan->extent_max = LABEL_EXTENTS;
	if (request->unit_bytes && request->disk_count > 1)
		plan->extent_max += (uint32_t)(plan->block_bytes / request->unit_bytes) + 2;
	if (plan->extent_max > SEGMENT_PENDING_MAX / 4) {
		snprintf(error, LAYOUT_ERROR_LEN,
			 "units of %" PRIu64 " bytes are too small for blocks of %" PRIu64
			 " bytes: at least a %" PRIu32 "th",
			 request->unit_bytes, plan->block_bytes,
			 SEGMENT_PENDING_MAX / 4 - LABEL_EXTENTS - 2);
		return -EINVAL;
	}
	if (request->is_stream)
		return 0;
	ret = plan_chunk(plan, request, error);
	if (ret < 0)
		return ret;
	plan->has_second = request->copies > 1;
	plan->has_parity = request->has_parity;
	if (request->kind == LAYOUT_RAW || request->kind == LAYOUT_PCAP)
		return plan_raw(plan, request, error);
	if (request->kind == LAYOUT_MARK6) {
		plan_mark6(plan, request);
		return 0;
	}
	if (request->file_bytes || request->file_ns) {
		snprintf(error, LAYOUT_ERROR_LEN,
			 "--file-%s is for layout raw; the files of layout vbs are its chunks: --chunk",
			 request->file_bytes ? "size" : "time");
		return -EINVAL;
	}
	plan->file_bytes = plan->chunk_bytes;
	plan->run_bytes = plan->chunk_bytes;
	plan->is_run_a_file = true;
	return 0;
}

const char *layout_kind_name(enum layout_kind kind)
{
	static const char *const names[] = { "raw", "vbs", "mark6", "pcap" };

	return names[kind];
}

/* The journal is JSON, which is UTF-8. */
bool layout_is_utf8(const char *text)
{
	json_t *string = json_string(text);

	json_decref(string);
	return string != NULL;
}

/* What else can be wrong with a template whose conversions are right. */
static const char *find_fault(const char *name_template, unsigned number_count, bool needs_number)
{
	char longest[LAYOUT_NAME_LEN];

	if (!name_template[0])
		return "empty";
	if (number_count > 1)
		return "more than one number";
	if (needs_number && number_count == 0)
		return "several files need a number: one %d or %0Nd";
	if (strcmp(name_template, ".") == 0 || strcmp(name_template, "..") == 0)
		return "a directory's name";
	if (!layout_is_utf8(name_template))
		return "not UTF-8, which the journal needs";
	layout_file_name(longest, name_template, UINT64_MAX, UINT64_MAX);
	if (strlen(longest) + strlen(JOURNAL_PART_SUFFIX) > NAME_MAX)
		return "too long for the name of a file";
	return NULL;
}

int layout_check_template(const char *name_template, bool needs_number, char *error)
{
	unsigned number_count = 0;
	const char *p, *fault;

	for (p = name_template; *p; p++) {
		if (*p == '/') {
			snprintf(error, LAYOUT_ERROR_LEN,
				 "template '%.200s': a file name, without '/'", name_template);
			return -EINVAL;
		}
		if (*p != '%' || (p[1] == '%' && p++))
			continue;
		p++;
		if (*p == '0') { /* %0Nd with N of one or two digits */
			p++;
			if (isdigit((unsigned char)*p) && *p != '0')
				p++;
			else
				p = "";
			if (isdigit((unsigned char)*p))
				p++;
		}
		if (*p != 'd') {
			snprintf(error, LAYOUT_ERROR_LEN,
				 "template '%.200s': only one %%d or %%0Nd (N = 1 .. 99) may stand in it, and %%%% for a percent sign",
				 name_template);
			return -EINVAL;
		}
		number_count++;
	}
	fault = find_fault(name_template, number_count, needs_number);
	if (!fault)
		return 0;
	snprintf(error, LAYOUT_ERROR_LEN, "template '%.200s': %s", name_template, fault);
	return -EINVAL;
}

int layout_check_name(const char *name, char *error)
{
	const char *why = NULL;

	if (!name[0])
		why = "it is empty";
	else if (strchr(name, '.'))
		why = "readers of VBS recordings can't open a name with a '.' in it";
	else if (strchr(name, '/'))
		why = "it is a name, not a path; the directory is the target (-o)";
	else if (strlen(name) > LAYOUT_NAME_MAX)
		why = "it is longer than 150 bytes";
	else if (!layout_is_utf8(name))
		why = "it is not UTF-8, which the journal needs";
	for (const char *p = name; *p && !why; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			why = "it has a control character";
	if (!why)
		return 0;
	snprintf(error, LAYOUT_ERROR_LEN, "the name '%.160s' can't be used: %s", name, why);
	return -EINVAL;
}

/* As it stands in a template. */
static void escape(char *escaped, size_t len, const char *name)
{
	size_t n = 0;

	for (const char *p = name; *p && n + 2 < len; p++) {
		if (*p == '%')
			escaped[n++] = '%';
		escaped[n++] = *p;
	}
	escaped[n] = '\0';
}

void layout_parity_template(char *buf, const char *name)
{
	char escaped[ESCAPED_LEN];

	escape(escaped, sizeof(escaped), name);
	snprintf(buf, LAYOUT_NAME_LEN, "%s" LAYOUT_PARITY_SUFFIX ".%%06d", escaped);
}

void layout_default_template(char *buf, const struct layout_plan *plan, const char *name)
{
	const char *suffix = plan->kind == LAYOUT_PCAP ? LAYOUT_PCAP_SUFFIX : "";
	char escaped[ESCAPED_LEN];

	escape(escaped, sizeof(escaped), name);
	if (plan->kind == LAYOUT_VBS)
		snprintf(buf, LAYOUT_NAME_LEN, "%s/%s.%%08d", escaped, escaped);
	else if (plan->is_appended)
		snprintf(buf, LAYOUT_NAME_LEN, "%s%s", escaped,
			 mark6_format_suffix(plan->packet_format));
	else if (plan->file_bytes || plan->file_ns ||
		 plan->is_held) /* several: one a target at least, and each may end up on any of them */
		snprintf(buf, LAYOUT_NAME_LEN, "%s.%%06d%s", escaped, suffix);
	else
		snprintf(buf, LAYOUT_NAME_LEN, "%s%s", escaped, suffix[0] ? suffix : ".raw");
}

void layout_file_name(char *buf, const char *name_template, uint64_t number, uint64_t base)
{
	size_t n = 0;

	number &= ~LAYOUT_OTHER;
	/* Done by hand: a template is data, and no data go to printf as a format. */
	for (const char *p = name_template; *p && n + 1 < LAYOUT_NAME_LEN; p++) {
		if (*p != '%') {
			buf[n++] = *p;
		} else if (p[1] == '%') {
			buf[n++] = *p++;
		} else {
			char *end;
			int width = (int)strtol(p + 1, &end, 10);
			int len = snprintf(buf + n, LAYOUT_NAME_LEN - n, "%0*" PRIu64, width, number);

			n = (size_t)len < LAYOUT_NAME_LEN - n ? n + (size_t)len : LAYOUT_NAME_LEN - 1;
			p = end; /* on the 'd' */
		}
	}
	buf[n] = '\0';
	if (base)
		snprintf(buf + n, LAYOUT_NAME_LEN - n, "@%" PRIu64, base);
}
