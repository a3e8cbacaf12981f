/* The end of a turn of the event loop: what goes out, and in which order. */
#include "unit.h"

#include "broker/daemon/turn.h"

static struct bh_turn turn;
static char trace[64];

static void trace_add(void *data, bool committed)
{
        strcat(trace, data);
        strcat(trace, committed ? "+" : "-");
}

static void add_more(void *data, bool committed)
{
        trace_add(data, committed);
        bh_turn_after(&turn, BH_TURN_REPLY, trace_add, NULL);
}

static void orders_go_before_replies(void **state)
{
        (void)state;
        trace[0] = 0;
        static char reply[] = "r", order[] = "o";
        bh_turn_after(&turn, BH_TURN_REPLY, trace_add, reply);
        bh_turn_after(&turn, BH_TURN_ORDER, trace_add, order);
        bh_turn_run(&turn, true);
        assert_string_equal(trace, "o+r+");
        assert_true(bh_turn_is_empty(&turn));
}

static void what_an_action_adds_waits_for_the_next_commit(void **state)
{
        (void)state;
        trace[0] = 0;
        static char order[] = "o";
        bh_turn_after(&turn, BH_TURN_ORDER, add_more, order);
        bh_turn_run(&turn, false);
        assert_string_equal(trace, "o-");
        assert_false(bh_turn_is_empty(&turn));
        bh_turn_clear(&turn);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(orders_go_before_replies),
                cmocka_unit_test(what_an_action_adds_waits_for_the_next_commit),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
