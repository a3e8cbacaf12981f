/* api/inspect: what is sound passes byte for byte, in pieces of any size; what is not has its
 * status; the offset behind the last sound request is right. The kinds of fault are tested over a
 * socket in tests/integration/test_http_hostile.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "api/inspect.h"
#include "base/alloc.h"
#include "base/cleanup.h"

#define GET  "GET /v1/host HTTP/1.1\r\nHost: h\r\n\r\n"
#define POST "POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345"
#define CHUNKED                                                           \
        "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n" \
        "a;ext=1\r\n0123456789\r\n00005\r\nabcde\r\n0\r\n\r\n"

static const char *const sound[] = {
        GET,
        POST,
        CHUNKED,
        "\r\n" GET,
        GET POST CHUNKED GET,
        "DELETE / HTTP/1.0\r\nContent-Length: 0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost:\r\nX: \t a\xff b \r\nContent-Length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\n\r\n",
};

/* Feeds text in pieces of step; stops at a violation. */
static struct bh_inspector feed(const char *text, size_t step)
{
        struct bh_inspector in = {.phase = BH_PHASE_IDLE};
        size_t size = strlen(text);

        for (size_t at = 0; at < size && !in.violation.status; at += step) {
                size_t piece = size - at < step ? size - at : step;
                size_t good = bh_inspect(&in, text + at, piece);

                if (!in.violation.status)
                        assert_int_equal(good, piece);
                else
                        assert_true(good < piece);
        }
        return in;
}

static void test_sound_requests_pass(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(sound) / sizeof(sound[0]); i++)
                for (size_t step = 1; step < 40; step++) {
                        struct bh_inspector in = feed(sound[i], step);

                        if (in.violation.status)
                                fail_msg("%zu in %zu: %s", i, step, in.violation.detail);
                        assert_int_equal(in.phase, BH_PHASE_IDLE);
                        assert_int_equal(in.started, in.heads);
                        assert_int_equal(in.started, i == 4 ? 4 : 1);
                }
}

static void test_phases(void **state)
{
        struct bh_inspector in = {.phase = BH_PHASE_IDLE};
        const char *head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n";

        (void)state;
        bh_inspect(&in, head, 1);
        assert_int_equal(in.phase, BH_PHASE_HEAD);
        assert_int_equal(in.started, 1);
        assert_int_equal(in.heads, 0);
        bh_inspect(&in, head + 1, strlen(head) - 1);
        assert_int_equal(in.phase, BH_PHASE_BODY);
        assert_int_equal(in.heads, 1);
        bh_inspect(&in, "ab", 2);
        assert_int_equal(in.body_seen, 2);
        bh_inspect(&in, "c", 1);
        assert_int_equal(in.phase, BH_PHASE_IDLE);
}

static void test_a_fault_keeps_what_came_before(void **state)
{
        static const char text[] = GET POST "BROKEN\r\n\r\n";
        struct bh_inspector in = {.phase = BH_PHASE_IDLE};

        (void)state;
        assert_int_equal(bh_inspect(&in, text, sizeof(text) - 1), strlen(GET POST));
        assert_int_equal(in.violation.status, 400);
        assert_int_equal(in.started, 3);
        assert_int_equal(bh_inspect(&in, GET, strlen(GET)), 0);
}

static int status_of(const char *head, size_t padding, char byte, const char *tail)
{
        size_t size = strlen(head);
        _cleanup_free_ char *text = bh_alloc(size + padding + strlen(tail) + 1);

        memcpy(text, head, size);
        memset(text + size, byte, padding);
        strcpy(text + size + padding, tail);
        return feed(text, 1000).violation.status;
}

static void test_limits(void **state)
{
        static const char rest[] = " HTTP/1.1\r\nHost: h\r\n\r\n";
        static const char header[] = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
        size_t room = BH_HEADERS_MAX - strlen("Host: h\r\nX: \r\n\r\n");

        (void)state;
        assert_int_equal(status_of("GET /", BH_TARGET_MAX - 1, 'a', rest), 0);
        assert_int_equal(status_of("GET /", BH_TARGET_MAX, 'a', rest), 414);
        assert_int_equal(status_of(header, room, 'a', "\r\n\r\n"), 0);
        assert_int_equal(status_of(header, room + 1, 'a', "\r\n\r\n"), 431);
        assert_int_equal(status_of("GET /?", BH_PARAMETER_COUNT_MAX - 1, '&', rest), 0);
        assert_int_equal(status_of("GET /?", BH_PARAMETER_COUNT_MAX, '&', rest), 400);
        assert_int_equal(status_of("", 33, 'M', " / HTTP/1.1\r\n"), 400);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sound_requests_pass),
                cmocka_unit_test(test_phases),
                cmocka_unit_test(test_a_fault_keeps_what_came_before),
                cmocka_unit_test(test_limits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
