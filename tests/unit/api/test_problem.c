/* api/problem: the document of RFC 9457, whatever the parts hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "api/problem.h"
#include "base/cleanup.h"
#include "base/json.h"

static void test_document(void **state)
{
        struct bh_http_problem problem = {.status = 0};
        _cleanup_free_ char *text = NULL;

        (void)state;
        bh_http_problem_set(&problem, 404, "not_found", "no %s", "x");
        text = bh_http_problem_text(&problem, "req_1");
        assert_string_equal(text,
                            "{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404,"
                            "\"detail\":\"no x\",\"code\":\"not_found\",\"errors\":[],"
                            "\"request_id\":\"req_1\"}");
}

static void test_any_bytes_make_a_document(void **state)
{
        struct bh_http_problem problem = {.status = 0};
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_t *json = NULL;
        char bytes[2000];

        (void)state;
        memset(bytes, '\xc3', sizeof(bytes) - 1);
        bytes[sizeof(bytes) - 1] = '\0';
        bh_http_problem_set(&problem, 400, "invalid_request", "%s", bytes);
        text = bh_http_problem_text(&problem, "req_1");
        assert_int_equal(bh_json_parse(text, strlen(text), &json, NULL), 0);
}

static void test_errors_become_problems(void **state)
{
        struct bh_http_problem problem = {.status = 0};
        struct bh_error error;
        json_t *first;

        (void)state;
        (void)bh_error_invalid(&error, "/a/0", "is wrong");
        bh_http_problem_from_error(&problem, &error, "invalid_request", 1);
        assert_int_equal(problem.status, 400);
        first = json_array_get(problem.errors, 0);
        assert_string_equal(json_string_value(json_object_get(first, "pointer")), "/a/0");
        assert_string_equal(json_string_value(json_object_get(first, "reason")), "is wrong");
        (void)bh_error_errno(&error, 2, "open /secret/path");
        bh_http_problem_from_error(&problem, &error, "invalid_request", 1);
        assert_int_equal(problem.status, 500);
        assert_null(strstr(problem.detail, "/secret/path"));
        bh_http_problem_clear(&problem);
}

static void test_replies_become_problems(void **state)
{
        struct bh_http_problem problem = {.status = 0};
        _cleanup_json_ json_t *reply =
                json_pack("{s:s, s:s, s:[]}", "code", "secret_missing", "detail", "d", "errors");

        (void)state;
        bh_http_problem_from_reply(&problem, 422, reply);
        assert_string_equal(problem.code, "secret_missing");
        assert_string_equal(bh_status_phrase(problem.status), "Unprocessable Content");
        bh_http_problem_from_reply(&problem, 500, NULL);
        assert_string_equal(problem.code, "internal_error");
        bh_http_problem_clear(&problem);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_document),
                cmocka_unit_test(test_any_bytes_make_a_document),
                cmocka_unit_test(test_errors_become_problems),
                cmocka_unit_test(test_replies_become_problems),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
