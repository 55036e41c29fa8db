/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runtime.h - where running recorders can be asked how they are
 *
 *   recorder:  runtime_dir(create) -> runtime_address() -> bind, listen ... unlink
 *   reader:    runtime_dir() -> runtime_parse() of each entry -> runtime_address() -> connect
 *
 * A recorder listens on a stream socket NAME.PID.sock in the runtime directory, the first of
 *
 *   $VSIB_RUNTIME_DIR            whatever the user chose; made with mode 0755
 *   /run/vsib                    as root; mode 0755
 *   $XDG_RUNTIME_DIR/vsib        mode 0755 (the folder above is the user's alone)
 *   /tmp/vsib-UID                mode 0700; anybody may write to /tmp, so it must be a true
 *   directory, ours, and
 *                                closed to others
 *
 * Threads: all functions may be called from anywhere; they read the environment.
 */
#ifndef VSIB_RECORDER_RUNTIME_H
#define VSIB_RECORDER_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

/**
 * runtime_dir() - the directory in which the sockets lie
 * @buf:    gets the path, also when the call fails (for the sentence to the user)
 * @len:    PATH_MAX is always enough
 * @create: make it when it isn't there (the folder above it must be)
 *
 * Return: 0; -ENOENT it isn't there; -ENOTDIR not a directory; -EPERM the one under /tmp belongs to
 *         somebody else or is open to others; -ENAMETOOLONG; -EACCES, -EROFS and others from the
 *         file system.
 */
int runtime_dir(char *buf, size_t len, bool create);

/**
 * runtime_address() - the address of one recorder's socket
 * @name: of the recording, without '/'
 *
 * Return: 0; -ENAMETOOLONG: longer than the 107 bytes a socket's path may have; -EINVAL: a '/' in
 *         @name.
 */
int runtime_address(struct sockaddr_un *address, const char *dir, const char *name, long pid);

/**
 * runtime_parse() - take the file name of a socket apart
 * @file: "NAME.PID.sock"
 * @name: at least strlen(file) bytes
 *
 * Return: true; false: not the name of a socket of ours.
 */
bool runtime_parse(const char *file, char *name, long *pid);

#endif
