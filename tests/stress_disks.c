/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_disks.c - disks that stall and come back all the time, fail now and then, are aborted or not waited for
 *
 * Every recording has its own seed; what fails is told with it. `stress_disks FIRST COUNT` runs these seeds.
 * Whatever happens: the account closes, each byte is in a file or a gap, and nothing is on a disk twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "drivers/units.h"
#include "tests/session_kit.h"

#define MS INT64_C(1000000)
#define SEEDS 140

struct trouble {
	bool has_errors, is_aborted, is_not_waited_for;
	unsigned slow_one_in, error_one_in[KIT_DISKS];
};

static struct kit kit;
static struct fake_disk good;
static struct trouble trouble;
static _Atomic uint64_t seed_state; /* also the disks' threads draw from it */

static uint64_t chance(uint64_t below)
{
	uint64_t x = atomic_fetch_add(&seed_state, UINT64_C(0x9e3779b97f4a7c15));

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (x ^ (x >> 31)) % below;
}

static void sleep_ns(int64_t ns)
{
	struct timespec pause = { .tv_sec = ns / UNITS_NS_PER_S, .tv_nsec = ns % UNITS_NS_PER_S };

	nanosleep(&pause, NULL);
}

/* ---- the disks ---- */

static bool fails(const struct sink_io *io)
{
	const struct fake_disk *disk = (const struct fake_disk *)io;
	unsigned one_in = trouble.error_one_in[disk - kit.disks];

	if (chance(trouble.slow_one_in) == 0)
		sleep_ns((int64_t)chance(80 * (uint64_t)MS));
	if (one_in == 0 || chance(one_in) > 0)
		return false;
	errno = EIO;
	return true;
}

/* A file is opened once more only to take back what others have now: what can't be taken back is there twice. */
static int bad_open(const struct sink_io *io, int dir_fd, const char *name, int flags)
{
	return (flags & O_CREAT) && fails(io) ? -1 : good.io.open(io, dir_fd, name, flags);
}

static ssize_t bad_write(const struct sink_io *io, int fd, const void *data, size_t bytes, off_t offset)
{
	return fails(io) ? -1 : good.io.write(io, fd, data, bytes, offset);
}

static int bad_sync(const struct sink_io *io, int fd)
{
	return fails(io) ? -1 : good.io.sync(io, fd);
}

static int bad_sync_directory(const struct sink_io *io, int fd)
{
	return fails(io) ? -1 : good.io.sync_directory(io, fd);
}

static int bad_allocate(const struct sink_io *io, int fd, off_t offset, off_t bytes)
{
	return fails(io) ? -1 : good.io.allocate(io, fd, offset, bytes);
}

/* A Mark6 file that can't be cut keeps the blocks that others have now, and readers know them by their numbers. */
static int bad_cut(const struct sink_io *io, int fd, off_t bytes)
{
	return kit.config.layout != LAYOUT_MARK6 && fails(io) ? -1 : good.io.cut(io, fd, bytes);
}

static int bad_rename(const struct sink_io *io, int dir_fd, const char *from, const char *to)
{
	return fails(io) ? -1 : good.io.rename(io, dir_fd, from, to);
}

static int bad_align(const struct sink_io *io, int fd, struct sink_alignment *alignment)
{
	return good.io.align(io, fd, alignment);
}

static int bad_remove(const struct sink_io *io, int dir_fd, const char *name)
{
	return good.io.remove(io, dir_fd, name);
}

static const struct sink_io bad_io = {
	.open = bad_open,
	.write = bad_write,
	.sync = bad_sync,
	.sync_directory = bad_sync_directory,
	.allocate = bad_allocate,
	.cut = bad_cut,
	.rename = bad_rename,
	.align = bad_align,
	.remove = bad_remove,
};

/* ---- a recording ---- */

static void draw_shape(unsigned disk_count)
{
	struct session_config *config = &kit.config;
	unsigned shape = (unsigned)chance(disk_count > 1 ? 9 : 4);

	if (disk_count == 1 && shape == 3)
		shape = 7;
	config->layout = shape < 2 ? LAYOUT_VBS : shape < 7 ? LAYOUT_RAW : LAYOUT_MARK6;
	config->packet_bytes = 1 + chance(1000);
	config->stripe = disk_count > 1 && shape >= 1 && (shape <= 4 || shape == 8) ? STRIPE_ROUND :
										      STRIPE_ANY;
	config->unit_bytes = shape == 4 ? 5000 : 0;
	if (shape == 3 || shape == 5 || (shape == 2 && disk_count == 1))
		config->file_bytes = 100000; /* several runs */
	if (shape == 6)
		config->file_bytes = 5000;
	if (disk_count > 1 && (shape < 2 || shape == 6)) /* what can be written twice */
		config->copies = 1 + (unsigned)chance(2);
	if (disk_count > 2 && shape >= 2 && shape <= 3 && chance(2)) { /* by blocks in turn */
		config->use_parity = true;
		config->file_bytes = shape == 3 ? 24 * KIT_BLOCK : 0;
	}
	if (disk_count > 1 && shape != 6 && chance(3) == 0) /* very short runs */
		config->chunk_bytes = KIT_BLOCK;
	config->depth = 1 + (unsigned)chance(8);
	config->disk_timeout_ns = 15 * MS;
}

static void draw(uint64_t seed)
{
	unsigned disk_count;

	atomic_store(&seed_state, seed * 1000003);
	disk_count = 1 + (unsigned)chance(KIT_DISKS);
	kit_open(&kit, disk_count);
	good = kit.disks[0];
	draw_shape(disk_count);
	trouble = (struct trouble){
		.has_errors = chance(2),
		.is_aborted = chance(6) == 0,
		.is_not_waited_for = chance(6) == 0,
		.slow_one_in = 20 + (unsigned)chance(60),
	};
	for (unsigned i = 0; i < disk_count; i++) {
		kit.disks[i].io = bad_io;
		if (trouble.has_errors && chance(2))
			trouble.error_one_in[i] = 20 + (unsigned)chance(200);
	}
	fake_source_script.bytes = 600000;
	fake_source_script.piece_max = chance(2) ? 0 : 6000;
	fake_source_script.can_wait = chance(3);
	fake_source_script.pause_ns = fake_source_script.can_wait ? 0 : MS / 2;
}

/* NULL when all is right. */
static const char *record(void)
{
	static char account[1024];
	struct account_sum sum;
	bool is_free;

	if (kit_start(&kit) < 0)
		return kit.refusal.text;
	if (trouble.is_aborted || trouble.is_not_waited_for)
		sleep_ns((int64_t)chance(300) * MS);
	if (trouble.is_aborted)
		session_abort(kit.session);
	if (trouble.is_not_waited_for)
		session_stop(kit.session, STOP_SIGNAL);
	is_free = kit_end(&kit, trouble.is_not_waited_for ? 0 : 30 * UNITS_NS_PER_S,
			  trouble.is_not_waited_for ? (int64_t)chance(100) * MS : 5 * UNITS_NS_PER_S);
	sum = session_sum(kit.session);
	if (!account_check(&kit.session->account, &sum, account, sizeof(account)))
		return account;
	if (!is_free)
		return trouble.is_not_waited_for ? NULL :
						   "something is still held though nothing is stuck";
	return kit_check(&kit);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : SEEDS;
	unsigned wrong_count = 0;

	for (uint64_t seed = first; seed < first + count; seed++) {
		const char *error;

		draw(seed);
		error = record();
		if (error) {
			printf("seed %" PRIu64 ": %s\n", seed, error);
			wrong_count++;
		}
		kit_close(&kit);
	}
	printf("%" PRIu64 " recordings, %u wrong\n", count, wrong_count);
	return wrong_count > 0;
}
