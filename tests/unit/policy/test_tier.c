/* The tier that a capability set requires: the table of the README over every set, the reasons,
 * and rules that say nothing. */
#include "fixture.h"

#define ALL_SETS      (BH_CAP_BIT(BH_CAP_COUNT))
#define HAS(set, cap) (((set)&BH_CAP_BIT(cap)) != 0)

static enum bh_tier tier_of(const struct bh_policy *policy, bh_capability_set set)
{
        _cleanup_json_ json_t *reasons = NULL;

        return bh_decide_tier(policy, set, &reasons);
}

/* The default rules, written a second time. */
static enum bh_tier expected_tier(bh_capability_set set, bool remote)
{
        bool code = HAS(set, BH_CAP_CODE_EXECUTE) || HAS(set, BH_CAP_PACKAGE_INSTALL);

        if (HAS(set, BH_CAP_ROOT_INSIDE) || HAS(set, BH_CAP_PROCESS_DEBUG) ||
            (HAS(set, BH_CAP_INPUT_UNTRUSTED) && HAS(set, BH_CAP_NET_EGRESS)) ||
            (HAS(set, BH_CAP_SECRETS_USE) && !remote))
                return BH_TIER_VM;
        if (HAS(set, BH_CAP_SECRETS_USE) || (HAS(set, BH_CAP_NET_EGRESS) && code))
                return BH_TIER_USERKERNEL;
        if (code || HAS(set, BH_CAP_FS_MOUNT_WRITE))
                return BH_TIER_CONTAINER;
        return BH_TIER_SUBPROCESS;
}

static void check_table(const struct bh_policy *policy, bool remote)
{
        for (bh_capability_set set = 0; set < ALL_SETS; set++) {
                enum bh_tier tier = tier_of(policy, set);

                if (tier != expected_tier(set, remote))
                        fail_msg("set %x gets %s", set, bh_tier_name(tier));
                for (int cap = 0; cap < BH_CAP_COUNT; cap++)
                        if (tier_of(policy, set | BH_CAP_BIT(cap)) < tier)
                                fail_msg("adding %s to %x lowers the tier",
                                         bh_capability_name((enum bh_capability)cap), set);
        }
}

static void test_table_local(void **state)
{
        struct bh_policy *policy = policy_of("{}");

        (void)state;
        check_table(policy, false);
        bh_policy_free(policy);
}

static void test_table_remote(void **state)
{
        struct bh_policy *policy = policy_of("{'secrets_proxy': 'remote'}");

        (void)state;
        check_table(policy, true);
        bh_policy_free(policy);
}

static void test_reasons(void **state)
{
        struct bh_policy *policy = policy_of("{}");
        _cleanup_json_ json_t *reasons = NULL;
        size_t index;
        json_t *reason;

        (void)state;
        bh_decide_tier(policy,
                       BH_CAP_BIT(BH_CAP_CODE_EXECUTE) | BH_CAP_BIT(BH_CAP_NET_EGRESS) |
                               BH_CAP_BIT(BH_CAP_INPUT_UNTRUSTED) | BH_CAP_BIT(BH_CAP_COMMAND_RUN),
                       &reasons);
        json_array_foreach (reasons, index, reason) {
                assert_string_not_equal(json_string_value(json_object_get(reason, "text")), "");
                json_object_del(reason, "text");
        }
        assert_json(reasons,
                    "[{'rule': 'untrusted-input-with-egress', 'capabilities': ['net.egress',"
                    " 'input.untrusted'], 'tier': 'vm'}, {'rule': 'egress-with-code',"
                    " 'capabilities': ['code.execute', 'net.egress'], 'tier': 'userkernel'},"
                    " {'rule': 'code-or-host-writes', 'capabilities': ['code.execute'], 'tier':"
                    " 'container'}, {'rule': 'anything', 'capabilities': [], 'tier':"
                    " 'subprocess'}]");
        bh_policy_free(policy);
}

/* No rule, or none that matches: the strictest tier, and it says so. */
static void test_no_rule(void **state)
{
        struct bh_policy *empty = policy_of("{'rules': []}");
        struct bh_policy *narrow =
                policy_of("{'rules': [{'name': 'r', 'when': {'all': ['command.run'], 'none':"
                          " ['net.egress']}, 'tier': 'subprocess', 'text': 't'}]}");
        _cleanup_json_ json_t *reasons = NULL;

        (void)state;
        assert_int_equal(bh_decide_tier(empty, 0, &reasons), BH_TIER_VM);
        assert_int_equal(json_array_size(reasons), 1);
        assert_string_equal(json_string_value(json_object_get(json_array_get(reasons, 0), "tier")),
                            "vm");
        assert_int_equal(tier_of(narrow, BH_CAP_BIT(BH_CAP_COMMAND_RUN)), BH_TIER_SUBPROCESS);
        assert_int_equal(tier_of(narrow, 0), BH_TIER_VM);
        assert_int_equal(
                tier_of(narrow, BH_CAP_BIT(BH_CAP_COMMAND_RUN) | BH_CAP_BIT(BH_CAP_NET_EGRESS)),
                BH_TIER_VM);
        bh_policy_free(empty);
        bh_policy_free(narrow);
}

static void test_unless_local(void **state)
{
        static const char rules[] =
                "'rules': [{'name': 'a', 'when': {}, 'tier': 'subprocess',"
                " 'text': 't'}, {'name': 'b', 'when': {}, 'unless_host':"
                " {'secrets_proxy': 'local'}, 'tier': 'container', 'text': 't'}]";
        _cleanup_free_ char *local_text = bh_format("{%s}", rules);
        _cleanup_free_ char *remote_text = bh_format("{%s, 'secrets_proxy': 'remote'}", rules);
        struct bh_policy *local = policy_of(local_text), *remote = policy_of(remote_text);

        (void)state;
        assert_int_equal(tier_of(local, 0), BH_TIER_SUBPROCESS);
        assert_int_equal(tier_of(remote, 0), BH_TIER_CONTAINER);
        bh_policy_free(local);
        bh_policy_free(remote);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table_local),  cmocka_unit_test(test_table_remote),
                cmocka_unit_test(test_reasons),      cmocka_unit_test(test_no_rule),
                cmocka_unit_test(test_unless_local),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
