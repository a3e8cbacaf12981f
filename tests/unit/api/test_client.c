/* api/client: deadlines, refusals past libmicrohttpd, and that a refused client reads its answer.
 * The test plays libmicrohttpd: it receives, hands the bytes over, and closes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/client.h"
#include "base/fd.h"

#define GET "GET /v1/host HTTP/1.1\r\nHost: h\r\n\r\n"

struct lab {
        struct event_base *base;
        struct bh_clients *clients;
        struct bh_client *client;
        int fd, peer;
        int gone;
};

static int open_lab(void **state)
{
        static struct lab lab;
        struct bh_client_limits limits = {
                .head_us = 100000, .body_us = 300000, .body_bytes_per_second = 1 << 20};
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return -1;
        lab = (struct lab){.base = event_base_new(), .fd = pair[0], .peer = pair[1]};
        lab.clients = bh_clients_new(lab.base, limits);
        lab.client = bh_client_open(lab.clients, lab.fd, NULL, false);
        *state = &lab;
        return 0;
}

static void close_client(struct lab *lab)
{
        if (lab->client) {
                bh_client_close(lab->client);
                lab->fd = bh_close(lab->fd);
                lab->client = NULL;
        }
}

static int close_lab(void **state)
{
        struct lab *lab = *state;

        close_client(lab);
        bh_clients_free(lab->clients);
        event_base_free(lab->base);
        bh_close(lab->peer);
        return 0;
}

static void run(struct lab *lab, int milliseconds)
{
        struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000};

        event_base_loopexit(lab->base, &time);
        assert_true(event_base_dispatch(lab->base) >= 0);
}

static size_t say(struct lab *lab, const char *text)
{
        return bh_client_received(lab->client, text, strlen(text));
}

/* What the client has got so far, as text. */
static const char *heard(struct lab *lab)
{
        static char buffer[4096];
        ssize_t got = recvfrom(lab->peer, buffer, sizeof(buffer) - 1, 0, NULL, NULL);

        buffer[got > 0 ? got : 0] = '\0';
        return buffer;
}

static void assert_heard(struct lab *lab, const char *start, const char *code)
{
        const char *text = heard(lab);

        assert_memory_equal(text, start, strlen(start));
        assert_non_null(strstr(text, code));
        assert_non_null(strstr(text, "Connection: close\r\n"));
        assert_non_null(strstr(text, "application/problem+json"));
}

static void test_clients_are_found_by_descriptor(void **state)
{
        struct lab *lab = *state;
        int fd = lab->fd;

        assert_ptr_equal(bh_client_by_fd(fd), lab->client);
        assert_null(bh_client_by_fd(-1));
        assert_null(bh_client_by_fd(lab->peer));
        assert_null(bh_client_by_fd(1 << 20));
        close_client(lab);
        assert_null(bh_client_by_fd(fd));
}

static void test_a_slow_head_gets_408(void **state)
{
        struct lab *lab = *state;

        assert_int_equal(say(lab, "GET / HT"), 8);
        run(lab, 50);
        assert_false(bh_client_is_closing(lab->client));
        run(lab, 600);
        assert_true(bh_client_is_closing(lab->client));
        assert_heard(lab, "HTTP/1.1 408 ", "request_timeout");
        assert_int_equal(say(lab, "TP/1.1\r\n"), 0);
}

static void test_silence_is_closed_without_a_word(void **state)
{
        struct lab *lab = *state;

        run(lab, 600);
        assert_true(bh_client_is_closing(lab->client));
        assert_string_equal(heard(lab), "");
}

static void test_a_slow_body_gets_408(void **state)
{
        struct lab *lab = *state;

        say(lab, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n1");
        run(lab, 150);
        assert_false(bh_client_is_closing(lab->client));
        run(lab, 700);
        assert_heard(lab, "HTTP/1.1 408 ", "request_timeout");
}

static void test_no_deadline_while_an_answer_is_owed(void **state)
{
        struct lab *lab = *state;

        say(lab, GET);
        run(lab, 600);
        assert_false(bh_client_is_closing(lab->client));
        bh_client_answering(lab->client);
        bh_client_answered(lab->client);
        run(lab, 600);
        assert_false(bh_client_is_closing(lab->client));
        assert_string_equal(heard(lab), "");
}

static void test_the_next_request_waits_for_the_first_ones_answer(void **state)
{
        struct lab *lab = *state;

        say(lab, GET "GET / HT");
        run(lab, 600);
        assert_false(bh_client_is_closing(lab->client));
        bh_client_answered(lab->client);
        run(lab, 600);
        assert_heard(lab, "HTTP/1.1 408 ", "request_timeout");
}

static void test_a_fault_waits_for_the_answers_before_it(void **state)
{
        struct lab *lab = *state;

        assert_int_equal(say(lab, GET GET "BROKEN\r\n"), strlen(GET GET));
        assert_true(bh_client_head_inspected(lab->client));
        bh_client_answered(lab->client);
        assert_string_equal(heard(lab), "");
        bh_client_answered(lab->client);
        assert_heard(lab, "HTTP/1.1 400 ", "malformed_request");
        assert_true(bh_client_is_closing(lab->client));
}

static void test_a_head_that_was_not_seen_is_not_inspected(void **state)
{
        struct lab *lab = *state;

        assert_false(bh_client_head_inspected(lab->client));
        say(lab, GET);
        assert_true(bh_client_head_inspected(lab->client));
        bh_client_answered(lab->client);
        assert_false(bh_client_head_inspected(lab->client));
}

static void test_a_refused_client_may_go_on_sending(void **state)
{
        struct lab *lab = *state;
        char much[10000] = "";

        assert_int_equal(say(lab, "BROKEN\r\n"), 0);
        assert_int_equal(write(lab->peer, much, sizeof(much)), sizeof(much));
        close_client(lab);
        run(lab, 50);
        /* Not closed yet: no reset, and the answer is there. */
        assert_int_equal(write(lab->peer, much, sizeof(much)), sizeof(much));
        assert_heard(lab, "HTTP/1.1 400 ", "malformed_request");
        assert_string_equal(heard(lab), ""); /* its end */
        run(lab, 50);
        assert_int_equal(shutdown(lab->peer, SHUT_WR), 0);
        run(lab, 50);
}

static void on_gone(void *context)
{
        ((struct lab *)context)->gone++;
}

static void test_whoever_watches_is_told_once(void **state)
{
        struct lab *lab = *state;

        bh_client_watch(lab->client, on_gone, lab);
        run(lab, 20);
        assert_int_equal(lab->gone, 0);
        assert_int_equal(shutdown(lab->peer, SHUT_WR), 0);
        run(lab, 20);
        assert_int_equal(lab->gone, 1);
        bh_client_watch(lab->client, on_gone, lab); /* it is gone already */
        run(lab, 20);
        assert_int_equal(lab->gone, 2);
}

int main(void)
{
#define LAB_TEST(test) cmocka_unit_test_setup_teardown(test, open_lab, close_lab)
        const struct CMUnitTest tests[] = {
                LAB_TEST(test_clients_are_found_by_descriptor),
                LAB_TEST(test_a_slow_head_gets_408),
                LAB_TEST(test_silence_is_closed_without_a_word),
                LAB_TEST(test_a_slow_body_gets_408),
                LAB_TEST(test_no_deadline_while_an_answer_is_owed),
                LAB_TEST(test_the_next_request_waits_for_the_first_ones_answer),
                LAB_TEST(test_a_fault_waits_for_the_answers_before_it),
                LAB_TEST(test_a_head_that_was_not_seen_is_not_inspected),
                LAB_TEST(test_a_refused_client_may_go_on_sending),
                LAB_TEST(test_whoever_watches_is_told_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
