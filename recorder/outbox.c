/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/outbox.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/units.h"

#define AHEAD_BYTES \
	(UINT64_C(128) << 20) /* the next step is preallocated so far before it is needed */
#define TEXT_LEN 1024
/*
 * A slow disk gets less at a time, so that what it has is done in about a second at most, whenever the
 * recording is to end or something else is wanted of it: one write less for a slow one, one more for a
 * quick one.
 */
#define SLOW_NS INT64_C(400000000)
#define QUICK_NS INT64_C(200000000)
#define FIRST_LIMIT 2

/* Those behind JOB_CUT end the file. */
enum job { JOB_NONE, JOB_BEGIN, JOB_SYNC, JOB_CUT, JOB_FINISH, JOB_DROP, JOB_TAKE_BACK };

struct outbox_file {
	struct outbox *outbox;
	struct sink *sink;
	int slot;
	bool is_open;   /* begun, or being begun */
	bool is_ready;  /* may be written to */
	bool is_ending; /* nothing more goes there */
	bool is_disowned;
	uint64_t number, base, stream_offset;
	uint64_t end;          /* of what was given to it so far */
	uint64_t accepted;     /* of it, in order, has come back good */
	uint64_t durable;      /* of it, is safe by a sync, and ours */
	uint64_t written_back; /* buffered: up to here it is no longer dirty */
	unsigned flight_count;
	uint64_t finished_count;
	int result;
	/* one thing at a time is done with it, */
	enum job job;
	uint64_t job_bytes; /* of a sync: durable when it has come back good */
	struct engine_op op;
	/* and beside that the space before its end, and the dirty memory behind it, are looked after */
	bool is_tended;
	uint64_t room_end, back_end;
	struct engine_op tend_op;
};

struct outbox {
	enum target_kind kind;
	struct engine *engine; /* NULL = null:, to which nothing is given */
	unsigned depth;
	unsigned limit;       /* writes in flight now at most, 1 .. depth */
	unsigned job_count;   /* jobs and tendings under way */
	unsigned write_count; /* flights that are not back */
	int64_t moved_ns;     /* when something came back last, or was given to an idle disk */
	int64_t write_moved_ns;
	int error;
	char text[TEXT_LEN];
	struct outbox_file files[OUTBOX_FILES];
	struct outbox_file *last_file; /* written to last */
	unsigned first, count;
	struct flight flights[]; /* depth */
};

#define FILE_OF(op_pointer, member) \
	((struct outbox_file *)((char *)(op_pointer)-offsetof(struct outbox_file, member)))
#define FLIGHT_OF(op_pointer) ((struct flight *)((char *)(op_pointer)-offsetof(struct flight, op)))

/* ---- open and close ---- */

static unsigned depth_of(const struct outbox_config *config)
{
	if (target_has_files(config->sink.target))
		return config->engine.depth;
	return 1; /* stdout takes one thing after the other */
}

static int open_engine(struct outbox *outbox, const struct outbox_config *config)
{
	struct engine_config engine = config->engine;

	engine.depth = outbox->depth;
	engine.io = config->sink.io ? config->sink.io : &sink_system_io;
	if (outbox->kind == TARGET_NULL)
		return 0;
	if (outbox->kind == TARGET_STDOUT)
		engine.kind = ENGINE_PWRITE;
	return engine_open(&outbox->engine, &engine);
}

int outbox_open(struct outbox **out, const struct outbox_config *config)
{
	unsigned depth = depth_of(config);
	struct outbox *outbox = calloc(1, sizeof(*outbox) + depth * sizeof(outbox->flights[0]));
	int ret = 0;

	*out = NULL;
	if (!outbox)
		return -ENOMEM;
	outbox->kind = config->sink.target->kind;
	outbox->depth = depth;
	outbox->limit = depth < FIRST_LIMIT ? depth : FIRST_LIMIT;
	for (int i = 0; i < OUTBOX_FILES && ret == 0; i++) {
		outbox->files[i].outbox = outbox;
		outbox->files[i].slot = i;
		ret = sink_open(&outbox->files[i].sink, &config->sink);
	}
	if (ret == 0)
		ret = open_engine(outbox, config);
	if (ret < 0) {
		outbox_close(outbox);
		return ret;
	}
	*out = outbox;
	return 0;
}

int outbox_stop(struct outbox *outbox)
{
	return outbox ? engine_stop(outbox->engine) : 0;
}

int outbox_close(struct outbox *outbox)
{
	int ret = outbox ? engine_close(outbox->engine) : 0;

	if (ret < 0 || !outbox)
		return ret;
	for (int i = 0; i < OUTBOX_FILES; i++)
		sink_close(outbox->files[i].sink);
	free(outbox);
	return 0;
}

int outbox_start(struct outbox *outbox)
{
	return engine_start(outbox->engine);
}

/* ---- what happens ---- */

static void keep_error(struct outbox *outbox, int error, const char *text)
{
	if (outbox->error)
		return;
	outbox->error = error;
	snprintf(outbox->text, sizeof(outbox->text), "%s", text);
}

static bool is_at_rest(const struct outbox *outbox)
{
	return outbox->job_count == 0 && outbox->write_count == 0;
}

static void note_start(struct outbox *outbox)
{
	if (is_at_rest(outbox))
		outbox->moved_ns = units_monotonic_ns();
}

/* ---- jobs: what the hand does ---- */

static void do_job(struct engine_op *op)
{
	struct outbox_file *file = FILE_OF(op, op);

	switch (file->job) {
	case JOB_BEGIN:
		sink_set_start(file->sink, file->stream_offset);
		op->result = sink_begin_file(file->sink, file->number, file->base);
		if (op->result == 0)
			sink_make_room(file->sink, 1);
		break;
	case JOB_SYNC:
		op->result = sink_sync(file->sink);
		break;
	case JOB_CUT:
		op->result = sink_cut_file(file->sink, file->durable);
		break;
	case JOB_FINISH:
		op->result = sink_finish_file(file->sink);
		break;
	case JOB_TAKE_BACK:
		sink_take_back_file(file->sink, file->durable);
		op->result = 0;
		break;
	default: /* JOB_DROP */
		op->result = 0;
		if (file->durable == 0) {
			sink_abandon_file(file->sink);
		} else {
			op->result = sink_cut_file(file->sink, file->durable);
			if (op->result == 0)
				op->result = sink_finish_file(file->sink);
			if (op->result < 0) /* its beginning is durable and in the journal: it stays, as it is */
				sink_leave_file(file->sink);
		}
	}
}

static void begin_job(struct outbox_file *file, enum job job)
{
	struct outbox *outbox = file->outbox;

	note_start(outbox);
	file->job = job;
	file->op.run = do_job;
	outbox->job_count++;
	engine_call(outbox->engine, &file->op);
}

static void become_free(struct outbox_file *file)
{
	file->is_open = file->is_ready = file->is_ending = false;
	if (file->outbox->last_file == file)
		file->outbox->last_file = NULL;
}

/* What was behind it was never written. */
static void go_on_behind(struct outbox_file *file, uint64_t bytes)
{
	file->end = file->accepted = bytes;
	if (file->written_back > bytes)
		file->written_back = bytes;
	file->is_disowned = false;
}

static void end_job(struct outbox_file *file)
{
	struct outbox *outbox = file->outbox;
	enum job job = file->job;
	int result = (int)file->op.result;

	file->job = JOB_NONE;
	outbox->job_count--;
	if (job == JOB_BEGIN) {
		file->is_ready = result == 0;
		if (result == 0)
			engine_set_file(outbox->engine, file->slot, sink_fd(file->sink));
		else
			become_free(file);
	} else {
		file->result = result;
		file->finished_count++;
		if (result == 0 && job == JOB_SYNC && !file->is_disowned)
			file->durable = file->job_bytes;
		if (result == 0 && job == JOB_CUT)
			go_on_behind(file, file->durable);
		if (job == JOB_FINISH && result == 0 && file->is_disowned)
			begin_job(file, JOB_TAKE_BACK);
		else if (job == JOB_DROP || (job > JOB_CUT && result == 0))
			become_free(file);
	}
	if (result < 0)
		keep_error(outbox, result, sink_error(file->sink));
}

/* ---- space ahead, dirty memory behind ---- */

static void do_tend(struct engine_op *op)
{
	struct outbox_file *file = FILE_OF(op, tend_op);

	if (file->room_end)
		sink_make_room(file->sink, file->room_end);
	if (file->back_end > file->written_back)
		sink_write_back(file->sink, file->written_back, file->back_end);
	op->result = 0;
}

static void tend(struct outbox_file *file, uint64_t room_end, uint64_t back_end)
{
	struct outbox *outbox = file->outbox;

	note_start(outbox);
	file->room_end = room_end;
	file->back_end = back_end;
	file->is_tended = true;
	file->tend_op.run = do_tend;
	outbox->job_count++;
	engine_call(outbox->engine, &file->tend_op);
}

static void end_tend(struct outbox_file *file)
{
	if (file->back_end > file->written_back)
		file->written_back = file->back_end;
	file->is_tended = false;
	file->outbox->job_count--;
}

/* False: not before that is done. */
static bool look_after(struct outbox_file *file, size_t bytes)
{
	uint64_t end = file->end + (bytes + LAYOUT_ALIGN - 1) / LAYOUT_ALIGN * LAYOUT_ALIGN;
	bool is_buffered = sink_is_buffered(file->sink);
	uint64_t dirty = is_buffered ? file->accepted - file->written_back : 0;
	bool is_dirty = dirty >= SINK_DIRTY_BYTES / 4 ||
			(dirty > 0 && end - file->written_back > SINK_DIRTY_BYTES);

	if (!file->is_tended && file->job != JOB_FINISH) {
		uint64_t room = sink_wants_room(file->sink, end + AHEAD_BYTES) ? end + AHEAD_BYTES : 0;

		if (room || is_dirty)
			tend(file, room, is_dirty ? file->accepted : 0);
	}
	if (sink_wants_room(file->sink, end) && file->is_tended)
		return false;
	/* what is in flight will be dirty as well; a block larger than all that is let through alone */
	return !is_buffered || end - file->written_back <= SINK_DIRTY_BYTES ||
	       file->end == file->written_back;
}

/* ---- files ---- */

bool outbox_goes_on(const struct outbox_file *file, uint64_t number, uint64_t offset)
{
	return file && file->is_open && !file->is_ending && file->number == number &&
	       file->base + file->end == offset;
}

struct outbox_file *outbox_open_file(const struct outbox *outbox)
{
	struct outbox_file *file = outbox->last_file;

	return file && file->is_open && !file->is_ending ? file : NULL;
}

bool outbox_is_free(const struct outbox_file *file)
{
	return !file->is_open && file->job == JOB_NONE && !file->is_tended;
}

static void begin(struct outbox_file *file, uint64_t number, uint64_t offset, uint64_t stream_offset)
{
	file->is_open = true;
	file->is_ready = file->is_ending = file->is_disowned = false;
	file->number = number;
	file->base = offset;
	file->stream_offset = stream_offset;
	file->end = file->accepted = file->durable = file->written_back = 0;
	file->result = 0;
	file->outbox->last_file = file;
	begin_job(file, JOB_BEGIN);
}

struct outbox_file *outbox_file(struct outbox *outbox, uint64_t number, uint64_t offset,
				uint64_t stream_offset)
{
	struct outbox_file *file = outbox->last_file;

	if (outbox_goes_on(file, number, offset))
		return file->is_ready ? file : NULL;
	if (outbox->error)
		return NULL;
	for (int i = 0; i < OUTBOX_FILES; i++) {
		file = &outbox->files[i];
		if (outbox_is_free(file)) {
			begin(file, number, offset, stream_offset);
			return NULL;
		}
	}
	return NULL;
}

struct outbox_file *outbox_file_at(struct outbox *outbox, unsigned index)
{
	return &outbox->files[index];
}

int outbox_result(const struct outbox_file *file)
{
	return file->result;
}

uint64_t outbox_finished_count(const struct outbox_file *file)
{
	return file->finished_count;
}

uint64_t outbox_file_number(const struct outbox_file *file)
{
	return file->number;
}

uint64_t outbox_file_base(const struct outbox_file *file)
{
	return file->base;
}

size_t outbox_file_head(const struct outbox_file *file)
{
	return sink_head_bytes(file->sink);
}

uint64_t outbox_file_given(const struct outbox_file *file)
{
	return file->end;
}

uint64_t outbox_file_durable(const struct outbox_file *file)
{
	return file->durable;
}

uint64_t outbox_file_bytes(const struct outbox_file *file)
{
	return file->accepted;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct outbox_space outbox_file_space(const struct outbox_file *file)
{
	uint64_t allocated = sink_allocated_bytes(file->sink);
	struct outbox_space space = {
		.least = larger(allocated, file->accepted),
		.most = larger(allocated, file->end),
	};

	if (file->job == JOB_BEGIN || (file->is_tended && file->room_end)) {
		space.is_changing = true;
		space.most = allocated + sink_step_bytes(file->sink);
		if (file->job == JOB_BEGIN) /* what is allocated may still be that of the last file */
			space.least = 0;
	} else if (file->job == JOB_FINISH && allocated >= file->accepted + LAYOUT_ALIGN) {
		space.is_changing = true; /* less behind the end the file system gives anyway */
		space.least = file->accepted;
	} else if (file->job == JOB_DROP || file->job == JOB_TAKE_BACK) {
		space.is_changing = true;
		space.least = 0;
	}
	return space;
}

void outbox_end(struct outbox_file *file)
{
	file->is_ending = true;
}

void outbox_disown(struct outbox_file *file)
{
	file->is_disowned = true;
}

static bool can_begin_job(const struct outbox_file *file)
{
	return file->is_open && file->job == JOB_NONE;
}

bool outbox_sync(struct outbox_file *file, uint64_t bytes)
{
	if (!can_begin_job(file))
		return false;
	begin_job(file, JOB_SYNC);
	file->job_bytes = bytes;
	return true;
}

/* Nothing goes there any more, and the kernel need not know it any longer. */
static bool begin_last_job(struct outbox_file *file, enum job job)
{
	file->is_ending = true;
	if (!can_begin_job(file) || file->is_tended || file->flight_count > 0)
		return false;
	if (file->is_ready)
		engine_set_file(file->outbox->engine, file->slot, -1);
	file->is_ready = false;
	begin_job(file, job);
	return true;
}

bool outbox_finish(struct outbox_file *file)
{
	return begin_last_job(file, JOB_FINISH);
}

bool outbox_drop(struct outbox_file *file)
{
	return begin_last_job(file, JOB_DROP);
}

bool outbox_cut(struct outbox_file *file)
{
	if (file->is_open && !file->is_disowned)
		return true;
	if (can_begin_job(file) && !file->is_tended && file->flight_count == 0)
		begin_job(file, JOB_CUT);
	return false;
}

/* ---- writes ---- */

bool outbox_has_room(const struct outbox *outbox)
{
	return outbox->count < outbox->depth && outbox->write_count < outbox->limit && !outbox->error;
}

static void do_stream(struct engine_op *op)
{
	op->result = sink_write_stream(op->data, op->bytes);
}

static void launch(struct outbox *outbox, struct flight *flight)
{
	flight->op.data = flight->piece.data;
	flight->op.bytes = flight->piece.bytes;
	flight->op.offset = (off_t)flight->piece.offset;
	if (outbox->kind == TARGET_STDOUT) {
		flight->op.run = do_stream;
		engine_call(outbox->engine, &flight->op);
		return;
	}
	assert(flight->file);
	flight->op.slot = flight->file->slot;
	flight->op.fd = sink_fd(flight->file->sink);
	flight->op.may_block = sink_may_block(flight->file->sink);
	engine_write(outbox->engine, &flight->op);
}

struct flight *outbox_write(struct outbox *outbox, struct outbox_file *file, uint32_t block,
			    void *data, size_t bytes, size_t room)
{
	struct flight *flight = &outbox->flights[(outbox->first + outbox->count) % outbox->depth];

	assert(outbox->engine && outbox_has_room(outbox));
	memset(flight, 0, sizeof(*flight));
	flight->piece = (struct sink_piece){ .data = data, .bytes = bytes };
	if (file &&
	    (!look_after(file, bytes) || sink_prepare(file->sink, data, bytes, room, file->end,
						      file->flight_count == 0, &flight->piece) < 0))
		return NULL;
	flight->block = block;
	flight->file = file;
	flight->bytes = bytes;
	flight->started_ns = units_monotonic_ns();
	outbox->count++;
	if (file) {
		flight->file_offset = file->end;
		file->end += bytes;
		file->flight_count++;
	}
	note_start(outbox);
	if (outbox->write_count++ == 0)
		outbox->write_moved_ns = flight->started_ns;
	launch(outbox, flight);
	return flight;
}

struct flight *outbox_flight(struct outbox *outbox, unsigned index)
{
	return &outbox->flights[(outbox->first + index) % outbox->depth];
}

struct flight *outbox_first(struct outbox *outbox)
{
	return outbox->count ? outbox_flight(outbox, 0) : NULL;
}

unsigned outbox_count(const struct outbox *outbox)
{
	return outbox->count;
}

void outbox_accept(struct flight *flight)
{
	if (!flight->file)
		return;
	flight->file->accepted += flight->bytes;
	sink_written(flight->file->sink, flight->bytes);
}

void outbox_pop(struct outbox *outbox)
{
	assert(outbox->count > 0 && outbox_first(outbox)->is_back);
	outbox->first = (outbox->first + 1) % outbox->depth;
	outbox->count--;
}

/* What to do with a piece of stdout's stream is what write() says. */
static int continue_stream(struct sink_piece *piece, ssize_t result)
{
	if (result < 0)
		return (int)result;
	piece->data += result;
	piece->bytes -= (size_t)result;
	return piece->bytes > 0;
}

static void adapt_limit(struct outbox *outbox, int64_t took_ns)
{
	if (took_ns > SLOW_NS && outbox->limit > 1)
		outbox->limit--;
	else if (took_ns < QUICK_NS && outbox->limit < outbox->depth)
		outbox->limit++;
}

static void end_write(struct outbox *outbox, struct flight *flight)
{
	struct outbox_file *file = flight->file;
	int ret = file ? sink_continue(file->sink, &flight->piece, flight->op.result) :
			 continue_stream(&flight->piece, flight->op.result);
	char text[128];

	outbox->write_moved_ns = outbox->moved_ns;
	if (ret > 0) {
		launch(outbox, flight);
		return;
	}
	outbox->write_count--;
	flight->is_back = true;
	flight->error = ret;
	flight->ended_ns = flight->op.ended_ns;
	adapt_limit(outbox, flight->ended_ns - flight->started_ns);
	if (file)
		file->flight_count--;
	if (ret == 0)
		return;
	snprintf(text, sizeof(text), "writing to stdout: %s", strerror(-ret));
	keep_error(outbox, ret, file ? sink_error(file->sink) : text);
}

/* ---- looking, waiting ---- */

bool outbox_take(struct outbox *outbox)
{
	struct engine_op *op;
	bool has_taken = false;

	while ((op = engine_next(outbox->engine)) != NULL) {
		has_taken = true;
		outbox->moved_ns = op->ended_ns;
		if (op->run == do_job)
			end_job(FILE_OF(op, op));
		else if (op->run == do_tend)
			end_tend(FILE_OF(op, tend_op));
		else
			end_write(outbox, FLIGHT_OF(op));
	}
	return has_taken;
}

bool outbox_is_idle(const struct outbox *outbox)
{
	return is_at_rest(outbox);
}

int64_t outbox_since_ns(const struct outbox *outbox)
{
	return is_at_rest(outbox) ? 0 : outbox->moved_ns;
}

int64_t outbox_writing_since_ns(const struct outbox *outbox)
{
	return outbox->write_count ? outbox->write_moved_ns : 0;
}

void outbox_wait(struct outbox *outbox, uint32_t ticket, int64_t deadline_ns)
{
	engine_wait(outbox->engine, ticket, deadline_ns);
}

int outbox_error(const struct outbox *outbox)
{
	return outbox->error;
}

const char *outbox_text(const struct outbox *outbox)
{
	return outbox->text;
}

const char *outbox_io_name(const struct outbox *outbox)
{
	const char *name = sink_io_name(outbox->files[0].sink);

	/* one of the two may have found out first */
	for (int i = 1; i < OUTBOX_FILES; i++)
		if (strcmp(sink_io_name(outbox->files[i].sink), "buffered") == 0)
			name = sink_io_name(outbox->files[i].sink);
	return name;
}

const char *outbox_engine_name(const struct outbox *outbox)
{
	return outbox->engine ? engine_name(outbox->engine) : "none";
}

unsigned outbox_depth(const struct outbox *outbox)
{
	return outbox->depth;
}

const char *outbox_note(const struct outbox *outbox, unsigned index)
{
	if (index < OUTBOX_FILES)
		return sink_note(outbox->files[index].sink);
	if (index == OUTBOX_FILES)
		return outbox->engine ? engine_note(outbox->engine) : "";
	return NULL;
}

const struct engine *outbox_engine(const struct outbox *outbox)
{
	return outbox->engine;
}
