/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observe.h - ask the running recorders how they are
 *
 *   observe_all() -> look at the array -> observe_free()
 *
 * Looks only: nothing is sent, no socket is removed, and nobody is waited for longer than
 * OBSERVE_WAIT_MS.
 *
 * Threads: one caller at a time.
 */
#ifndef VSIB_TOOLS_OBSERVE_H
#define VSIB_TOOLS_OBSERVE_H

#include <jansson.h>
#include <stddef.h>

#define OBSERVE_WAIT_MS 2000
#define OBSERVE_ANSWER_MAX ((size_t)4 << 20)

struct observed {
	char *file; /* of the socket, in the runtime directory */
	char *name; /* of the recording */
	long pid;
	/*
	 * 0; -ECONNREFUSED nobody listens any more; -ETIMEDOUT connected, and no whole answer in
	 * time; -EACCES; -EBADMSG the answer is not a JSON object; -EMSGSIZE; others
	 */
	int error;
	char *text;     /* the answer on one line, without newline; NULL with an error */
	json_t *object; /* the same, understood */
};

/**
 * observe_all() - ask each recorder whose socket lies in @dir
 * @select: name or process number of the only one wanted; NULL: all
 * @list:   in the order of their names; a recorder that ended meanwhile is not in it
 *
 * Return: 0; -ENOMEM; -EACCES and others when the directory can't be read.
 */
int observe_all(const char *dir, const char *select, struct observed **list, size_t *count);

/** observe_free() - NULL is fine */
void observe_free(struct observed *list, size_t count);

#endif
