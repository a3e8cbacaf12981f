/* api/sse_id: what is formatted is parsed, nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/sse_id.h"

static void test_round_trip(void **state)
{
        static const struct bh_sse_id ids[] = {
                {.sequence = 0},
                {.sequence = 3, .output = {1024, 0}},
                {.sequence = 4, .output = {999999999999999999, 7}, .ended = true},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
                char text[BH_SSE_ID_SIZE];
                struct bh_sse_id parsed;

                bh_sse_id_format(&ids[i], text);
                assert_int_equal(bh_sse_id_parse(text, &parsed, NULL), 0);
                assert_int_equal(parsed.sequence, ids[i].sequence);
                assert_int_equal(parsed.output[0], ids[i].output[0]);
                assert_int_equal(parsed.output[1], ids[i].output[1]);
                assert_int_equal(parsed.ended, ids[i].ended);
        }
}

static void test_form(void **state)
{
        char text[BH_SSE_ID_SIZE];

        (void)state;
        bh_sse_id_format(&(struct bh_sse_id){.sequence = 3, .output = {1024, 5}}, text);
        assert_string_equal(text, "s3.o1024.e5");
}

static void test_refused(void **state)
{
        static const char *const bad[] = {
                "",
                "s",
                "s1",
                "s1.o1",
                "s1.o1.e",
                "s1.o1.e1.",
                "s1.o1.e1x",
                "s01.o1.e1",
                "s1.o1.e1 ",
                " s1.o1.e1",
                "s-1.o1.e1",
                "s1.e1.o1",
                "S1.o1.e1",
                "s1.o1.e1.e",
                "s1,o1,e1",
                "s1.o.e1",
                "s1.o1.e1.endx",
                "s1.o1.e1.end.end",
                "s1.o1234567890123456789.e1",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct bh_sse_id id = {.sequence = 77};
                struct bh_error error;

                if (bh_sse_id_parse(bad[i], &id, &error) == 0)
                        fail_msg("\"%s\" is accepted", bad[i]);
                assert_int_equal(error.code, BH_ERROR_INVALID);
                assert_int_equal(id.sequence, 77);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_form),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
