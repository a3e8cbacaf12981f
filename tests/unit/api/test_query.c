/* api/query: each parameter once, known, and well formed; the message names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "api/query.h"
#include "base/cleanup.h"
#include "base/json.h"

#define ALL 0x1ff

static void check(const char *query, int allowed, const char *expected)
{
        _cleanup_json_ json_t *params = json_object();
        _cleanup_free_ char *text = NULL;
        struct bh_error error = {.message = ""};

        if (bh_query_parse(query, allowed, params, &error) < 0)
                fail_msg("%s: %s", query, error.message);
        text = bh_json_canonical(params);
        assert_string_equal(text, expected);
}

static void test_accepted(void **state)
{
        (void)state;
        check("", 0, "{}");
        check("limit=1", ALL, "{\"limit\":1}");
        check("limit=200&cursor=a%2Bb", ALL, "{\"cursor\":\"a+b\",\"limit\":200}");
        check("force=true&follow=false", ALL, "{\"follow\":false,\"force\":true}");
        check("wait=0", ALL, "{\"wait_ms\":0}");
        check("wait=600", ALL, "{\"wait_ms\":600000}");
        check("wait=600.000", ALL, "{\"wait_ms\":600000}");
        check("wait=1.5", ALL, "{\"wait_ms\":1500}");
        check("wait=0.001", ALL, "{\"wait_ms\":1}");
        check("agent=a-1&tenant=t", ALL, "{\"agent\":\"a-1\",\"tenant\":\"t\"}");
        check("state=running", ALL, "{\"state\":\"running\"}");
        check("label.a=1&label.b=&label.%61%2F=x+y", ALL,
              "{\"labels\":{\"a\":\"1\",\"a/\":\"x y\",\"b\":\"\"}}");
}

static void test_refused(void **state)
{
        static const char *const bad[] = {
                "limit=0",
                "limit=201",
                "limit=",
                "limit",
                "limit=1&limit=1",
                "limit= 1",
                "limit=+1",
                "limit=1.0",
                "limit=0x1",
                "limit=9999999999",
                "cursor=",
                "force=1",
                "force=True",
                "wait=601",
                "wait=600.001",
                "wait=-1",
                "wait=1.",
                "wait=.5",
                "wait=1.2345",
                "wait=1e2",
                "wait=NaN",
                "wait=",
                "wait=1 ",
                "agent=A",
                "agent=",
                "state=Ended",
                "label.=x",
                "label.a=1&label.a=2",
                "tenant=..",
                "what=1",
                "=",
                "&",
                "limit=1&",
                "&limit=1",
                "%6cimit=1&limit=1",
                "limit=%00",
                "limit=%",
                "x%ff=1",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                _cleanup_json_ json_t *params = json_object();
                struct bh_error error;

                if (bh_query_parse(bad[i], ALL, params, &error) == 0)
                        fail_msg("\"%s\" is accepted", bad[i]);
                assert_int_equal(error.code, BH_ERROR_INVALID);
        }
}

static void test_what_a_route_does_not_take_is_unknown(void **state)
{
        _cleanup_json_ json_t *params = json_object();
        struct bh_error error;

        (void)state;
        assert_int_equal(bh_query_parse("limit=1&wait=3", BH_PARAMETER_LIST, params, &error), -1);
        assert_non_null(strstr(error.message, "\"wait\""));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_accepted),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_what_a_route_does_not_take_is_unknown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
