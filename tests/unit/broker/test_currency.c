/* Currency: when a review no longer stands for the agent. */
#include "unit.h"

#include "broker/daemon/currency.h"

#define DAY_MS ((int64_t)24 * 60 * 60 * 1000)
#define NOW_MS (1000 * DAY_MS)

static struct bh_policy *policy;

static int setup(void **state)
{
        (void)state;
        json_t *json = quoted("{'currency': {'max_age_days': 90}}");
        struct bh_json_at at = BH_JSON_ROOT(json);
        int r = bh_policy_decode(&at, &policy, NULL);
        json_decref(json);
        return r;
}

static int teardown(void **state)
{
        (void)state;
        bh_policy_free(policy);
        return 0;
}

static struct bh_currency judge(const char *now, const char *reviewed, int64_t reviewed_ms,
                                int64_t expires_ms)
{
        _cleanup_json_ json_t *set = quoted(now);
        struct bh_json_at at = BH_JSON_ROOT(set);
        struct bh_capabilities capabilities;
        struct bh_currency currency = {0};
        struct bh_review_row review = {.reviewed_ms = reviewed_ms, .expires_ms = expires_ms};
        assert_int_equal(bh_capabilities_decode(&at, &capabilities, NULL), 0);
        if (reviewed)
                review.capabilities = quoted(reviewed);
        assert_int_equal(bh_currency_judge(policy, &capabilities, reviewed ? &review : NULL, NOW_MS,
                                           &currency, NULL),
                         0);
        bh_capabilities_clear(&capabilities);
        json_decref(review.capabilities);
        return currency;
}

static void expect(struct bh_currency currency, bool stale, size_t grown)
{
        assert_int_equal(currency.stale, stale);
        assert_int_equal(json_array_size(currency.grown), grown);
        json_decref(currency.grown);
}

#define ONE "{'capabilities': ['command.run']}"
#define TWO "{'capabilities': ['command.run', 'code.execute']}"

static void never_reviewed_is_stale(void **state)
{
        (void)state;
        expect(judge(TWO, NULL, 0, 0), true, 2);
}

static void growth_makes_stale_and_shrinking_does_not(void **state)
{
        (void)state;
        int64_t later = NOW_MS + DAY_MS, yesterday = NOW_MS - DAY_MS;
        expect(judge(ONE, ONE, yesterday, later), false, 0);
        expect(judge(TWO, ONE, yesterday, later), true, 1);
        expect(judge(ONE, TWO, yesterday, later), false, 0);
}

static void age_makes_stale(void **state)
{
        (void)state;
        int64_t later = NOW_MS + DAY_MS;
        expect(judge(ONE, ONE, NOW_MS - 90 * DAY_MS, later), true, 0);
        expect(judge(ONE, ONE, NOW_MS - 90 * DAY_MS + 1, later), false, 0);
        expect(judge(ONE, ONE, NOW_MS - DAY_MS, NOW_MS), true, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(never_reviewed_is_stale),
                cmocka_unit_test(growth_makes_stale_and_shrinking_does_not),
                cmocka_unit_test(age_makes_stale),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
