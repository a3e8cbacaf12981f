/* broker/shim/pump.c: bytes move while nobody looks, the counts and the news are told, and all
 * of it ends. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "broker/shim/pump.h"

#define PATIENCE_MS 10000

struct fixture {
        char path[64];
        int directory, out, err, in; /* the workload's ends */
        int payload;
        char buffer[4096];
        struct bh_pump *pump;
        struct bh_capture seen_out, seen_err;
};

static int new_file(const struct fixture *fixture, const char *name)
{
        return openat(fixture->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int set_up(void **state)
{
        struct fixture *fixture = calloc(1, sizeof(*fixture));
        struct bh_pump_streams streams = {.buffer = fixture->buffer,
                                          .buffer_size = sizeof(fixture->buffer)};
        struct bh_error error;

        strcpy(fixture->path, "/tmp/shim_pump.XXXXXX");
        assert_non_null(mkdtemp(fixture->path));
        fixture->directory = open(fixture->path, O_DIRECTORY | O_CLOEXEC);
        fixture->payload = memfd_create("payload", MFD_CLOEXEC);
        assert_int_equal(ftruncate(fixture->payload, 1 << 20), 0);
        assert_int_equal(bh_capture_open(&streams.out, 4, &fixture->out, &error), 0);
        assert_int_equal(bh_capture_open(&streams.err, 4, &fixture->err, &error), 0);
        bh_capture_keep_take(&streams.out, new_file(fixture, "stdout"));
        bh_capture_keep_take(&streams.err, new_file(fixture, "stderr"));
        assert_int_equal(
                bh_stdin_feed_open(&streams.in, fixture->payload, 0, 1 << 20, &fixture->in, &error),
                0);
        assert_int_equal(bh_pump_new(&fixture->pump, &error), 0);
        bh_pump_start(fixture->pump, &streams);
        assert_int_equal(streams.out.pipe_fd, -1);
        assert_int_equal(streams.in.pipe_fd, -1);
        *state = fixture;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *fixture = *state;

        bh_close(fixture->in);
        bh_close(fixture->payload);
        unlinkat(fixture->directory, "stdout", 0);
        unlinkat(fixture->directory, "stderr", 0);
        bh_close(fixture->directory);
        rmdir(fixture->path);
        free(fixture);
        return 0;
}

static bool look(struct fixture *fixture)
{
        return bh_pump_look(fixture->pump, &fixture->seen_out, &fixture->seen_err);
}

static bool await_news(struct fixture *fixture, int patience_ms)
{
        struct pollfd news = {.fd = bh_pump_news_fd(fixture->pump), .events = POLLIN};

        return poll(&news, 1, patience_ms) == 1;
}

/* The workload's ends close, and all that was in the pipes has been moved. */
static void finish(struct fixture *fixture)
{
        fixture->out = bh_close(fixture->out);
        fixture->err = bh_close(fixture->err);
        bh_pump_end_input(fixture->pump);
        while (!look(fixture))
                assert_true(await_news(fixture, PATIENCE_MS));
        bh_pump_free(fixture->pump);
}

static void test_counts_are_told(void **state)
{
        struct fixture *fixture = *state;

        assert_int_equal(bh_write_full(fixture->out, "abcdef", 6), 0);
        assert_int_equal(bh_write_full(fixture->err, "xy", 2), 0);
        finish(fixture);
        assert_int_equal(fixture->seen_out.bytes, 6);
        assert_int_equal(fixture->seen_out.kept, 4);
        assert_int_equal(fixture->seen_err.kept, 2);
        assert_int_equal(fixture->seen_out.pipe_fd, -1);
}

static void test_news_only_when_wanted(void **state)
{
        struct fixture *fixture = *state;

        assert_int_equal(bh_write_full(fixture->out, "a", 1), 0);
        assert_false(await_news(fixture, 50));
        bh_pump_tell_news(fixture->pump, true);
        assert_int_equal(bh_write_full(fixture->out, "b", 1), 0);
        assert_true(await_news(fixture, PATIENCE_MS));
        while (!look(fixture) && fixture->seen_out.kept < 2)
                assert_true(await_news(fixture, PATIENCE_MS));
        assert_int_equal(fixture->seen_out.kept, 2);
        finish(fixture);
}

/* A program may close its output and read on; one that never reads holds up nobody. */
static void test_input_outlives_output_until_it_is_ended(void **state)
{
        struct fixture *fixture = *state;
        char data[1024];

        fixture->out = bh_close(fixture->out);
        fixture->err = bh_close(fixture->err);
        assert_int_equal(bh_read_full(fixture->in, data, sizeof(data)), sizeof(data));
        assert_false(look(fixture));
        finish(fixture);
}

static void test_a_spare_ends_without_streams(void **state)
{
        struct bh_pump *pump;
        struct bh_error error;

        (void)state;
        assert_int_equal(bh_pump_new(&pump, &error), 0);
        bh_pump_free(pump);
        bh_pump_free(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_counts_are_told, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_news_only_when_wanted, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_input_outlives_output_until_it_is_ended,
                                                set_up, tear_down),
                cmocka_unit_test(test_a_spare_ends_without_streams),
        };

        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
