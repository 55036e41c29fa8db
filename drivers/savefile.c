/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/savefile.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/bytes.h"
#include "drivers/pace.h"
#include "drivers/units.h"

#define BUFFER_BYTES ((size_t)1 << 20)  /* more than the longest packet that libpcap takes */
#define STREAM_BYTES ((size_t)64 << 10) /* of stdio, which reads byte by byte without */
#define PCAP_HEADER_BYTES 24
#define BLOCK_BYTES_MIN 12

#define MAGIC_MICRO UINT32_C(0xa1b2c3d4)
#define MAGIC_NANO UINT32_C(0xa1b23c4d)
#define MAGIC_MODIFIED UINT32_C(0xa1b2cd34) /* with a longer header in front of each packet */
#define MAGIC_PCAPNG UINT32_C(0x0a0d0d0a)
#define MAGIC_PCAPNG_ORDER UINT32_C(0x1a2b3c4d)

#define BLOCK_OBSOLETE_PACKET 2
#define BLOCK_SIMPLE_PACKET 3
#define BLOCK_PACKET 6

/* How to find where a record ends, without libpcap. */
#define KIND_BYTES 12
enum kind { KIND_UNKNOWN, KIND_PCAP, KIND_PCAPNG };

struct savefile {
	int fd;
	bool is_regular; /* read() never waits for a writer */
	const _Atomic bool *is_interrupted;
	_Atomic bool never; /* what it points to when nobody interrupts */
	FILE *stream;       /* libpcap's, until it has it */
	pcap_t *pcap;
	struct bpf_program filter;
	bool has_filter;
	struct pcap_pkthdr *header; /* of the last packet */
	const u_char *data;
	enum kind kind;
	bool is_big_endian;
	bool is_caplen_first; /* of a packet's two lengths; in old versions it may be either */
	size_t record_header_bytes;
	size_t record_left; /* of the record that libpcap reads now, unless is_regular */
	uint64_t bytes;     /* that libpcap has got */
	bool has_ended;     /* read() has said so */
	bool is_stopped;    /* interrupted while it waited */
	bool is_starved;    /* libpcap wanted more than there is */
	bool is_cut;
	int read_error;
	size_t at, end; /* what of the buffer libpcap has not got yet */
	char link_name[32];
	char error[SAVEFILE_ERROR_LEN];
	unsigned char buffer[BUFFER_BYTES];
};

static uint32_t word_at(const struct savefile *file, size_t at)
{
	return file->is_big_endian ? bytes_be32(file->buffer + at) : bytes_le32(file->buffer + at);
}

static bool is_pcap_magic(uint32_t magic)
{
	return magic == MAGIC_MICRO || magic == MAGIC_NANO || magic == MAGIC_MODIFIED;
}

bool savefile_is_one(const void *data)
{
	return is_pcap_magic(bytes_le32(data)) || is_pcap_magic(bytes_be32(data)) ||
	       bytes_le32(data) == MAGIC_PCAPNG;
}

/* ---- the bytes of the file ----------------------------------------------------------------------- */

/* From the first bytes, which lie in the buffer. */
static void take_kind(struct savefile *file)
{
	uint32_t magic;

	if (file->end < KIND_BYTES)
		return;
	file->is_big_endian = is_pcap_magic(bytes_be32(file->buffer)) ||
			      bytes_be32(file->buffer + 8) == MAGIC_PCAPNG_ORDER;
	magic = word_at(file, 0);
	if (is_pcap_magic(magic))
		file->kind = KIND_PCAP;
	else if (magic == MAGIC_PCAPNG)
		file->kind = KIND_PCAPNG;
	file->record_header_bytes = file->kind == KIND_PCAPNG ? 8 :
				    magic == MAGIC_MODIFIED   ? 24 :
								16;
	file->is_caplen_first = file->buffer[file->is_big_endian ? 7 : 6] >= 4;
}

/* Of the record or block at @at, whose header is there. Return: SIZE_MAX where that can't be told. */
static size_t record_bytes(const struct savefile *file, size_t at)
{
	uint32_t caplen, len;

	if (file->kind == KIND_UNKNOWN)
		return SIZE_MAX;
	if (file->kind == KIND_PCAPNG) {
		len = word_at(file, at + 4);
		return len < BLOCK_BYTES_MIN ? SIZE_MAX : len;
	}
	/* what was captured is the smaller one */
	caplen = word_at(file, at + 8);
	len = word_at(file, at + 12);
	return file->record_header_bytes + (file->is_caplen_first || caplen < len ? caplen : len);
}

/* One read() behind what is in the buffer. Return: bytes; 0 = the end; -EAGAIN: nothing now, or a signal; -errno. */
static ssize_t read_more(struct savefile *file)
{
	ssize_t got;

	if (file->at > 0) {
		memmove(file->buffer, file->buffer + file->at, file->end - file->at);
		file->end -= file->at;
		file->at = 0;
	}
	got = read(file->fd, file->buffer + file->end, BUFFER_BYTES - file->end);
	if (got < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	file->end += (size_t)got;
	file->has_ended = got == 0;
	return got;
}

/* Bytes that must be there before libpcap gets any: at least those that tell how many belong together. */
static size_t needed_bytes(const struct savefile *file)
{
	if (file->bytes == 0)
		return KIND_BYTES;
	return file->is_regular || file->record_left > 0 ? 1 : file->record_header_bytes;
}

/* Return: 0; -EINTR; -errno. */
static int wait_for_bytes(struct savefile *file, size_t needed)
{
	while (file->end - file->at < needed && !file->has_ended) {
		int events = pace_poll(file->fd, PACE_NEVER, file->is_interrupted);
		ssize_t got = events > 0 ? read_more(file) : events < 0 ? events : -EINTR;

		if (got < 0 && got != -EAGAIN)
			return (int)got;
	}
	return 0;
}

/*
 * Of a pipe no more than the record or block that libpcap reads now: stdio must not keep what savefile_wait()
 * wants to see. So stdio has nothing left when libpcap has a packet.
 */
static size_t allowed_bytes(struct savefile *file)
{
	size_t there = file->end - file->at;

	if (file->bytes == 0)
		take_kind(file);
	if (file->is_regular)
		return there;
	if (file->record_left == 0 && file->bytes == 0 && file->kind == KIND_PCAP)
		file->record_left = PCAP_HEADER_BYTES;
	else if (file->record_left == 0)
		file->record_left =
			there < file->record_header_bytes ? there : record_bytes(file, file->at);
	return there < file->record_left ? there : file->record_left;
}

/* ---- is a whole packet there? -------------------------------------------------------------------- */

static bool has_packet(const struct savefile *file, size_t at)
{
	uint32_t type;

	if (file->kind == KIND_PCAP)
		return true;
	type = word_at(file, at);
	return type == BLOCK_PACKET || type == BLOCK_SIMPLE_PACKET || type == BLOCK_OBSOLETE_PACKET;
}

/*
 * Blocks of pcapng that hold no packet come before one, and are read with it. True also where it can't be told:
 * then libpcap waits, and says what is wrong.
 */
static bool is_packet_there(const struct savefile *file)
{
	size_t at = file->at;

	if (file->has_ended || file->kind == KIND_UNKNOWN || file->end - at == BUFFER_BYTES)
		return true;
	while (file->end - at >= file->record_header_bytes) {
		size_t bytes = record_bytes(file, at);

		if (bytes > BUFFER_BYTES)
			return true;
		if (bytes > file->end - at)
			return false;
		if (has_packet(file, at))
			return true;
		at += bytes;
	}
	return false;
}

int savefile_wait(struct savefile *file, int64_t deadline_ns)
{
	while (!file->is_regular && !is_packet_there(file)) {
		int events = pace_poll(file->fd, deadline_ns, file->is_interrupted);
		ssize_t got;

		if (events <= 0)
			return events;
		got = read_more(file);
		if (got < 0 && got != -EAGAIN)
			return (int)got;
	}
	return 1;
}

/* ---- libpcap ------------------------------------------------------------------------------------- */

/*
 * Blocks that hold no packet may come for ever, and libpcap reads them all in one call. What is whole in a pipe it
 * gets all the same.
 */
static bool is_to_stop(const struct savefile *file)
{
	/* relaxed: nothing travels with the flag */
	return atomic_load_explicit(file->is_interrupted, memory_order_relaxed) &&
	       (file->is_regular || (file->record_left == 0 && !is_packet_there(file)));
}

/* For libpcap, which has to wait where its caller did not (savefile_wait()). */
static ssize_t give(void *cookie, char *out, size_t size)
{
	struct savefile *file = cookie;
	int ret = is_to_stop(file) ? -EINTR : wait_for_bytes(file, needed_bytes(file));
	size_t allowed;

	if (ret < 0) {
		file->is_stopped = ret == -EINTR;
		file->read_error = -ret;
		errno = -ret;
		return -1;
	}
	allowed = allowed_bytes(file);
	if (size > allowed)
		size = allowed;
	file->is_starved = size == 0;
	memcpy(out, file->buffer + file->at, size);
	file->at += size;
	file->bytes += size;
	if (!file->is_regular)
		file->record_left -= size;
	return (ssize_t)size;
}

int savefile_create(struct savefile **out, int fd, const _Atomic bool *is_interrupted)
{
	const cookie_io_functions_t functions = { .read = give };
	struct savefile *file = malloc(sizeof(*file));
	struct stat status;

	*out = file;
	if (!file)
		return -ENOMEM;
	memset(file, 0, offsetof(struct savefile, buffer));
	file->fd = fd;
	file->is_regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
	file->is_interrupted = is_interrupted ? is_interrupted : &file->never;
	file->stream = fopencookie(file, "r", functions);
	if (!file->stream)
		return -ENOMEM;
	setvbuf(file->stream, NULL, _IOFBF, STREAM_BYTES);
	return 0;
}

void savefile_free(struct savefile *file)
{
	if (!file)
		return;
	if (file->has_filter)
		pcap_freecode(&file->filter);
	if (file->pcap)
		pcap_close(file->pcap);
	else if (file->stream)
		fclose(file->stream);
	free(file);
}

static int __attribute__((format(printf, 3, 4)))
fail(struct savefile *file, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(file->error, sizeof(file->error), format, arguments);
	va_end(arguments);
	return -error;
}

/* What libpcap couldn't do, it says; what read() couldn't, we know better. */
static int fail_reading(struct savefile *file, const char *why)
{
	if (file->is_stopped)
		return fail(file, EINTR, "interrupted");
	if (file->read_error)
		return fail(file, file->read_error, "%s", strerror(file->read_error));
	file->is_cut = file->is_starved;
	return fail(file, EBADMSG, "%s", why);
}

int savefile_begin(struct savefile *file, const char *filter)
{
	char why[PCAP_ERRBUF_SIZE] = "";
	const char *name;

	file->pcap = pcap_fopen_offline_with_tstamp_precision(file->stream,
							      PCAP_TSTAMP_PRECISION_NANO, why);
	if (!file->pcap)
		return fail_reading(file, why);
	name = pcap_datalink_val_to_name(pcap_datalink(file->pcap));
	if (name)
		snprintf(file->link_name, sizeof(file->link_name), "%s", name);
	else
		snprintf(file->link_name, sizeof(file->link_name), "%d", pcap_datalink(file->pcap));
	if (!filter)
		return 0;
	if (pcap_compile(file->pcap, &file->filter, filter, 1, PCAP_NETMASK_UNKNOWN) < 0)
		return fail(file, EINVAL, "the filter \"%.150s\" is not understood: %.200s", filter,
			    pcap_geterr(file->pcap));
	file->has_filter = true;
	return 0;
}

/* 0 where the time is none that 64 bits of nanoseconds hold. */
static int64_t time_of(const struct pcap_pkthdr *header)
{
	int64_t ns;

	/* with nanosecond precision, tv_usec holds nanoseconds */
	if (__builtin_mul_overflow((int64_t)header->ts.tv_sec, UNITS_NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)header->ts.tv_usec, &ns))
		return 0;
	return ns;
}

int savefile_next(struct savefile *file, struct packet *packet)
{
	int ret = pcap_next_ex(file->pcap, &file->header, &file->data);

	if (ret == PCAP_ERROR_BREAK)
		return 0;
	if (ret != 1)
		return fail_reading(file, pcap_geterr(file->pcap));
	*packet = (struct packet){
		.data = file->data,
		.caplen = file->header->caplen,
		.len = file->header->len,
		.utc_ns = time_of(file->header),
	};
	return 1;
}

bool savefile_passes(const struct savefile *file)
{
	return !file->has_filter || pcap_offline_filter(&file->filter, file->header, file->data) > 0;
}

bool savefile_is_cut(const struct savefile *file)
{
	return file->is_cut;
}

uint64_t savefile_bytes(const struct savefile *file)
{
	return file->bytes;
}

int savefile_link_type(const struct savefile *file)
{
	return pcap_datalink(file->pcap);
}

const char *savefile_link_name(const struct savefile *file)
{
	return file->link_name;
}

const char *savefile_error(const struct savefile *file)
{
	return file->error;
}
