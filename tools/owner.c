/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/owner.h"

#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/layout.h"
#include "tools/recording.h"

static bool is_piece_of(const char *recording_path, const struct stat *st)
{
	struct recording_query query = { .recording = recording_path, .needs_journal = true };
	struct recording *recording;
	bool is_piece = recording_open(&recording, &query) == 0 &&
			recording_uses(recording, st->st_dev, st->st_ino);

	recording_free(recording);
	return is_piece;
}

/* The recording NAME in a directory, or NULL when the file isn't its own. */
static char *try_name(const char *dir, const char *name, size_t len, const struct stat *st)
{
	char *owner;

	if (asprintf(&owner, "%s/%.*s", dir, (int)len, name) < 0)
		return NULL;
	if (is_piece_of(owner, st))
		return owner;
	free(owner);
	return NULL;
}

/* NAME-copy, where NAME was written twice: beside the file, or beside its directory. */
static char *try_first_copy(const char *dir, const char *name, size_t len, const struct stat *st)
{
	size_t suffix_len = strlen(LAYOUT_COPY_SUFFIX);
	char *up, *owner;

	if (len <= suffix_len || strncmp(name + len - suffix_len, LAYOUT_COPY_SUFFIX, suffix_len) != 0)
		return NULL;
	owner = try_name(dir, name, len - suffix_len, st);
	if (owner || asprintf(&up, "%s/..", dir) < 0)
		return owner;
	owner = try_name(up, name, len - suffix_len, st);
	free(up);
	return owner;
}

char *owner_find(const char *path, const struct stat *st)
{
	char *copy = strdup(path), *base_copy = strdup(path), *owner = NULL;
	const char *dir, *base;
	size_t len;

	if (!copy || !base_copy)
		goto done;
	dir = dirname(copy);
	base = basename(base_copy);
	len = strcspn(base, ".");
	owner = try_name(dir, base, len, st);
	if (!owner && is_piece_of(dir, st))
		owner = strdup(dir);
	if (!owner)
		owner = try_first_copy(dir, base, len, st);
done:
	free(copy);
	free(base_copy);
	return owner;
}
