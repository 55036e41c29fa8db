/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/dada.h"
#include "recorder/session_parts.h"
#include "recorder/vbs_cfg.h"
#include "recorder/whole_file.h"

#define CAPTURES_FIRST 8
#define CFG_LEN 256

/* What is known of one data file. */
struct note {
	struct note *next; /* complete later */
	uint64_t number, base;
	uint64_t head_bytes;
	struct sigmf_capture *captures;
	size_t capture_count, capture_room;
	char file[];
};

struct notes {
	struct note *open;      /* more of it may come; NULL = none */
	struct note *complete;  /* to be written, oldest first */
	struct note **end;      /* of that list */
	atomic_bool is_through; /* keeper: see metadata_is_through() */
};

struct metadata {
	struct sink_head head; /* the first member: see make_head() */
	struct session *session;
	const struct metadata_config *config;
	struct dada_fields fields;
	_Atomic uint64_t written_count, failed_count;
	_Atomic uint64_t chunk_count; /* data files begun, each copy's first one apart */
	atomic_bool is_ended;
	pthread_mutex_t lock; /* guards the notes; held for memory work only */
	struct notes notes[]; /* one a disk */
};

/* ---- what was asked ---- */

bool metadata_is_wanted(const struct metadata_config *config)
{
	return config->use_sigmf || config->use_vbs_cfg || config->use_dada;
}

void metadata_warn_unused(struct session *session)
{
	const struct metadata_config *config = &session->config.metadata;
	const struct sigmf_words *words = &config->words;
	bool has_type = words->format.sample_bytes > 0 && !words->format.is_raw;
	const char *option = has_type            ? "sample-format" :
			     words->channels > 1 ? "channels" :
			     words->frequency_hz ? "frequency" :
			     words->author       ? "author" :
			     words->description  ? "description" :
			     words->hardware     ? "hardware" :
						   NULL;

	if (option && !config->use_sigmf)
		session_warn(session,
			     "--%s is not used: it is for SigMF metadata, and none are written without --sigmf",
			     option);
}

/* Files of the stream, one byte of it behind the other. */
static const char *why_not_raw(const struct session *session)
{
	if (session->disks[0].target.kind != TARGET_DIRECTORY)
		return "there are no files: a directory as target (-o)";
	if (session->plan.kind == LAYOUT_VBS)
		return "readers of VBS recordings take the files for data alone: --layout raw";
	if (session->plan.kind == LAYOUT_MARK6)
		return "the files of layout mark6 have headers of their own: --layout raw";
	if (session->plan.kind == LAYOUT_PCAP)
		return "the files of layout pcap are savefiles, with headers of their own: --layout raw";
	if (session->plan.unit_bytes)
		return "the files have units of the stream in turn (--stripe round): --stripe any, with --file-size";
	return NULL;
}

static int refuse(struct refusal *refusal, const char *option, const char *why)
{
	return session_refuse(refusal, EX_USAGE, -EINVAL, "--%s: %s", option, why);
}

static int check_sigmf(const struct metadata *metadata, struct refusal *refusal)
{
	const struct session *session = metadata->session;
	const char *why = why_not_raw(session);
	bool is_conforming = sigmf_is_conforming(session->disks[0].name_template);
	char longest[LAYOUT_NAME_LEN];

	layout_file_name(longest, session->disks[0].name_template, UINT64_MAX, UINT64_MAX);
	if (!why && strlen(longest) + strlen(SIGMF_META_SUFFIX JOURNAL_PART_SUFFIX) > NAME_MAX)
		why = "with .sigmf-meta behind them the files' names are too long";
	if (!why && is_conforming && metadata->config->words.format.is_raw)
		why = "a file .sigmf-data holds samples of a type that SigMF knows: --sample-format, or another --template";
	if (!why && is_conforming && metadata->config->use_dada)
		why = "a file .sigmf-data holds samples alone: either --dada-header or another --template";
	return why ? refuse(refusal, "sigmf", why) : 0;
}

static int check_cfg(struct metadata *metadata, struct refusal *refusal)
{
	struct session *session = metadata->session;
	const struct layout_plan *plan = &session->plan;
	uint64_t packet = session_packet_bytes(session);
	const char *why = NULL;

	if (session->disks[0].target.kind != TARGET_DIRECTORY || plan->kind != LAYOUT_VBS)
		why = "it belongs to the chunks of --layout vbs";
	else if (packet == 0)
		why = "it tells the size of the packets: --packet-size BYTES, 8032 for instance";
	if (why)
		return refuse(refusal, "vbs-cfg", why);
	if (vbs_cfg_mib(plan->chunk_bytes, packet) == 0)
		session_warn(
			session,
			"chunks of %" PRIu64
			" bytes are not what readers of NAME.cfg make of whole MiB and packets of %" PRIu64
			": it has filesize and no filesizemb; --chunk and --block can change that",
			plan->chunk_bytes, packet);
	return 0;
}

static int read_fields(struct metadata *metadata, struct refusal *refusal)
{
	const char *path = metadata->config->dada_file;
	char text[4 * DADA_HEADER_BYTES], error[DADA_ERROR_LEN];
	FILE *f = fopen(path, "re");
	size_t len = f ? fread(text, 1, sizeof(text), f) : 0;
	bool is_bad = !f || ferror(f);
	int code = errno;

	if (f)
		fclose(f);
	if (is_bad)
		return session_refuse(refusal, code == EACCES ? EX_NOPERM : EX_NOINPUT, -code,
				      "--dada-header: %.300s can't be read: %s", path, strerror(code));
	if (len == sizeof(text))
		return session_refuse(
			refusal, EX_CONFIG, -E2BIG,
			"--dada-header: %.300s is more than a header of 4096 bytes has room for",
			path);
	if (dada_parse(&metadata->fields, text, len, error) < 0)
		return session_refuse(refusal, EX_CONFIG, -EINVAL, "--dada-header: %.300s %s", path,
				      error);
	return 0;
}

/* A sink that is to have a head knows nothing of sessions. Its hand calls this when the stream has begun. */
static void make_head(const struct sink_head *head, const struct sink_file *file, char *buf)
{
	const struct metadata *metadata = (const struct metadata *)head;
	const struct session *session = metadata->session;
	const char *slash = strrchr(file->name, '/');
	struct dada_facts facts = {
		.file = slash ? slash + 1 : file->name,
		.file_number = file->number,
		.stream_offset = file->stream_offset,
		.file_bytes = file->bytes,
		.rate_bps = session->source->rate_bps,
		/* relaxed: stored before the first block was put, which we have */
		.start_utc_ns = atomic_load_explicit(&session->start_utc_ns, memory_order_relaxed),
	};

	dada_compose(buf, &metadata->fields, &facts);
}

static int make_dada(struct metadata *metadata, struct refusal *refusal)
{
	struct session *session = metadata->session;
	const char *why = why_not_raw(session);
	char keys[DADA_ERROR_LEN];
	int ret = 0;

	if (why)
		return refuse(refusal, "dada-header", why);
	if (metadata->config->dada_file)
		ret = read_fields(metadata, refusal);
	if (ret < 0)
		return ret;
	dada_missing(keys, &metadata->fields, session->source->rate_bps);
	if (keys[0])
		session_warn(session,
			     "the DADA header has no %s, which dspsr wants: --dada-header=FILE", keys);
	metadata->head = (struct sink_head){ .bytes = DADA_HEADER_BYTES, .make = make_head };
	return 0;
}

int metadata_create(struct metadata **out, struct session *session, struct refusal *refusal)
{
	struct metadata *metadata =
		calloc(1, sizeof(*metadata) + session->disk_count * sizeof(metadata->notes[0]));
	const struct metadata_config *config = &session->config.metadata;
	int ret = 0;

	*out = metadata;
	if (!metadata)
		return session_refuse(refusal, EX_OSERR, -ENOMEM, "no memory");
	metadata->session = session;
	metadata->config = config;
	pthread_mutex_init(&metadata->lock, NULL);
	for (unsigned i = 0; i < session->disk_count; i++)
		metadata->notes[i].end = &metadata->notes[i].complete;
	if (config->use_sigmf)
		ret = check_sigmf(metadata, refusal);
	if (ret == 0 && config->use_vbs_cfg)
		ret = check_cfg(metadata, refusal);
	if (ret == 0 && config->use_dada)
		ret = make_dada(metadata, refusal);
	return ret;
}

static void free_note(struct note *note)
{
	if (note)
		free(note->captures);
	free(note);
}

void metadata_free(struct metadata *metadata)
{
	if (!metadata)
		return;
	for (unsigned i = 0; i < metadata->session->disk_count; i++) {
		struct notes *notes = &metadata->notes[i];

		free_note(notes->open);
		while (notes->complete) {
			struct note *next = notes->complete->next;

			free_note(notes->complete);
			notes->complete = next;
		}
	}
	pthread_mutex_destroy(&metadata->lock);
	free(metadata);
}

const struct sink_head *metadata_head(const struct metadata *metadata)
{
	return metadata && metadata->head.bytes ? &metadata->head : NULL;
}

/* ---- errors ---- */

static void fail(struct metadata *metadata, const struct disk *disk, const char *file, const char *why)
{
	/* relaxed: a counter, looked at when all is over */
	atomic_fetch_add_explicit(&metadata->failed_count, 1, memory_order_relaxed);
	session_event(metadata->session, "metadata-failed", (int)disk->number,
		      "%s/%s could not be written: %s; the data are not concerned",
		      disk->target.path, file, why);
}

uint64_t metadata_failures(const struct metadata *metadata)
{
	return metadata ? atomic_load_explicit(&metadata->failed_count, memory_order_relaxed) : 0;
}

uint64_t metadata_written(const struct metadata *metadata)
{
	return metadata ? atomic_load_explicit(&metadata->written_count, memory_order_relaxed) : 0;
}

/* ---- notes: the writer ---- */

static void complete_open(struct notes *notes)
{
	if (!notes->open)
		return;
	*notes->end = notes->open;
	notes->end = &notes->open->next;
	notes->open = NULL;
}

static struct note *begin_note(struct notes *notes, const struct segment *segment, const char *file,
			       uint64_t head_bytes)
{
	struct note *note = calloc(1, sizeof(*note) + strlen(file) + 1);

	if (!note)
		return NULL;
	strcpy(note->file, file);
	note->number = segment->file_number;
	note->base = segment->file_base;
	note->head_bytes = segment->file_base ? 0 : head_bytes;
	notes->open = note;
	return note;
}

static bool goes_on(const struct note *note, const struct sigmf_capture *capture)
{
	const struct sigmf_capture *last;

	if (note->capture_count == 0)
		return false;
	last = &note->captures[note->capture_count - 1];
	return last->stream_offset + last->bytes == capture->stream_offset;
}

static int add_capture(struct note *note, const struct sigmf_capture *capture)
{
	if (goes_on(note, capture)) {
		note->captures[note->capture_count - 1].bytes += capture->bytes;
		return 0;
	}
	if (note->capture_count == note->capture_room) {
		size_t room = note->capture_room ? 2 * note->capture_room : CAPTURES_FIRST;
		void *captures = reallocarray(note->captures, room, sizeof(*capture));

		if (!captures)
			return -ENOMEM;
		note->captures = captures;
		note->capture_room = room;
	}
	note->captures[note->capture_count++] = *capture;
	return 0;
}

static int note_segment(struct metadata *metadata, struct notes *notes,
			const struct segment *segment, const char *file)
{
	struct note *note = notes->open;

	if (note && (note->number != segment->file_number || note->base != segment->file_base)) {
		complete_open(notes);
		note = NULL;
	}
	if (!note)
		note = begin_note(notes, segment, file, metadata->head.bytes);
	if (!note)
		return -ENOMEM;
	return add_capture(note, &(struct sigmf_capture){
					 .at = segment->file_offset - note->head_bytes,
					 .bytes = segment->bytes,
					 .stream_offset = segment->stream_offset,
					 .utc_ns = segment->utc_ns,
				 });
}

void metadata_note(struct metadata *metadata, const struct disk *disk,
		   const struct segment *segment, const char *file)
{
	int ret = 0;

	if (segment->file_offset == 0 && segment->file_base == 0 &&
	    !(segment->file_number & LAYOUT_OTHER))
		atomic_fetch_add_explicit(&metadata->chunk_count, 1, memory_order_relaxed);
	if (!metadata->config->use_sigmf)
		return;
	pthread_mutex_lock(&metadata->lock);
	ret = note_segment(metadata, &metadata->notes[disk->number], segment, file);
	pthread_mutex_unlock(&metadata->lock);
	if (ret < 0)
		fail(metadata, disk, file, "no memory for its metadata");
}

/* ---- files: the keeper ---- */

static struct note *take_complete(struct metadata *metadata, struct notes *notes)
{
	struct note *note;

	pthread_mutex_lock(&metadata->lock);
	note = notes->complete;
	if (note) {
		notes->complete = note->next;
		if (!notes->complete)
			notes->end = &notes->complete;
	}
	pthread_mutex_unlock(&metadata->lock);
	return note;
}

static void write_file(struct metadata *metadata, const struct disk *disk, const char *file,
		       const char *text, size_t len)
{
	int ret = whole_file_write(disk->target.dir_fd, file, text, len);

	if (ret < 0)
		fail(metadata, disk, file, strerror(-ret));
	else
		atomic_fetch_add_explicit(&metadata->written_count, 1, memory_order_relaxed);
}

/* What the file really has, in case that more is in it than was promised. Return: 0 or -errno. */
static int measure(const struct disk *disk, const struct note *note, uint64_t *data_bytes)
{
	const struct sigmf_capture *last = &note->captures[note->capture_count - 1];
	struct stat st;

	if (fstatat(disk->target.dir_fd, note->file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if ((uint64_t)st.st_size < note->head_bytes + last->at + last->bytes)
		return -ENODATA;
	*data_bytes = (uint64_t)st.st_size - note->head_bytes;
	return 0;
}

static char *describe(const struct metadata *metadata, const struct note *note, uint64_t data_bytes)
{
	const struct sigmf_file file = {
		.name = note->file,
		.recording = metadata->session->config.name,
		.head_bytes = note->head_bytes,
		.data_bytes = data_bytes,
		.rate_bps = metadata->session->source->rate_bps,
		.captures = note->captures,
		.capture_count = note->capture_count,
	};
	json_t *meta = sigmf_meta(&metadata->config->words, &file);
	char *dump = json_dumps(meta, JSON_INDENT(4) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
	char *text = NULL;

	json_decref(meta);
	if (dump && asprintf(&text, "%s\n", dump) < 0)
		text = NULL;
	free(dump);
	return text;
}

static void write_sigmf(struct metadata *metadata, const struct disk *disk, const struct note *note)
{
	char name[LAYOUT_NAME_LEN + sizeof(SIGMF_META_SUFFIX)], *text;
	uint64_t data_bytes = 0;
	int ret = sigmf_meta_name(name, sizeof(name), note->file) ? 0 : -ENAMETOOLONG;

	if (note->capture_count == 0) /* no memory: that has been told */
		return;
	if (ret == 0)
		ret = measure(disk, note, &data_bytes);
	if (ret < 0) {
		fail(metadata, disk, name, strerror(-ret));
		return;
	}
	text = describe(metadata, note, data_bytes);
	if (text)
		write_file(metadata, disk, name, text, strlen(text));
	else
		fail(metadata, disk, name, strerror(ENOMEM));
	free(text);
}

static void write_cfg(struct metadata *metadata, const struct disk *disk, const char *name)
{
	const struct session *session = metadata->session;
	const struct vbs_cfg cfg = {
		.packet_bytes = session_packet_bytes(session),
		.chunk_bytes = session->plan.chunk_bytes,
		.chunk_count = atomic_load_explicit(&metadata->chunk_count, memory_order_relaxed),
		.data_bytes = session_written_bytes(session),
	};
	char text[CFG_LEN], path[LAYOUT_NAME_LEN];
	size_t len = vbs_cfg_text(text, sizeof(text), &cfg);

	snprintf(path, sizeof(path), "%.200s/%.200s" METADATA_CFG_SUFFIX, name, name);
	write_file(metadata, disk, path, text, len);
}

/* On every disk that has a file. */
static void write_cfgs(struct metadata *metadata, const struct disk *disk)
{
	char second[LAYOUT_NAME_LEN];

	if (!metadata->config->use_vbs_cfg ||
	    atomic_load_explicit(&disk->durable_bytes, memory_order_relaxed) == 0)
		return;
	write_cfg(metadata, disk, metadata->session->config.name);
	if (!disk->has_second_directory)
		return;
	session_second_name(second, sizeof(second), metadata->session);
	write_cfg(metadata, disk, second);
}

bool metadata_write(struct metadata *metadata, struct disk *disk)
{
	struct notes *notes = &metadata->notes[disk->number];
	/* acquire: pairs with metadata_end(): all is noted */
	bool is_last = atomic_load_explicit(&metadata->is_ended, memory_order_acquire);
	struct note *note;

	if (atomic_load_explicit(&notes->is_through, memory_order_relaxed)) /* our own, or given up */
		return false;
	note = take_complete(metadata, notes);
	if (note) {
		write_sigmf(metadata, disk, note);
		free_note(note);
		return true;
	}
	if (!is_last)
		return false;
	write_cfgs(metadata, disk);
	/* release: what has failed is counted */
	atomic_store_explicit(&notes->is_through, true, memory_order_release);
	return false;
}

/* ---- the end: the supervisor ---- */

void metadata_end(struct metadata *metadata)
{
	pthread_mutex_lock(&metadata->lock);
	for (unsigned i = 0; i < metadata->session->disk_count; i++)
		complete_open(&metadata->notes[i]);
	pthread_mutex_unlock(&metadata->lock);
	/* release: the notes are complete */
	atomic_store_explicit(&metadata->is_ended, true, memory_order_release);
}

bool metadata_is_through(const struct metadata *metadata, const struct disk *disk)
{
	return atomic_load_explicit(&metadata->notes[disk->number].is_through, memory_order_acquire);
}

void metadata_give_up(struct metadata *metadata, struct disk *disk)
{
	fail(metadata, disk, metadata->session->config.name, "the disk holds what was to be written");
	atomic_store_explicit(&metadata->notes[disk->number].is_through, true, memory_order_release);
}
