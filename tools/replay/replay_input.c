/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/replay/replay_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/savefile.h"
#include "drivers/units.h"
#include "tools/array.h"
#include "tools/check_mark6.h"
#include "tools/history.h"
#include "tools/read_at.h"
#include "tools/replay/frame_rate.h"
#include "tools/replay/source_feed.h"

#define SAVEFILE_PREFIX "pcapfile:"

const char *replay_kind_name(enum replay_kind kind)
{
	static const char *const names[] = { "recording", "files", "savefiles", "stream" };

	return names[kind];
}

static int fail(struct replay_input *input, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct replay_input *input, int status, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(input->error, sizeof(input->error), format, ap);
	va_end(ap);
	return status;
}

static int status_of(int ret)
{
	return ret == -ENOENT || ret == -ENOTDIR || ret == -EBADMSG ? EX_NOINPUT :
	       ret == -EACCES || ret == -EPERM                      ? EX_NOPERM :
	       ret == -ENOMEM                                       ? EX_OSERR :
	       ret == -EINVAL                                       ? EX_USAGE :
								      EX_IOERR;
}

static int fail_memory(struct replay_input *input)
{
	return fail(input, EX_OSERR, "out of memory");
}

/* ---- which kind ---------------------------------------------------------------------------------- */

static int open_source(struct replay_input *input, const char *name)
{
	const struct source_config config = { 0 };
	int ret = source_open(&input->source, name, &config);

	input->kind = REPLAY_STREAM;
	input->stream_bytes = UINT64_MAX;
	if (ret == 0)
		return 0;
	return fail(input, status_of(ret), "%s",
		    input->source ? input->source->error : "out of memory");
}

/* A FIFO or a device: commas in its path stand for themselves. */
static int open_device(struct replay_input *input, const char *path)
{
	char *name = malloc(2 * strlen(path) + sizeof("dev:,type=plain"));
	char *to = name;
	int status;

	if (!name)
		return fail_memory(input);
	to = stpcpy(to, "dev:");
	for (; *path; path++) {
		*to++ = *path;
		if (*path == ',')
			*to++ = ',';
	}
	strcpy(to, ",type=plain");
	status = open_source(input, name);
	free(name);
	return status;
}

static bool is_savefile(const char *path)
{
	unsigned char magic[SAVEFILE_MAGIC_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_one = fd >= 0 && read_whole_at(fd, magic, sizeof(magic), 0) == 0 &&
		      savefile_is_one(magic);

	if (fd >= 0)
		close(fd);
	return is_one;
}

static int file_bytes(const char *path, uint64_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		ret = -errno;
	else if (S_ISBLK(st.st_mode))
		ret = ioctl(fd, BLKGETSIZE64, bytes) < 0 ? -errno : 0;
	else
		*bytes = (uint64_t)st.st_size;
	close(fd);
	return ret;
}

static int take_files(struct replay_input *input, const struct arguments *arguments)
{
	uint64_t end = 0;

	input->kind = REPLAY_FILES;
	input->ends = calloc(arguments->given_count, sizeof(input->ends[0]));
	if (!input->ends)
		return fail_memory(input);
	for (size_t i = 0; i < arguments->given_count; i++) {
		uint64_t bytes = 0;
		int ret = file_bytes(arguments->given[i], &bytes);

		if (ret < 0)
			return fail(input, status_of(ret), "%s can't be read: %s",
				    arguments->given[i], strerror(-ret));
		end += bytes;
		input->ends[i] = end;
	}
	input->files = arguments->given;
	input->file_count = arguments->given_count;
	input->stream_bytes = end;
	return end > 0 ? 0 :
			 fail(input, EX_NOINPUT, "%s is empty: there is nothing to play",
			      input->files[0]);
}

/* All of one kind, or it isn't clear what is meant. */
static int take_savefiles(struct replay_input *input, const struct arguments *arguments)
{
	for (size_t i = 1; i < arguments->given_count; i++)
		if (!is_savefile(arguments->given[i]))
			return fail(input, EX_USAGE,
				    "%s is a savefile and %s is not: one kind at a time",
				    arguments->given[0], arguments->given[i]);
	input->kind = REPLAY_SAVEFILES;
	input->files = arguments->given;
	input->file_count = arguments->given_count;
	return 0;
}

/* Return: S_IFREG, S_IFBLK ... if all given are of this kind and no journals; 0. */
static mode_t kind_of_all(const struct arguments *arguments)
{
	mode_t kind = 0;

	for (size_t i = 0; i < arguments->given_count; i++) {
		struct stat st;
		mode_t one;

		if (history_is_journal(arguments->given[i]) || stat(arguments->given[i], &st) < 0)
			return 0;
		one = st.st_mode & S_IFMT;
		if (one == S_IFBLK)
			one = S_IFREG;
		if (kind && one != kind)
			return 0;
		kind = one;
	}
	return kind;
}

/* ---- recordings ---------------------------------------------------------------------------------- */

/* Of a recording of layout pcap, the savefiles in their order. */
static int take_savefiles_of_recording(struct replay_input *input)
{
	struct recording_piece piece;
	uint32_t last = UINT32_MAX;

	input->kind = REPLAY_SAVEFILES;
	input->has_own_files = true;
	while (recording_next(input->recording, &piece) == 1) {
		const char **room;
		char *path;

		if (piece.kind != RECORDING_DATA || piece.fd < 0 || piece.file_index == last)
			continue;
		last = piece.file_index;
		room = array_room(&input->files, input->file_count, sizeof(*room));
		if (!room || asprintf(&path, "%s/%s", piece.target, piece.file) < 0)
			return fail_memory(input);
		*room = path;
		input->file_count++;
	}
	return input->file_count > 0 ? 0 :
				       fail(input, EX_NOINPUT, "none of the files of %s is there",
					    recording_info(input->recording)->name);
}

static int open_recording(struct replay_input *input, struct replay_options *options)
{
	struct arguments *arguments = &options->arguments;
	struct recording_query query;
	const struct recording_info *info;
	int ret;

	arguments_settle(arguments, options->round_bytes == 0);
	query = (struct recording_query){ .recording = arguments->recording,
					  .name = arguments->name,
					  .targets = arguments->targets,
					  .target_count = arguments->target_count };
	if (options->round_bytes)
		ret = recording_open_round(&input->recording, options->round_bytes,
					   arguments->targets, arguments->target_count);
	else
		ret = recording_open(&input->recording, &query);
	if (ret < 0)
		return fail(input, recording_exit_status(ret), "%s", recording_error(input->recording));
	info = recording_info(input->recording);
	input->kind = REPLAY_RECORDING;
	input->stream_bytes = info->stream_bytes;
	if (info->history && strcmp(history_layout(info->history), "pcap") == 0)
		return take_savefiles_of_recording(input);
	return info->data_bytes > 0 ? 0 :
				      fail(input, EX_NOINPUT, "nothing of %s is there", info->name);
}

int replay_input_open(struct replay_input *input, struct replay_options *options)
{
	const struct arguments *arguments = &options->arguments;
	const char *first = arguments->given[0];
	mode_t kind;

	*input = (struct replay_input){ .kind = REPLAY_RECORDING };
	if (options->round_bytes)
		return open_recording(input, options);
	if (arguments->given_count == 1 && strcmp(first, "-") == 0)
		return open_source(input, first);
	if (arguments->given_count == 1 &&
	    strncmp(first, SAVEFILE_PREFIX, strlen(SAVEFILE_PREFIX)) == 0) {
		arguments->given[0] = first + strlen(SAVEFILE_PREFIX);
		return take_savefiles(input, arguments);
	}
	kind = kind_of_all(arguments);
	if (kind == S_IFREG && is_savefile(first))
		return take_savefiles(input, arguments);
	if (kind == S_IFREG && !check_mark6_is_file(first))
		return take_files(input, arguments);
	if ((kind == S_IFIFO || kind == S_IFCHR) && arguments->given_count == 1)
		return open_device(input, first);
	return open_recording(input, options);
}

/* ---- looking at the stream ----------------------------------------------------------------------- */

/*
 * The first bytes that are there from @offset on, moved there.
 * Return: how many, up to the next gap; 0 = none any more; -errno.
 */
static ssize_t read_recording(struct replay_input *input, uint64_t *offset, unsigned char *buf,
			      size_t len)
{
	struct recording_piece piece;
	size_t used = 0;

	recording_seek(input->recording, *offset);
	while (used < len && recording_next(input->recording, &piece) == 1) {
		size_t want;
		ssize_t got;

		if (piece.kind != RECORDING_DATA || piece.fd < 0) {
			if (used > 0)
				break;
			continue;
		}
		if (used == 0)
			*offset = piece.stream_offset;
		want = piece.bytes < len - used ? (size_t)piece.bytes : len - used;
		got = read_at(piece.fd, buf + used, want, piece.file_offset);
		if (got < 0)
			return used > 0 ? (ssize_t)used : got;
		used += (size_t)got;
		if ((size_t)got < want)
			break;
	}
	return (ssize_t)used;
}

static ssize_t read_files(struct replay_input *input, uint64_t offset, unsigned char *buf, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; i < input->file_count && used < len; i++) {
		uint64_t begin = i ? input->ends[i - 1] : 0, at = offset + used;
		ssize_t got = 0;
		int fd;

		if (at >= input->ends[i])
			continue;
		fd = open(input->files[i], O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			got = read_at(fd, buf + used, len - used, at - begin);
			close(fd);
		}
		if (fd < 0 || got <= 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

static ssize_t read_stream(struct replay_input *input, uint64_t *offset, unsigned char *buf, size_t len)
{
	return input->kind == REPLAY_RECORDING ? read_recording(input, offset, buf, len) :
						 read_files(input, *offset, buf, len);
}

/* Nothing was recorded later than this: it tells which of many days is meant. */
static int64_t not_after_s(const struct replay_input *input)
{
	const struct history *history =
		input->recording ? recording_info(input->recording)->history : NULL;

	if (history && history->clock_count > 0)
		return history->clocks[history->clock_count - 1].utc_ns / UNITS_NS_PER_S;
	return units_realtime_ns() / UNITS_NS_PER_S;
}

void replay_input_look(struct replay_input *input)
{
	unsigned char *window;
	uint64_t offset = 0;
	ssize_t got;

	if (input->kind != REPLAY_RECORDING && input->kind != REPLAY_FILES)
		return;
	window = malloc(FORMAT_WINDOW_BYTES);
	if (!window)
		return;
	got = read_stream(input, &offset, window, FORMAT_WINDOW_BYTES);
	if (got > 0)
		input->frame_offset = offset + format_detect(window, (size_t)got,
							     (size_t)got < FORMAT_WINDOW_BYTES,
							     not_after_s(input), &input->layout);
	free(window);
	if (input->layout.format == FORMAT_SIM) /* no frames */
		input->layout.format = FORMAT_UNKNOWN;
	if (input->layout.format != FORMAT_UNKNOWN)
		input->head = malloc(input->layout.need_bytes);
	if (!input->head)
		input->layout.format = FORMAT_UNKNOWN;
}

static ssize_t read_for_rate(void *context, uint64_t *offset, void *buf, size_t len)
{
	return read_stream(context, offset, buf, len);
}

static bool is_by_time(const struct replay_place *place)
{
	return place->kind == REPLAY_PLACE_TIME || place->kind == REPLAY_PLACE_UTC;
}

/* It takes a moment: only for who needs the frames' times. */
static void learn_rate(struct replay_input *input, const struct replay_options *options)
{
	struct format_layout *layout = &input->layout;

	if (options->frame_rate)
		layout->rate = options->frame_rate * layout->interval_s;
	if (layout->format != FORMAT_UNKNOWN && layout->rate == 0 &&
	    (options->is_as_recorded || is_by_time(&options->start) || is_by_time(&options->stop)))
		layout->rate = frame_rate_count(layout, not_after_s(input), read_for_rate, input);
}

/* ---- places and times ---------------------------------------------------------------------------- */

/*
 * The first frame that is there, from the @index-th stride on.
 * Return: the moment it tells; 0 = there is none.
 */
static int64_t frame_time(struct replay_input *input, uint64_t index)
{
	const struct format_layout *layout = &input->layout;
	unsigned char *data = input->head;
	uint64_t stride = layout->stride_bytes;

	for (;;) {
		uint64_t wanted = input->frame_offset + index * stride, offset = wanted;
		ssize_t got = read_stream(input, &offset, data, layout->need_bytes);
		int64_t utc_ns;

		if (got <= 0)
			return 0;
		if (offset == wanted && (size_t)got == layout->need_bytes) {
			utc_ns = schedule_frame_utc_ns(layout, data);
			if (utc_ns)
				return utc_ns;
		}
		index = offset == wanted ? index + 1 :
					   (offset - input->frame_offset + stride - 1) / stride;
	}
}

/* The first frame of this moment or a later one. Times of frames don't go back. */
static uint64_t find_frame(struct replay_input *input, int64_t utc_ns)
{
	uint64_t stride = input->layout.stride_bytes;
	uint64_t low = 0, high = (input->stream_bytes - input->frame_offset) / stride;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int64_t time = frame_time(input, middle);

		if (time && time < utc_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return input->frame_offset + low * stride;
}

static const struct history *history_of(const struct replay_input *input)
{
	return input->recording ? recording_info(input->recording)->history : NULL;
}

/* Return: 0; -ENODATA: nothing tells the time. */
static int offset_by_clock(struct replay_input *input, const struct replay_place *place, uint64_t *offset)
{
	const struct history *history = history_of(input);
	struct schedule clock = { 0 };
	int ret = history ? schedule_init_clock(&clock, history, 1, 0) : -ENODATA;
	int64_t ns = place->ns;

	if (ret == 0 && place->kind == REPLAY_PLACE_UTC)
		ns -= clock.first_utc_ns;
	if (ret == 0)
		*offset = ns > 0 ? schedule_offset_at(&clock, ns) : 0;
	schedule_free(&clock);
	return ret;
}

/* Return: 0; the exit status. */
static int find_place(struct replay_input *input, const struct replay_place *place,
		      uint64_t rate_bps, const char *option, uint64_t *offset)
{
	struct schedule frames = { 0 };
	bool has_frames;

	if (place->kind == REPLAY_PLACE_NONE)
		return 0;
	if (place->kind == REPLAY_PLACE_BYTES) {
		*offset = place->bytes;
		return 0;
	}
	has_frames = input->layout.format != FORMAT_UNKNOWN &&
		     schedule_init_frames(&frames, &input->layout, input->frame_offset, 1, 0) == 0;
	schedule_free(&frames);
	if (has_frames) {
		int64_t begin_ns = place->kind == REPLAY_PLACE_TIME ? frame_time(input, 0) : 0;

		*offset = find_frame(input, begin_ns + place->ns);
		return 0;
	}
	if (offset_by_clock(input, place, offset) == 0)
		return 0;
	if (place->kind == REPLAY_PLACE_TIME && rate_bps) {
		*offset = units_bytes_at(rate_bps, place->ns);
		return 0;
	}
	return fail(input, EX_USAGE, "--%s: nothing in this %s tells the time: say it in bytes%s",
		    option, replay_kind_name(input->kind),
		    place->kind == REPLAY_PLACE_TIME ? ", or give a rate" : "");
}

static int find_places(struct replay_input *input, const struct replay_options *options)
{
	char wanted[UNITS_TEXT_LEN], there[UNITS_TEXT_LEN];
	int status =
		find_place(input, &options->start, options->rate_bps, "start", &input->start_offset);

	if (!status)
		status = find_place(input, &options->stop, options->rate_bps, "stop",
				    &input->stop_offset);
	if (status)
		return status;
	if (input->start_offset >= input->stream_bytes && options->start.kind == REPLAY_PLACE_UTC)
		return fail(input, EX_NOINPUT,
			    "--start: that moment is behind the last of what is there");
	if (input->start_offset >= input->stream_bytes)
		return fail(input, EX_NOINPUT, "--start: that is at byte %s, and there are only %s",
			    units_format_bytes(wanted, input->start_offset),
			    units_format_bytes(there, input->stream_bytes));
	if (input->stop_offset <= input->start_offset)
		return fail(input, EX_USAGE, "--stop: that is not behind --start");
	return 0;
}

/* Return: 0; the exit status. */
static int plan_as_recorded(struct replay_input *input, const struct replay_options *options,
			    struct schedule *schedule)
{
	const struct history *history = history_of(input);

	if (input->layout.format != FORMAT_UNKNOWN &&
	    schedule_init_frames(schedule, &input->layout, input->frame_offset, options->speed,
				 input->start_offset) == 0)
		return 0;
	if (history && schedule_init_clock(schedule, history, options->speed, input->start_offset) == 0)
		return 0;
	return fail(input, EX_USAGE, "--as-recorded: %s: say how fast it goes with --rate",
		    input->layout.format != FORMAT_UNKNOWN ?
			    "the frames are known, but not how many there are in a second (--frame-rate tells it), and no journal has a clock" :
			    "neither time codes nor a journal's clock are in what is to be played");
}

int replay_input_plan(struct replay_input *input, const struct replay_options *options,
		      struct schedule *schedule)
{
	int status;

	input->stop_offset = UINT64_MAX;
	learn_rate(input, options);
	if (input->kind == REPLAY_SAVEFILES) {
		if (options->start.kind == REPLAY_PLACE_BYTES)
			input->start_offset = options->start.bytes;
		if (options->stop.kind == REPLAY_PLACE_BYTES)
			input->stop_offset = options->stop.bytes;
	} else {
		status = find_places(input, options);
		if (status)
			return status;
	}
	/* a dry run reads as fast as it can */
	if (options->is_dry_run || (!options->rate_bps && !options->is_as_recorded))
		schedule_init_none(schedule);
	else if (options->rate_bps)
		schedule_init_rate(schedule, options->rate_bps, 1, input->start_offset);
	else if (input->kind == REPLAY_SAVEFILES)
		schedule_init_stamps(schedule, options->speed);
	else if (input->kind == REPLAY_STREAM)
		return fail(input, EX_USAGE,
			    "--as-recorded: a stream doesn't tell when it was recorded: --rate");
	else
		return plan_as_recorded(input, options, schedule);
	return 0;
}

/* ---- feeds --------------------------------------------------------------------------------------- */

static int make_tape(struct replay_input *input, const struct replay_options *options,
		     const struct feed_config *config, void *memory, size_t memory_bytes,
		     struct feed **feed)
{
	const struct tape_feed_config tape = {
		.recording = input->kind == REPLAY_RECORDING ? input->recording : NULL,
		.files = input->files,
		.file_count = input->file_count,
		.start_offset = input->start_offset,
		.stop_offset = input->stop_offset,
		.loop_count = options->loop_count,
		.fill = options->gaps == REPLAY_GAPS_FILL ? options->fill : GATHER_CLOSE_UP,
		.is_verified = options->is_verified,
		.engine = options->engine,
		.depth = options->depth,
		.is_direct = options->use_direct,
		.memory = memory,
		.memory_bytes = memory_bytes,
	};

	return tape_feed_create(feed, config, &tape);
}

static int make_packets(struct replay_input *input, const struct replay_options *options,
			const struct feed_config *config, bool is_whole, struct feed **feed)
{
	struct packet_feed_config packets = {
		.files = input->files,
		.file_count = input->file_count,
		.is_whole = is_whole,
		.port = options->port,
		.filter = options->filter,
		.start_offset = input->start_offset,
		.stop_offset = input->stop_offset,
		.loop_count = options->loop_count,
	};

	if (options->start.kind == REPLAY_PLACE_UTC)
		packets.start_utc_ns = options->start.ns;
	if (options->stop.kind == REPLAY_PLACE_UTC)
		packets.stop_utc_ns = options->stop.ns;
	if (options->start.kind == REPLAY_PLACE_TIME)
		packets.start_ns = options->start.ns;
	if (options->stop.kind == REPLAY_PLACE_TIME)
		packets.stop_ns = options->stop.ns;
	return packet_feed_create(feed, config, &packets);
}

int replay_input_feed(struct replay_input *input, const struct replay_options *options,
		      const struct feed_config *config, bool is_whole, void *memory,
		      size_t memory_bytes, struct feed **feed)
{
	const struct source_feed_config stream = {
		.source = input->source,
		.start_offset = input->start_offset,
		.stop_offset = input->stop_offset,
	};
	int ret;

	if (input->kind == REPLAY_STREAM)
		ret = source_feed_create(feed, config, &stream);
	else if (input->kind == REPLAY_SAVEFILES)
		ret = make_packets(input, options, config, is_whole, feed);
	else
		ret = make_tape(input, options, config, memory, memory_bytes, feed);
	if (ret == 0)
		return 0;
	return fail(input, status_of(ret), "%s",
		    *feed && (*feed)->error[0] ? (*feed)->error : strerror(-ret));
}

void replay_input_close(struct replay_input *input)
{
	for (size_t i = 0; input->has_own_files && i < input->file_count; i++)
		free((void *)input->files[i]);
	if (input->has_own_files)
		free(input->files);
	free(input->ends);
	free(input->head);
	recording_free(input->recording);
	source_close(input->source);
}
