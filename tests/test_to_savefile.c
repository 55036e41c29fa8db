/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_to_savefile.c - pcapfile: as a destination: whole packets as they were, with their stamps and lengths; datagrams with
 * headers, read back by libpcap and by our own source; full disks, files that are there, and pipes
 */
#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/destination.h"
#include "drivers/source.h"
#include "drivers/units.h"
#include "tests/scratch.h"

#define PAYLOAD_MAX 9000
#define STAMP_NS INT64_C(1700000000123456789)
#define FILE_HEADER_BYTES 24
#define RECORD_BYTES 16

static char folder[200], path[250], name[400];
static struct destination *destination;
static unsigned char payload[DESTINATION_BATCH][PAYLOAD_MAX];
static struct destination_unit units[DESTINATION_BATCH];

/* ---- help ------------------------------------------------------------------------------------ */

static int set_up(void **state)
{
	(void)state;
	if (scratch_make(folder, sizeof(folder), NULL))
		return -1;
	snprintf(path, sizeof(path), "%s/a", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	destination_close(destination);
	destination = NULL;
	return scratch_remove(folder);
}

static int open_it(const char *details, const struct destination_config *config)
{
	destination_close(destination);
	snprintf(name, sizeof(name), "pcapfile:%s%s", path, details);
	return destination_open(&destination, name, config);
}

static void fill_units(enum psn_kind psn, size_t bytes, unsigned first)
{
	for (unsigned i = 0; i < DESTINATION_BATCH; i++) {
		for (size_t at = 0; at < bytes; at++)
			payload[i][at] = (unsigned char)(at * 7 + first + i);
		units[i] = (struct destination_unit){
			.prefix_bytes = psn_prefix_bytes(psn),
			.parts = { { payload[i], bytes / 3 },
				   { payload[i] + bytes / 3, bytes - bytes / 3 } },
			.part_count = 2,
			.bytes = bytes,
			.wire_bytes = bytes,
			.utc_ns = STAMP_NS + (first + i) * INT64_C(1000001),
		};
		if (units[i].prefix_bytes)
			psn_put(psn, first + i, units[i].prefix);
	}
}

static void send_all(size_t count)
{
	for (size_t at = 0; at < count;) {
		ssize_t sent = destination_send(destination, units + at, count - at);

		assert_true(sent >= 0);
		at += (size_t)sent;
	}
}

static void finish(void)
{
	assert_int_equal(destination_finish(destination, INT64_MAX), 0);
	destination_close(destination);
	destination = NULL;
}

static pcap_t *read_back(int link_type)
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, error);

	if (!pcap)
		fail_msg("%s", error);
	assert_int_equal(pcap_datalink(pcap), link_type);
	assert_int_equal(pcap_snapshot(pcap), 262144);
	return pcap;
}

static const unsigned char *next(pcap_t *pcap, struct pcap_pkthdr **header)
{
	const unsigned char *data;

	assert_int_equal(pcap_next_ex(pcap, header, &data), 1);
	return data;
}

static void expect_end(pcap_t *pcap)
{
	struct pcap_pkthdr *header;
	const unsigned char *data;

	assert_int_equal(pcap_next_ex(pcap, &header, &data), PCAP_ERROR_BREAK);
	pcap_close(pcap);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void packets_stay_as_they_are(void **state)
{
	static const int link_types[] = { DLT_EN10MB, DLT_RAW, DLT_LINUX_SLL2, DLT_NULL };
	struct destination_config config = { .gives_packets = true, .is_force = true };

	(void)state;
	for (size_t k = 0; k < sizeof(link_types) / sizeof(link_types[0]); k++) {
		pcap_t *pcap;

		config.link_type = link_types[k];
		assert_int_equal(open_it("", &config), 0);
		assert_int_equal(destination->takes, DESTINATION_PACKETS);
		fill_units(PSN_NONE, 1000, 0);
		units[1].wire_bytes = 5000; /* it was cut when it was captured */
		units[2].utc_ns = 0;
		units[3].utc_ns = INT64_C(5000000000) * UNITS_NS_PER_S; /* no 32 bits of seconds */
		send_all(10);
		finish();
		pcap = read_back(link_types[k]);
		for (unsigned i = 0; i < 10; i++) {
			struct pcap_pkthdr *header;
			const unsigned char *data = next(pcap, &header);
			int64_t stamp = header->ts.tv_sec * UNITS_NS_PER_S + header->ts.tv_usec;

			assert_int_equal(header->caplen, 1000);
			assert_int_equal(header->len, i == 1 ? 5000 : 1000);
			assert_int_equal(stamp, i == 2 || i == 3 ? 0 : units[i].utc_ns);
			assert_memory_equal(data, payload[i], 1000);
		}
		expect_end(pcap);
	}
}

/* More than the buffer holds; read by libpcap, and by our own source with its numbers. */
static void check_datagrams(const char *details, enum psn_kind psn, size_t headers_bytes, size_t bytes)
{
	char text[500];
	static unsigned char got[PAYLOAD_MAX];
	struct source *source;
	struct source_mark mark;
	pcap_t *pcap;

	unlink(path);
	if (open_it(details, NULL))
		fail_msg("%s", destination->error);
	for (unsigned turn = 0; turn < 5; turn++) {
		fill_units(psn, bytes, turn * DESTINATION_BATCH);
		send_all(DESTINATION_BATCH);
	}
	assert_int_equal(atomic_load(&destination->stats.sent_count), 5 * DESTINATION_BATCH);
	assert_int_equal(atomic_load(&destination->stats.sent_bytes), 5 * DESTINATION_BATCH * bytes);
	finish();
	pcap = read_back(DLT_EN10MB);
	for (unsigned i = 0; i < 5 * DESTINATION_BATCH; i++) {
		struct pcap_pkthdr *header;

		next(pcap, &header);
		assert_int_equal(header->caplen, headers_bytes + psn_prefix_bytes(psn) + bytes);
		assert_int_equal(header->ts.tv_usec,
				 (STAMP_NS + i * INT64_C(1000001)) % UNITS_NS_PER_S);
	}
	expect_end(pcap);
	snprintf(text, sizeof(text), "pcapfile:%s,psn=%s", path, psn_name(psn));
	assert_int_equal(source_open(&source, text, NULL), 0);
	assert_int_equal(source_start(source), 0);
	for (unsigned i = 0; i < 5 * DESTINATION_BATCH; i++) {
		for (size_t at = 0; at < bytes;) {
			ssize_t n = source_read(source, got + at, bytes - at, INT64_MAX, &mark);

			assert_true(n > 0);
			assert_int_equal(mark.lost_bytes, 0);
			at += (size_t)n;
		}
		for (size_t at = 0; at < bytes; at++)
			assert_int_equal(got[at], (unsigned char)(at * 7 + i));
	}
	assert_int_equal(source_read(source, got, 1, INT64_MAX, &mark), SOURCE_END);
	source_close(source);
}

static void datagrams_get_headers(void **state)
{
	(void)state;
	check_datagrams("", PSN_NONE, 42, 8032);
	check_datagrams(",psn=le64,frame=8032", PSN_LE64, 42, 8032);
	check_datagrams(",psn=be32,to=[fd00::2]:1234", PSN_BE32, 62, 1001);
	check_datagrams(",psn=le64,to=239.1.2.3:5,from=10.0.0.1:6", PSN_LE64, 42, 1);
	check_datagrams(",from=[fd00::1],from-mac=02:00:00:00:00:01", PSN_NONE, 62, 100);
}

static void addresses_are_those_that_were_asked_for(void **state)
{
	static const unsigned char expected[] = { /* Ethernet */ 2,
						  0,
						  0,
						  0,
						  0,
						  9,
						  0,
						  0,
						  0x5e,
						  0,
						  0x53,
						  1,
						  8,
						  0,
						  /* IPv4 */ 0x45,
						  0,
						  0,
						  38,
						  0,
						  0,
						  0x40,
						  0,
						  64,
						  17,
						  0,
						  0,
						  192,
						  0,
						  2,
						  1,
						  10,
						  0,
						  0,
						  2,
						  /* UDP */ 4,
						  210,
						  4,
						  210,
						  0,
						  18 };
	struct pcap_pkthdr *header;
	unsigned char data[sizeof(expected)];
	pcap_t *pcap;

	(void)state;
	assert_int_equal(open_it(",to=10.0.0.2:1234,mac=02:00:00:00:00:09", NULL), 0);
	fill_units(PSN_NONE, 10, 0);
	send_all(1);
	finish();
	pcap = read_back(DLT_EN10MB);
	memcpy(data, next(pcap, &header), sizeof(data));
	data[24] = data[25] = 0; /* the checksum is test_headers.c's */
	assert_memory_equal(data, expected, sizeof(expected));
	expect_end(pcap);
}

/* A stream without times of its own. */
static void without_a_time_it_is_the_moment(void **state)
{
	struct pcap_pkthdr *header;
	int64_t before = units_realtime_ns(), stamp;
	pcap_t *pcap;

	(void)state;
	assert_int_equal(open_it("", NULL), 0);
	fill_units(PSN_NONE, 10, 0);
	units[0].utc_ns = 0;
	send_all(1);
	finish();
	pcap = read_back(DLT_EN10MB);
	next(pcap, &header);
	stamp = header->ts.tv_sec * UNITS_NS_PER_S + header->ts.tv_usec;
	assert_true(stamp >= before && stamp <= units_realtime_ns());
	expect_end(pcap);
}

static void tcpdump_reads_it_and_finds_the_checksums_right(void **state)
{
	char command[500], line[500];
	FILE *pipe;
	unsigned right = 0, wrong = 0;

	(void)state;
	if (system("PATH=$PATH:/usr/sbin:/sbin command -v tcpdump >/dev/null") != 0)
		skip();
	assert_int_equal(open_it(",psn=le64,to=10.0.0.2:5", NULL), 0);
	fill_units(PSN_LE64, 5033, 0);
	send_all(DESTINATION_BATCH);
	finish();
	snprintf(command, sizeof(command),
		 "PATH=$PATH:/usr/sbin:/sbin tcpdump -Z root -nvv -r %s 2>/dev/null", path);
	pipe = popen(command, "r");
	while (fgets(line, sizeof(line), pipe)) {
		right += strstr(line, "[udp sum ok] UDP, length 5041") != NULL;
		wrong += strstr(line, "bad") != NULL;
	}
	assert_int_equal(pclose(pipe), 0);
	assert_int_equal(right, DESTINATION_BATCH);
	assert_int_equal(wrong, 0);
}

static void a_file_that_is_there_stays(void **state)
{
	const struct destination_config force = { .is_force = true };
	struct stat status;

	(void)state;
	assert_int_equal(open_it("", NULL), 0);
	finish();
	assert_int_equal(open_it("", NULL), -EEXIST);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, FILE_HEADER_BYTES); /* a savefile without a packet is one, too */
	assert_int_equal(open_it("", &force), 0);
	finish();
	expect_end(read_back(DLT_EN10MB));
}

/* A limit instead of a full disk: the error comes from the same write(). */
static void a_full_disk_leaves_whole_packets(void **state)
{
	const size_t record_bytes = RECORD_BYTES + 42 + 8032;
	struct rlimit was, limit;
	struct pcap_pkthdr *header;
	unsigned count = (unsigned)((3000000 - FILE_HEADER_BYTES) / record_bytes);
	char words[100];
	ssize_t ret = 0;
	pcap_t *pcap;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	limit = (struct rlimit){ 3000000, was.rlim_max };
	assert_int_equal(open_it("", NULL), 0);
	fill_units(PSN_NONE, 8032, 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (unsigned turn = 0; turn < 20 && ret >= 0; turn++)
		ret = destination_send(destination, units, DESTINATION_BATCH);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(ret, -EFBIG);
	snprintf(words, sizeof(words), "the file has %u whole packets", count);
	if (!strstr(destination->error, words))
		fail_msg("%s, not: %s", words, destination->error);
	destination_close(destination);
	destination = NULL;
	pcap = read_back(DLT_EN10MB);
	for (unsigned i = 0; i < count; i++)
		next(pcap, &header);
	expect_end(pcap);
}

/* ---- the standard output --------------------------------------------------------------------- */

/* For as long as @run lasts, the standard output is this. */
static void with_stdout(int fd, void (*run)(void *), void *context)
{
	int kept;

	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	assert_true(dup2(fd, STDOUT_FILENO) >= 0);
	run(context);
	assert_true(dup2(kept, STDOUT_FILENO) >= 0);
	close(kept);
}

struct stdout_run {
	ssize_t sent;
	int opened, finished;
};

/* Asserts nothing: its words would go into the file. */
static void run_stdout(void *context)
{
	struct stdout_run *run = context;

	run->opened = destination_open(&destination, "pcapfile:-", NULL);
	if (run->opened)
		return;
	run->sent = destination_send(destination, units, 20);
	run->finished = destination_finish(destination, units_monotonic_ns() + UNITS_NS_PER_S / 10);
}

static void the_standard_output_may_be_a_file(void **state)
{
	struct stdout_run run = { 0 };
	struct pcap_pkthdr *header;
	pcap_t *pcap;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	fill_units(PSN_NONE, 1000, 0);
	with_stdout(fd, run_stdout, &run);
	close(fd);
	assert_int_equal(run.opened, 0);
	assert_int_equal(run.sent, 20);
	assert_int_equal(run.finished, 0);
	pcap = read_back(DLT_EN10MB);
	for (unsigned i = 0; i < 20; i++)
		assert_memory_equal(next(pcap, &header) + 42, payload[i], 1000);
	expect_end(pcap);
}

static void a_pipe_gets_each_packet_at_once(void **state)
{
	static unsigned char got[100000];
	struct stdout_run run = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	fill_units(PSN_NONE, 1000, 0);
	with_stdout(ends[1], run_stdout, &run);
	assert_int_equal(run.sent, 20);
	assert_int_equal(run.finished, 0);
	assert_int_equal(read(ends[0], got, sizeof(got)),
			 FILE_HEADER_BYTES + 20 * (RECORD_BYTES + 42 + 1000));
	for (unsigned i = 0; i < 20; i++)
		assert_memory_equal(got + FILE_HEADER_BYTES + i * 1058 + RECORD_BYTES + 42,
				    payload[i], 1000);
	close(ends[0]);
	assert_int_equal(destination_send(destination, units, 1), -EPIPE);
	close(ends[1]);
}

/* What the buffer still has when nobody reads: told, and not waited for without end. */
static void run_stuck(void *context)
{
	struct stdout_run *run = context;

	run->opened = destination_open(&destination, "pcapfile:-", NULL);
	while (!run->opened && (run->sent = destination_send(destination, units, 40)) > 0)
		;
	run->finished = destination_finish(destination, units_monotonic_ns() + UNITS_NS_PER_S / 20);
}

static void a_pipe_that_nobody_reads_is_not_waited_for(void **state)
{
	struct stdout_run run = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fill_units(PSN_NONE, 8000, 0);
	with_stdout(ends[1], run_stuck, &run);
	assert_int_equal(run.opened, 0);
	assert_int_equal(run.sent, 0);
	assert_true(atomic_load(&destination->stats.busy_count) > 0);
	assert_int_equal(run.finished, -ETIMEDOUT);
	close(ends[0]);
	close(ends[1]);
}

/* ---- what can't be --------------------------------------------------------------------------- */

static void what_is_wrong_is_told(void **state)
{
	static const char *const wrong[] = {
		",psn=vdif",
		",frame=0",
		",frame=65528",
		",to=host:1",
		",to=1.2.3",
		",to=10.0.0.2",
		",to=10.0.0.2:1,from=[fd00::1]:1",
		",mac=1:2:3:4:5:6",
		",mac=02:00:00:00:00:0g",
		",from-mac=02:00:00:00:00:01:02",
		",ttl=3",
	};
	static const char *const of_datagrams[] = { ",psn=le64", ",frame=8032", ",to=10.0.0.2:1",
						    ",mac=02:00:00:00:00:01" };
	const struct destination_config packets = { .gives_packets = true, .link_type = DLT_EN10MB };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (open_it(wrong[i], NULL) >= 0)
			fail_msg("%s is taken", wrong[i]);
		assert_true(destination->error[0]);
	}
	for (size_t i = 0; i < sizeof(of_datagrams) / sizeof(of_datagrams[0]); i++) {
		assert_int_equal(open_it(of_datagrams[i], &packets), -EINVAL);
		assert_non_null(strstr(destination->error, "whole packets"));
	}
	assert_int_equal(access(path, F_OK), -1); /* nothing was left behind */
	snprintf(path, sizeof(path), "%s", folder);
	assert_true(open_it("", NULL) < 0);
	snprintf(path, sizeof(path), "%s/none/a", folder);
	assert_int_equal(open_it("", NULL), -ENOENT);
}

static void what_is_too_long_is_refused_by_itself(void **state)
{
	static unsigned char long_one[300000];
	const struct destination_config packets = { .gives_packets = true,
						    .link_type = DLT_EN10MB,
						    .is_force = true };

	(void)state;
	for (unsigned kind = 0; kind < 2; kind++) {
		assert_int_equal(open_it("", kind ? &packets : NULL), 0);
		fill_units(PSN_NONE, 1000, 0);
		units[3] = (struct destination_unit){ .parts = { { long_one, sizeof(long_one) } },
						      .part_count = 1,
						      .bytes = sizeof(long_one),
						      .wire_bytes = sizeof(long_one) };
		assert_int_equal(destination_send(destination, units, 10), 3);
		assert_int_equal(destination_send(destination, units + 3, 7), -EMSGSIZE);
		assert_non_null(strstr(destination->error, "300000"));
		assert_int_equal(destination_send(destination, units + 4, 6), 6);
		finish();
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(packets_stay_as_they_are),
		TEST(datagrams_get_headers),
		TEST(addresses_are_those_that_were_asked_for),
		TEST(without_a_time_it_is_the_moment),
		TEST(tcpdump_reads_it_and_finds_the_checksums_right),
		TEST(a_file_that_is_there_stays),
		TEST(a_full_disk_leaves_whole_packets),
		TEST(the_standard_output_may_be_a_file),
		TEST(a_pipe_gets_each_packet_at_once),
		TEST(a_pipe_that_nobody_reads_is_not_waited_for),
		TEST(what_is_wrong_is_told),
		TEST(what_is_too_long_is_refused_by_itself),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
