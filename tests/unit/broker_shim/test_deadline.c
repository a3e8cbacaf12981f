/* broker/shim/deadline.c: when limits of time are reached and how often CPU time is looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "broker/shim/deadline.h"

#define START INT64_C(5000000)

static struct bh_deadline deadline_of(int64_t wall_ms, int64_t cpu_ms, unsigned cpus)
{
        struct bh_limits limits = {
                .value = {[BH_LIMIT_WALL_MS] = wall_ms, [BH_LIMIT_CPU_MS] = cpu_ms}};

        return bh_deadline_from(&limits, cpus, START);
}

static void wall_is_reached_exactly_then(void **state)
{
        struct bh_deadline deadline = deadline_of(2000, 60000, 1);

        (void)state;
        assert_false(bh_deadline_wall_reached(&deadline, START));
        assert_false(bh_deadline_wall_reached(&deadline, START + 1999999));
        assert_true(bh_deadline_wall_reached(&deadline, START + 2000000));
}

static void huge_limits_do_not_wrap(void **state)
{
        struct bh_deadline deadline = deadline_of(INT64_MAX, INT64_MAX, 1);

        (void)state;
        assert_false(bh_deadline_wall_reached(&deadline, START + INT64_C(1000000000000)));
        assert_false(bh_deadline_cpu_reached(&deadline, INT64_C(1000000000000), START));
        assert_true(deadline.wall_at_us > START);
}

static void cpu_looks_come_no_later_than_all_cpus_can_spend(void **state)
{
        struct bh_deadline deadline = deadline_of(60000, 200, 4);

        (void)state;
        assert_int_equal(deadline.cpu_check_at_us, START + 50000);
        assert_false(bh_deadline_cpu_due(&deadline, START + 49999));
        assert_true(bh_deadline_cpu_due(&deadline, START + 50000));
        assert_false(bh_deadline_cpu_reached(&deadline, 120000, START + 50000));
        assert_int_equal(deadline.cpu_check_at_us, START + 50000 + 20000);
        assert_true(bh_deadline_cpu_reached(&deadline, 200000, START + 70000));
}

static void cpu_looks_are_bounded_both_ways(void **state)
{
        struct bh_deadline deadline = deadline_of(60000, 60000, 1);

        (void)state;
        assert_int_equal(deadline.cpu_check_at_us, START + BH_CPU_CHECK_MAX_US);
        assert_false(bh_deadline_cpu_reached(&deadline, 59999999, START));
        assert_int_equal(deadline.cpu_check_at_us, START + BH_CPU_CHECK_MIN_US);
        deadline = deadline_of(60000, 1, 0);
        assert_int_equal(deadline.cpu_check_at_us, START + BH_CPU_CHECK_MIN_US);
}

static void next_is_the_earlier(void **state)
{
        struct bh_deadline deadline = deadline_of(100, 60000, 2);

        (void)state;
        assert_int_equal(bh_deadline_next_us(&deadline), START + 100000);
        deadline = deadline_of(60000, 100, 2);
        assert_int_equal(bh_deadline_next_us(&deadline), START + 50000);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(wall_is_reached_exactly_then),
                cmocka_unit_test(huge_limits_do_not_wrap),
                cmocka_unit_test(cpu_looks_come_no_later_than_all_cpus_can_spend),
                cmocka_unit_test(cpu_looks_are_bounded_both_ways),
                cmocka_unit_test(next_is_the_earlier),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
