/* Fuzzes the policy file. What is accepted comes back the same from its own encoding, and
 * gives every capability set a tier with a reason. */
#include "support.h"

static void check_policy(const struct bh_policy *policy)
{
        _cleanup_json_ json_t *encoded = bh_policy_encode(policy);
        struct bh_policy *again = NULL;

        require(bh_policy_decode(&BH_JSON_ROOT(encoded), &again, NULL) == 0);
        require(strcmp(policy->digest, again->digest) == 0);
        bh_policy_free(again);
        for (int i = 0; i < BH_LIMIT_COUNT; i++)
                require(policy->limits.standard.value[i] >= 1 &&
                        policy->limits.standard.value[i] <= policy->limits.max.value[i]);
        for (bh_capability_set set = 0; set < BH_CAP_BIT(BH_CAP_COUNT); set += 0x155) {
                _cleanup_json_ json_t *reasons = NULL;
                enum bh_tier tier = bh_decide_tier(policy, set, &reasons);

                require(tier < BH_TIER_COUNT);
                require(json_array_size(reasons) > 0);
                require(strcmp(json_string_value(
                                       json_object_get(json_array_get(reasons, 0), "tier")),
                               bh_tier_name(tier)) == 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        _cleanup_json_ json_t *document = parse(data, size);
        _cleanup_(bh_policy_cleanup) struct bh_policy *policy = NULL;
        struct bh_error error = {0};

        if (!document)
                return 0;
        if (bh_policy_decode(&BH_JSON_ROOT(document), &policy, &error) < 0)
                check_refusal(&error);
        else
                check_policy(policy);
        return 0;
}
