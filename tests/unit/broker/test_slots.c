/* Host uids: none is given twice, and what was given back rests first. */
#include "unit.h"

#include "broker/daemon/slots.h"

static struct bh_slots slots;

static void a_slot_is_not_given_twice(void **state)
{
        (void)state;
        bh_slots_init(&slots);
        int64_t first = bh_slots_take(&slots), second = bh_slots_take(&slots);
        assert_true(first > 0); /* 0 is the API's */
        assert_int_not_equal(first, second);
}

static void what_was_given_back_is_used_last(void **state)
{
        (void)state;
        bh_slots_init(&slots);
        int64_t first = bh_slots_take(&slots);
        bh_slots_release(&slots, first);
        for (int i = 0; i < BH_SLOT_COUNT - 2; i++)
                assert_int_not_equal(bh_slots_take(&slots), first);
        assert_int_equal(bh_slots_take(&slots), first);
        assert_int_equal(bh_slots_take(&slots), -1);
}

static void claims_are_checked(void **state)
{
        (void)state;
        bh_slots_init(&slots);
        assert_true(bh_slots_claim(&slots, 7));
        assert_false(bh_slots_claim(&slots, 7));
        assert_false(bh_slots_claim(&slots, 0));
        assert_false(bh_slots_claim(&slots, -1));
        assert_false(bh_slots_claim(&slots, BH_SLOT_COUNT));
        for (int i = 0; i < 6; i++)
                assert_int_not_equal(bh_slots_take(&slots), 7);
        assert_int_equal(bh_slots_take(&slots), 8);
        bh_slots_release(&slots, -1);
        bh_slots_release(&slots, BH_SLOT_COUNT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_slot_is_not_given_twice),
                cmocka_unit_test(what_was_given_back_is_used_last),
                cmocka_unit_test(claims_are_checked),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
