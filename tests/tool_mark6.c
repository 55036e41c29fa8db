/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_mark6 - what a set of Mark6 scatter-gather files holds, read by nothing but their headers
 *
 *   tool_mark6 [-c] [-t] -f FORMAT -p PACKET [-b BLOCK] [-o OUT] FILE...
 *
 *   -c         the recorder has crashed: numbers may be missing
 *   -t         and what no header explains ends a file, instead of being wrong
 *   -f FORMAT  0 VDIF, 1 Mark5B, 2 unknown; -p PACKET bytes of a packet; -b BLOCK the nominal block length:
 *              each must stand in every file's header
 *   -o OUT     the blocks' packets go there, in the order of the blocks' numbers
 *
 * Prints a line a block, "block NUMBER FILE OFFSET BYTES" (of its packets), and "total BLOCKS BYTES".
 * Status: 0 the files are right, and the numbers are 0, 1, 2 ..., each once; 1 not so; 2 can't read or write; 64 usage.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_TROUBLE 2
#define EXIT_USAGE 64
#define BLOCKS_MAX 1000000

struct block {
	uint32_t number, bytes;
	uint64_t offset;
	const char *path;
};

struct set {
	bool has_crashed, has_tail, is_wrong;
	uint32_t format, packet_bytes, block_bytes;
	const char *out;
	struct block *blocks;
	size_t count;
};

static void wrong(struct set *set, const char *path, uint64_t offset, const char *what, uint32_t value)
{
	fprintf(stderr, "%s at %" PRIu64 ": %s %" PRIu32 "\n", path, offset, what, value);
	set->is_wrong = true;
}

static uint32_t word_at(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static void check_word(struct set *set, const char *path, const unsigned char *header, unsigned at,
		       uint32_t expected, const char *what)
{
	if (word_at(header + at) != expected)
		wrong(set, path, at, what, word_at(header + at));
}

/* The nominal block length; 0: no header. */
static uint32_t read_file_header(struct set *set, FILE *f, const char *path)
{
	unsigned char header[20];

	if (fread(header, sizeof(header), 1, f) != 1) {
		wrong(set, path, 0, "no header of bytes", 20);
		return 0;
	}
	check_word(set, path, header, 0, 0xfeed6666, "sync word");
	check_word(set, path, header, 4, 2, "version");
	check_word(set, path, header, 12, set->format, "packet format");
	check_word(set, path, header, 16, set->packet_bytes, "packet size");
	if (set->block_bytes)
		check_word(set, path, header, 8, set->block_bytes, "block size");
	return word_at(header + 8);
}

static bool is_possible(const struct set *set, const struct block *block, uint32_t length,
			uint32_t longest, uint64_t file_end)
{
	return length > 8 && length <= longest && block->bytes % set->packet_bytes == 0 &&
	       block->offset + block->bytes <= file_end;
}

static bool read_blocks(struct set *set, FILE *f, const char *path)
{
	uint32_t longest = read_file_header(set, f, path);
	uint64_t at = 20, end;
	unsigned char header[8];

	if (fseeko(f, 0, SEEK_END) < 0)
		return false;
	end = (uint64_t)ftello(f);
	while (longest && at < end) {
		struct block block = { .path = path, .offset = at + 8 };
		uint32_t length = 0;

		if (fseeko(f, (off_t)at, SEEK_SET) < 0)
			return false;
		if (fread(header, sizeof(header), 1, f) == 1) {
			block.number = word_at(header);
			length = word_at(header + 4);
			block.bytes = length - 8;
		}
		if (!is_possible(set, &block, length, longest, end)) {
			if (!set->has_tail)
				wrong(set, path, at, "no whole block, its length is", length);
			return true;
		}
		if (set->count == BLOCKS_MAX)
			return false;
		set->blocks[set->count++] = block;
		printf("block %" PRIu32 " %s %" PRIu64 " %" PRIu32 "\n", block.number, path,
		       block.offset, block.bytes);
		at += length;
	}
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct block *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

static void check_numbers(struct set *set)
{
	uint32_t expected = 0;

	for (size_t i = 0; i < set->count; i++) {
		const struct block *block = &set->blocks[i];

		if (i && block->number == set->blocks[i - 1].number)
			wrong(set, block->path, block->offset, "once more there is number",
			      block->number);
		else if (block->number != expected && !set->has_crashed)
			wrong(set, block->path, block->offset, "behind a hole comes number",
			      block->number);
		expected = block->number + 1;
	}
}

static bool copy_block(const struct block *block, FILE *out)
{
	FILE *f = fopen(block->path, "r");
	char *data = malloc(block->bytes);
	bool is_copied = f && data && fseeko(f, (off_t)block->offset, SEEK_SET) == 0 &&
			 fread(data, block->bytes, 1, f) == 1 &&
			 fwrite(data, block->bytes, 1, out) == 1;

	free(data);
	if (f)
		fclose(f);
	return is_copied;
}

static bool copy_all(const struct set *set)
{
	FILE *out = fopen(set->out, "w");
	bool is_copied = out != NULL;

	for (size_t i = 0; i < set->count && is_copied; i++)
		is_copied = copy_block(&set->blocks[i], out);
	if (out && fclose(out) != 0)
		is_copied = false;
	return is_copied;
}

static int run(struct set *set, char **paths, int count)
{
	uint64_t bytes = 0;

	set->blocks = calloc(BLOCKS_MAX, sizeof(set->blocks[0]));
	if (!set->blocks)
		return EXIT_TROUBLE;
	for (int i = 0; i < count; i++) {
		FILE *f = fopen(paths[i], "r");
		bool is_read = f && read_blocks(set, f, paths[i]);

		if (!is_read)
			fprintf(stderr, "%s: %s\n", paths[i], strerror(errno));
		if (f)
			fclose(f);
		if (!is_read)
			return EXIT_TROUBLE;
	}
	qsort(set->blocks, set->count, sizeof(set->blocks[0]), by_number);
	check_numbers(set);
	if (set->out && !copy_all(set))
		return EXIT_TROUBLE;
	for (size_t i = 0; i < set->count; i++)
		bytes += set->blocks[i].bytes;
	printf("total %zu %" PRIu64 "\n", set->count, bytes);
	return set->is_wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct set set = { .format = UINT32_MAX };
	int option, status;

	while ((option = getopt(argc, argv, "ctf:p:b:o:")) != -1) {
		switch (option) {
		case 'c':
			set.has_crashed = true;
			break;
		case 't':
			set.has_tail = true;
			break;
		case 'f':
			set.format = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'p':
			set.packet_bytes = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'b':
			set.block_bytes = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'o':
			set.out = optarg;
			break;
		default:
			return EXIT_USAGE;
		}
	}
	if (set.packet_bytes == 0 || set.format == UINT32_MAX || optind == argc)
		return EXIT_USAGE;
	status = run(&set, argv + optind, argc - optind);
	free(set.blocks);
	return status;
}
