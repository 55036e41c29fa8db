/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/check_format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/version.h"
#include "tools/check_capture.h"
#include "tools/check_packets.h"
#include "tools/check_report.h"
#include "tools/format_report.h"
#include "tools/format_scan.h"
#include "tools/history.h"
#include "tools/json_file.h"
#include "tools/read_at.h"

#define DAY_S 86400
#define CLOCK_SET_S INT64_C(946684800) /* 2000-01-01 */
#define PROGRESS_NS (UNITS_NS_PER_S / 2)

struct check {
	const struct check_format_config *config;
	struct findings *findings;
	struct format_scan *scan;
	uint64_t all_bytes;
	uint64_t done_bytes;
	int64_t shown_ns; /* when progress was shown */
};

/* A stretch of a file goes to the scan as a stretch of the stream. */
struct stretch {
	int fd;
	uint64_t file_offset;
	uint64_t stream_offset;
	uint64_t bytes; /* UINT64_MAX: to the end of the file */
};

static void show_progress(struct check *check)
{
	int64_t now = check->config->is_shown ? units_monotonic_ns() : 0;

	if (now - check->shown_ns < PROGRESS_NS)
		return;
	check_show_progress(check->findings, check->done_bytes, check->all_bytes);
	check->shown_ns = now;
}

/*
 * Until the scan has seen enough, too. Return: 0; -EINTR stopped; -errno, and what came before was taken. A
 * stretch that ends too early is none.
 */
static int feed(struct check *check, const struct stretch *stretch)
{
	struct format_scan *scan = check->scan;
	uint64_t done = 0;

	while (done < stretch->bytes && format_scan_wants_more(scan)) {
		uint64_t rest = stretch->bytes - done;
		size_t room;
		void *buf = format_scan_room(scan, &room);
		ssize_t n;

		if (atomic_load_explicit(check->config->stop, memory_order_relaxed))
			return -EINTR;
		n = read_at(stretch->fd, buf, rest < room ? (size_t)rest : room,
			    stretch->file_offset + done);
		if (n <= 0)
			return (int)n;
		format_scan_feed(scan, stretch->stream_offset + done, (size_t)n);
		done += (uint64_t)n;
		check->done_bytes += (uint64_t)n;
		show_progress(check);
	}
	return 0;
}

/* The same with what the datagrams of a capture carry; to its end, known format or not: its packets count. */
static int feed_capture(struct check *check, struct source *source)
{
	struct format_scan *scan = check->scan;
	uint64_t offset = 0;
	char scratch[65536];

	for (;;) {
		bool is_wanted = format_scan_wants_more(scan);
		size_t room = sizeof(scratch);
		void *buf = is_wanted ? format_scan_room(scan, &room) : scratch;
		struct source_mark mark;
		ssize_t n;

		n = check_capture_read(source, buf, room, &mark, check->config->stop);
		check_capture_note(source, check->findings);
		if (n <= 0)
			return (int)n;
		offset += mark.lost_bytes;
		if (is_wanted)
			format_scan_feed(scan, offset, (size_t)n);
		offset += (uint64_t)n;
		check->done_bytes += (uint64_t)n;
		show_progress(check);
	}
}

/* @otherwise_s: when the user doesn't say */
static int begin_scan(struct check *check, int64_t otherwise_s)
{
	const struct check_options *options = check->config->options;
	const struct format_scan_config config = {
		.not_after_s = options->has_not_after ? options->not_after_ns / UNITS_NS_PER_S :
							otherwise_s,
		.rate = options->frame_rate,
	};

	check->shown_ns = units_monotonic_ns();
	return format_scan_create(&check->scan, &config);
}

static bool is_known(const struct format_scan *scan)
{
	return format_scan_stats(scan)->layout.format != FORMAT_UNKNOWN;
}

/* ---- a plain file --------------------------------------------------------------------------------- */

struct file_check {
	struct check base;
	const char *path;
	struct source *capture; /* NULL: it is none */
	int64_t duration_ns;
};

static void judge_file(struct file_check *check)
{
	struct findings *findings = check->base.findings;

	if (check->capture && !check_capture_judge(check->capture, findings))
		findings_worsen(findings, FINDINGS_TROUBLE);
	if (!is_known(check->base.scan) && check->capture) {
		findings_say(findings, "what the datagrams carry is of no known format");
		return;
	}
	if (!is_known(check->base.scan)) {
		findings_insist(
			findings,
			"%s: %s: no VDIF, Mark5B, Mark4, VLBA or CODIF frames, and not the simulator's pattern",
			check->path, check->base.all_bytes ? "unknown format" : "empty file");
		findings_worsen(findings, FINDINGS_TROUBLE);
		return;
	}
	format_report_say(format_scan_stats(check->base.scan), findings);
	if (!format_stats_are_good(format_scan_stats(check->base.scan), false))
		findings_worsen(findings, FINDINGS_DIFFERENCES);
}

static void say_file_totals(const struct file_check *check)
{
	double seconds = (double)check->duration_ns / 1e9;
	uint64_t bytes = check->base.all_bytes;
	char text[UNITS_TEXT_LEN];

	findings_say(check->base.findings, "%s: %s: %" PRIu64 " bytes (%s); %.1f s, %.2f GB/s",
		     check->path, check_outcome(check->base.findings), bytes,
		     units_format_bytes(text, bytes), seconds,
		     seconds > 0 ? (double)check->base.done_bytes / 1e9 / seconds : 0);
}

static json_t *build_file_report(const struct file_check *check)
{
	const struct findings *findings = check->base.findings;
	double seconds = (double)check->duration_ns / 1e9;
	json_t *report =
		json_pack("{s:s, s:s, s:s, s:o, s:s, s:i, s:I, s:f, s:f, s:o}", "schema",
			  "vsib-check/1", "program", "vsib-check", "version", VSIB_VERSION, "name",
			  json_file_text(check->path), "outcome", check_outcome(findings),
			  "exit_status", (int)findings_status(findings), "file_bytes",
			  (json_int_t)check->base.all_bytes, "duration_s", seconds, "bytes_per_s",
			  seconds > 0 ? (double)check->base.done_bytes / seconds : 0, "format",
			  format_report_json(format_scan_stats(check->base.scan)));

	if (report && check->capture)
		json_object_set_new(report, "capture", check_capture_report(check->capture));
	return report;
}

/* Return: 0; -errno. */
static int scan_file(struct file_check *check, int fd)
{
	const struct stretch all = { .fd = fd, .bytes = UINT64_MAX };
	int64_t started = units_monotonic_ns();
	struct stat st;
	int ret;

	if (fstat(fd, &st) < 0)
		return -errno;
	check->base.all_bytes = (uint64_t)st.st_size;
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	ret = check->capture ? feed_capture(&check->base, check->capture) : feed(&check->base, &all);
	format_scan_end(check->base.scan);
	check->duration_ns = units_monotonic_ns() - started;
	return ret;
}

/* What was captured is not from after that; the clock of an instrument may never have been set, though. */
static int64_t not_after_of(int64_t captured_utc_ns)
{
	int64_t s = captured_utc_ns / UNITS_NS_PER_S;

	return s > CLOCK_SET_S ? s + DAY_S : units_realtime_ns() / UNITS_NS_PER_S;
}

/* Return: 0; an exit status. */
static int begin_file(struct file_check *check, int fd)
{
	struct findings *findings = check->base.findings;
	int64_t captured_utc_ns;
	int ret = check_capture_open(&check->capture, check->path, fd, &captured_utc_ns,
				     check->base.config->stop);

	if (ret < 0) {
		findings_insist(findings, "%s",
				check->capture ? check->capture->error : strerror(-ret));
		return FINDINGS_TROUBLE;
	}
	if (begin_scan(&check->base, not_after_of(captured_utc_ns)) < 0) {
		findings_insist(findings, "out of memory");
		return EX_OSERR;
	}
	return 0;
}

static int check_open_file(struct file_check *check, int fd)
{
	struct findings *findings = check->base.findings;
	int ret = scan_file(check, fd);

	if (ret == -EINTR)
		findings_insist(findings, "stopped by a signal: not everything was read");
	else if (ret < 0)
		findings_insist(findings, "can't read %s: %s", check->path, strerror(-ret));
	if (ret < 0)
		findings_worsen(findings, FINDINGS_TROUBLE);
	judge_file(check);
	say_file_totals(check);
	return check_report_write(check->base.config->options->json ? build_file_report(check) : NULL,
				  check->base.config->options->json, findings);
}

int check_format_file(const char *path, const struct check_format_config *config,
		      struct findings *findings)
{
	struct file_check check = {
		.base = { .config = config, .findings = findings },
		.path = path,
	};
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;

	if (fd < 0) {
		int ret = -errno;

		findings_insist(findings, "can't open %s: %s", path, strerror(-ret));
		return recording_exit_status(ret);
	}
	status = begin_file(&check, fd);
	if (status == 0)
		status = check_open_file(&check, fd);
	close(fd);
	source_close(check.capture);
	format_scan_free(check.base.scan);
	return status;
}

/* ---- a recording ----------------------------------------------------------------------------------- */

/* Data that were recorded live are from the day of the recording. */
static int64_t day_of(const struct recording *recording)
{
	const struct history *history = recording_info(recording)->history;
	const char *utc = history ? json_string_value(json_object_get(history->start, "utc")) : NULL;
	int64_t ns;

	if (!utc || units_parse_utc(utc, &ns) < 0)
		ns = units_realtime_ns();
	return ns / UNITS_NS_PER_S + DAY_S;
}

/* What can't be read is a hole; the checksums tell why. */
static int scan_recording(struct recording *recording, struct check *check)
{
	struct recording_piece piece;

	recording_seek(recording, 0);
	while (format_scan_wants_more(check->scan) && recording_next(recording, &piece) == 1) {
		struct stretch stretch;

		if (piece.kind != RECORDING_DATA || piece.fd < 0)
			continue;
		stretch = (struct stretch){ piece.fd, piece.file_offset, piece.stream_offset,
					    piece.bytes };
		if (feed(check, &stretch) == -EINTR)
			return -EINTR;
	}
	format_scan_end(check->scan);
	return 0;
}

/* Packets that can't be read at all are told; the checksums are another matter. */
static int scan_packets(struct recording *recording, struct check *check,
			struct check_format_report *report)
{
	struct check_packets *packets;
	struct source *source;
	int ret = check_packets_open(&packets, recording, &source);

	if (ret == 0)
		ret = feed_capture(check, source);
	format_scan_end(check->scan);
	if (ret < 0 && ret != -EINTR && ret != -ENOMEM) {
		findings_insist(check->findings, "%s", source ? source->error : strerror(-ret));
		findings_worsen(check->findings, FINDINGS_DIFFERENCES);
		ret = 0;
	}
	if (ret == 0 && source) {
		check_capture_judge(source, check->findings);
		report->capture = check_capture_report(source);
	}
	check_packets_close(packets);
	return ret;
}

static void judge_recording(const struct check *check, bool is_of_packets)
{
	const struct format_stats *stats = format_scan_stats(check->scan);

	if (!is_known(check->scan)) {
		findings_say(check->findings, "%s of no known format",
			     is_of_packets ? "what the datagrams carry is" : "the data are");
		return;
	}
	format_report_say(stats, check->findings);
	if (!format_stats_are_good(stats, true))
		findings_worsen(check->findings, FINDINGS_DIFFERENCES);
}

int check_format_recording(struct recording *recording, const struct check_format_config *config,
			   struct findings *findings, struct check_format_report *report)
{
	struct check check = {
		.config = config,
		.findings = findings,
		.all_bytes = recording_info(recording)->data_bytes,
	};
	bool is_of_packets = check_packets_is_one(recording);
	int ret = begin_scan(&check, day_of(recording));

	*report = (struct check_format_report){ NULL, NULL };
	if (ret == 0)
		ret = is_of_packets ? scan_packets(recording, &check, report) :
				      scan_recording(recording, &check);
	if (ret == 0) {
		judge_recording(&check, is_of_packets);
		report->format = format_report_json(format_scan_stats(check.scan));
	}
	format_scan_free(check.scan);
	return ret;
}
