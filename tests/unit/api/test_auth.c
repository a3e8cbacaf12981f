/* api/auth: the Authorization header's one form, and the set of tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "api/auth.h"
#include "base/cleanup.h"
#include "base/json.h"

#define TOKEN "bht_0123456789abcdef"

static void test_bearer(void **state)
{
        static const char *const bad[] = {
                "",
                "Bearer",
                "Bearer ",
                "Bearer short",
                "Basic " TOKEN,
                "Bearer  " TOKEN,
                "Bearer " TOKEN " ",
                "Bearer " TOKEN ",x",
                " Bearer " TOKEN,
                "Bearer\t" TOKEN,
                "Bearer =" TOKEN,
                "Bearer " TOKEN "=x",
                "Bearer" TOKEN,
                "Bearer ======================",
        };
        size_t length;

        (void)state;
        assert_null(bh_bearer_parse(NULL, &length));
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                if (bh_bearer_parse(bad[i], &length))
                        fail_msg("\"%s\" is accepted", bad[i]);
        assert_string_equal(bh_bearer_parse("Bearer " TOKEN, &length), TOKEN);
        assert_int_equal(length, strlen(TOKEN));
        assert_string_equal(bh_bearer_parse("bEaReR " TOKEN "==", &length), TOKEN "==");
        assert_int_equal(length, strlen(TOKEN) + 2);
}

static json_t *principals(const char *role)
{
        char sha256[BH_SHA256_HEX_SIZE];

        bh_sha256_hex(TOKEN, strlen(TOKEN), sha256);
        return json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "tokens", "sha256", sha256, "role", role,
                         "tenant", "default", "name", "n");
}

static void test_find(void **state)
{
        struct bh_callers callers = {.count = 0};
        _cleanup_json_ json_t *message = principals("auditor");
        const struct bh_caller *found;

        (void)state;
        assert_null(bh_callers_find(&callers, "Bearer " TOKEN));
        assert_int_equal(bh_callers_replace(&callers, message, NULL), 0);
        found = bh_callers_find(&callers, "Bearer " TOKEN);
        assert_non_null(found);
        assert_int_equal(found->role, BH_ROLE_AUDITOR);
        assert_string_equal(found->tenant, "default");
        assert_null(bh_callers_find(&callers, "Bearer " TOKEN "x"));
        assert_null(bh_callers_find(&callers, NULL));
        bh_callers_clear(&callers);
        assert_null(bh_callers_find(&callers, "Bearer " TOKEN));
}

static void test_a_bad_set_changes_nothing(void **state)
{
        static const char *const bad[] = {"{}", "{\"tokens\":{}}", "{\"tokens\":[{}]}"};
        struct bh_callers callers = {.count = 0};
        _cleanup_json_ json_t *good = principals("operator"), *unknown = principals("root");
        struct bh_error error;

        (void)state;
        assert_int_equal(bh_callers_replace(&callers, good, NULL), 0);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                _cleanup_json_ json_t *message = NULL;

                assert_int_equal(bh_json_parse(bad[i], strlen(bad[i]), &message, NULL), 0);
                assert_int_equal(bh_callers_replace(&callers, message, &error), -1);
        }
        assert_int_equal(bh_callers_replace(&callers, unknown, &error), -1);
        assert_non_null(bh_callers_find(&callers, "Bearer " TOKEN));
        bh_callers_clear(&callers);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bearer),
                cmocka_unit_test(test_find),
                cmocka_unit_test(test_a_bad_set_changes_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
