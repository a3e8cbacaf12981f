/* base/log: one line a write, levels, what is masked, and that any bytes become JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"

/* The log writes to one end; a datagram is one write(2). */
static int ends[2];

static int setup(void **state)
{
        (void)state;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
                return -1;
        bh_log_open("tester", BH_LOG_DEBUG, ends[0]);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        bh_log_open("tester", BH_LOG_INFO, STDERR_FILENO);
        bh_close(ends[0]);
        bh_close(ends[1]);
        return 0;
}

/* The next line, parsed; NULL when none was written. */
static json_t *next_line(void)
{
        static char line[200000];
        json_t *json;
        ssize_t got = recv(ends[1], line, sizeof(line), 0);

        if (got < 0) {
                assert_int_equal(errno, EAGAIN);
                return NULL;
        }
        assert_true(got > 0);
        assert_int_equal(line[got - 1], '\n');
        assert_null(memchr(line, '\n', (size_t)got - 1));
        assert_int_equal(bh_json_parse(line, (size_t)got, &json, NULL), 0);
        return json;
}

static void assert_member(const json_t *line, const char *key, const char *expected)
{
        const char *text = json_string_value(json_object_get(line, key));

        assert_non_null(text);
        assert_string_equal(text, expected);
}

static void test_line(void **state)
{
        (void)state;
        _cleanup_json_ json_t *line = NULL;
        _cleanup_free_ char *text = NULL;

        bh_log_take(BH_LOG_WARNING, "started", json_pack("{s:i, s:b, s:n}", "n", 3, "ok", 1, "no"));
        line = next_line();
        assert_non_null(line);
        assert_int_equal(strlen(json_string_value(json_object_get(line, "time"))), 24);
        assert_member(line, "level", "warning");
        assert_member(line, "program", "tester");
        assert_member(line, "event", "started");
        assert_int_equal(json_object_del(line, "time"), 0);
        text = bh_json_text(line);
        assert_string_equal(text, "{\"level\":\"warning\",\"program\":\"tester\",\"event\":"
                                  "\"started\",\"n\":3,\"ok\":true,\"no\":null}");
        assert_null(next_line());
}

static void test_levels(void **state)
{
        (void)state;
        bh_log_open("tester", BH_LOG_WARNING, ends[0]);
        bh_log_take(BH_LOG_DEBUG, "quiet", json_object());
        bh_log_take(BH_LOG_INFO, "quiet", NULL);
        assert_null(next_line());
        for (enum bh_log_level level = BH_LOG_WARNING; level <= BH_LOG_ERROR; level++) {
                _cleanup_json_ json_t *line = NULL;

                bh_log_take(level, "loud", NULL);
                line = next_line();
                assert_non_null(line);
        }
}

static void test_credential_members_are_masked(void **state)
{
        (void)state;
        static const char *const names[] = {
                "token",      "api_token", "Authorization", "proxy-authorization",
                "Cookie",     "secret",    "secretBody",    "PASSWORD",
                "value",      "Value",     "stdin",         "env",
                "set-cookie",
        };

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                _cleanup_json_ json_t *line = NULL;

                bh_log_take(BH_LOG_INFO, "e", json_pack("{s:s}", names[i], "hunter2"));
                line = next_line();
                assert_member(line, names[i], "[redacted]");
        }
}

static void test_other_members_are_not(void **state)
{
        (void)state;
        static const char *const names[] = {"values",     "environment", "envelope",
                                            "stdin_size", "key",         "execution"};

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                _cleanup_json_ json_t *line = NULL;

                bh_log_take(BH_LOG_INFO, "e", json_pack("{s:s}", names[i], "plain"));
                line = next_line();
                assert_member(line, names[i], "plain");
        }
}

/* Whole structures under a credential's name, and strings at any depth. */
static void test_masks_below(void **state)
{
        (void)state;
        _cleanup_json_ json_t *line = NULL;
        _cleanup_free_ char *text = NULL;

        bh_log_take(BH_LOG_INFO, "use bht_event",
                    json_pack("{s:{s:s}, s:[s, {s:s, s:i}], s:i, s:n, s:s}", "env", "HOME",
                              "hunter2", "list", "Bearer hunter2", "x", "bhs_hunter2", "password",
                              12345678, "token", 87654321, "secret", "bht_hunter2", "v"));
        line = next_line();
        text = bh_json_text(line);
        assert_null(strstr(text, "hunter2"));
        assert_null(strstr(text, "12345678"));
        assert_null(strstr(text, "87654321"));
        assert_member(line, "event", "use bht_[redacted]");
        assert_member(line, "env", "[redacted]");
        assert_true(json_is_null(json_object_get(line, "secret")));
        assert_member(line, "bht_[redacted]", "v");
}

static void test_callers_fields_are_not_changed(void **state)
{
        (void)state;
        _cleanup_json_ json_t *fields = json_pack("{s:s, s:[s]}", "token", "t", "list", "bht_x");
        _cleanup_json_ json_t *line = NULL;

        bh_log_take(BH_LOG_INFO, "e", json_incref(fields));
        line = next_line();
        assert_string_equal(json_string_value(json_object_get(fields, "token")), "t");
        assert_string_equal(json_string_value(json_array_get(json_object_get(fields, "list"), 0)),
                            "bht_x");
        assert_int_equal(fields->refcount, 1);
}

static void test_own_members_win(void **state)
{
        (void)state;
        _cleanup_json_ json_t *line = NULL;

        bh_log_take(BH_LOG_INFO, "real", json_pack("{s:s, s:s}", "event", "fake", "level", "x"));
        line = next_line();
        assert_member(line, "event", "real");
        assert_member(line, "level", "info");
}

static void test_newlines_and_bytes(void **state)
{
        (void)state;
        _cleanup_json_ json_t *line = NULL;

        /* A line cannot be forged from inside a string, nor lost for a bad byte. */
        bh_log_take(BH_LOG_INFO, "a\n{\"event\":\"b\"}\xff", NULL);
        line = next_line();
        assert_member(line, "event", "a\n{\"event\":\"b\"}?");
}

static void test_deep_fields(void **state)
{
        (void)state;
        json_t *fields = json_object();
        _cleanup_json_ json_t *line = NULL;

        for (int i = 0; i < 200; i++)
                fields = json_pack("{s:o}", "d", fields);
        bh_log_take(BH_LOG_INFO, "deep", fields);
        line = next_line();
        assert_non_null(line);
}

static void test_error_members(void **state)
{
        (void)state;
        struct bh_error error = {0};
        _cleanup_json_ json_t *line = NULL, *plain = NULL;

        bh_error_errno(&error, ENOENT, "open %s", "bhs_x");
        bh_error_control(&error, "landlock");
        bh_log_error("start_failed", "ex_1 Bearer abc", &error);
        line = next_line();
        assert_member(line, "level", "error");
        assert_member(line, "event", "start_failed");
        assert_member(line, "context", "ex_1 Bearer [redacted]");
        assert_member(line, "code", "control");
        assert_int_equal(json_integer_value(json_object_get(line, "errno")), ENOENT);
        assert_member(line, "subject", "landlock");
        assert_member(line, "message", "open bhs_[redacted]: No such file or directory");
        assert_null(json_object_get(line, "reason"));

        bh_error_refused(&error, "mount_not_allowed", "/m", "no");
        bh_log_error("refused", NULL, &error);
        plain = next_line();
        assert_member(plain, "code", "refused");
        assert_member(plain, "reason", "mount_not_allowed");
        assert_null(json_object_get(plain, "context"));
        assert_null(json_object_get(plain, "errno"));
}

static void test_every_code_has_a_name(void **state)
{
        (void)state;
        for (enum bh_error_code code = BH_ERROR_NONE; code <= BH_ERROR_INTERNAL; code++) {
                struct bh_error error = {.code = code};
                _cleanup_json_ json_t *line = NULL;

                bh_log_error("e", NULL, &error);
                line = next_line();
                assert_string_not_equal(json_string_value(json_object_get(line, "code")),
                                        "unknown");
        }
}

#define sink_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                sink_test(test_line),
                sink_test(test_levels),
                sink_test(test_credential_members_are_masked),
                sink_test(test_other_members_are_not),
                sink_test(test_masks_below),
                sink_test(test_callers_fields_are_not_changed),
                sink_test(test_own_members_win),
                sink_test(test_newlines_and_bytes),
                sink_test(test_deep_fields),
                sink_test(test_error_members),
                sink_test(test_every_code_has_a_name),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
