/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tools/recording_parts.h"

bool recording_place(const struct recording *recording, size_t index, struct recording_place *place)
{
	if (index >= recording->place_count)
		return false;
	*place = (struct recording_place){
		.path = recording->places[index].path,
		.fd = recording->places[index].fd,
		.target = recording->places[index].target,
	};
	return true;
}

bool recording_file(const struct recording *recording, size_t index, struct recording_file *file)
{
	const struct history *history = recording->history;
	const struct data_file *found;

	if (index >= recording->file_count)
		return false;
	found = &recording->files[index];
	*file = (struct recording_file){
		.file = found->name,
		.final_file = history ? history->files[index]->name : found->name,
		.place = found->place,
		.target = history ? (int)history->files[index]->target : -1,
		.bytes = found->place >= 0 ? found->bytes : 0,
	};
	return true;
}

bool recording_journal(const struct recording *recording, size_t index, struct recording_journal *journal)
{
	if (index >= recording->journal_count)
		return false;
	*journal = (struct recording_journal){
		.path = recording->journals[index],
		.file = recording->journal_files[index].file,
		.place = recording->journal_files[index].file ? recording->journal_files[index].place :
								-1,
	};
	return true;
}

/* Not another file that took its name meanwhile. */
static int open_same(const struct place *place, const char *name, dev_t device, ino_t inode)
{
	struct stat st;
	int fd = place_open_file(place, name, &st);

	if (fd < 0 || (st.st_dev == device && st.st_ino == inode))
		return fd;
	close(fd);
	return -ESTALE;
}

int recording_open_file(const struct recording *recording, size_t index)
{
	const struct data_file *file;

	if (index >= recording->file_count || recording->files[index].place < 0)
		return -ENOENT;
	file = &recording->files[index];
	return open_same(&recording->places[file->place], file->name, file->device, file->inode);
}

int recording_open_journal(const struct recording *recording, size_t index)
{
	struct recording_journal journal;

	if (!recording_journal(recording, index, &journal) || journal.place < 0)
		return -ENOENT;
	return open_same(&recording->places[journal.place], journal.file,
			 recording->journal_files[index].device,
			 recording->journal_files[index].inode);
}
