/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_faultfs - a file system that shows the files of another directory, and fails, dawdles or hangs as it is told
 *
 *   tool_faultfs [-s] BACKING MOUNTPOINT CONTROL  stays in the foreground until it is unmounted or killed
 *   tool_faultfs -c CONTROL [WORD]...             tells it what to do from now on; prints its counters
 *
 * -s: synchronous. The kernel waits for each direct write in the call that makes it, io_uring's too, instead of having
 * several under way; only then can a write be short: of several at once it makes EIO.
 *
 * CONTROL is a Unix socket, beside the mount and not in it: it answers while everything in the mount hangs. The words
 * of one call are taken together, in their order, before it answers:
 *
 *   OP:WHAT[,WHAT]...[@AFTER][*TIMES]   OP  write read fsync fsyncdir fallocate open create rename truncate unlink mkdir
 *       WHAT   EIO and the like   it fails with that
 *              stall=SECONDS      it takes so long, then does the rest of WHAT, or succeeds
 *              hang               it doesn't come back before `go`
 *              short=BYTES        of a write at most so many bytes are taken (-s)
 *       AFTER  not before so many bytes (of writes and reads; -s: where an error for ever comes in the middle of one, the part
 *              before it is taken, as a full disk does it) or calls (of all else), from this word on; k, M: decimal
 *       TIMES  then so often, else for ever
 *   OP:ok             no fault any more
 *   only=PATTERN      faults meet only files whose name (without directories) matches, as the shell does it
 *   rate=BYTES        a second that are written at most; 0 = no limit
 *   direct=aligned    O_DIRECT wants multiples of 4096 bytes, as disks do; the default
 *          open       O_DIRECT is refused when a file is opened,   write   or when it is written to (EINVAL)
 *   statfs=full | ok  tells that nothing is free
 *   go                all that hang or stall now go on
 *   reset             all as in the beginning, and `go`
 *
 * The answer: held=OPERATIONS-THAT-HANG-NOW met=FAULTS-SO-FAR written=BYTES. A sync is not passed on: no power is cut.
 * Status of -c: 0; 1 a word it doesn't know; 2 nobody there. Of the other: 69 without FUSE; 64 usage.
 */
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fuse3/fuse.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define FOR_EVER UINT64_MAX
#define NS_PER_S INT64_C(1000000000)
#define ALIGN 4096
#define WORDS_MAX 4096
#define EXIT_NOBODY 2

enum op {
	OP_WRITE,
	OP_READ,
	OP_FSYNC,
	OP_FSYNCDIR,
	OP_FALLOCATE,
	OP_OPEN,
	OP_CREATE,
	OP_RENAME,
	OP_TRUNCATE,
	OP_UNLINK,
	OP_MKDIR,
	OP_COUNT
};

static const char *const op_names[] = { "write",     "read",   "fsync",  "fsyncdir",
					"fallocate", "open",   "create", "rename",
					"truncate",  "unlink", "mkdir" };

enum direct { DIRECT_ALIGNED, DIRECT_NOT_OPENED, DIRECT_NOT_WRITTEN };

struct fault {
	int error;          /* 0 = it succeeds in the end */
	int64_t stall_ns;   /* INT64_MAX = until `go` */
	size_t short_bytes; /* 0 = no limit */
	uint64_t after;     /* bytes or calls to pass before it */
	uint64_t times;     /* still to be met; 0 = no fault */
};

/* One mount, one state; all of it under the lock. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t go;
	uint64_t go_count; /* who waits looks whether it has grown */
	struct fault faults[OP_COUNT];
	char only[NAME_MAX + 1];
	enum direct direct;
	bool is_full;
	uint64_t rate_bytes;  /* a second; 0 = no limit */
	int64_t rate_free_ns; /* when the disk has done all writes before */
	unsigned held_count;
	uint64_t met_count;
	uint64_t written_bytes;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .only = "*" };

static int root_fd; /* the backing directory */
static int control_fd;
static bool is_synchronous;

struct handle {
	int fd;
	char name[]; /* without directories */
};

/* ---- faults -------------------------------------------------------------------------------------- */

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * What meets an operation on the file @name; @bytes of a write, which may become less. Called with the lock held.
 */
static struct fault draw(enum op op, const char *name, size_t *bytes)
{
	struct fault *fault = &state.faults[op];
	uint64_t weight = bytes ? *bytes : 1;

	if (fault->times == 0 || fnmatch(state.only, name, 0) != 0)
		return (struct fault){ 0 };
	if (fault->after >= weight) {
		fault->after -= weight;
		return (struct fault){ 0 };
	}
	if (is_synchronous && bytes && fault->after >= ALIGN && fault->error &&
	    fault->times == FOR_EVER) {
		/* whole blocks */
		*bytes = (size_t)(fault->after / ALIGN * ALIGN);
		fault->after = 0;
		return (struct fault){ 0 };
	}
	fault->after = 0;
	if (fault->times != FOR_EVER)
		fault->times--;
	state.met_count++;
	if (bytes && fault->short_bytes && fault->short_bytes < *bytes)
		*bytes = fault->short_bytes;
	return *fault;
}

/* Until then, or `go`. Called with the lock held. */
static void hold_until(int64_t end_ns)
{
	uint64_t go_count = state.go_count;
	struct timespec end = timespec_of(end_ns);
	int ret = 0;

	state.held_count++;
	while (state.go_count == go_count && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&state.go, &state.lock, &end);
	state.held_count--;
}

/* Every operation begins here, a write with its @bytes. Return: 0, or the -errno it is to end with. */
static int meet(enum op op, const char *name, size_t *bytes)
{
	struct fault fault;

	pthread_mutex_lock(&state.lock);
	fault = draw(op, name, bytes);
	if (fault.stall_ns)
		hold_until(fault.stall_ns == INT64_MAX ? INT64_MAX : now_ns() + fault.stall_ns);
	pthread_mutex_unlock(&state.lock);
	return -fault.error;
}

/* A disk of that rate does one write after the other. */
static void take_time(size_t bytes)
{
	int64_t now = now_ns(), end_ns = now;
	struct timespec end;

	pthread_mutex_lock(&state.lock);
	state.written_bytes += bytes;
	if (state.rate_bytes) {
		if (state.rate_free_ns < now)
			state.rate_free_ns = now;
		state.rate_free_ns += (int64_t)((double)bytes / (double)state.rate_bytes * 1e9);
		end_ns = state.rate_free_ns;
	}
	pthread_mutex_unlock(&state.lock);
	end = timespec_of(end_ns);
	if (end_ns > now)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

/* ---- the file system: what is asked for here is asked of the directory behind ---------------------- */

static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh; /* NOLINT(performance-no-int-to-ptr): libfuse keeps it as a number */
}

static int result(int ret)
{
	return ret < 0 ? -errno : 0;
}

/* Takes @fd over, or closes it. */
static int keep_handle(struct fuse_file_info *fi, int fd, const char *path)
{
	const char *name = last_part(path);
	struct handle *handle = malloc(sizeof(*handle) + strlen(name) + 1);

	if (!handle) {
		close(fd);
		return -ENOMEM;
	}
	handle->fd = fd;
	strcpy(handle->name, name);
	fi->fh = (uintptr_t)handle;
	/*
	 * Each write comes here, as it was made, before it returns; readers may as well use the page cache. For O_DIRECT
	 * the kernel has two ways, of which this one loses its place behind a short write of io_uring.
	 */
	fi->direct_io =
		(fi->flags & O_ACCMODE) != O_RDONLY && !(is_synchronous && (fi->flags & O_DIRECT));
	return 0;
}

static int open_file(enum op op, const char *path, mode_t mode, struct fuse_file_info *fi)
{
	int ret = meet(op, last_part(path), NULL), fd;
	bool is_direct_refused;

	pthread_mutex_lock(&state.lock);
	is_direct_refused = state.direct == DIRECT_NOT_OPENED;
	pthread_mutex_unlock(&state.lock);
	if (ret == 0 && (fi->flags & O_DIRECT) && is_direct_refused)
		ret = -EINVAL;
	if (ret < 0)
		return ret;
	/* the kernel says where to append to; and the directory behind may not know O_DIRECT itself */
	fd = openat(root_fd, below(path), (fi->flags & ~(O_APPEND | O_DIRECT)) | O_CLOEXEC, mode);
	return fd < 0 ? -errno : keep_handle(fi, fd, path);
}

static int faultfs_open(const char *path, struct fuse_file_info *fi)
{
	return open_file(OP_OPEN, path, 0, fi);
}

static int faultfs_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	fi->flags |= O_CREAT;
	return open_file(OP_CREATE, path, mode, fi);
}

static int faultfs_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close(handle_of(fi)->fd);
	free(handle_of(fi));
	return 0;
}

static int faultfs_read(const char *path, char *buf, size_t bytes, off_t offset,
			struct fuse_file_info *fi)
{
	int ret = meet(OP_READ, handle_of(fi)->name, &bytes);
	ssize_t n;

	(void)path;
	if (ret < 0)
		return ret;
	n = pread(handle_of(fi)->fd, buf, bytes, offset);
	return n < 0 ? -errno : (int)n;
}

static bool is_direct_wrong(size_t bytes, off_t offset)
{
	enum direct direct;

	pthread_mutex_lock(&state.lock);
	direct = state.direct;
	pthread_mutex_unlock(&state.lock);
	return direct == DIRECT_NOT_WRITTEN || bytes % ALIGN || offset % ALIGN;
}

static int faultfs_write(const char *path, const char *buf, size_t bytes, off_t offset,
			 struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);
	ssize_t n;
	int ret;

	(void)path;
	if ((fi->flags & O_DIRECT) && is_direct_wrong(bytes, offset))
		return -EINVAL;
	ret = meet(OP_WRITE, handle->name, &bytes);
	if (ret < 0)
		return ret;
	take_time(bytes);
	n = pwrite(handle->fd, buf, bytes, offset);
	return n < 0 ? -errno : (int)n;
}

static int faultfs_fsync(const char *path, int is_data_only, struct fuse_file_info *fi)
{
	(void)path, (void)is_data_only;
	return meet(OP_FSYNC, handle_of(fi)->name, NULL);
}

static int faultfs_fallocate(const char *path, int mode, off_t offset, off_t bytes,
			     struct fuse_file_info *fi)
{
	int ret = meet(OP_FALLOCATE, handle_of(fi)->name, NULL);

	(void)path;
	return ret < 0 ? ret : result(fallocate(handle_of(fi)->fd, mode, offset, bytes));
}

static int faultfs_truncate(const char *path, off_t bytes, struct fuse_file_info *fi)
{
	int ret = meet(OP_TRUNCATE, fi ? handle_of(fi)->name : last_part(path), NULL), fd;

	if (ret < 0)
		return ret;
	if (fi)
		return result(ftruncate(handle_of(fi)->fd, bytes));
	fd = openat(root_fd, below(path), O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = result(ftruncate(fd, bytes));
	close(fd);
	return ret;
}

static int faultfs_rename(const char *from, const char *to, unsigned flags)
{
	int ret = meet(OP_RENAME, last_part(from), NULL);

	return ret < 0 ? ret : result(renameat2(root_fd, below(from), root_fd, below(to), flags));
}

static int faultfs_unlink(const char *path)
{
	int ret = meet(OP_UNLINK, last_part(path), NULL);

	return ret < 0 ? ret : result(unlinkat(root_fd, below(path), 0));
}

static int faultfs_mkdir(const char *path, mode_t mode)
{
	int ret = meet(OP_MKDIR, last_part(path), NULL);

	return ret < 0 ? ret : result(mkdirat(root_fd, below(path), mode));
}

static int faultfs_rmdir(const char *path)
{
	return result(unlinkat(root_fd, below(path), AT_REMOVEDIR));
}

static int faultfs_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	return result(fi ? fstat(handle_of(fi)->fd, st) :
			   fstatat(root_fd, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int faultfs_statfs(const char *path, struct statvfs *vfs)
{
	int ret = result(fstatvfs(root_fd, vfs));

	(void)path;
	pthread_mutex_lock(&state.lock);
	if (state.is_full)
		vfs->f_bfree = vfs->f_bavail = 0;
	pthread_mutex_unlock(&state.lock);
	return ret;
}

static int faultfs_opendir(const char *path, struct fuse_file_info *fi)
{
	int fd = openat(root_fd, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : keep_handle(fi, fd, path);
}

static int faultfs_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
			   struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	int fd = openat(handle_of(fi)->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	(void)path, (void)offset, (void)flags;
	if (!dir) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return -code;
	}
	while ((entry = readdir(dir)) != NULL) {
		struct stat st = { .st_ino = entry->d_ino, .st_mode = (mode_t)DTTOIF(entry->d_type) };

		fill(buf, entry->d_name, &st, 0, 0);
	}
	closedir(dir);
	return 0;
}

static int faultfs_fsyncdir(const char *path, int is_data_only, struct fuse_file_info *fi)
{
	(void)path, (void)is_data_only;
	return meet(OP_FSYNCDIR, handle_of(fi)->name, NULL);
}

/* ---- control ------------------------------------------------------------------------------------- */

/* A number, with k or M behind. */
static bool parse_number(const char *text, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (end == text || errno)
		return false;
	if (*end == 'k' || *end == 'M')
		*number *= *end++ == 'k' ? 1000 : 1000000;
	return *end == '\0';
}

static int error_of(const char *name)
{
	for (int code = 1; code < 134; code++)
		if (strerrorname_np(code) && strcmp(strerrorname_np(code), name) == 0)
			return code;
	return 0;
}

static bool parse_what(struct fault *fault, const char *what)
{
	uint64_t number;
	char *end;

	if (strcmp(what, "hang") == 0) {
		fault->stall_ns = INT64_MAX;
		return true;
	}
	if (strncmp(what, "stall=", 6) == 0) {
		fault->stall_ns = (int64_t)(strtod(what + 6, &end) * 1e9);
		return end != what + 6 && *end == '\0' && fault->stall_ns > 0;
	}
	if (strncmp(what, "short=", 6) == 0) {
		if (!is_synchronous || !parse_number(what + 6, &number) || number == 0)
			return false;
		fault->short_bytes = (size_t)number;
		return true;
	}
	fault->error = error_of(what);
	return fault->error != 0;
}

/* @text is taken apart. */
static bool parse_fault(struct fault *fault, char *text)
{
	char *times = strchr(text, '*'), *after = strchr(text, '@'), *rest = NULL;

	*fault = (struct fault){ 0 };
	if (strcmp(text, "ok") == 0)
		return true;
	fault->times = FOR_EVER;
	if (times)
		*times++ = '\0';
	if (after)
		*after++ = '\0';
	if ((times && !parse_number(times, &fault->times)) ||
	    (after && !parse_number(after, &fault->after)))
		return false;
	for (char *what = strtok_r(text, ",", &rest); what; what = strtok_r(NULL, ",", &rest))
		if (!parse_what(fault, what))
			return false;
	return true;
}

static void let_go(void)
{
	state.go_count++;
	pthread_cond_broadcast(&state.go);
}

static void reset(void)
{
	memset(state.faults, 0, sizeof(state.faults));
	strcpy(state.only, "*");
	state.direct = DIRECT_ALIGNED;
	state.is_full = false;
	state.rate_bytes = 0;
	let_go();
}

static bool set_direct(const char *how)
{
	static const char *const names[] = { "aligned", "open", "write" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(how, names[i]) == 0) {
			state.direct = (enum direct)i;
			return true;
		}
	return false;
}

/* Called with the lock held; @word is taken apart. False: not understood, and nothing is changed. */
static bool take_word(char *word)
{
	struct fault fault;
	char *colon = strchr(word, ':');

	for (unsigned op = 0; colon && op < OP_COUNT; op++) {
		if (strncmp(word, op_names[op], (size_t)(colon - word)) != 0 ||
		    op_names[op][colon - word] != '\0')
			continue;
		if (!parse_fault(&fault, colon + 1))
			return false;
		state.faults[op] = fault;
		return true;
	}
	if (strcmp(word, "go") == 0)
		let_go();
	else if (strcmp(word, "reset") == 0)
		reset();
	else if (strncmp(word, "only=", 5) == 0 && strlen(word + 5) < sizeof(state.only))
		strcpy(state.only, word + 5);
	else if (strcmp(word, "statfs=full") == 0 || strcmp(word, "statfs=ok") == 0)
		state.is_full = strcmp(word, "statfs=full") == 0;
	else if (strncmp(word, "rate=", 5) == 0)
		return parse_number(word + 5, &state.rate_bytes);
	else
		return strncmp(word, "direct=", 7) == 0 && set_direct(word + 7);
	return true;
}

/* One call: a line of words, a line of answer. */
static void serve(FILE *stream)
{
	char line[WORDS_MAX], word[WORDS_MAX], *rest = NULL;
	bool is_known = true;

	if (!fgets(line, sizeof(line), stream))
		return;
	pthread_mutex_lock(&state.lock);
	for (char *next = strtok_r(line, " \n", &rest); next && is_known;
	     next = strtok_r(NULL, " \n", &rest)) {
		strcpy(word, next);
		is_known = take_word(next);
	}
	if (is_known)
		fprintf(stream, "held=%u met=%" PRIu64 " written=%" PRIu64 "\n", state.held_count,
			state.met_count, state.written_bytes);
	else
		fprintf(stream, "what is '%s'?\n", word);
	pthread_mutex_unlock(&state.lock);
}

static void *control_main(void *arg)
{
	for (;;) {
		int fd = accept4(control_fd, NULL, NULL, SOCK_CLOEXEC);
		FILE *stream = fd < 0 ? NULL : fdopen(fd, "r+");

		if (stream) {
			serve(stream);
			fclose(stream);
		} else if (fd >= 0) {
			close(fd);
		}
	}
	return arg;
}

/* The socket @path, bound or connected by @make. Return: it, or -errno. */
static int make_socket(const char *path, int (*make)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, code;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (make(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	code = errno;
	close(fd);
	return -code;
}

static int tell(const char *path, char **words)
{
	int fd = make_socket(path, connect);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r+");
	char answer[WORDS_MAX];

	if (!stream) {
		fprintf(stderr, "tool_faultfs: %s: %s\n", path, strerror(fd < 0 ? -fd : errno));
		return EXIT_NOBODY;
	}
	for (; *words; words++)
		fprintf(stream, "%s ", *words);
	fputc('\n', stream);
	fflush(stream);
	if (!fgets(answer, sizeof(answer), stream)) {
		fprintf(stderr, "tool_faultfs: no answer from %s\n", path);
		fclose(stream);
		return EXIT_NOBODY;
	}
	fclose(stream);
	fputs(answer, stdout);
	return strncmp(answer, "held=", 5) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- mounting ------------------------------------------------------------------------------------ */

static void *faultfs_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	pthread_t thread;

	if (is_synchronous)
		conn->want &= ~(unsigned)FUSE_CAP_ASYNC_DIO;
	/* writes of several files at once, and each may be held */
	conn->max_background = conn->congestion_threshold = 256;
	config->use_ino = 1;
	/* a handle is enough, so that an operation that hangs keeps no lock on its path; and unlinked is unlinked */
	config->nullpath_ok = 1;
	config->hard_remove = 1;
	/* from here on it answers: it is mounted */
	if (pthread_create(&thread, NULL, control_main, NULL) == 0)
		pthread_detach(thread);
	return NULL;
}

static const struct fuse_operations operations = {
	.init = faultfs_init,
	.getattr = faultfs_getattr,
	.mkdir = faultfs_mkdir,
	.unlink = faultfs_unlink,
	.rmdir = faultfs_rmdir,
	.rename = faultfs_rename,
	.truncate = faultfs_truncate,
	.open = faultfs_open,
	.create = faultfs_create,
	.read = faultfs_read,
	.write = faultfs_write,
	.statfs = faultfs_statfs,
	.release = faultfs_release,
	.fsync = faultfs_fsync,
	.opendir = faultfs_opendir,
	.readdir = faultfs_readdir,
	.releasedir = faultfs_release,
	.fsyncdir = faultfs_fsyncdir,
	.fallocate = faultfs_fallocate,
};

static int complain(const char *what, int code)
{
	fprintf(stderr, "tool_faultfs: %s: %s\n", what, strerror(code));
	return EX_UNAVAILABLE;
}

static int mount_it(char *program, const char *backing, char *mountpoint, const char *control)
{
	char *arguments[] = {
		program, mountpoint, "-f", "-o", "fsname=faultfs,subtype=faultfs,max_threads=256",
		NULL
	};
	pthread_condattr_t by_monotonic;

	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return complain("/dev/fuse, which a file system of ours needs", errno);
	root_fd = open(backing, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return complain(backing, errno);
	control_fd = make_socket(control, bind);
	if (control_fd < 0 || listen(control_fd, 16) < 0)
		return complain(control, control_fd < 0 ? -control_fd : errno);
	pthread_condattr_init(&by_monotonic);
	pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&state.go, &by_monotonic);
	return fuse_main(5, arguments, &operations, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "-c") == 0)
		return tell(argv[2], argv + 3);
	is_synchronous = argc > 1 && strcmp(argv[1], "-s") == 0;
	if (argc == 4 + is_synchronous)
		return mount_it(argv[0], argv[argc - 3], argv[argc - 2], argv[argc - 1]);
	fprintf(stderr,
		"usage: tool_faultfs [-s] BACKING MOUNTPOINT CONTROL, or tool_faultfs -c CONTROL [WORD]...\n");
	return EX_USAGE;
}
