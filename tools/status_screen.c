/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/status_screen.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "drivers/units.h"

#define BAR_CELLS 40
#define BYTES_MAX 9e18

static void print_text(FILE *out, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text)
		text = "?";
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, out);
}

/* Return: the number, below 0 (or not a number at all) as -1. */
static double get_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	double number = json_is_number(value) ? json_number_value(value) : -1;

	return number >= 0 ? number : -1;
}

static void print_bytes(FILE *out, double bytes)
{
	char text[UNITS_TEXT_LEN];

	if (bytes < 0 || bytes > BYTES_MAX)
		fputc('?', out);
	else
		fputs(units_format_bytes(text, (uint64_t)bytes), out);
}

static void print_time(FILE *out, double seconds)
{
	char text[UNITS_TEXT_LEN];

	if (seconds < 0 || seconds > BYTES_MAX / 1e9)
		fputc('?', out);
	else
		fputs(units_format_time(text, (int64_t)(seconds * 1e9)), out);
}

static void print_rate(FILE *out, double bps)
{
	if (bps < 0)
		fputs("?", out);
	else
		fprintf(out, "%.1f Mbit/s", bps / 1e6);
}

static void print_disk_rate(FILE *out, double bps)
{
	print_rate(out, bps);
	if (bps >= 0)
		fprintf(out, " (%.1f MiB/s)", bps / 8 / 1048576);
}

static void print_head(FILE *out, const json_t *object)
{
	double rate = get_number(object, "rate_bps");

	print_text(out, object, "name");
	fputs("  ", out);
	print_text(out, object, "state");
	fprintf(out, "  pid %.0f  ", get_number(object, "pid"));
	print_text(out, object, "program");
	fputc(' ', out);
	print_text(out, object, "version");
	fputs("  ", out);
	print_text(out, object, "utc");
	fputs("\n  source   ", out);
	print_text(out, object, "source");
	if (rate > 0) {
		fputs(", ", out);
		print_rate(out, rate);
	}
	fputc('\n', out);
}

static void print_stream(FILE *out, const json_t *object)
{
	double left = get_number(object, "left_s");

	fputs("  stream   ", out);
	print_bytes(out, get_number(object, "stream_bytes"));
	fputs(" in ", out);
	print_time(out, get_number(object, "elapsed_s"));
	fputs(", on disk ", out);
	print_bytes(out, get_number(object, "written_bytes"));
	if (left >= 0) {
		fputs(", ", out);
		print_time(out, left);
		fputs(" left", out);
	}
	fputs("\n  rates    in ", out);
	print_rate(out, get_number(object, "rate_in_bps"));
	fputs(", out ", out);
	print_disk_rate(out, get_number(object, "rate_out_bps"));
	fputc('\n', out);
}

static int cells_of(double bytes, double capacity)
{
	double share = capacity > 0 && bytes > 0 ? bytes / capacity : 0;

	return share >= 1 ? BAR_CELLS : (int)(share * BAR_CELLS + 0.5);
}

/* [#####......|        ]: held, and the most it held. */
static void print_ring(FILE *out, const json_t *ring)
{
	double capacity = get_number(ring, "capacity_bytes"), held = get_number(ring, "held_bytes");
	double high = get_number(ring, "high_water_bytes");
	int held_cells = cells_of(held, capacity), high_cells = cells_of(high, capacity);

	fputs("  ring     [", out);
	for (int i = 0; i < BAR_CELLS; i++)
		fputc(i < held_cells      ? '#' :
		      i + 1 == high_cells ? '|' :
		      i < high_cells      ? '.' :
					    ' ',
		      out);
	fputs("] ", out);
	if (capacity > 0)
		fprintf(out, "%.0f %% of ", 100 * (held > 0 ? held : 0) / capacity);
	print_bytes(out, capacity);
	fputs(", at most ", out);
	print_bytes(out, high);
	fputc('\n', out);
}

static void print_disk(FILE *out, const json_t *disk)
{
	double files = get_number(disk, "files");

	fputs("  disk     ", out);
	print_text(out, disk, "target");
	fputs("  ", out);
	print_text(out, disk, "state");
	fputs("  ", out);
	print_bytes(out, get_number(disk, "written_bytes"));
	fputs("  ", out);
	print_disk_rate(out, get_number(disk, "rate_bps"));
	fputs("  worst write ", out);
	print_time(out, get_number(disk, "worst_write_s"));
	fputs("  free ", out);
	print_bytes(out, get_number(disk, "free_bytes"));
	if (files >= 0)
		fprintf(out, "  %.0f files", files);
	fputc('\n', out);
}

static void print_lost(FILE *out, const json_t *lost)
{
	static const char *const keys[] = { "overflow_bytes", "source_bytes", "disk_bytes" };
	static const char *const words[] = { "overflow", "source", "disk" };
	double filled = get_number(lost, "filled_bytes");
	bool is_first = true;

	fputs("  lost     ", out);
	for (int i = 0; i < 3; i++) {
		double bytes = get_number(lost, keys[i]);

		if (bytes == 0)
			continue;
		fprintf(out, "%s%s ", is_first ? "" : ", ", words[i]);
		print_bytes(out, bytes);
		is_first = false;
	}
	if (filled > 0) {
		fputs("; filled ", out);
		print_bytes(out, filled);
	}
	fputs(is_first ? "nothing\n" : "\n", out);
}

void status_screen_print(FILE *out, const json_t *object)
{
	const json_t *item;
	size_t index;

	print_head(out, object);
	print_stream(out, object);
	print_ring(out, json_object_get(object, "ring"));
	json_array_foreach(json_object_get(object, "disks"), index, item) print_disk(out, item);
	print_lost(out, json_object_get(object, "lost"));
	json_array_foreach(json_object_get(object, "warnings"), index, item)
	{
		json_t *line = json_pack("{s:O}", "text", item);

		fputs("  warning  ", out);
		print_text(out, line, "text");
		fputc('\n', out);
		json_decref(line);
	}
}
