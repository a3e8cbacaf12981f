/* api/routes: every row is found by its own path, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "api/openapi.h"
#include "api/routes.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"

#define EXECUTION "ex_01m8p6fzcx29sn61w4k4kfbnp0"

static enum bh_route_verdict find(const char *method, const char *path, const struct bh_route **ret,
                                  json_t *params, char allow[BH_ALLOW_SIZE])
{
        struct bh_target target;
        enum bh_route_verdict verdict;

        assert_int_equal(bh_target_parse(path, &target, NULL), 0);
        verdict = bh_route_find(method, &target, ret, params, allow);
        bh_target_clear(&target);
        return verdict;
}

/* pattern with its captures filled in. Caller frees. */
static char *example_path(const char *pattern)
{
        const char *open = strchr(pattern, '{'), *close = open ? strchr(open, '}') : NULL;
        _cleanup_free_ char *rest = NULL;

        if (!open)
                return bh_strdup(pattern);
        rest = example_path(close + 1);
        return bh_format("%.*s%s%s", (int)(open - pattern), pattern,
                         strncmp(open, "{execution}", 11) == 0 ? EXECUTION
                         : strncmp(open, "{path}", 6) == 0     ? "a/b"
                                                               : "name-1",
                         rest);
}

static size_t count_captures(const char *pattern)
{
        size_t count = 0;

        for (; (pattern = strchr(pattern, '{')); pattern++)
                count++;
        return count;
}

static void test_every_row_is_reached(void **state)
{
        size_t count;
        const struct bh_route *routes = bh_routes(&count), *found;
        char allow[BH_ALLOW_SIZE];

        (void)state;
        assert_true(count > 20);
        for (size_t i = 0; i < count; i++) {
                _cleanup_free_ char *path = example_path(routes[i].path);
                _cleanup_json_ json_t *params = json_object();

                assert_int_equal(find(routes[i].method, path, &found, params, allow),
                                 BH_ROUTE_FOUND);
                assert_ptr_equal(found, &routes[i]);
                assert_int_equal(json_object_size(params), count_captures(routes[i].path));
                assert_true(routes[i].op < BH_OP_COUNT);
                if (strcmp(routes[i].method, "GET") == 0)
                        assert_int_equal(find("HEAD", path, &found, params, allow), BH_ROUTE_FOUND);
        }
}

static void test_captures(void **state)
{
        _cleanup_json_ json_t *params = json_object();
        const struct bh_route *route;
        char allow[BH_ALLOW_SIZE];

        (void)state;
        assert_int_equal(find("PUT", "/v1/agents/a%2D1/capabilities", &route, params, allow),
                         BH_ROUTE_FOUND);
        assert_string_equal(json_string_value(json_object_get(params, "agent")), "a-1");
        assert_int_equal(find("GET", "/v1/agents/A", &route, params, allow), BH_ROUTE_BAD_NAME);
        assert_int_equal(find("GET", "/v1/executions/ex_1", &route, params, allow),
                         BH_ROUTE_BAD_NAME);
        assert_int_equal(
                find("GET", "/v1/executions/sb_01m8p6fzcx29sn61w4k4kfbnp0", &route, params, allow),
                BH_ROUTE_BAD_NAME);
}

static void test_paths_of_files(void **state)
{
        _cleanup_json_ json_t *params = json_object();
        const struct bh_route *route;
        char allow[BH_ALLOW_SIZE];

        (void)state;
        assert_int_equal(
                find("PUT", "/v1/workspaces/w/files/a%2D/b%20c/files/...", &route, params, allow),
                BH_ROUTE_FOUND);
        assert_string_equal(json_string_value(json_object_get(params, "path")), "a-/b c/files/...");
        assert_int_equal(route->op, BH_OP_FILE_PUT);
        assert_int_equal(find("GET", "/v1/workspaces/w/files", &route, params, allow),
                         BH_ROUTE_NO_PATH);
        assert_int_equal(find("GET", "/v1/workspaces/W/files/a", &route, params, allow),
                         BH_ROUTE_BAD_NAME);
        assert_int_equal(find("POST", "/v1/workspaces/w/files/a", &route, params, allow),
                         BH_ROUTE_NO_METHOD);
        assert_string_equal(allow, "GET, HEAD, PUT, DELETE");
        assert_int_equal(find("GET", "/v1/workspaces/w/tree/a", &route, params, allow),
                         BH_ROUTE_NO_PATH);
}

static void test_other_methods_and_paths(void **state)
{
        _cleanup_json_ json_t *params = json_object();
        const struct bh_route *route;
        char allow[BH_ALLOW_SIZE];

        (void)state;
        assert_int_equal(find("POST", "/v1/agents/a", &route, params, allow), BH_ROUTE_NO_METHOD);
        assert_string_equal(allow, "GET, HEAD, PUT, DELETE");
        assert_int_equal(find("get", "/v1/agents/a", &route, params, allow), BH_ROUTE_NO_METHOD);
        assert_int_equal(find("DELETE", "/healthz", &route, params, allow), BH_ROUTE_NO_METHOD);
        assert_string_equal(allow, "GET, HEAD");
        assert_int_equal(find("GET", "/", &route, params, allow), BH_ROUTE_NO_PATH);
        assert_int_equal(find("GET", "/v1", &route, params, allow), BH_ROUTE_NO_PATH);
        assert_int_equal(find("GET", "/v1/agents/a/b", &route, params, allow), BH_ROUTE_NO_PATH);
        assert_int_equal(find("GET", "/v1/agentsx", &route, params, allow), BH_ROUTE_NO_PATH);
        assert_int_equal(find("GET", "/V1/agents", &route, params, allow), BH_ROUTE_NO_PATH);
}

/* Every row stands in openapi.json, and nothing else does. */
static void test_openapi_has_every_route(void **state)
{
        const char *text = bh_openapi_text(), *path, *method;
        _cleanup_json_ json_t *document = NULL;
        json_t *item, *operation;
        size_t count, described = 0;
        const struct bh_route *routes = bh_routes(&count);

        (void)state;
        assert_int_equal(bh_json_parse(text, strlen(text), &document, NULL), 0);
        json_object_foreach (json_object_get(document, "paths"), path, item)
                json_object_foreach (item, method, operation)
                        described++;
        assert_int_equal(described, count);
        for (size_t i = 0; i < count; i++) {
                _cleanup_free_ char *lower = bh_strdup(routes[i].method);

                for (char *p = lower; *p; p++)
                        *p = (char)(*p - 'A' + 'a');
                item = json_object_get(json_object_get(document, "paths"), routes[i].path);
                operation = json_object_get(item, lower);
                if (!json_object_get(operation, "operationId"))
                        fail_msg("%s %s is not described", routes[i].method, routes[i].path);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_row_is_reached),
                cmocka_unit_test(test_captures),
                cmocka_unit_test(test_paths_of_files),
                cmocka_unit_test(test_other_methods_and_paths),
                cmocka_unit_test(test_openapi_has_every_route),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
