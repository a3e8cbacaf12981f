/* api/target: split first, decode then, refuse whatever could become another path (F02). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "api/target.h"
#include "base/alloc.h"
#include "base/cleanup.h"

static void check(const char *text, size_t count, const char *last, const char *query)
{
        struct bh_target target;
        struct bh_error error = {.message = ""};

        if (bh_target_parse(text, &target, &error) < 0)
                fail_msg("%s: %s", text, error.message);
        assert_int_equal(target.segment_count, count);
        if (count > 0)
                assert_string_equal(target.segments[count - 1], last);
        assert_string_equal(target.query, query);
        bh_target_clear(&target);
}

static void test_accepted(void **state)
{
        (void)state;
        check("/", 0, NULL, "");
        check("/v1/agents", 2, "agents", "");
        check("/v1/agents?limit=1&cursor=a%2Fb", 2, "agents", "limit=1&cursor=a%2Fb");
        check("/v1/agents/a%2D%31", 3, "a-1", "");
        check("/v1/a+b", 2, "a+b", "");
        check("/%67r%C3%BC", 1, "gr\xc3\xbc", "");
        check("http://host:80/v1/x?y", 2, "x", "y");
        check("https://host/v1", 1, "v1", "");
        check("/a?b?c", 1, "a", "b?c");
        check("/...", 1, "...", "");
}

static void test_refused(void **state)
{
        static const char *const bad[] = {
                "",        "v1",       "*",        "//",      "/v1//x",       "/v1/",
                "/v1/.",   "/v1/..",   "/..",      "/%2e%2e", "/.%2E",        "/a%2Fb",
                "/a%2fb",  "/a%5cb",   "/a%00",    "/a%",     "/a%4",         "/a%zz",
                "/a%ff",   "/a%c3",    "/a%0a",    "/a%7f",   "/a#b",         "http://h",
                "http://", "http:/v1", "ftp://h/", "/a\\b",   "http://h?x/y",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct bh_target target;
                struct bh_error error;

                if (bh_target_parse(bad[i], &target, &error) == 0)
                        fail_msg("\"%s\" is accepted", bad[i]);
                assert_int_equal(error.code, BH_ERROR_INVALID);
        }
}

static void test_any_depth(void **state)
{
        (void)state;
        check("/1/2/3/4/5/6/7/8/9/10", 10, "10", "");
}

/* Where a path names a file of a workspace, it has a reason of its own, and a backslash is a
 * character like others. */
static void test_file_paths(void **state)
{
        static const char *const bad[] = {
                "/v1/workspaces/w/files/",        "/v1/workspaces/w/files/..",
                "/v1/workspaces/w/files/a/./b",   "/v1/workspaces/w/files/a%2fb",
                "/v1/workspaces/w/files/a//b",    "/v1/workspaces/w/files/a%00",
                "/v1/workspaces/w/files/%2e%2e/", "/v1/workspaces/w/files/a/%ff",
        };

        (void)state;
        check("/v1/workspaces/w/files/a%5cb", 5, "a\\b", "");
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct bh_target target;
                struct bh_error error = {.reason = ""};

                assert_int_equal(bh_target_parse(bad[i], &target, &error), -1);
                assert_int_equal(error.code, BH_ERROR_INVALID);
                assert_string_equal(error.reason, "path_not_allowed");
        }
}

static void test_plus(void **state)
{
        _cleanup_free_ char *text = bh_strdup("a+b%2Bc");

        (void)state;
        assert_int_equal(bh_percent_decode(text, true, NULL), 0);
        assert_string_equal(text, "a b+c");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_accepted),  cmocka_unit_test(test_refused),
                cmocka_unit_test(test_any_depth), cmocka_unit_test(test_file_paths),
                cmocka_unit_test(test_plus),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
