/* api/cli/text: what a terminal must never obey, widths, units. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <string.h>

#include "api/cli/text.h"
#include "base/cleanup.h"

static void test_escape(void **state)
{
        (void)state;
        static const struct {
                const char *text, *escaped;
        } cases[] = {
                {"", ""},
                {"plain ascii ~", "plain ascii ~"},
                {"gr\u00fc\u00dfe \u4f60\u597d", "gr\u00fc\u00dfe \u4f60\u597d"},
                {"a\nb\rc\td", "a\\nb\\rc\\td"},
                {"\033[2J\033]0;title\a", "\\x1b[2J\\x1b]0;title\\x07"},
                {"\x7f", "\\x7f"},
                {"\xc2\x9b"
                 "31m",
                 "\\u{9b}31m"},                      /* CSI as one C1 character */
                {"abc\u202egnp", "abc\\u{202e}gnp"}, /* right-to-left override */
                {"a\u200bb\ufeff", "a\\u{200b}b\\u{feff}"},
                {"\xff\xfe", "\\xff\\xfe"},
                {"\xc0\x9b", "\\xc0\\x9b"}, /* overlong */
                {"\xe2\x82", "\\xe2\\x82"}, /* cut off */
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_free_ char *escaped = bh_text_escape(cases[i].text, strlen(cases[i].text));
                assert_string_equal(escaped, cases[i].escaped);
        }

        _cleanup_free_ char *with_nul = bh_text_escape("a\0b", 3);
        assert_string_equal(with_nul, "a\\x00b");
}

static void test_escape_leaves_no_control_whatever_comes(void **state)
{
        (void)state;
        char bytes[256];

        for (int i = 0; i < 256; i++)
                bytes[i] = (char)i;

        _cleanup_free_ char *escaped = bh_text_escape(bytes, sizeof(bytes));
        for (const char *at = escaped; *at != '\0'; at++)
                assert_true((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f);
}

static void test_columns_and_cut(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                size_t columns, room;
                const char *cut;
        } cases[] = {
                {"hello", 5, 5, "hello"},
                {"hello", 5, 4, "hel\u2026"},
                {"hello", 5, 1, "\u2026"},
                {"hello", 5, 0, ""},
                {"\u4f60\u597d\u4f60", 6, 6, "\u4f60\u597d\u4f60"},
                {"\u4f60\u597d\u4f60", 6, 5, "\u4f60\u597d\u2026"},
                {"\u4f60\u597d\u4f60", 6, 4, "\u4f60\u2026"}, /* half a wide one is left out */
                {"e\u0301e\u0301", 2, 2, "e\u0301e\u0301"},   /* combining marks take none */
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_free_ char *cut = bh_text_cut(cases[i].text, cases[i].room);

                assert_int_equal(bh_text_columns(cases[i].text), cases[i].columns);
                assert_string_equal(cut, cases[i].cut);
                assert_true(bh_text_columns(cut) <= cases[i].room);
        }
}

static void test_sizes(void **state)
{
        (void)state;
        static const struct {
                int64_t bytes;
                const char *text;
        } cases[] = {
                {0, "0 B"},
                {512, "512 B"},
                {1024, "1 KiB"},
                {1536, "1.5 KiB"},
                {67108864, "64 MiB"},
                {1610612736, "1.5 GiB"},
                {4294967296, "4 GiB"},
                {INT64_C(1) << 45, "32 TiB"},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_free_ char *text = bh_text_size(cases[i].bytes);
                assert_string_equal(text, cases[i].text);
        }
}

static void test_durations(void **state)
{
        (void)state;
        static const struct {
                int64_t milliseconds;
                const char *text;
        } cases[] = {
                {0, "0 ms"},     {999, "999 ms"},  {1000, "1 s"},         {1500, "1.5 s"},
                {30000, "30 s"}, {60000, "1 min"}, {125000, "2 min 5 s"}, {3600000, "60 min"},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_free_ char *text = bh_text_duration(cases[i].milliseconds);
                assert_string_equal(text, cases[i].text);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_escape),
                cmocka_unit_test(test_escape_leaves_no_control_whatever_comes),
                cmocka_unit_test(test_columns_and_cut),
                cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_durations),
        };

        setlocale(LC_CTYPE, "C.UTF-8");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
