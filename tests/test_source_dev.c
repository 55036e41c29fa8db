/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_source_dev.c - FIFOs and character devices: their ways to say "not yet", "end" and "never"
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/dev.h"
#include "drivers/node.h"
#include "drivers/sim.h"
#include "drivers/source.h"
#include "drivers/units.h"

#define MS INT64_C(1000000)
#define BUF_BYTES ((size_t)8 << 20)

static unsigned char buf[BUF_BYTES];
static char folder[] = "/tmp/test_source_dev_XXXXXX";
static char fifo[64];

static int64_t in_ms(int64_t ms)
{
	return units_monotonic_ns() + ms * MS;
}

static int64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * UNITS_NS_PER_S + used.tv_nsec;
}

static struct source *open_dev(const char *path, uint64_t rate_bps)
{
	struct source_config config = { .rate_bps = rate_bps };
	struct source *source;
	char name[128];

	snprintf(name, sizeof(name), "dev:%s", path);
	if (source_open(&source, name, &config))
		fail_msg("%s", source->error);
	assert_int_equal(source_start(source), 0);
	return source;
}

static int make_fifo(void **state)
{
	(void)state;
	return mkfifo(fifo, 0600);
}

static int remove_fifo(void **state)
{
	(void)state;
	return unlink(fifo);
}

/* ---- FIFOs ----------------------------------------------------------------------------------- */

/* Adds to *@written what it wrote. */
static void *write_chunks(void *written)
{
	int fd = open(fifo, O_WRONLY);
	unsigned char *data = malloc(70000);
	uint64_t position = 0;
	unsigned seed = 5;
	sigset_t all;

	sigfillset(&all); /* the storm is meant for the reader */
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < 300; i++) {
		size_t len = (size_t)rand_r(&seed) % 70000 + 1, done = 0;

		sim_fill(data, len, position, 3);
		while (done < len) {
			ssize_t put = write(fd, data + done, len - done);

			if (put > 0)
				done += (size_t)put;
		}
		position += len;
		if (i % 16 == 0)
			usleep(2000);
	}
	close(fd);
	free(data);
	*(uint64_t *)written = position;
	return NULL;
}

static pthread_t reader;
static atomic_bool is_calm;
static volatile sig_atomic_t signal_count;

static void count_signal(int number)
{
	(void)number;
	signal_count++;
}

static void *raise_storm(void *argument)
{
	(void)argument;
	while (!atomic_load(&is_calm)) {
		pthread_kill(reader, SIGUSR1);
		usleep(100);
	}
	return NULL;
}

static uint64_t read_all(struct source *source, size_t len)
{
	struct source_mark mark;
	uint64_t position = 0;
	ssize_t got;

	while ((got = source_read(source, buf, len, in_ms(10000), &mark)) > 0) {
		assert_int_equal(sim_verify(buf, (size_t)got, position, 3), got);
		position += (uint64_t)got;
	}
	if (got != SOURCE_END)
		fail_msg("%zd: %s", got, source->error);
	return position;
}

static void random_chunks_arrive_whole_in_a_storm_of_signals(void **state)
{
	struct sigaction action = { .sa_handler = count_signal }; /* no SA_RESTART: EINTR everywhere */
	struct source *source = open_dev(fifo, 0);
	pthread_t writer, storm;
	uint64_t written = 0, got;

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	reader = pthread_self();
	atomic_store(&is_calm, false);
	assert_true(source->can_wait);
	pthread_create(&writer, NULL, write_chunks, &written);
	pthread_create(&storm, NULL, raise_storm, NULL);
	got = read_all(source, 100000);
	atomic_store(&is_calm, true);
	pthread_join(storm, NULL);
	pthread_join(writer, NULL);
	assert_int_equal(got, written);
	assert_true(signal_count > 0);
	source_close(source);
}

static void opening_does_not_wait_for_a_writer_and_silence_costs_nothing(void **state)
{
	struct source *source = open_dev(fifo, 0);
	int64_t cpu = cpu_ns(), before = units_monotonic_ns();
	struct source_mark mark;

	(void)state;
	assert_int_equal(source_read(source, buf, 4096, before + 150 * MS, &mark), SOURCE_NOT_YET);
	assert_true(units_monotonic_ns() >= before + 150 * MS);
	assert_true(cpu_ns() - cpu < 20 * MS);
	assert_true(atomic_load(&source->stats.wait_count) < 30);
	source_close(source);
}

static void a_writer_that_leaves_without_a_byte_is_not_the_end(void **state)
{
	struct source *source = open_dev(fifo, 0);
	struct source_mark mark;
	int64_t cpu, before;
	int writer;

	(void)state;
	close(open(fifo, O_WRONLY));
	cpu = cpu_ns();
	before = units_monotonic_ns();
	/* the FIFO is hung up now, poll() returns at once: still no busy loop */
	assert_int_equal(source_read(source, buf, 4096, before + 150 * MS, &mark), SOURCE_NOT_YET);
	assert_true(cpu_ns() - cpu < 20 * MS);
	assert_true(atomic_load(&source->stats.wait_count) < 40);

	writer = open(fifo, O_WRONLY);
	assert_int_equal(source_read(source, buf, 4096, in_ms(30), &mark), SOURCE_NOT_YET);
	assert_int_equal(write(writer, "abc", 3), 3);
	assert_int_equal(source_read(source, buf, 4096, in_ms(5000), &mark), 3);
	assert_int_equal(source_read(source, buf, 4096, in_ms(30), &mark), SOURCE_NOT_YET);
	close(writer);
	assert_int_equal(source_read(source, buf, 4096, in_ms(5000), &mark), SOURCE_END);
	source_close(source);
}

static void *interrupt_later(void *source)
{
	usleep(50000);
	source_interrupt(source);
	return NULL;
}

static void an_interrupt_ends_a_wait_but_gives_what_is_there(void **state)
{
	struct source *source = open_dev(fifo, 0);
	int64_t before = units_monotonic_ns();
	struct source_mark mark;
	pthread_t thread;
	int writer = open(fifo, O_WRONLY);

	(void)state;
	pthread_create(&thread, NULL, interrupt_later, source);
	assert_int_equal(source_read(source, buf, 4096, in_ms(60000), &mark), SOURCE_NOT_YET);
	pthread_join(thread, NULL);
	assert_true(units_monotonic_ns() - before < 5000 * MS);
	assert_int_equal(write(writer, "abc", 3), 3);
	assert_int_equal(source_read(source, buf, 4096, in_ms(5000), &mark), 3);
	assert_int_equal(source_read(source, buf, 4096, in_ms(60000), &mark), SOURCE_NOT_YET);
	close(writer);
	source_close(source);
}

static void a_fifo_given_a_rate_can_still_wait(void **state)
{
	struct source *source = open_dev(fifo, 512000000);

	(void)state;
	assert_true(source->can_wait);
	assert_false(source->is_paced_by_us);
	assert_int_equal(source->rate_bps, 512000000);
	assert_int_equal(source->device, 0);
	source_close(source);
}

/* ---- character devices ----------------------------------------------------------------------- */

static void a_device_without_poll_is_read_in_one_go(void **state)
{
	struct source *source = open_dev("/dev/zero", 0);
	struct source_mark mark;
	struct stat status;

	(void)state;
	assert_true(source->can_wait);
	assert_int_equal(stat("/dev/zero", &status), 0);
	assert_int_equal(source->device, status.st_rdev);
	memset(buf, 0xee, sizeof(buf));
	assert_int_equal(source_read(source, buf, sizeof(buf), in_ms(5000), &mark), sizeof(buf));
	for (size_t i = 0; i < sizeof(buf); i += 4095)
		assert_int_equal(buf[i], 0);
	assert_int_equal(atomic_load(&source->stats.wait_count), 0);
	/* a read() that may block is not begun after an interrupt */
	source_interrupt(source);
	assert_int_equal(source_read(source, buf, sizeof(buf), in_ms(5000), &mark), SOURCE_NOT_YET);
	source_close(source);
}

static void a_device_given_a_rate_cannot_wait(void **state)
{
	struct source *source = open_dev("/dev/zero", 512000000);

	(void)state;
	assert_false(source->can_wait);
	assert_false(source->is_paced_by_us);
	source_close(source);
}

static void a_zero_read_of_a_device_is_its_end(void **state)
{
	struct source *source = open_dev("/dev/null,type=plain", 0);
	struct source_mark mark;

	(void)state;
	assert_int_equal(source_read(source, buf, 4096, in_ms(5000), &mark), SOURCE_END);
	source_close(source);
}

static void a_device_with_poll_keeps_its_deadline_and_tells_its_errors(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	struct termios raw;
	struct source_mark mark;
	struct source *source;
	char path[64];
	int64_t cpu;

	(void)state;
	if (master < 0 || grantpt(master) || unlockpt(master) ||
	    ptsname_r(master, path, sizeof(path)) || access(path, R_OK)) {
		print_message("no pseudo terminal here\n");
		skip();
	}
	slave = open(path, O_RDWR | O_NOCTTY);
	assert_int_equal(tcgetattr(slave, &raw), 0);
	cfmakeraw(&raw);
	tcsetattr(slave, TCSANOW, &raw);

	source = open_dev(path, 0);
	cpu = cpu_ns();
	assert_int_equal(source_read(source, buf, 4096, in_ms(100), &mark), SOURCE_NOT_YET);
	assert_true(cpu_ns() - cpu < 20 * MS);
	assert_int_equal(write(master, "abc", 3), 3);
	assert_int_equal(source_read(source, buf, 4096, in_ms(5000), &mark), 3);
	assert_memory_equal(buf, "abc", 3);
	close(master);
	/* hung up: some kernels say the end, some an I/O error; none may hang */
	ssize_t got = source_read(source, buf, 4096, in_ms(5000), &mark);
	assert_true(got == SOURCE_END || (got == -EIO && strstr(source->error, "Input/output error")));
	close(slave);
	source_close(source);
}

static void refuse(const char *name, int error, const char *reason)
{
	struct source *source;

	assert_int_equal(source_open(&source, name, NULL), -error);
	if (!strstr(source->error, reason))
		fail_msg("%s lacks \"%s\": %s", name, reason, source->error);
	source_close(source);
}

static void what_is_no_device_is_refused_in_words(void **state)
{
	char name[128];

	(void)state;
	refuse("dev:/", EISDIR, "use file:");
	refuse("dev:/etc/passwd", EINVAL, "use file:/etc/passwd");
	refuse("dev:/not/there", ENOENT, "No such file");
	refuse("dev:/dev/zero,type=tape", EINVAL,
	       "unknown type \"tape\"; dev: knows plain xdma litepcie");
	refuse("dev:/dev/zero,rate=5", EINVAL, "unknown detail \"rate\"; dev: knows type eop");
	refuse("dev:/dev/zero,eop", EINVAL, "eop goes with type=xdma, and this is type=plain");
	refuse("dev:/,type=xdma", EISDIR, "use file:");
	refuse("dev:/not/there,type=litepcie", ENOENT, "No such file");
	snprintf(name, sizeof(name), "%s/block", folder);
	if (mknod(name, S_IFBLK | 0600, 0)) {
		print_message("cannot make a block device node: that part is left out\n");
		return;
	}
	snprintf(name, sizeof(name), "dev:%s/block", folder);
	refuse(name, EINVAL, "block device");
	unlink(name + strlen("dev:"));
}

static void a_fifo_has_no_other_type(void **state)
{
	char name[128];

	(void)state;
	snprintf(name, sizeof(name), "dev:%s,type=xdma", fifo);
	refuse(name, EINVAL, "is a FIFO");
}

/* A FIFO opened both ways stands for a device here. */
static void the_kernels_node_hands_on_calls_and_errors(void **state)
{
	_Atomic bool no = false;
	int64_t before = units_monotonic_ns();
	int answer;
	void *node;
	int writer;

	(void)state;
	assert_int_equal(node_kernel.open("/not/there", O_RDWR, &node), -ENOENT);
	assert_int_equal(node_kernel.open(fifo, O_RDWR | O_NONBLOCK, &node), 0);
	assert_int_equal(node_kernel.control(node, NODE_XDMA_ALIGN_GET, &answer), -ENOTTY);
	assert_int_equal(node_kernel.read(node, buf, 4096), -EAGAIN);
	assert_int_equal(node_kernel.poll(node, before + 20 * MS, &no), 0);
	assert_true(node_kernel.monotonic_ns(node) >= before + 20 * MS);
	before = units_monotonic_ns();
	node_kernel.wait(node, 5 * MS);
	assert_true(units_monotonic_ns() >= before + 5 * MS);
	writer = open(fifo, O_WRONLY | O_NONBLOCK);
	assert_int_equal(write(writer, "abc", 3), 3);
	assert_int_equal(node_kernel.poll(node, in_ms(5000), &no), POLLIN);
	assert_int_equal(node_kernel.read(node, buf, 4096), 3);
	assert_memory_equal(buf, "abc", 3);
	close(writer);
	node_kernel.close(node);
}

/* The published numbers: a struct that grows or shrinks by a byte would change them. */
static void requests_have_their_published_numbers(void **state)
{
	(void)state;
	assert_int_equal(NODE_XDMA_ALIGN_GET, 0x80047106);
	assert_int_equal(NODE_LITEPCIE_WRITER, 0xc0185315);
	assert_int_equal(NODE_LITEPCIE_INFO, 0x80305318);
	assert_int_equal(NODE_LITEPCIE_LOCK, 0xc0065319);
}

/* ---- types ----------------------------------------------------------------------------------- */

static char made[64]; /* a sysfs of our own */

/* A device 99:@number called @name, with @driver; NULL = sysfs doesn't say. */
static void make_device(unsigned number, const char *name, const char *driver)
{
	char path[256], target[128];

	snprintf(path, sizeof(path), "%s/%s", made, name);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s/device", made, name);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s/device/driver", made, name);
	snprintf(target, sizeof(target), "../../../bus/pci/drivers/%s", driver ? driver : "");
	if (driver)
		assert_int_equal(symlink(target, path), 0);
	snprintf(path, sizeof(path), "%s/dev/char/99:%u", made, number);
	snprintf(target, sizeof(target), "../../%s", name);
	assert_int_equal(symlink(target, path), 0);
}

static void the_type_is_the_drivers_or_the_names(void **state)
{
	static const struct {
		const char *name, *driver, *path, *type, *reason;
	} list[] = {
		{ "xdma0_c2h_0", "xdma", "/dev/sampler", "xdma", "its name is xdma0_c2h_0" },
		{ "xdma0_control", "xdma", "/dev/xdma0_control", "plain", "" },
		{ "xdma0_h2c_0", "xdma", "/dev/xdma0_h2c_0", "plain", "" },
		{ "litepcie0", "litepcie", "/dev/x", "litepcie", "its driver is litepcie" },
		{ "radio", "m2sdr", "/dev/x", "litepcie", "its driver is m2sdr" },
		{ "m2sdr1", NULL, "/dev/x", "litepcie", "its name is m2sdr1" },
		{ "zero", NULL, "/tmp/litepcie0", "plain", "" },
		/* sysfs doesn't know it */
		{ NULL, NULL, "/dev/xdma1_c2h_3", "xdma", "its name is xdma1_c2h_3" },
		{ NULL, NULL, "/dev/litepcie2", "litepcie", "its name is litepcie2" },
		{ NULL, NULL, "/dev/litepcie0/other", "plain", "" },
	};
	char path[128], reason[300];

	(void)state;
	snprintf(made, sizeof(made), "%s/sys", folder);
	snprintf(path, sizeof(path), "mkdir -p %s/dev/char", made);
	assert_int_equal(system(path), 0);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (list[i].name)
			make_device((unsigned)i, list[i].name, list[i].driver);
		assert_string_equal(dev_guess_type(made, makedev(99, (unsigned)i), list[i].path,
						   reason, sizeof(reason)),
				    list[i].type);
		assert_string_equal(reason, list[i].reason);
	}
	snprintf(path, sizeof(path), "rm -r %s", made);
	assert_int_equal(system(path), 0);
}

static void the_type_that_was_guessed_is_said(void **state)
{
	char name[128], path[96];
	struct source *source;
	int ret;

	(void)state;
	snprintf(path, sizeof(path), "%s/xdma0_c2h_0", folder);
	/* of a driver that isn't there: only the name can tell */
	if (mknod(path, S_IFCHR | 0600, makedev(511, 7)) || access("/sys/dev/char/511:7", F_OK) == 0) {
		unlink(path);
		print_message("cannot make a node of an unknown device\n");
		skip();
	}
	snprintf(name, sizeof(name), "dev:%s", path);
	ret = source_open(&source, name, NULL);
	assert_true(ret < 0);
	assert_non_null(strstr(source->note, "taken for type=xdma: its name is xdma0_c2h_0"));
	assert_non_null(strstr(source->error, "cannot open"));
	source_close(source);
	snprintf(name, sizeof(name), "dev:%s,type=plain", path);
	ret = source_open(&source, name, NULL);
	assert_true(ret < 0);
	assert_string_equal(source->note, "");
	source_close(source);
	unlink(path);
}

/* ---------------------------------------------------------------------------------------------- */

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

#define FIFO_TEST(function) cmocka_unit_test_setup_teardown(function, make_fifo, remove_fifo)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIFO_TEST(random_chunks_arrive_whole_in_a_storm_of_signals),
		FIFO_TEST(opening_does_not_wait_for_a_writer_and_silence_costs_nothing),
		FIFO_TEST(a_writer_that_leaves_without_a_byte_is_not_the_end),
		FIFO_TEST(an_interrupt_ends_a_wait_but_gives_what_is_there),
		FIFO_TEST(a_fifo_given_a_rate_can_still_wait),
		cmocka_unit_test(a_device_without_poll_is_read_in_one_go),
		cmocka_unit_test(a_device_given_a_rate_cannot_wait),
		cmocka_unit_test(a_zero_read_of_a_device_is_its_end),
		cmocka_unit_test(a_device_with_poll_keeps_its_deadline_and_tells_its_errors),
		cmocka_unit_test(what_is_no_device_is_refused_in_words),
		FIFO_TEST(a_fifo_has_no_other_type),
		FIFO_TEST(the_kernels_node_hands_on_calls_and_errors),
		cmocka_unit_test(requests_have_their_published_numbers),
		cmocka_unit_test(the_type_is_the_drivers_or_the_names),
		cmocka_unit_test(the_type_that_was_guessed_is_said),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
