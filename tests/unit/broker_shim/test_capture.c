/* broker/shim/capture.c: the head is kept, everything is counted, nothing blocks or dies. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "broker/shim/capture.h"

struct fixture {
        char path[64];
        int directory, writer;
        struct bh_capture capture;
        char buffer[4096];
};

static int set_up(void **state)
{
        struct fixture *fixture = calloc(1, sizeof(*fixture));

        strcpy(fixture->path, "/tmp/shim_capture.XXXXXX");
        assert_non_null(mkdtemp(fixture->path));
        fixture->directory = open(fixture->path, O_DIRECTORY | O_CLOEXEC);
        fixture->writer = -1;
        fixture->capture = BH_CAPTURE_NONE;
        *state = fixture;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *fixture = *state;

        bh_capture_close(&fixture->capture);
        bh_close(fixture->writer);
        unlinkat(fixture->directory, "stdout", 0);
        bh_close(fixture->directory);
        rmdir(fixture->path);
        free(fixture);
        return 0;
}

static void open_capture(struct fixture *fixture, int64_t limit)
{
        struct bh_error error;

        assert_int_equal(bh_capture_open(&fixture->capture, limit, &fixture->writer, &error), 0);
        bh_capture_keep_take(&fixture->capture,
                             openat(fixture->directory, "stdout",
                                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static void pump(struct fixture *fixture)
{
        bh_capture_pump(&fixture->capture, fixture->buffer, sizeof(fixture->buffer), 1000);
}

static void put(struct fixture *fixture, const char *text)
{
        assert_int_equal(bh_write_full(fixture->writer, text, strlen(text)), 0);
}

static void assert_file(struct fixture *fixture, const char *expected)
{
        char *data;
        size_t size;

        assert_int_equal(bh_read_file(fixture->directory, "stdout", 1 << 20, &data, &size, NULL),
                         0);
        assert_int_equal(size, strlen(expected));
        assert_memory_equal(data, expected, size);
        free(data);
}

static void the_last_bytes_come_through(void **state)
{
        struct fixture *fixture = *state;

        open_capture(fixture, 100);
        put(fixture, "tail without newline");
        fixture->writer = bh_close(fixture->writer);
        pump(fixture);
        pump(fixture);
        assert_true(bh_capture_at_end(&fixture->capture));
        assert_int_equal(fixture->capture.bytes, 20);
        assert_int_equal(fixture->capture.kept, 20);
        assert_file(fixture, "tail without newline");
}

static void past_the_limit_bytes_are_counted_and_dropped(void **state)
{
        struct fixture *fixture = *state;

        open_capture(fixture, 5);
        put(fixture, "abc");
        pump(fixture);
        put(fixture, "defgh");
        pump(fixture);
        put(fixture, "ijk");
        pump(fixture);
        assert_false(bh_capture_at_end(&fixture->capture));
        assert_int_equal(fixture->capture.bytes, 11);
        assert_int_equal(fixture->capture.kept, 5);
        assert_int_equal(fixture->capture.write_errno, 0);
        assert_file(fixture, "abcde");
}

static void a_flood_is_read_at_a_measured_pace(void **state)
{
        struct fixture *fixture = *state;
        static char flood[60000];

        open_capture(fixture, 5000);
        assert_int_equal(bh_write_full(fixture->writer, flood, sizeof(flood)), 0);
        pump(fixture); /* the buffer that passes the limit is the last at full pace */
        assert_int_equal(fixture->capture.kept, 5000);
        assert_int_equal(fixture->capture.resume_us, 1000 + BH_CAPTURE_PACE_US);
        assert_int_equal(bh_capture_pollfd(&fixture->capture, 1000).fd, -1);
        assert_int_equal(bh_capture_pollfd(&fixture->capture, fixture->capture.resume_us).fd,
                         fixture->capture.pipe_fd);
}

static void an_empty_pipe_does_not_block(void **state)
{
        struct fixture *fixture = *state;

        open_capture(fixture, 5);
        pump(fixture);
        assert_false(bh_capture_at_end(&fixture->capture));
        assert_int_equal(fixture->capture.bytes, 0);
        assert_false(fcntl(fixture->writer, F_GETFL) & O_NONBLOCK);
}

static void one_stream_leaves_the_others_their_turn(void **state)
{
        struct fixture *fixture = *state;
        static char flood[60000];

        open_capture(fixture, 1 << 20);
        assert_int_equal(bh_write_full(fixture->writer, flood, sizeof(flood)), 0);
        pump(fixture);
        assert_true(fixture->capture.bytes > 0);
        assert_true(fixture->capture.bytes < (int64_t)sizeof(flood));
}

/* A disk that fills up, by way of RLIMIT_FSIZE: the write stops at the same place. */
static void a_full_disk_loses_output_but_not_the_program(void **state)
{
        struct fixture *fixture = *state;
        struct rlimit old, small;

        open_capture(fixture, 100);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
        small = old;
        small.rlim_cur = 4;
        signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        put(fixture, "abcdefgh");
        pump(fixture);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        put(fixture, "ijk");
        pump(fixture);
        assert_int_equal(fixture->capture.write_errno, EFBIG);
        assert_int_equal(fixture->capture.bytes, 11);
        assert_int_equal(fixture->capture.kept, 4);
        assert_file(fixture, "abcd");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_last_bytes_come_through, set_up, tear_down),
                cmocka_unit_test_setup_teardown(past_the_limit_bytes_are_counted_and_dropped,
                                                set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_flood_is_read_at_a_measured_pace, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(an_empty_pipe_does_not_block, set_up, tear_down),
                cmocka_unit_test_setup_teardown(one_stream_leaves_the_others_their_turn, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_full_disk_loses_output_but_not_the_program,
                                                set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
