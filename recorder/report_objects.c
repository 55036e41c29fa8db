/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/report_objects.h"

json_t *report_object_text(const char *string)
{
	json_t *json = json_string(string);

	return json ? json : json_string("(not UTF-8)");
}

json_t *report_object_number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static void set(json_t *o, const char *key, uint64_t value)
{
	json_object_set_new(o, key, report_object_number(value));
}

json_t *report_object_ring(const struct report_ring *ring)
{
	json_t *o = json_object();

	set(o, "capacity_bytes", ring->capacity_bytes);
	set(o, "asked_bytes", ring->asked_bytes);
	set(o, "block_bytes", ring->block_bytes);
	set(o, "chunk_bytes", ring->chunk_bytes);
	set(o, "high_water_bytes", ring->high_water_bytes);
	json_object_set_new(o, "high_water_s", json_real(ring->high_water_s));
	set(o, "overflow_count", ring->overflow_count);
	set(o, "overflow_bytes", ring->overflow_bytes);
	return o;
}

static json_t *counts_of(const uint64_t *counts, unsigned count)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(array, report_object_number(counts[i]));
	return array;
}

static json_t *histogram_of(const struct report_disk *disk)
{
	json_t *edges = json_array();

	for (unsigned i = 0; i + 1 < SESSION_HISTOGRAM; i++)
		json_array_append_new(edges, json_real((double)session_edges_ns[i] / 1e9));
	return json_pack("{so so}", "edges_s", edges, "counts",
			 counts_of(disk->histogram, SESSION_HISTOGRAM));
}

json_t *report_object_disk(const struct report_disk *disk)
{
	json_t *o = json_object();

	json_object_set_new(o, "target", report_object_text(disk->target->path));
	json_object_set_new(o, "device", report_object_text(disk->target->device));
	json_object_set_new(o, "fs", report_object_text(disk->target->fs));
	json_object_set_new(o, "fs_uuid", report_object_text(disk->target->fs_uuid));
	json_object_set_new(o, "model", report_object_text(disk->target->model));
	json_object_set_new(o, "serial", report_object_text(disk->target->serial));
	set(o, "written_bytes", disk->written_bytes);
	set(o, "files", disk->file_count);
	json_object_set_new(o, "state", json_string(session_disk_state_name(disk->state)));
	json_object_set_new(o, "error",
			    disk->state == DISK_OK ? json_null() : report_object_text(disk->error));
	json_object_set_new(o, "io", json_string(disk->io));
	json_object_set_new(o, "engine", json_string(disk->engine));
	set(o, "depth", disk->depth);
	json_object_set_new(o, "rate_bps", json_real(disk->rate_bps));
	json_object_set_new(o, "worst_write_s", json_real(disk->worst_write_s));
	set(o, "worst_write_offset", disk->worst_write_offset);
	json_object_set_new(o, "worst_write_at_s", json_real(disk->worst_write_at_s));
	json_object_set_new(o, "write_hist", histogram_of(disk));
	json_object_set_new(o, "mark5_bins", counts_of(disk->mark5_bins, SESSION_MARK5_BINS));
	return o;
}
