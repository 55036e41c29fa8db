/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/session.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sysmacros.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/descriptors.h"
#include "recorder/keeper.h"
#include "recorder/lanes.h"
#include "recorder/outbox.h"
#include "recorder/reader.h"
#include "recorder/room.h"
#include "recorder/session_parts.h"
#include "recorder/writer.h"

#define LENT_SHARE 4 /* beside the ring: a quarter as much, */
#define LENT_LEAST 8 /* and so many blocks at least, for what comes while one is copied */

/* ---- create: look and plan ---- */

static int status_for_source(int error)
{
	switch (-error) {
	case EINVAL:
	case ERANGE:
		return EX_USAGE;
	case EACCES:
	case EPERM:
		return EX_NOPERM;
	case ENOMEM:
		return EX_OSERR;
	default:
		return EX_NOINPUT;
	}
}

static int open_source(struct session *session, struct refusal *refusal)
{
	const struct session_config *config = &session->config;
	struct source_config source_config = {
		.rate_bps = config->rate_bps,
		.start_utc_ns = config->start_utc_ns,
		.wants_packets = config->layout == LAYOUT_PCAP,
		.is_as_recorded = config->is_as_recorded,
	};
	int ret = config->source_ops ?
			  source_open_with(&session->source, config->source_ops,
					   config->source_name, &source_config) :
			  source_open(&session->source, config->source_name, &source_config);

	if (ret == 0)
		return 0;
	return session_refuse(refusal, status_for_source(ret), ret, "%s",
			      session->source ? session->source->error : "no memory for the source");
}

static int check_fill(const struct session *session, struct refusal *refusal)
{
	const struct source *source = session->source;

	if (session->config.fill != FILL_NONE && session->config.layout == LAYOUT_PCAP)
		return session_refuse(
			refusal, EX_USAGE, -EINVAL,
			"--fill: layout pcap keeps the packets that came, and has no place for others");
	if (session->config.fill != FILL_VDIF_INVALID || source->gives_vdif_fill)
		return 0;
	return session_refuse(
		refusal, EX_USAGE, -EINVAL,
		"--fill vdif-invalid: %s doesn't know which VDIF frames it has lost; --fill pattern keeps the time axis, and vsib-gather --fill=vdif-invalid can do it afterwards",
		source->name);
}

static int open_targets(struct session *session, struct refusal *refusal)
{
	const struct session_config *config = &session->config;
	struct target targets[TARGET_MAX];
	char error[TARGET_ERROR_LEN] = "";
	int ret = 0;

	for (unsigned i = 0; i < config->target_count; i++) {
		struct disk *disk = &session->disks[i];

		disk->session = session;
		disk->number = i;
		ret = config->opened_targets ?
			      target_copy(&disk->target, config->opened_targets[i], error) :
			      target_open(&disk->target, config->targets[i], error);
		if (ret < 0)
			return session_refuse(refusal, target_exit_status(ret), ret, "%s", error);
		target_share_room(&disk->target, targets, i);
		session->disk_count = i + 1;
		if (config->is_index_per_target && disk->target.kind != TARGET_DIRECTORY)
			return session_refuse(
				refusal, EX_USAGE, -EINVAL,
				"a directory is wanted, and '%s' means something else; ./%s is the directory of that name",
				config->targets[i], config->targets[i]);
		disk->total_bytes = disk->target.total_bytes;
		atomic_init(&disk->free_bytes, disk->target.free_bytes);
		atomic_init(&disk->capacity_bytes, ROOM_UNKNOWN);
		atomic_init(&disk->waits_behind, RING_END);
		bell_init(&disk->keeper_bell);
		targets[i] = disk->target;
	}
	/* wr's directories may be one: it tells its files apart by their templates */
	if (!config->is_index_per_target)
		ret = target_check_all(targets, config->target_count, config->allow_same_device, error);
	if (ret < 0)
		return session_refuse(refusal, target_exit_status(ret), ret, "%s", error);
	atomic_init(&session->usable_count, config->target_count);
	return 0;
}

static size_t label_bytes(const struct layout_plan *plan)
{
	return sizeof(struct block_label) + plan->extent_max * sizeof(struct extent);
}

uint64_t session_packet_bytes(const struct session *session)
{
	return session->config.packet_bytes ? session->config.packet_bytes :
					      session->source->frame_bytes;
}

static int plan_layout(struct session *session, struct refusal *refusal)
{
	const struct session_config *config = &session->config;
	char error[LAYOUT_ERROR_LEN];
	struct layout_request request = {
		.kind = config->layout,
		.stripe = config->stripe,
		.disk_count = config->target_count,
		.copies = config->copies,
		.has_parity = config->use_parity,
		.is_stream = !target_has_files(&session->disks[0].target),
		.is_dropped = session->disks[0].target.kind == TARGET_NULL,
		.is_historical = config->is_index_per_target,
		.ring_bytes = config->ring_bytes,
		.block_bytes = config->block_bytes,
		.unit_bytes = config->unit_bytes,
		.frame_bytes = session->source->frame_bytes,
		.chunk_bytes = config->chunk_bytes,
		.file_bytes = config->file_bytes,
		.file_ns = config->file_ns,
		.packet_bytes = session_packet_bytes(session),
		.packet_format = config->packet_format,
	};
	int ret = layout_plan(&session->plan, &request, error);

	return ret < 0 ? session_refuse(refusal, EX_USAGE, ret, "%s", error) : 0;
}

/*
 * What the ring needs beside its blocks: its own tables, as ring.c has them, those of the
 * segments, and the overflow's block.
 */
static size_t table_bytes(const struct session *session)
{
	const struct layout_plan *plan = &session->plan;
	/* a queue's slots are a power of two, each could take every block, the rescue queue twice */
	uint64_t queues = (session->disk_count + UINT64_C(2)) * 2 * 16;
	uint64_t label = (label_bytes(plan) + 63) / 64 * 64;

	return plan->block_count * (queues + label + 32) + plan->block_bytes +
	       session->disk_count * segmenter_bytes();
}

static struct memory_config ring_memory(const struct session *session)
{
	return (struct memory_config){
		.bytes = session->plan.ring_bytes,
		.table_bytes = table_bytes(session),
		.numa_node = MEMORY_ANY_NODE,
		.use_huge_pages = session->config.use_huge_pages,
		.require_huge_pages = session->config.require_huge_pages,
		.use_lock = session->config.use_lock,
	};
}

static int check_memory(struct session *session, struct refusal *refusal)
{
	struct memory_config memory_config = ring_memory(session);
	int ret = memory_allow(&session->memory, &memory_config);

	return ret < 0 ? session_refuse(refusal, EX_CONFIG, ret, "%s", session->memory.error) : 0;
}

/*
 * Nobody asked for just this ring: where it doesn't fit, a smaller one is better than no recording.
 */
static int lower_ring(struct session *session, struct refusal *refusal)
{
	struct memory_config memory_config = ring_memory(session);
	uint64_t bytes;

	if (!session->config.is_ring_default || memory_allow(&session->memory, &memory_config) == 0)
		return 0;
	bytes = memory_largest(&memory_config);
	bytes = (bytes - bytes / 16) >> 20 << 20; /* others may take some before we do */
	if (bytes == 0 || bytes >= session->plan.ring_bytes)
		return 0; /* check_memory() has the numbers */
	session->config.ring_bytes = bytes;
	session_warn(session, "ring lowered to %" PRIu64 " MiB: %s", bytes >> 20,
		     session->memory.error);
	return plan_layout(session, refusal);
}

/* With runs that go whole to one disk, one must fit somewhere; else the stream would end as it begins. */
static int check_run_room(struct session *session, struct refusal *refusal)
{
	uint64_t run_bytes = room_run_bytes(session), free_bytes = 0;

	for (unsigned i = 0; i < session->disk_count; i++)
		if (session->disks[i].target.free_bytes > free_bytes)
			free_bytes = session->disks[i].target.free_bytes;
	if (free_bytes >= run_bytes)
		return 0;
	return session_refuse(refusal, EX_CANTCREAT, -ENOSPC,
			      "no target has room for a piece of %" PRIu64
			      " bytes: the largest is %" PRIu64
			      " bytes free; a smaller --chunk or --ring makes smaller pieces",
			      run_bytes, free_bytes);
}

/* A disk that is full already; with --force its old recording may be what fills it. */
static int check_room(struct session *session, struct refusal *refusal)
{
	for (unsigned i = 0; i < session->disk_count && !session->config.use_force; i++) {
		const struct target *target = &session->disks[i].target;

		if (target->free_bytes >= session->plan.block_bytes)
			continue;
		return session_refuse(refusal, EX_CANTCREAT, -ENOSPC,
				      "target %s: %s: %" PRIu64
				      " bytes are free, not even a block of %" PRIu64 " bytes",
				      target->path, strerror(ENOSPC), target->free_bytes,
				      session->plan.block_bytes);
	}
	return session->config.use_force ? 0 : check_run_room(session, refusal);
}

static int check_config(const struct session_config *config, struct refusal *refusal)
{
	char error[256];

	if (!config->source_name)
		return session_refuse(refusal, EX_USAGE, -EINVAL,
				      "no source: -s SOURCE, for instance -s sim:");
	if (config->target_count == 0)
		return session_refuse(refusal, EX_USAGE, -EINVAL,
				      "no target: -o DIRECTORY, or -o null: to write nothing");
	if (config->target_count > TARGET_MAX)
		return session_refuse(refusal, EX_USAGE, -EINVAL, "%u targets; %d at most",
				      config->target_count, TARGET_MAX);
	if (descriptors_check(config->target_count, error, sizeof(error)) < 0)
		return session_refuse(refusal, EX_CONFIG, -EMFILE, "%s", error);
	return 0;
}

int session_create(struct session **out, const struct session_config *config, struct refusal *refusal)
{
	struct session *session;
	int ret = check_config(config, refusal);

	*out = NULL;
	if (ret < 0)
		return ret;
	session = calloc(1, sizeof(*session));
	if (!session)
		return session_refuse(refusal, EX_OSERR, -ENOMEM, "no memory");
	session->created_ns = units_monotonic_ns();
	session->config = *config;
	pthread_mutex_init(&session->lock, NULL);
	session->memory.numa_node = MEMORY_ANY_NODE;
	session->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	session->disks = calloc(config->target_count, sizeof(session->disks[0]));
	ret = session->disks && session->wake_fd >= 0 ? account_init(&session->account) : -ENOMEM;
	if (ret < 0)
		session_refuse(refusal, EX_OSERR, ret, "no memory");
	if (ret == 0)
		ret = open_source(session, refusal);
	if (ret == 0)
		ret = check_fill(session, refusal);
	if (ret == 0)
		ret = open_targets(session, refusal);
	if (ret == 0)
		ret = plan_layout(session, refusal);
	if (ret == 0 && session->plan.has_second && copies_create(&session->copies) < 0)
		ret = session_refuse(refusal, EX_OSERR, -ENOMEM, "no memory");
	if (ret == 0)
		ret = lower_ring(session, refusal);
	if (ret == 0)
		ret = session_name_files(session, refusal);
	if (ret == 0 && metadata_is_wanted(&config->metadata))
		ret = metadata_create(&session->metadata, session, refusal);
	if (ret == 0)
		ret = check_memory(session, refusal);
	if (ret == 0)
		ret = check_room(session, refusal);
	if (ret < 0) {
		session_free(session);
		return ret;
	}
	session->can_drop = config->on_overflow == OVERFLOW_AUTO ?
				    !session->source->can_wait :
				    config->on_overflow != OVERFLOW_WAIT;
	if (session->plan.is_appended && session->plan.packet_format == MARK6_UNKNOWN)
		session_warn(
			session,
			"packets of unknown format are written: programs that gather by the packets' times take them for Mark5B; --packet-format says what they are");
	metadata_warn_unused(session);
	watch_init(&session->watch, session->source->word_bytes);
	session->has_sums = config->use_checksums && (config->use_journal || config->settled) &&
			    target_has_files(&session->disks[0].target) &&
			    session->plan.block_bytes <= JOURNAL_SEGMENT_MAX;
	*out = session;
	return 0;
}

/* ---- arm: make what is needed ---- */

static int find_node(const struct session *session)
{
	dev_t device = session->source->device;

	if (session->config.numa_node != MEMORY_ANY_NODE || device == 0)
		return session->config.numa_node;
	return memory_device_node(major(device), minor(device));
}

/* The source's memory, which the kernel fills for it: the ring's, or beside it. */
static int borrow_memory(struct session *session, struct refusal *refusal)
{
	const struct layout_plan *plan = &session->plan;
	uint32_t share = plan->block_count / LENT_SHARE;
	uint32_t count = plan->is_borrowed  ? plan->block_count :
			 share > LENT_LEAST ? share :
					      LENT_LEAST;
	int ret = source_lend(session->source, plan->block_bytes, count, &session->lent);

	if (ret < 0)
		return session_refuse(refusal, EX_CONFIG, ret, "%s", session->source->error);
	for (uint32_t b = 0; b < count && !plan->is_borrowed; b++)
		source_give(session->source, b);
	if (!plan->is_borrowed)
		return 0;
	session->memory.base = session->lent;
	session->memory.bytes = plan->ring_bytes;
	session->memory.is_locked = true; /* a kernel's memory is never swapped */
	return 0;
}

static int map_memory(struct session *session, struct refusal *refusal)
{
	struct memory_config memory_config = ring_memory(session);
	int ret;

	memory_config.numa_node = find_node(session);
	ret = memory_map(&session->memory, &memory_config);
	if (ret < 0)
		return session_refuse(refusal, EX_CONFIG, ret, "%s", session->memory.error);
	if (session->memory.note[0])
		session_warn(session, "ring memory: %s", session->memory.note);
	return 0;
}

static int make_ring(struct session *session, struct refusal *refusal)
{
	const struct layout_plan *plan = &session->plan;
	struct ring_config ring_config = {
		.block_bytes = plan->block_bytes,
		.block_count = plan->block_count,
		.queue_count = session->disk_count,
		.label_bytes = label_bytes(plan),
	};
	int ret = plan->is_lent ? borrow_memory(session, refusal) : 0;

	if (ret == 0 && !plan->is_borrowed)
		ret = map_memory(session, refusal);
	if (ret < 0)
		return ret;
	ring_config.memory = session->memory.base;
	ret = ring_create(&session->ring, &ring_config);
	if (ret == 0)
		ret = lanes_create(&session->lanes, session);
	if (ret == 0) {
		session->scrap = aligned_alloc(LAYOUT_ALIGN, plan->block_bytes);
		ret = session->scrap ? 0 : -ENOMEM;
	}
	if (ret < 0)
		return session_refuse(refusal, EX_OSERR, ret, "no memory for the ring's tables");
	memset(session->scrap, 0, plan->block_bytes); /* touched now, not in the first overflow */
	return 0;
}

static int make_outbox(struct session *session, struct disk *disk, struct refusal *refusal)
{
	const struct outbox *first = session->disks[0].outbox;
	struct outbox_config config = {
		.sink = {
			.target = &disk->target,
			.name_template = disk->name_template,
			.other_template = disk->other_template,
			.file_bytes = disk->file_bytes,
			/*
			 * one endless file has its name at once; files with an end get it when
			 * they are whole
			 */
			.is_part_first = session_has_numbers(session, disk),
			/* behind its header a block begins anywhere */
			.use_direct = session->config.use_direct && !session->plan.is_appended,
			.io = session->config.io ? session->config.io[disk->number] : NULL,
			.head = metadata_head(session->metadata),
		},
		.engine = {
			.kind = session->config.engine,
			.depth = session->config.depth ? session->config.depth :
							     engine_usual_depth(session->plan.block_bytes),
			.bell = ring_bell(session->ring, disk->number),
			.memory = session->memory.base,
			.memory_bytes = session->plan.ring_bytes,
			.block_bytes = session->plan.block_bytes,
			.other = first ? outbox_engine(first) : NULL,
			.number = disk->number,
		},
	};
	int ret = outbox_open(&disk->outbox, &config);
	const char *note;

	if (ret < 0 && session->config.engine == ENGINE_URING)
		return session_refuse(
			refusal, EX_CONFIG, ret,
			"target %s: io_uring is refused: %s; --engine auto uses threads instead",
			disk->target.path, strerror(-ret));
	if (ret < 0)
		return session_refuse(refusal, EX_OSERR, ret, "target %s can't be served: %s",
				      disk->target.path, strerror(-ret));
	for (unsigned i = 0; (note = outbox_note(disk->outbox, i)) != NULL; i++)
		if (note[0] && (!first || strcmp(note, outbox_note(first, i)) != 0)) /* once, not for each */
			session_warn(session, "%s", note);
	if (segmenter_create(&disk->segmenter, session->config.use_checksums,
			     session->source->rate_bps) < 0)
		return session_refuse(refusal, EX_OSERR, -ENOMEM, "no memory for target %s",
				      disk->target.path);
	return 0;
}

/* An old recording is removed as late as can be: what is refused before leaves it alone. */
static int make_files(struct session *session, struct refusal *refusal)
{
	bool has_files = target_has_files(&session->disks[0].target);
	int ret = 0;

	if (has_files && session->config.use_journal &&
	    journal_create(&session->journal, session->disk_count) < 0)
		return session_refuse(refusal, EX_OSERR, -ENOMEM, "no memory for the journal");
	if (session->journal)
		ret = session_say_start(session, refusal);
	for (unsigned i = 0; i < session->disk_count && ret == 0; i++)
		ret = make_outbox(session, &session->disks[i], refusal);
	if (ret == 0 && has_files && session->config.use_force)
		ret = session_remove_existing(session, refusal);
	for (unsigned i = 0; i < session->disk_count && ret == 0 && has_files; i++)
		ret = session_make_journal(session, &session->disks[i], refusal);
	return ret;
}

/*
 * The first line goes to every disk now: a disk that doesn't even take that is found before the
 * source starts.
 */
static int begin_journal(struct session *session, struct refusal *refusal)
{
	for (unsigned i = 0; i < session->disk_count && session->journal; i++) {
		int ret = journal_flush(session->journal, i);

		if (ret < 0)
			return session_refuse(refusal, ret == -ENOSPC ? EX_CANTCREAT : EX_IOERR,
					      ret, "can't write the journal on %s: %s",
					      session->disks[i].target.path, strerror(-ret));
	}
	return 0;
}

int session_arm(struct session *session, struct refusal *refusal)
{
	int ret = make_ring(session, refusal);

	if (ret == 0)
		ret = make_files(session, refusal);
	if (ret == 0)
		ret = begin_journal(session, refusal);
	if (ret < 0) {
		session_discard(session);
		return ret;
	}
	for (unsigned i = 0; i < session->disk_count; i++) /* of old recordings nothing is left */
		room_look(&session->disks[i]);
	/* the clock starts here: what was before is set-up */
	session->armed_ns = units_monotonic_ns();
	session->armed_utc_ns = units_realtime_ns();
	return 0;
}

/* ---- run ---- */

static void ignore_signal(int signal)
{
	(void)signal; /* its only work is to make a read() return EINTR */
}

static int start_disk(struct disk *disk)
{
	int ret;

	if (disk->target.kind == TARGET_NULL) { /* the reader serves it: disk_drop() */
		atomic_store_explicit(&disk->has_ended, true, memory_order_release);
		return 0;
	}
	ret = pthread_create(&disk->writer, NULL, writer_main, disk);
	disk->has_writer = ret == 0;
	if (ret == 0)
		ret = pthread_create(&disk->keeper, NULL, keeper_main, disk);
	disk->has_keeper = disk->has_writer && ret == 0;
	return ret;
}

int session_start(struct session *session, struct refusal *refusal)
{
	struct sigaction action = { .sa_handler = ignore_signal };
	int ret;

	sigaction(SIGUSR2, &action, NULL); /* no SA_RESTART */
	for (unsigned i = 0; i < session->disk_count; i++) {
		struct disk *disk = &session->disks[i];

		ret = start_disk(disk);
		if (ret != 0)
			goto fail;
	}
	ret = pthread_create(&session->reader, NULL, reader_main, session);
	session->has_reader = ret == 0;
	if (ret == 0)
		return 0;
fail:
	session_refuse(refusal, EX_OSERR, -ret, "can't start the recording's threads: %s",
		       strerror(ret));
	/*
	 * those that run see an ended stream and an empty ring, and end; those that don't have
	 * ended already
	 */
	for (unsigned i = 0; i < session->disk_count; i++) {
		struct disk *disk = &session->disks[i];

		if (!disk->has_writer)
			atomic_store_explicit(&disk->has_ended, true, memory_order_release);
	}
	atomic_store_explicit(&session->has_stream_ended, true, memory_order_release);
	session_end(session, UNITS_NS_PER_S);
	session_discard(session);
	return -ret;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	for (unsigned i = 0; session->disks && i < session->disk_count; i++) {
		struct disk *disk = &session->disks[i];

		outbox_close(disk->outbox);
		segmenter_free(disk->segmenter);
		target_close(&disk->target);
	}
	metadata_free(session->metadata);
	journal_free(session->journal);
	lanes_free(session->lanes);
	ring_free(session->ring);
	if (!session->plan.is_borrowed)
		memory_unmap(&session->memory);
	source_close(session->source);
	account_free(&session->account);
	copies_free(session->copies);
	if (session->wake_fd >= 0)
		close(session->wake_fd);
	free(session->scrap);
	free(session->disks);
	for (unsigned i = 0; i < session->warning_count; i++)
		free(session->warnings[i]);
	for (unsigned i = 0; i < session->event_count; i++)
		free(session->events[i]);
	pthread_mutex_destroy(&session->lock);
	free(session);
}
