/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recorders that answer, that are silent, that are gone and that talk nonsense, as tools/observe.h
 * sees them; the runtime directory.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "drivers/units.h"
#include "recorder/runtime.h"
#include "tools/observe.h"
#include "tools/status_screen.h"

struct server {
	int fd;
	const char *answer; /* NULL: accepts nothing */
	struct sockaddr_un address;
	pthread_t thread;
};

static char dir[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/vsib-status.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(dir);
}

static void *serve(void *context)
{
	struct server *server = context;
	int fd = accept(server->fd, NULL, NULL);

	if (fd >= 0) {
		for (const char *text = server->answer; *text;) {
			size_t len = strlen(text) < 7 ? strlen(text) : 7; /* in pieces */
			ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

			if (n < 0)
				break;
			text += n;
		}
		close(fd);
	}
	return NULL;
}

static void start_server(struct server *server, const char *name, long pid, const char *answer)
{
	server->answer = answer;
	assert_int_equal(runtime_address(&server->address, dir, name, pid), 0);
	server->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(
		bind(server->fd, (struct sockaddr *)&server->address, sizeof(server->address)), 0);
	assert_int_equal(listen(server->fd, 1), 0);
	if (answer)
		assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void stop_server(struct server *server)
{
	if (server->answer)
		pthread_join(server->thread, NULL);
	close(server->fd);
	unlink(server->address.sun_path);
}

static void each_recorder_is_asked_and_its_answer_is_one_line(void **state)
{
	struct server a, b;
	struct observed *list;
	size_t count;

	(void)state;
	start_server(&b, "scan2", 200, "{\"name\":\n\"scan2\"}\n\n");
	start_server(&a, "scan1", 100, "{\"name\":\"scan1\",\"pid\":100}");
	assert_int_equal(observe_all(dir, NULL, &list, &count), 0);
	assert_int_equal(count, 2);
	assert_string_equal(list[0].name, "scan1");
	assert_int_equal(list[0].pid, 100);
	assert_string_equal(list[0].text, "{\"name\":\"scan1\",\"pid\":100}");
	assert_string_equal(list[1].text, "{\"name\": \"scan2\"}");
	assert_string_equal(json_string_value(json_object_get(list[1].object, "name")), "scan2");
	observe_free(list, count);
	stop_server(&a);
	stop_server(&b);
}

static void a_name_or_a_number_selects(void **state)
{
	struct server a, b;
	struct observed *list;
	size_t count;

	(void)state;
	start_server(&a, "scan1", 100, "{}");
	start_server(&b, "scan2", 200, "{}");
	assert_int_equal(observe_all(dir, "scan2", &list, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].pid, 200);
	observe_free(list, count);
	assert_int_equal(observe_all(dir, "100", &list, &count), 0);
	assert_int_equal(count, 1);
	assert_string_equal(list[0].name, "scan1");
	observe_free(list, count);
	assert_int_equal(observe_all(dir, "scan3", &list, &count), 0);
	assert_int_equal(count, 0);
	observe_free(list, count);
	stop_server(&a);
	stop_server(&b);
}

static void a_socket_left_over_is_told_and_stays(void **state)
{
	struct server a;
	struct observed *list;
	size_t count;

	(void)state;
	start_server(&a, "scan1", 100, NULL);
	close(a.fd);
	assert_int_equal(observe_all(dir, NULL, &list, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].error, -ECONNREFUSED);
	observe_free(list, count);
	assert_int_equal(access(a.address.sun_path, F_OK), 0);
	unlink(a.address.sun_path);
}

static void a_silent_recorder_is_waited_for_two_seconds(void **state)
{
	struct server a;
	struct observed *list;
	size_t count;
	int64_t start = units_monotonic_ns();

	(void)state;
	start_server(&a, "scan1", 100, NULL);
	assert_int_equal(observe_all(dir, NULL, &list, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].error, -ETIMEDOUT);
	assert_true(units_monotonic_ns() - start >= 1900 * INT64_C(1000000));
	observe_free(list, count);
	stop_server(&a);
}

static void nonsense_is_not_believed(void **state)
{
	static const char *const answers[] = { "hello", "[1,2]", "{\"a\":", "", "{\"a\":1}{\"b\":2}" };

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct server a;
		struct observed *list;
		size_t count;

		start_server(&a, "scan1", 100, answers[i]);
		assert_int_equal(observe_all(dir, NULL, &list, &count), 0);
		assert_int_equal(count, 1);
		assert_int_equal(list[0].error, -EBADMSG);
		assert_null(list[0].text);
		observe_free(list, count);
		stop_server(&a);
	}
}

static void other_files_are_not_sockets_of_ours(void **state)
{
	char name[64];
	long pid;

	(void)state;
	assert_true(runtime_parse("scan.12.sock", name, &pid));
	assert_string_equal(name, "scan");
	assert_int_equal(pid, 12);
	assert_false(runtime_parse("scan.sock", name, &pid));
	assert_false(runtime_parse(".12.sock", name, &pid));
	assert_false(runtime_parse("scan.x12.sock", name, &pid));
	assert_false(runtime_parse("scan.12x.sock", name, &pid));
	assert_false(runtime_parse("scan.-12.sock", name, &pid));
	assert_false(runtime_parse("scan. 12.sock", name, &pid));
	assert_false(runtime_parse("scan.12", name, &pid));
	assert_false(runtime_parse("scan.99999999999999999999.sock", name, &pid));
	assert_false(runtime_parse(".sock", name, &pid));
}

static void a_name_too_long_for_a_socket_is_refused(void **state)
{
	struct sockaddr_un address;
	char name[200];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(runtime_address(&address, dir, name, 1), -ENAMETOOLONG);
	assert_int_equal(runtime_address(&address, dir, "a/b", 1), -EINVAL);
}

static void the_runtime_directory_is_chosen_and_made(void **state)
{
	char buf[256], wanted[128];
	struct stat st;
	mode_t mask;

	(void)state;
	snprintf(wanted, sizeof(wanted), "%s/run", dir);
	setenv("VSIB_RUNTIME_DIR", wanted, 1);
	assert_int_equal(runtime_dir(buf, sizeof(buf), false), -ENOENT);
	assert_string_equal(buf, wanted);
	mask = umask(077);
	assert_int_equal(runtime_dir(buf, sizeof(buf), true), 0);
	umask(mask);
	assert_int_equal(stat(wanted, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(runtime_dir(buf, sizeof(buf), true), 0);
	assert_int_equal(runtime_dir(buf, 5, true), -ENAMETOOLONG);
	rmdir(wanted);
	unsetenv("VSIB_RUNTIME_DIR");
	if (geteuid() == 0) {
		runtime_dir(buf, sizeof(buf), false);
		assert_string_equal(buf, "/run/vsib");
	}
}

static void another_users_directory_in_tmp_is_not_trusted(void **state)
{
	const uid_t user = 54321;
	char buf[256], path[64];

	(void)state;
	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	snprintf(path, sizeof(path), "/tmp/vsib-%u", (unsigned)user);
	unsetenv("VSIB_RUNTIME_DIR");
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(mkdir(path, 0700), 0); /* root's, not the user's */
	assert_int_equal(seteuid(user), 0);
	assert_int_equal(runtime_dir(buf, sizeof(buf), true), -EPERM);
	assert_string_equal(buf, path);
	assert_int_equal(seteuid(0), 0);
	rmdir(path);
	assert_int_equal(symlink("/etc", path), 0);
	assert_int_equal(seteuid(user), 0);
	assert_int_equal(runtime_dir(buf, sizeof(buf), true), -ENOTDIR);
	assert_int_equal(seteuid(0), 0);
	unlink(path);
	assert_int_equal(seteuid(user), 0);
	assert_int_equal(runtime_dir(buf, sizeof(buf), true), 0);
	chmod(path, 0755);
	assert_int_equal(runtime_dir(buf, sizeof(buf), true), -EPERM);
	rmdir(path);
	setenv("XDG_RUNTIME_DIR", "/run/user/54321", 1);
	runtime_dir(buf, sizeof(buf), false);
	assert_string_equal(buf, "/run/user/54321/vsib");
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(seteuid(0), 0);
}

static char *screen_of(const char *json)
{
	json_t *object = json_loads(json, 0, NULL);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(object);
	status_screen_print(out, object);
	fclose(out);
	json_decref(object);
	return text;
}

static void the_screen_shows_what_the_object_says(void **state)
{
	char *text = screen_of(
		"{\"schema\":\"vsib-status/1\",\"name\":\"scan\",\"pid\":77,\"program\":\"vsib-record\",\"version\":\"0.1.0\","
		"\"state\":\"recording\",\"source\":\"sim:\",\"rate_bps\":512000000,\"utc\":\"2026-11-30T08:15:00Z\","
		"\"elapsed_s\":90,\"left_s\":3600,\"stream_bytes\":5760000000,\"written_bytes\":5000000000,"
		"\"rate_in_bps\":512000000,\"rate_out_bps\":83886080,\"lost\":{\"overflow_bytes\":1000,\"source_bytes\":0,\"filled_bytes\":0,"
		"\"disk_bytes\":0},\"ring\":{\"capacity_bytes\":1000,\"held_bytes\":500,\"high_water_bytes\":750},"
		"\"disks\":[{\"target\":\"/mnt/usb\\u001b[2J1\",\"state\":\"ok\",\"written_bytes\":1,\"rate_bps\":8388608,"
		"\"worst_write_s\":0.25,\"free_bytes\":1000000000,\"files\":3}],\"warnings\":[\"slow\"]}");

	(void)state;
	assert_non_null(strstr(text, "scan  recording  pid 77  vsib-record 0.1.0"));
	assert_non_null(strstr(text, "in 512.0 Mbit/s, out 83.9 Mbit/s (10.0 MiB/s)"));
	assert_non_null(strstr(
		text, "[####################.........|          ] 50 % of 1000 B, at most 750 B"));
	assert_non_null(strstr(text, "/mnt/usb?[2J1  ok  1 B  8.4 Mbit/s (1.0 MiB/s)"));
	assert_non_null(strstr(text, "lost     overflow "));
	assert_non_null(strstr(text, "warning  slow"));
	assert_null(strchr(text, '\033'));
	free(text);
}

static void the_screen_survives_any_object(void **state)
{
	static const char *const objects[] = {
		"{}",
		"{\"name\":1,\"ring\":[],\"disks\":{},\"lost\":null,\"warnings\":[1,null,{}]}",
		"{\"ring\":{\"capacity_bytes\":0,\"held_bytes\":-1,\"high_water_bytes\":1e300},\"disks\":[1,null,[]]}",
		"{\"left_s\":1e300,\"elapsed_s\":-1,\"stream_bytes\":1e300,\"rate_bps\":1e308}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		free(screen_of(objects[i]));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(each_recorder_is_asked_and_its_answer_is_one_line),
		CASE(a_name_or_a_number_selects),
		CASE(a_socket_left_over_is_told_and_stays),
		CASE(a_silent_recorder_is_waited_for_two_seconds),
		CASE(nonsense_is_not_believed),
		CASE(other_files_are_not_sockets_of_ours),
		CASE(a_name_too_long_for_a_socket_is_refused),
		CASE(the_runtime_directory_is_chosen_and_made),
		CASE(another_users_directory_in_tmp_is_not_trusted),
		CASE(the_screen_shows_what_the_object_says),
		CASE(the_screen_survives_any_object),
	};

	return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
