/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - runs a fuzz target over files, and over a number of inputs made from them, without libFuzzer
 *
 *   fuzz_NAME [-n COUNT] [-k KEPT] FILE|FOLDER ...
 *
 * The same files give the same inputs each time. KEPT is a file that holds the one that is being tried: when it ends
 * the program, fuzz_NAME KEPT does it again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "recorder/write_all.h"
#include "tests/fuzz/input.h"
#include "tools/array.h"

#define GROWTH_MAX 64 /* bytes that a mutation may add */
#define EDITS_MAX 5

struct seed {
	uint8_t *data;
	size_t len;
};

struct seeds {
	struct seed *list;
	size_t count;
};

/* xorshift64*: the same everywhere, unlike rand(). */
static uint64_t next_random(void)
{
	static uint64_t state = UINT64_C(0x2545f4914f6cdd1d);

	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * UINT64_C(0x2545f4914f6cdd1d);
}

static size_t random_below(size_t limit)
{
	return limit ? (size_t)(next_random() >> 16) % limit : 0;
}

/* ---- seeds --------------------------------------------------------------------------------------- */

static int read_seed(struct seeds *seeds, const char *path, size_t len)
{
	struct seed *seed = array_room(&seeds->list, seeds->count, sizeof(*seed));
	FILE *file = fopen(path, "rb");

	if (!seed || !file) {
		perror(path);
		if (file)
			fclose(file);
		return -EIO;
	}
	*seed = (struct seed){ .data = malloc(len + 1) };
	if (seed->data)
		seed->len = fread(seed->data, 1, len, file);
	fclose(file);
	seeds->count++;
	return seed->data ? 0 : -ENOMEM;
}

static int add_seeds(struct seeds *seeds, const char *path)
{
	struct dirent **names;
	struct stat st;
	int count, ret = 0;

	if (stat(path, &st) < 0) {
		perror(path);
		return -errno;
	}
	if (!S_ISDIR(st.st_mode))
		return read_seed(seeds, path, (size_t)st.st_size);
	count = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char inside[PATH_MAX];

		snprintf(inside, sizeof(inside), "%.*s/%s", PATH_MAX - NAME_MAX - 2, path,
			 names[i]->d_name);
		if (ret == 0 && names[i]->d_name[0] != '.')
			ret = add_seeds(seeds, inside);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
	return count < 0 ? -errno : ret;
}

static void free_seeds(struct seeds *seeds)
{
	for (size_t i = 0; i < seeds->count; i++)
		free(seeds->list[i].data);
	free(seeds->list);
}

/* ---- mutations ----------------------------------------------------------------------------------- */

/* Numbers at which parsers go wrong, little-endian, over what is there. */
static void put_number(uint8_t *data, size_t len)
{
	static const uint64_t numbers[] = { 0,         1,          UINT8_MAX, INT16_MAX, UINT16_MAX,
					    INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX };
	uint64_t number = numbers[random_below(sizeof(numbers) / sizeof(numbers[0]))];
	size_t at = random_below(len), bytes = (size_t)1 << random_below(4);

	for (size_t i = 0; i < bytes && at + i < len; i++)
		data[at + i] = (uint8_t)(number >> (8 * i));
}

/* A stretch from another seed, or from this one, over what is there. */
static void put_stretch(uint8_t *data, size_t len, const struct seed *from)
{
	size_t at = random_below(len), start = random_below(from->len);
	size_t most = len - at < from->len - start ? len - at : from->len - start;

	if (most > 0)
		memmove(data + at, from->data + start, 1 + random_below(most));
}

/* Some bytes go, or are there twice. Return: the new length. */
static size_t change_length(uint8_t *data, size_t len, size_t room)
{
	size_t at = random_below(len), bytes = 1 + random_below(len - at);

	if (next_random() >> 63) {
		memmove(data + at, data + at + bytes, len - at - bytes);
		return len - bytes;
	}
	if (bytes > room - len)
		bytes = room - len;
	memmove(data + at + bytes, data + at, len - at);
	return len + bytes;
}

static size_t mutate(const struct seeds *seeds, const struct seed *seed, uint8_t *data)
{
	size_t len = seed->len;

	memcpy(data, seed->data, len);
	for (size_t edits = 1 + random_below(EDITS_MAX); edits > 0 && len > 0; edits--) {
		switch (random_below(5)) {
		case 0:
			data[random_below(len)] ^= (uint8_t)(1 << random_below(8));
			break;
		case 1:
			data[random_below(len)] = (uint8_t)next_random();
			break;
		case 2:
			put_number(data, len);
			break;
		case 3:
			put_stretch(data, len, &seeds->list[random_below(seeds->count)]);
			break;
		default:
			len = change_length(data, len, seed->len + GROWTH_MAX);
		}
	}
	return len;
}

/* ---- running ------------------------------------------------------------------------------------- */

static int keep(int fd, const uint8_t *data, size_t len)
{
	if (fd < 0)
		return 0;
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return write_all(fd, data, len);
}

/* In memory of exactly its length, so that a read behind it is found. */
static int run(int kept_fd, const uint8_t *data, size_t len)
{
	unsigned char *copy;
	int ret = keep(kept_fd, data, len);

	if (ret < 0)
		return ret;
	copy = input_copy(data, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
	return 0;
}

static int run_all(const struct seeds *seeds, unsigned long count, int kept_fd)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < seeds->count; i++)
		ret = run(kept_fd, seeds->list[i].data, seeds->list[i].len);
	for (unsigned long i = 0; ret == 0 && i < count; i++) {
		const struct seed *seed = &seeds->list[i % seeds->count];
		uint8_t *data = malloc(seed->len + GROWTH_MAX);

		ret = data ? run(kept_fd, data, mutate(seeds, seed, data)) : -ENOMEM;
		free(data);
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct seeds seeds = { 0 };
	unsigned long count = 0;
	int kept_fd = -1, ret = 0, option;

	while ((option = getopt(argc, argv, "n:k:")) != -1) {
		if (option == 'n')
			count = strtoul(optarg, NULL, 10);
		else if (option == 'k')
			kept_fd = open(optarg, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		else
			return EX_USAGE;
	}
	for (int i = optind; ret == 0 && i < argc; i++)
		ret = add_seeds(&seeds, argv[i]);
	if (ret == 0 && seeds.count == 0) {
		fprintf(stderr, "%s: no files are given\n", argv[0]);
		ret = -ENOENT;
	}
	if (ret == 0)
		ret = run_all(&seeds, count, kept_fd);
	if (ret == 0)
		printf("%zu seeds, %lu mutations\n", seeds.count, count);
	else
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-ret));
	free_seeds(&seeds);
	if (kept_fd >= 0)
		close(kept_fd);
	return ret == 0 ? EX_OK : EX_NOINPUT;
}
