/* base/redact: no credential gets through, and what is none stays readable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

static void test_masks(void **state)
{
        (void)state;
        static const struct {
                const char *text, *masked;
        } cases[] = {
                {"", ""},
                {"plain text", "plain text"},
                {"bht_abcDEF-09._~+/=%41", "bht_[redacted]"},
                {"bht_a", "bht_[redacted]"},
                {"bht_", "bht_"},
                {"bht_ end", "bht_ end"},
                {"bearer   ", "bearer   "},
                {"x=bhs_abc, y", "x=bhs_[redacted], y"},
                {"BHS_ABC", "BHS_[redacted]"},
                {"open bht_abc: No such file", "open bht_[redacted]: No such file"},
                {"bht_abht_b", "bht_[redacted]"},
                {"Bearer abc.def", "Bearer [redacted]"},
                {"BEARER   abc end", "BEARER [redacted] end"},
                {"{\"k\":\"Bearer abc\"}", "{\"k\":\"Bearer [redacted]\"}"},
                {"forbearer abc", "forbearer abc"},
                {"bearer", "bearer"},
                {"Authorization: Basic dTpw\r\nHost: x", "Authorization:[redacted]\r\nHost: x"},
                {"Set-Cookie: a=b; c", "Set-Cookie:[redacted]"},
                {"Cookie:", "Cookie:"},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_free_ char *masked = bh_redact(cases[i].text);

                assert_string_equal(masked, cases[i].masked);
        }
}

/* The result is longest when everything is a shortest credential. */
static void test_longest_growth(void **state)
{
        (void)state;
        char text[6 * 1000 + 1];
        _cleanup_free_ char *masked = NULL;

        for (size_t i = 0; i < 1000; i++)
                memcpy(text + 6 * i, "bht_x,", 7);
        masked = bh_redact(text);
        assert_int_equal(strlen(masked), strlen("bht_[redacted],") * 1000);
        assert_null(strstr(masked, "_x"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_masks),
                cmocka_unit_test(test_longest_growth),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
