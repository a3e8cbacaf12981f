/* broker/shim/watch.c: growth is told at once, then at most once an interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "broker/shim/watch.h"

static void nothing_is_told_unasked(void **state)
{
        struct bh_watch watch = {.on = false};

        (void)state;
        assert_false(bh_watch_tell(&watch, 10, 10, 1000));
}

static void first_growth_is_told_at_once_then_coalesced(void **state)
{
        struct bh_watch watch;

        (void)state;
        bh_watch_switch(&watch, true);
        assert_false(bh_watch_tell(&watch, 0, 0, 1000));
        assert_true(bh_watch_tell(&watch, 1, 0, 1000));
        assert_false(bh_watch_grew(&watch, 1, 0));
        assert_true(bh_watch_grew(&watch, 1, 1));
        assert_false(bh_watch_tell(&watch, 1, 1, 1000 + BH_WATCH_INTERVAL_US - 1));
        assert_true(bh_watch_tell(&watch, 9, 1, watch.not_before_us));
        assert_false(bh_watch_tell(&watch, 9, 1, INT64_MAX));
}

static void watching_again_starts_from_zero(void **state)
{
        struct bh_watch watch;

        (void)state;
        bh_watch_switch(&watch, true);
        assert_true(bh_watch_tell(&watch, 5, 5, 1000));
        bh_watch_switch(&watch, false);
        assert_false(bh_watch_tell(&watch, 6, 6, 9000));
        bh_watch_switch(&watch, true);
        assert_true(bh_watch_tell(&watch, 6, 6, 9000));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nothing_is_told_unasked),
                cmocka_unit_test(first_growth_is_told_at_once_then_coalesced),
                cmocka_unit_test(watching_again_starts_from_zero),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
