/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/runtime.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOCKET_SUFFIX ".sock"

static __attribute__((format(printf, 3, 4))) int print_path(char *buf, size_t len,
							    const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(buf, len, format, args);
	va_end(args);
	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

static const char *environment(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value ? value : NULL;
}

static int choose_dir(char *buf, size_t len, bool *is_in_tmp)
{
	const char *chosen = environment("VSIB_RUNTIME_DIR");
	const char *session = environment("XDG_RUNTIME_DIR");

	*is_in_tmp = false;
	if (chosen)
		return print_path(buf, len, "%s", chosen);
	if (geteuid() == 0)
		return print_path(buf, len, "/run/vsib");
	if (session)
		return print_path(buf, len, "%s/vsib", session);
	*is_in_tmp = true;
	return print_path(buf, len, "/tmp/vsib-%lu", (unsigned long)geteuid());
}

/*
 * mkdir() takes bits away by the umask: a recorder started with umask 077 would hide its status
 * from everybody.
 */
static int make_dir(const char *path, mode_t mode)
{
	if (mkdir(path, mode) < 0)
		return errno == EEXIST ? 0 : -errno;
	return chmod(path, mode) < 0 ? -errno : 0;
}

/* Somebody else may have made a directory or a link of that name in /tmp before us. */
static int check_dir(const char *path, bool is_in_tmp)
{
	struct stat st;

	if ((is_in_tmp ? lstat(path, &st) : stat(path, &st)) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (is_in_tmp && (st.st_uid != geteuid() || (st.st_mode & (S_IRWXG | S_IRWXO))))
		return -EPERM;
	return 0;
}

int runtime_dir(char *buf, size_t len, bool create)
{
	bool is_in_tmp;
	int ret;

	ret = choose_dir(buf, len, &is_in_tmp);
	if (ret < 0)
		return ret;
	if (create) {
		ret = make_dir(buf, is_in_tmp ? 0700 : 0755);
		if (ret < 0)
			return ret;
	}
	return check_dir(buf, is_in_tmp);
}

int runtime_address(struct sockaddr_un *address, const char *dir, const char *name, long pid)
{
	if (strchr(name, '/'))
		return -EINVAL;
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	return print_path(address->sun_path, sizeof(address->sun_path), "%s/%s.%ld" SOCKET_SUFFIX,
			  dir, name, pid);
}

bool runtime_parse(const char *file, char *name, long *pid)
{
	size_t len = strlen(file);
	const char *dot;
	char *end;

	if (len <= strlen(SOCKET_SUFFIX) ||
	    strcmp(file + len - strlen(SOCKET_SUFFIX), SOCKET_SUFFIX) != 0)
		return false;
	len -= strlen(SOCKET_SUFFIX);
	dot = memrchr(file, '.', len);
	if (!dot || dot == file || dot[1] < '1' || dot[1] > '9')
		return false;
	errno = 0;
	*pid = strtol(dot + 1, &end, 10);
	if (errno || end != file + len || *pid > INT_MAX)
		return false;
	memcpy(name, file, (size_t)(dot - file));
	name[dot - file] = '\0';
	return true;
}
