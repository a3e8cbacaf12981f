/* Lists: cursors, limits, and whether there is a next page. */
#include "unit.h"

#include "broker/daemon/cursor.h"

static void a_cursor_comes_back_as_its_parts(void **state)
{
        (void)state;
        const char *parts[] = {"default", "agent-1"};
        char *got[2] = {NULL, NULL};
        _cleanup_free_ char *text = bh_cursor_encode(parts, 2);
        assert_int_equal(bh_cursor_decode(text, got, 2, NULL), 0);
        assert_string_equal(got[0], "default");
        assert_string_equal(got[1], "agent-1");
        free(got[0]);
        free(got[1]);
}

static void what_no_list_made_is_refused(void **state)
{
        (void)state;
        /* of one part; without separator; a NUL; no base64; empty; too many parts */
        static const char *const wrong[] = {"YQo=", "YQpi", "YQAKYgo=", "***", "", "YQpiCmMK"};
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                struct bh_error error = {0};
                char *got[2] = {NULL, NULL};
                assert_int_equal(bh_cursor_decode(wrong[i], got, 2, &error), -1);
                assert_int_equal(error.code, BH_ERROR_INVALID);
                assert_string_equal(error.subject, "/cursor");
                assert_null(got[0]);
        }
}

static int begin(struct bh_page *page, const char *params, struct bh_error *error)
{
        json_t *json = quoted(params);
        struct bh_json_at root = BH_JSON_ROOT(json);
        int r = bh_page_begin(page, &root, 1, error);
        json_decref(json);
        return r;
}

static void limits_outside_1_to_200_are_refused(void **state)
{
        (void)state;
        static const char *const wrong[] = {"{'limit': 0}", "{'limit': 201}", "{'limit': '5'}",
                                            "{'limit': 1.5}", "{'limit': -1}"};
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                struct bh_error error = {0};
                struct bh_page page = {0};
                assert_int_equal(begin(&page, wrong[i], &error), -1);
                assert_string_equal(error.subject, "/limit");
                bh_page_clear(&page);
        }
}

static json_t *fill(const char *params, int items, int *ret_added)
{
        struct bh_page page;
        int added = 0;
        assert_int_equal(begin(&page, params, NULL), 0);
        for (int i = 0; i < items; i++) {
                char text[16];
                const char *key[] = {text};
                snprintf(text, sizeof(text), "%d", i);
                if (bh_page_add_take(&page, json_integer(i), key) != 0)
                        break;
                added++;
        }
        *ret_added = added;
        return bh_page_finish(&page);
}

static void a_full_page_without_more_has_no_next(void **state)
{
        (void)state;
        int added = 0;
        _cleanup_json_ json_t *exact = fill("{'limit': 3}", 3, &added);
        assert_int_equal(added, 3);
        assert_true(json_is_null(json_object_get(exact, "next_cursor")));
        _cleanup_json_ json_t *more = fill("{'limit': 3}", 4, &added);
        assert_int_equal(added, 3);
        const char *cursor = json_string_value(json_object_get(more, "next_cursor"));
        char *last[1] = {NULL};
        assert_int_equal(bh_cursor_decode(cursor, last, 1, NULL), 0);
        assert_string_equal(last[0], "2");
        free(last[0]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_cursor_comes_back_as_its_parts),
                cmocka_unit_test(what_no_list_made_is_refused),
                cmocka_unit_test(limits_outside_1_to_200_are_refused),
                cmocka_unit_test(a_full_page_without_more_has_no_next),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
