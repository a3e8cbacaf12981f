/* broker/shim/stdin_feed.c: all bytes, then the end; never a wait for a program that does not
 * read. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "broker/shim/stdin_feed.h"

#define BIG ((size_t)1 << 20)

static char buffer[8192];

static void without_data_it_is_at_its_end(void **state)
{
        struct bh_stdin_feed feed = BH_STDIN_FEED_NONE;
        int reader = -1;
        char byte;

        (void)state;
        assert_int_equal(bh_stdin_feed_open(&feed, -1, 0, 0, &reader, NULL), 0);
        assert_int_equal(feed.pipe_fd, -1);
        assert_int_equal(read(reader, &byte, 1), 0);
        bh_close(reader);
}

static void a_span_of_the_payload_is_given_then_the_end(void **state)
{
        struct bh_stdin_feed feed = BH_STDIN_FEED_NONE;
        int payload = bh_memfd_sealed("payload", "0123456789", 10, NULL), reader = -1;
        char got[16] = "";

        (void)state;
        assert_int_equal(bh_stdin_feed_open(&feed, payload, 3, 4, &reader, NULL), 0);
        bh_stdin_feed_pump(&feed, buffer, sizeof(buffer));
        assert_int_equal(feed.pipe_fd, -1);
        assert_int_equal(bh_read_full(reader, got, sizeof(got)), 4);
        assert_string_equal(got, "3456");
        bh_close(reader);
        bh_close(payload);
}

static void a_slow_reader_gets_every_byte(void **state)
{
        struct bh_stdin_feed feed = BH_STDIN_FEED_NONE;
        char *data = malloc(BIG), *got = malloc(BIG);
        size_t have = 0;
        int payload, reader = -1;

        (void)state;
        for (size_t i = 0; i < BIG; i++)
                data[i] = (char)(i * 31 + i / 977);
        payload = bh_memfd_sealed("payload", data, BIG, NULL);
        assert_int_equal(bh_stdin_feed_open(&feed, payload, 0, BIG, &reader, NULL), 0);
        while (have < BIG) {
                ssize_t size;

                bh_stdin_feed_pump(&feed, buffer, sizeof(buffer));
                size = read(reader, got + have, BIG - have < 3000 ? BIG - have : 3000);
                assert_true(size > 0);
                have += (size_t)size;
        }
        assert_memory_equal(data, got, BIG);
        bh_stdin_feed_pump(&feed, buffer, sizeof(buffer));
        assert_int_equal(read(reader, got, 1), 0);
        bh_close(reader);
        bh_close(payload);
        free(data);
        free(got);
}

static void nobody_reading_is_no_wait_and_no_signal(void **state)
{
        struct bh_stdin_feed feed = BH_STDIN_FEED_NONE;
        char *data = calloc(1, BIG);
        int payload = bh_memfd_sealed("payload", data, BIG, NULL), reader = -1;

        (void)state;
        signal(SIGPIPE, SIG_IGN);
        assert_int_equal(bh_stdin_feed_open(&feed, payload, 0, BIG, &reader, NULL), 0);
        bh_stdin_feed_pump(&feed, buffer, sizeof(buffer));
        assert_true(feed.pipe_fd >= 0);
        assert_true(feed.left > 0);
        bh_close(reader);
        bh_stdin_feed_pump(&feed, buffer, sizeof(buffer));
        assert_int_equal(feed.pipe_fd, -1);
        bh_close(payload);
        free(data);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(without_data_it_is_at_its_end),
                cmocka_unit_test(a_span_of_the_payload_is_given_then_the_end),
                cmocka_unit_test(a_slow_reader_gets_every_byte),
                cmocka_unit_test(nobody_reading_is_no_wait_and_no_signal),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
