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
#include "tools/check_report.h"
#include "tools/format_report.h"
#include "tools/format_scan.h"
#include "tools/history.h"
#include "tools/json_file.h"
#include "tools/read_at.h"

#define DAY_S 86400

/* A stretch of a file goes to the scan as a stretch of the stream. */
struct stretch {
	int fd;
	uint64_t file_offset;
	uint64_t stream_offset;
	uint64_t bytes; /* UINT64_MAX: to the end of the file */
};

/*
 * Until the scan has seen enough, too. Return: bytes that were there; -EINTR stopped; -errno, and what came
 * before was taken.
 */
static int64_t feed(struct format_scan *scan, const struct stretch *stretch, const atomic_int *stop)
{
	uint64_t done = 0;

	while (done < stretch->bytes && format_scan_wants_more(scan)) {
		uint64_t rest = stretch->bytes - done;
		size_t room;
		void *buf = format_scan_room(scan, &room);
		ssize_t n;

		if (atomic_load_explicit(stop, memory_order_relaxed))
			return -EINTR;
		n = read_at(stretch->fd, buf, rest < room ? (size_t)rest : room,
			    stretch->file_offset + done);
		if (n < 0)
			return n;
		if (n == 0)
			break;
		format_scan_feed(scan, stretch->stream_offset + done, (size_t)n);
		done += (uint64_t)n;
	}
	return (int64_t)done;
}

static bool is_known(const struct format_scan *scan)
{
	return format_scan_stats(scan)->layout.format != FORMAT_UNKNOWN;
}

/* ---- a plain file --------------------------------------------------------------------------------- */

struct file_check {
	const char *path;
	const struct check_options *options;
	const atomic_int *stop;
	struct findings *findings;
	struct format_scan *scan;
	uint64_t file_bytes;
	int64_t duration_ns;
};

static void judge_file(struct file_check *check)
{
	if (!is_known(check->scan)) {
		findings_insist(
			check->findings,
			"%s: %s: no VDIF, Mark5B, Mark4, VLBA or CODIF frames, and not the simulator's pattern",
			check->path, check->file_bytes ? "unknown format" : "empty file");
		findings_worsen(check->findings, FINDINGS_TROUBLE);
		return;
	}
	format_report_say(format_scan_stats(check->scan), check->findings);
	if (!format_stats_are_good(format_scan_stats(check->scan), false))
		findings_worsen(check->findings, FINDINGS_DIFFERENCES);
}

static void say_file_totals(const struct file_check *check)
{
	double seconds = (double)check->duration_ns / 1e9;
	char bytes[UNITS_TEXT_LEN];

	findings_say(check->findings, "%s: %s: %" PRIu64 " bytes (%s); %.1f s, %.2f GB/s",
		     check->path, check_outcome(check->findings), check->file_bytes,
		     units_format_bytes(bytes, check->file_bytes), seconds,
		     seconds > 0 ? (double)check->file_bytes / 1e9 / seconds : 0);
}

static json_t *build_file_report(const struct file_check *check)
{
	double seconds = (double)check->duration_ns / 1e9;

	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:i, s:I, s:f, s:f, s:o}", "schema",
			 "vsib-check/1", "program", "vsib-check", "version", VSIB_VERSION, "name",
			 json_file_text(check->path), "outcome", check_outcome(check->findings),
			 "exit_status", (int)findings_status(check->findings), "file_bytes",
			 (json_int_t)check->file_bytes, "duration_s", seconds, "bytes_per_s",
			 seconds > 0 ? (double)check->file_bytes / seconds : 0, "format",
			 format_report_json(format_scan_stats(check->scan)));
}

/* Return: 0; -errno. */
static int scan_file(struct file_check *check, int fd)
{
	const struct stretch all = { .fd = fd, .bytes = UINT64_MAX };
	int64_t started = units_monotonic_ns(), bytes;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	check->file_bytes = (uint64_t)st.st_size;
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	bytes = feed(check->scan, &all, check->stop);
	format_scan_end(check->scan);
	check->duration_ns = units_monotonic_ns() - started;
	return bytes < 0 ? (int)bytes : 0;
}

static int check_open_file(struct file_check *check)
{
	int fd = open(check->path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0) {
		ret = -errno;
		findings_insist(check->findings, "can't open %s: %s", check->path, strerror(-ret));
		return recording_exit_status(ret);
	}
	ret = scan_file(check, fd);
	close(fd);
	if (ret == -EINTR)
		findings_insist(check->findings, "stopped by a signal: not everything was read");
	else if (ret < 0)
		findings_insist(check->findings, "can't read %s: %s", check->path, strerror(-ret));
	if (ret < 0)
		findings_worsen(check->findings, FINDINGS_TROUBLE);
	judge_file(check);
	say_file_totals(check);
	return check_report_write(check->options->json ? build_file_report(check) : NULL,
				  check->options->json, check->findings);
}

int check_format_file(const char *path, const struct check_options *options, const atomic_int *stop,
		      struct findings *findings)
{
	const struct format_scan_config config = {
		.not_after_s = options->has_not_after ? options->not_after_ns / UNITS_NS_PER_S :
							units_realtime_ns() / UNITS_NS_PER_S,
		.rate = options->frame_rate,
	};
	struct file_check check = {
		.path = path,
		.options = options,
		.stop = stop,
		.findings = findings,
	};
	int status;

	if (format_scan_create(&check.scan, &config) < 0) {
		findings_insist(findings, "out of memory");
		return EX_OSERR;
	}
	status = check_open_file(&check);
	format_scan_free(check.scan);
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
static int scan_recording(struct recording *recording, struct format_scan *scan, const atomic_int *stop)
{
	struct recording_piece piece;

	recording_seek(recording, 0);
	while (format_scan_wants_more(scan) && recording_next(recording, &piece) == 1) {
		struct stretch stretch;

		if (piece.kind != RECORDING_DATA || piece.fd < 0)
			continue;
		stretch = (struct stretch){ piece.fd, piece.file_offset, piece.stream_offset,
					    piece.bytes };
		if (feed(scan, &stretch, stop) == -EINTR)
			return -EINTR;
	}
	format_scan_end(scan);
	return 0;
}

int check_format_recording(struct recording *recording, const struct check_options *options,
			   const atomic_int *stop, struct findings *findings, json_t **report)
{
	const struct format_scan_config config = {
		.not_after_s = options->has_not_after ? options->not_after_ns / UNITS_NS_PER_S :
							day_of(recording),
		.rate = options->frame_rate,
	};
	struct format_scan *scan;
	int ret = format_scan_create(&scan, &config);

	*report = NULL;
	if (ret == 0)
		ret = scan_recording(recording, scan, stop);
	if (ret == 0 && is_known(scan)) {
		format_report_say(format_scan_stats(scan), findings);
		if (!format_stats_are_good(format_scan_stats(scan), true))
			findings_worsen(findings, FINDINGS_DIFFERENCES);
	} else if (ret == 0) {
		findings_say(findings, "the data are of no known format");
	}
	if (ret == 0)
		*report = format_report_json(format_scan_stats(scan));
	format_scan_free(scan);
	return ret;
}
