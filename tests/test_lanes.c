/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_lanes.c - the stream cut into blocks, runs and files, with a real ring and no threads
 *
 * The test fills as the reader does and empties as the writers do, and puts the stream together again from the blocks' labels alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include "drivers/sim.h"
#include "recorder/lanes.h"
#include "tests/session_kit.h"

#define SEED 7
#define PIECES_MAX 200000
#define FILES_MAX 20000

/* An extent that came out of the ring. */
struct piece {
	uint64_t stream_offset, bytes;
	uint32_t queue;
	uint64_t file_number, file_offset;
};

/* A file as its writer would have it. */
struct file {
	uint32_t queue;
	uint64_t number, bytes;
	bool has_ended;
	XXH3_state_t *sum;
	uint64_t sum_bytes;
};

/* What a writer is at. */
struct writer {
	uint32_t first, last; /* of the run; RING_NONE = none */
	uint64_t run_bytes;
	unsigned run_blocks;
};

static struct kit kit;
static struct piece *pieces;
static size_t piece_count;
static struct file *files;
static size_t file_count;
static struct writer writers[KIT_DISKS + 1]; /* the last one for the rescue queue */
static uint64_t whole_bytes;                 /* of what fill() gave: in whole packets */
static uint64_t block_count;                 /* taken */
static uint64_t chance_state = 1;

static uint64_t chance(uint64_t below)
{
	chance_state = chance_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (chance_state >> 33) % below;
}

static int setup(void **state)
{
	(void)state;
	pieces = calloc(PIECES_MAX, sizeof(pieces[0]));
	files = calloc(FILES_MAX, sizeof(files[0]));
	return !pieces || !files;
}

static int teardown(void **state)
{
	(void)state;
	free(pieces);
	free(files);
	return 0;
}

static void begin(unsigned disk_count)
{
	kit_open(&kit, disk_count);
	piece_count = file_count = 0;
	block_count = 0;
	for (unsigned i = 0; i <= KIT_DISKS; i++)
		writers[i] = (struct writer){ .first = RING_NONE, .last = RING_NONE };
}

static void arm(void)
{
	if (session_create(&kit.session, &kit.config, &kit.refusal) < 0 ||
	    session_arm(kit.session, &kit.refusal) < 0)
		fail_msg("%s", kit.refusal.text);
}

static void end(void)
{
	for (size_t i = 0; i < file_count; i++)
		XXH3_freeState(files[i].sum);
	kit_close(&kit);
}

/* ---- the writers' side ---- */

static struct file *file_of(uint32_t queue, uint64_t number)
{
	for (size_t i = file_count; i-- > 0;)
		if (files[i].queue == queue && files[i].number == number)
			return &files[i];
	assert_true(file_count < FILES_MAX);
	files[file_count] = (struct file){ .queue = queue, .number = number };
	return &files[file_count++];
}

/* What the reader says of the checksum is true of the bytes as they lie in the file. */
static void check_sum(struct file *file, const struct extent *extent, const char *bytes)
{
	if (extent->sum == SUM_OURS) { /* or its end was torn off */
		assert_true(!kit.session->has_sums || kit.session->plan.packet_bytes > 1);
		return;
	}
	assert_true(kit.session->has_sums);
	if (!file->sum)
		file->sum = XXH3_createState();
	if (extent->sum == SUM_STARTS) {
		XXH3_64bits_reset(file->sum);
		file->sum_bytes = 0;
	} else {
		assert_int_equal(extent->sum, SUM_GOES_ON);
		assert_true(file->sum_bytes > 0);
	}
	XXH3_64bits_update(file->sum, bytes, extent->bytes);
	file->sum_bytes += extent->bytes;
	assert_true(file->sum_bytes <= JOURNAL_SEGMENT_MAX);
	assert_int_equal(extent->xxh3, XXH3_64bits_digest(file->sum));
}

/* The headers in front of a block tell the truth. Return: its number. */
static uint64_t check_headers(uint32_t block)
{
	const struct layout_plan *plan = &kit.session->plan;
	const char *header = session_block_data(kit.session, block) - MARK6_BLOCK_HEADER_BYTES;
	struct mark6_file_header file_header;
	struct mark6_block_header block_header;

	assert_true(mark6_get_file_header(header - MARK6_FILE_HEADER_BYTES, &file_header));
	assert_int_equal(file_header.block_bytes, plan->data_bytes + MARK6_BLOCK_HEADER_BYTES);
	assert_int_equal(file_header.format, plan->packet_format);
	assert_int_equal(file_header.packet_bytes, plan->packet_bytes);
	assert_true(mark6_get_block_header(header, &file_header, &block_header));
	assert_int_equal(block_header.bytes,
			 ring_bytes(kit.session->ring, block) + MARK6_BLOCK_HEADER_BYTES);
	return block_header.number;
}

static void take_block(uint32_t queue, uint32_t block)
{
	const struct layout_plan *plan = &kit.session->plan;
	struct ring *ring = kit.session->ring;
	const struct block_label *label = ring_label(ring, block);
	const char *data = session_block_data(kit.session, block);
	struct file *file = file_of(queue, label->file_number);
	uint64_t number = label->file_number;
	uint32_t at = 0;

	if (plan->is_appended)
		number = check_headers(block);
	else
		assert_int_equal(label->file_offset, file->bytes);
	assert_false(file->has_ended);
	block_count++;
	assert_in_range(label->extent_count, 1, plan->extent_max);
	for (uint32_t i = 0; i < label->extent_count; i++) {
		const struct extent *extent = &label->extents[i];

		assert_int_equal(extent->at, at);
		assert_true(extent->bytes > 0);
		/* as fill() has it: also behind a gap; without a rate what is torn there takes no time */
		assert_in_range(extent->stream_offset - (uint64_t)extent->utc_ns, 0,
				plan->packet_bytes ? plan->packet_bytes - 1 : 0);
		at += extent->bytes;
		assert_int_equal(
			sim_verify(data + extent->at, extent->bytes, extent->stream_offset, SEED),
			extent->bytes);
		check_sum(file, extent, data + extent->at);
		assert_true(piece_count < PIECES_MAX);
		pieces[piece_count++] = (struct piece){ extent->stream_offset, extent->bytes, queue,
							number, label->file_offset + extent->at };
	}
	assert_int_equal(at, ring_bytes(ring, block));
	file->bytes += at;
	file->has_ended = label->is_file_end;
}

static void give_back_run(uint32_t first)
{
	while (first != RING_END) {
		uint32_t next = ring_next(kit.session->ring, first);

		ring_give_back(kit.session->ring, first);
		first = next;
	}
}

/* Goes on with the run as far as it has come. True when something was done. */
static bool work(struct writer *writer, uint32_t queue)
{
	struct ring *ring = kit.session->ring;
	const struct layout_plan *plan = &kit.session->plan;
	uint32_t next =
		writer->last == RING_NONE ? ring_claim(ring, queue) : ring_next(ring, writer->last);

	if (next == RING_NONE)
		return false;
	if (next == RING_END) {
		if (plan->run_bytes) {
			assert_true(writer->run_bytes <= plan->run_bytes);
			assert_true(writer->run_blocks <= (plan->run_bytes + KIT_BLOCK - 1) / KIT_BLOCK);
		} else {
			assert_int_equal(writer->run_blocks, 1);
		}
		give_back_run(writer->first);
		*writer = (struct writer){ .first = RING_NONE, .last = RING_NONE };
		return true;
	}
	if (writer->last == RING_NONE)
		writer->first = next;
	take_block(queue, next);
	writer->run_bytes += ring_bytes(ring, next);
	writer->run_blocks++;
	writer->last = next;
	return true;
}

static void empty(void)
{
	bool is_busy;

	do {
		is_busy = work(&writers[KIT_DISKS], RING_RESCUE);
		for (uint32_t i = 0; i < kit.disk_count; i++)
			is_busy = work(&writers[i], i) || is_busy;
	} while (is_busy);
	for (unsigned i = 0; i < kit.disk_count; i++) /* what its writer would have subtracted */
		atomic_store(&kit.session->disks[i].open_units, 0);
}

/* ---- the reader's side ---- */

struct stream {
	uint64_t bytes;
	size_t piece_max; /* 0 = what there is room for */
	unsigned loss_one_in;
	bool is_lazy; /* writers work only when the ring is full */
};

/* Whole packets of a stretch of the stream without a gap. */
static uint64_t whole_packets(uint64_t from, uint64_t end)
{
	uint64_t packet = kit.session->plan.packet_bytes ? kit.session->plan.packet_bytes : 1;
	uint64_t first = (from + packet - 1) / packet * packet, last = end / packet * packet;

	return last > first ? last - first : 0;
}

static uint64_t fill(const struct stream *stream)
{
	struct lanes *lanes = kit.session->lanes;
	uint64_t position = 0, lost = 0, from = 0;
	unsigned full_count = 0;

	whole_bytes = 0;

	while (position < stream->bytes) {
		void *data;
		size_t room = lanes_room(lanes, &data);

		if (room == 0) {
			assert_true(++full_count < 3); /* emptying makes room */
			empty();
			continue;
		}
		full_count = 0;
		if (stream->piece_max && room > stream->piece_max)
			room = 1 + chance(stream->piece_max);
		if (room > stream->bytes - position)
			room = (size_t)(stream->bytes - position);
		if (stream->loss_one_in && chance(stream->loss_one_in) == 0) {
			uint64_t loss = 1 + chance(5000);

			whole_bytes += whole_packets(from, position);
			lost += loss;
			position += loss;
			from = position;
			if (room > stream->bytes - position || position >= stream->bytes)
				room = 1;
		}
		sim_fill(data, room, position, SEED);
		lanes_filled(lanes, room, position, (int64_t)position);
		position += room;
		if (!stream->is_lazy)
			empty();
	}
	whole_bytes += whole_packets(from, position);
	lanes_finish(lanes);
	empty();
	assert_int_equal(ring_free_count(kit.session->ring), ring_block_count(kit.session->ring));
	return position - lost;
}

static int by_stream_offset(const void *a, const void *b)
{
	const struct piece *left = a, *right = b;

	return left->stream_offset < right->stream_offset ?
		       -1 :
		       left->stream_offset > right->stream_offset;
}

/* Every byte once, and, with one lane, files in the order of the stream. */
static void assert_whole(uint64_t bytes)
{
	uint64_t at = 0, sum = 0;

	qsort(pieces, piece_count, sizeof(pieces[0]), by_stream_offset);
	for (size_t i = 0; i < piece_count; i++) {
		assert_true(pieces[i].stream_offset >= at);
		at = pieces[i].stream_offset + pieces[i].bytes;
		sum += pieces[i].bytes;
		if (i && kit.session->plan.stripe == STRIPE_ANY)
			assert_true(pieces[i].file_number >= pieces[i - 1].file_number);
	}
	assert_int_equal(sum, bytes);
}

/* All files but each queue's last have the size asked for, and have ended. */
static void assert_file_sizes(uint64_t file_bytes)
{
	for (size_t i = 0; i < file_count; i++) {
		bool is_last = true;

		for (size_t k = 0; k < file_count; k++)
			is_last = is_last && (files[k].queue != files[i].queue ||
					      files[k].number <= files[i].number);
		assert_true(files[i].bytes <= file_bytes);
		if (!is_last && kit.session->plan.stripe == STRIPE_ROUND)
			assert_int_equal(files[i].bytes, file_bytes);
		if (files[i].bytes == file_bytes)
			assert_true(files[i].has_ended);
	}
}

static const struct stream streams[] = {
	{ .bytes = 500000 },
	{ .bytes = 500000, .is_lazy = true },
	{ .bytes = 300001, .piece_max = 1000 },
	{ .bytes = 300001, .piece_max = 5000, .loss_one_in = 3 },
	{ .bytes = 100001, .piece_max = 30, .loss_one_in = 2, .is_lazy = true },
	{ .bytes = 1 },
	{ .bytes = KIT_BLOCK },
	{ .bytes = KIT_CHUNK + 1 },
};

#define STREAM_COUNT (sizeof(streams) / sizeof(streams[0]))

/* ---- tests ---- */

static void one_target_has_one_file_of_single_blocks(void **state)
{
	(void)state;
	for (size_t s = 0; s < STREAM_COUNT; s++) {
		begin(1);
		arm();
		assert_whole(fill(&streams[s]));
		assert_int_equal(file_count, 1);
		assert_int_equal(files[0].number, 0);
		end();
	}
}

static void files_are_rolled_at_their_size(void **state)
{
	static const uint64_t sizes[] = { 1, 4095, 4096, 4097, 12288, 100000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t s = 0; s < STREAM_COUNT; s++) {
			struct stream stream = streams[s];

			if (sizes[i] == 1)
				stream.bytes = stream.bytes < 3000 ? stream.bytes : 3000;
			begin(1);
			kit.config.file_bytes = sizes[i];
			arm();
			assert_whole(fill(&stream));
			assert_file_sizes(sizes[i]);
			for (size_t f = 0; f + 1 < file_count; f++)
				assert_int_equal(files[f].bytes, sizes[i]);
			end();
		}
	}
}

/* A byte lasts a nanosecond. */
static void files_end_with_the_block_in_which_their_time_passes(void **state)
{
	static const uint64_t sizes[] = { 0, 3 * KIT_BLOCK, 1000000 };
	const int64_t file_ns = 5 * KIT_BLOCK;

	(void)state;
	for (unsigned disks = 1; disks <= 2; disks++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			for (size_t s = 0; s < 3; s++) { /* the streams without loss */
				/* the sixth block begins when the time is over; or the size was first */
				uint64_t bytes = sizes[i] == 3 * KIT_BLOCK ? sizes[i] : 6 * KIT_BLOCK;

				begin(disks);
				kit.config.layout = LAYOUT_RAW;
				kit.config.file_bytes = sizes[i];
				kit.config.file_ns = file_ns;
				arm();
				assert_whole(fill(&streams[s]));
				for (size_t f = 0; f < file_count; f++)
					assert_true(files[f].number == file_count - 1 ||
						    (files[f].has_ended && files[f].bytes == bytes));
				end();
			}
		}
	}
}

static void chunks_are_files_and_numbered_through(void **state)
{
	(void)state;
	for (unsigned disks = 1; disks <= KIT_DISKS; disks++) {
		for (int stripe = 0; stripe < 2; stripe++) {
			for (size_t s = 0; s < STREAM_COUNT; s++) {
				bool is_dense = streams[s].piece_max != 30;

				begin(disks);
				kit.config.layout = LAYOUT_VBS;
				kit.config.stripe = stripe ? STRIPE_ROUND : STRIPE_ANY;
				arm();
				assert_whole(fill(&streams[s]));
				for (size_t f = 0; f < file_count; f++)
					for (size_t k = 0; k < f; k++)
						assert_int_not_equal(files[f].number, files[k].number);
				/* by their numbers they are the stream, in every stripe */
				for (size_t i = 1; i < piece_count; i++)
					assert_true(pieces[i].file_number >= pieces[i - 1].file_number);
				for (size_t f = 0; f < file_count && is_dense; f++)
					assert_true(files[f].bytes == KIT_CHUNK ||
						    files[f].number == file_count - 1);
				end();
			}
		}
	}
}

static void whole_files_go_to_targets_in_runs_of_a_chunk(void **state)
{
	(void)state;
	for (unsigned disks = 2; disks <= KIT_DISKS; disks++) {
		for (size_t s = 0; s < STREAM_COUNT; s++) {
			begin(disks);
			kit.config.layout = LAYOUT_RAW;
			kit.config.file_bytes = 100000;
			arm();
			assert_whole(fill(&streams[s]));
			assert_file_sizes(100000);
			end();
		}
	}
}

static void blocks_in_turn_are_where_they_are_located(void **state)
{
	(void)state;
	for (unsigned disks = 2; disks <= KIT_DISKS; disks++) {
		for (size_t s = 0; s < 3; s++) { /* the streams without loss */
			begin(disks);
			kit.config.layout = LAYOUT_RAW;
			kit.config.stripe = STRIPE_ROUND;
			arm();
			assert_whole(fill(&streams[s]));
			for (size_t i = 0; i < piece_count; i++) {
				uint64_t offset;
				uint32_t disk;

				stripe_locate(pieces[i].stream_offset, KIT_BLOCK, disks, &disk,
					      &offset);
				assert_int_equal(pieces[i].queue, disk);
				assert_int_equal(pieces[i].file_offset, offset);
			}
			end();
		}
	}
}

/* wr's blocks are no multiple of anything; each directory's files are a sequence of bytes of its own. */
static void small_units_over_directories_are_where_wr_put_them(void **state)
{
	static const uint64_t units[] = { 16000, 5000, 1000, 64, 4096, 10007 };
	static const char *const templates[] = { "w.%04d", "w.%04d", "w.%04d", "w.%04d" };

	(void)state;
	for (unsigned disks = 2; disks <= 3; disks++) {
		for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
			for (size_t s = 0; s < STREAM_COUNT; s++) {
				uint64_t file_bytes = 10 * units[u];

				if (units[u] == 64 && streams[s].bytes > 100000 &&
				    streams[s].loss_one_in == 0)
					continue; /* as many files as anybody may want, but slow to look through */
				begin(disks);
				kit.config.layout = LAYOUT_RAW;
				kit.config.stripe = STRIPE_ROUND;
				kit.config.unit_bytes = units[u];
				kit.config.file_bytes = file_bytes;
				kit.config.is_index_per_target = true;
				kit.config.templates = templates;
				arm();
				assert_false(kit.session->plan.is_held);
				assert_whole(fill(&streams[s]));
				assert_file_sizes(file_bytes);
				for (size_t i = 0; i < piece_count && streams[s].loss_one_in == 0; i++) {
					uint64_t offset;
					uint32_t disk;

					stripe_locate(pieces[i].stream_offset, units[u], disks,
						      &disk, &offset);
					assert_int_equal(pieces[i].queue, disk);
					assert_int_equal(pieces[i].file_number * file_bytes +
								 pieces[i].file_offset,
							 offset);
				}
				end();
			}
		}
	}
}

static void units_of_any_size_in_turn_are_whole(void **state)
{
	static const uint64_t units[] = { 16000, 1000, 5000, 100000 };

	(void)state;
	for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
		for (size_t s = 0; s < STREAM_COUNT; s++) {
			begin(3);
			kit.config.layout = LAYOUT_RAW;
			kit.config.stripe = STRIPE_ROUND;
			kit.config.unit_bytes = units[u];
			arm();
			assert_whole(fill(&streams[s]));
			end();
		}
	}
}

/* Whole packets, in blocks whose numbers are the order of the stream; none is left out: each has a piece at least. */
static void check_numbers(uint64_t packet)
{
	uint64_t expected = 0;

	for (size_t i = 0; i < piece_count; i++) {
		assert_int_equal(pieces[i].stream_offset % packet, 0);
		assert_int_equal(pieces[i].bytes % packet, 0);
		if (i && pieces[i].file_number != pieces[i - 1].file_number)
			expected++;
		assert_int_equal(pieces[i].file_number, expected);
	}
	assert_int_equal(piece_count ? expected + 1 : 0, block_count);
}

static void number_blocks(unsigned disks, enum stripe_policy stripe, uint64_t packet,
			  const struct stream *stream)
{
	uint64_t received;

	begin(disks);
	kit.config.layout = LAYOUT_MARK6;
	kit.config.packet_bytes = packet;
	kit.config.stripe = stripe;
	arm();
	received = fill(stream);
	assert_whole(whole_bytes);
	assert_int_equal(account_get(&kit.session->account.discarded_bytes), received - whole_bytes);
	check_numbers(packet);
	end();
}

static void numbered_blocks_have_every_packet_that_came_whole(void **state)
{
	static const uint64_t packets[] = { 1, 24, 1000, KIT_BLOCK - 64 };

	(void)state;
	for (unsigned disks = 1; disks < KIT_DISKS; disks += 2)
		for (size_t s = 0; s < STREAM_COUNT; s++)
			for (unsigned turn = 0; turn < 8; turn++)
				number_blocks(disks, turn % 2 ? STRIPE_ROUND : STRIPE_ANY,
					      packets[turn / 2], &streams[s]);
}

/* Only what lies in front of something that came later has a gap. */
static void what_is_torn_at_the_end_is_told_and_no_gap(void **state)
{
	(void)state;
	for (unsigned is_lost = 0; is_lost < 2; is_lost++) {
		struct account *account;
		uint64_t bytes = 3 * KIT_BLOCK + 70;
		void *data;

		begin(1);
		kit.config.layout = LAYOUT_MARK6;
		kit.config.packet_bytes = 100;
		arm();
		account = &kit.session->account;
		for (uint64_t position = 0, room; position < bytes; position += room) {
			room = lanes_room(kit.session->lanes, &data);
			room = room < bytes - position ? room : bytes - position;
			sim_fill(data, room, position, SEED);
			lanes_filled(kit.session->lanes, room, position, (int64_t)position);
			account_add(&account->received_bytes, room);
			empty();
		}
		if (is_lost) /* behind it, as the reader counts it */
			account_add(&account->source_lost_bytes, 10);
		else /* a limit was reached */
			account_add(&account->received_bytes, 5);
		account_add(&account->discarded_bytes, is_lost ? 0 : 5);
		lanes_finish(kit.session->lanes);
		empty();
		assert_whole(bytes / 100 * 100);
		assert_int_equal(account_get(&account->discarded_bytes),
				 bytes % 100 + (is_lost ? 0 : 5));
		assert_int_equal(account->gap_bytes[GAP_DISCARDED], is_lost ? bytes % 100 : 0);
		assert_int_equal(kit.session->warning_count, 1 + !is_lost);
		assert_non_null(strstr(kit.session->warnings[0], "does not begin with a packet"));
		end();
	}
}

static void nobody_free_means_whoever_comes_first(void **state)
{
	struct stream stream = { .bytes = 100000 };
	bool has_rescue = false, has_own = false;

	(void)state;
	begin(2);
	arm();
	for (unsigned i = 0; i < 2; i++) /* both have what they may have */
		atomic_store(&kit.session->disks[i].open_units, STRIPE_UNITS_MAX);
	assert_whole(fill(&stream));
	for (size_t i = 0; i < piece_count; i++) {
		has_rescue = has_rescue || pieces[i].queue == RING_RESCUE;
		has_own = has_own || pieces[i].queue < 2;
	}
	assert_true(has_rescue && has_own);
	end();
}

static void a_failed_disk_gets_no_more_files(void **state)
{
	struct stream stream = { .bytes = 300000 };

	(void)state;
	for (int stripe = 0; stripe < 2; stripe++) {
		begin(3);
		kit.config.stripe = stripe ? STRIPE_ROUND : STRIPE_ANY;
		arm();
		atomic_store(&kit.session->disks[1].state, DISK_FAILED);
		assert_whole(fill(&stream));
		for (size_t i = 0; i < file_count; i++)
			if (files[i].queue == 1) /* round begins before it looks */
				assert_true(stripe && files[i].bytes <= KIT_CHUNK);
		end();
	}
}

/* Takes everything out of the queues. Return: the run that has not ended, and its last block. */
static uint32_t claim_all(uint32_t *last)
{
	struct ring *ring = kit.session->ring;
	uint32_t open_run = RING_NONE, first;

	for (uint32_t queue = 0; queue <= kit.disk_count; queue++) {
		while ((first = ring_claim(ring, queue < kit.disk_count ? queue : RING_RESCUE)) !=
		       RING_NONE) {
			uint32_t block = first, next;

			while ((next = ring_next(ring, block)) != RING_END && next != RING_NONE)
				block = next;
			if (next == RING_NONE) {
				open_run = first;
				*last = block;
			}
		}
	}
	return open_run;
}

/* All writers wait in runs that can't go on because the ring is full: the runs end, so that they can. */
static void a_full_ring_in_which_all_wait_ends_the_runs(void **state)
{
	(void)state;
	for (int stripe = 0; stripe < 2; stripe++) {
		uint64_t position = 0;
		uint32_t open_run, last = RING_NONE;
		void *data;
		size_t room;

		begin(2);
		kit.config.stripe = stripe ? STRIPE_ROUND : STRIPE_ANY;
		kit.config.chunk_bytes = 2 * KIT_CHUNK;
		kit.config.ring_bytes += KIT_BLOCK; /* four chunks, and the beginning of a fifth */
		arm();
		while ((room = lanes_room(kit.session->lanes, &data)) > 0) {
			sim_fill(data, room, position, SEED);
			lanes_filled(kit.session->lanes, room, position, 0);
			position += room;
		}
		/* asleep, but with runs in their queues: they only have to wake up */
		for (unsigned i = 0; i < 2; i++)
			atomic_store(&kit.session->disks[i].waits_behind, RING_NONE);
		assert_int_equal(lanes_room(kit.session->lanes, &data), 0);
		/* the queues are emptied, and all complete runs kept by one who has failed */
		open_run = claim_all(&last);
		assert_int_not_equal(open_run, RING_NONE);
		atomic_store(&kit.session->disks[0].waits_behind, RING_END); /* at work: wait for it */
		assert_int_equal(lanes_room(kit.session->lanes, &data), 0);
		assert_int_equal(ring_next(kit.session->ring, last), RING_NONE);
		atomic_store(&kit.session->disks[0].waits_behind, RING_NONE);
		atomic_store(&kit.session->disks[1].waits_behind, last);
		assert_int_equal(lanes_room(kit.session->lanes, &data), 0);
		assert_int_equal(ring_next(kit.session->ring, last), RING_END);
		give_back_run(open_run);
		assert_true(lanes_room(kit.session->lanes, &data) > 0);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_target_has_one_file_of_single_blocks),
		cmocka_unit_test(files_are_rolled_at_their_size),
		cmocka_unit_test(files_end_with_the_block_in_which_their_time_passes),
		cmocka_unit_test(chunks_are_files_and_numbered_through),
		cmocka_unit_test(whole_files_go_to_targets_in_runs_of_a_chunk),
		cmocka_unit_test(blocks_in_turn_are_where_they_are_located),
		cmocka_unit_test(small_units_over_directories_are_where_wr_put_them),
		cmocka_unit_test(units_of_any_size_in_turn_are_whole),
		cmocka_unit_test(numbered_blocks_have_every_packet_that_came_whole),
		cmocka_unit_test(what_is_torn_at_the_end_is_told_and_no_gap),
		cmocka_unit_test(nobody_free_means_whoever_comes_first),
		cmocka_unit_test(a_failed_disk_gets_no_more_files),
		cmocka_unit_test(a_full_ring_in_which_all_wait_ends_the_runs),
	};

	return cmocka_run_group_tests_name("lanes", tests, setup, teardown);
}
