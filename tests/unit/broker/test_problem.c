/* Errors become problems: their codes, and what is not told. */
#include "unit.h"

#include "broker/daemon/problem.h"

static void expect(const struct bh_error *error, int status, const char *code, const char *pointer)
{
        int got = 0;
        _cleanup_json_ json_t *problem = bh_problem_from_error(error, &got);
        json_t *first = json_array_get(json_object_get(problem, "errors"), 0);
        assert_int_equal(got, status);
        assert_string_equal(json_string_value(json_object_get(problem, "code")), code);
        if (pointer)
                assert_string_equal(json_string_value(json_object_get(first, "pointer")), pointer);
        else
                assert_null(first);
}

static void errors_become_their_codes(void **state)
{
        (void)state;
        struct bh_error error = {0};
        bh_error_invalid(&error, "/a", "is wrong");
        expect(&error, 400, "invalid_request", "/a");
        bh_error_refused(&error, "mount_not_allowed", "/mounts/0/source", "no");
        expect(&error, 422, "mount_not_allowed", "/mounts/0/source");
        bh_error_refused(&error, "workspace_busy", "", "no");
        expect(&error, 409, "workspace_busy", NULL);
        bh_error_set(&error, BH_ERROR_NOT_FOUND, "no");
        expect(&error, 404, "not_found", NULL);
        bh_error_set(&error, BH_ERROR_UNAVAILABLE, "no");
        expect(&error, 503, "unavailable", NULL);
}

static void what_failed_inside_is_not_told(void **state)
{
        (void)state;
        struct bh_error error = {0};
        int status = 0;
        bh_error_errno(&error, 13, "open /var/lib/bulkhead/x");
        assert_true(bh_error_is_fault(&error));
        _cleanup_json_ json_t *problem = bh_problem_from_error(&error, &status);
        assert_int_equal(status, 500);
        assert_null(strstr(json_string_value(json_object_get(problem, "detail")), "/var/lib"));
        bh_error_refused(&error, "store_failed", "", "store: disk I/O error");
        assert_true(bh_error_is_fault(&error));
        expect(&error, 500, "store_failed", NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(errors_become_their_codes),
                cmocka_unit_test(what_failed_inside_is_not_told),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
