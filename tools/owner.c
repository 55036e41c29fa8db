/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/owner.h"

#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/recording.h"

static bool is_piece_of(const char *recording_path, const struct stat *st)
{
	struct recording_query query = { .recording = recording_path };
	struct recording *recording;
	bool is_piece = recording_open(&recording, &query) == 0 && recording_info(recording)->journal &&
			recording_uses(recording, st->st_dev, st->st_ino);

	recording_free(recording);
	return is_piece;
}

char *owner_find(const char *path, const struct stat *st)
{
	char *copy = strdup(path), *base_copy = strdup(path), *owner = NULL;
	const char *dir, *base;

	if (!copy || !base_copy)
		goto done;
	dir = dirname(copy);
	base = basename(base_copy);
	if (asprintf(&owner, "%s/%.*s", dir, (int)strcspn(base, "."), base) < 0)
		owner = NULL;
	if (owner && is_piece_of(owner, st))
		goto done;
	free(owner);
	owner = is_piece_of(dir, st) ? strdup(dir) : NULL;
done:
	free(copy);
	free(base_copy);
	return owner;
}
