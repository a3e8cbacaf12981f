/* base/utf8: the table of RFC 3629 section 4, and encode as its inverse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/utf8.h"

static void test_every_code_point(void **state)
{
        (void)state;
        for (uint32_t code_point = 1; code_point <= 0x10ffff; code_point++) {
                size_t expected = code_point < 0x80      ? 1
                                  : code_point < 0x800   ? 2
                                  : code_point < 0x10000 ? 3
                                                         : 4;
                char text[4];
                size_t length = bh_utf8_encode(code_point, text);

                if (length != expected)
                        fail_msg("U+%04X has %zu bytes", code_point, length);
                if (code_point >= 0xd800 && code_point <= 0xdfff)
                        expected = 0;
                if (bh_utf8_length(text, length) != expected)
                        fail_msg("U+%04X is not recognised", code_point);
                if (length > 1 && bh_utf8_length(text, length - 1) != 0)
                        fail_msg("U+%04X cut short is accepted", code_point);
        }
}

static void test_refused(void **state)
{
        (void)state;
        static const char *const bad[] = {
                "\x80",
                "\xbf",
                "\xc0\x80",
                "\xc1\xbf",
                "\xe0\x80\x80",
                "\xe0\x9f\xbf",
                "\xed\xa0\x80",
                "\xed\xbf\xbf",
                "\xf0\x80\x80\x80",
                "\xf0\x8f\xbf\xbf",
                "\xf4\x90\x80\x80",
                "\xf5\x80\x80\x80",
                "\xff",
                "\xfe",
                "\xc3(",
                "\xe2\x82(",
                "\xf0\x9f\x98(",
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_int_equal(bh_utf8_length(bad[i], strlen(bad[i])), 0);
        assert_int_equal(bh_utf8_length("", 0), 0);
}

static void test_repair(void **state)
{
        (void)state;
        char text[] = "a\xff\xc3\xa9\xe2\x82";
        char fine[] = "gr\xc3\xbc\xc3\x9f";
        char empty[] = "";

        bh_utf8_repair(text);
        assert_string_equal(text, "a?\xc3\xa9??");
        bh_utf8_repair(fine);
        assert_string_equal(fine, "gr\xc3\xbc\xc3\x9f");
        bh_utf8_repair(empty);
        assert_string_equal(empty, "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_code_point),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_repair),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
