/* base/clock: the text form at its edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "base/clock.h"

static void test_format(void **state)
{
        (void)state;
        static const struct {
                int64_t ms;
                const char *text;
        } cases[] = {
                {0, "1970-01-01T00:00:00.000Z"},
                {1, "1970-01-01T00:00:00.001Z"},
                {-1, "1969-12-31T23:59:59.999Z"},
                {-1000, "1969-12-31T23:59:59.000Z"},
                {INT64_C(1796038795123), "2026-11-30T11:39:55.123Z"},
                {INT64_C(951827696789), "2000-02-29T12:34:56.789Z"},
                {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
                {INT64_C(253402300800000), "9999-12-31T23:59:59.999Z"},
                {INT64_MAX, "9999-12-31T23:59:59.999Z"},
                {INT64_C(-62167219200000), "0000-01-01T00:00:00.000Z"},
                {INT64_MIN, "0000-01-01T00:00:00.000Z"},
                {INT64_C(-61536067200000), "0020-01-01T00:00:00.000Z"},
        };
        char text[BH_TIME_TEXT_SIZE];

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                bh_time_format(cases[i].ms, text);
                assert_string_equal(text, cases[i].text);
        }
}

static void test_clocks(void **state)
{
        (void)state;
        const struct timespec pause = {.tv_nsec = 2000000};
        int64_t before = bh_monotonic_us(), wall = bh_realtime_ms();

        nanosleep(&pause, NULL);
        assert_true(bh_monotonic_us() - before >= 2000);
        assert_true(bh_realtime_ms() / 1000 - time(NULL) <= 1);
        assert_true(wall > INT64_C(1700000000000));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_format),
                cmocka_unit_test(test_clocks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
