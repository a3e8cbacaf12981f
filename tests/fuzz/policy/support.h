/* What the policy fuzzers share. */
#ifndef BULKHEAD_TESTS_FUZZ_POLICY_SUPPORT_H
#define BULKHEAD_TESTS_FUZZ_POLICY_SUPPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "policy/decide.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool holds)
{
        if (!holds)
                abort();
}

/* The document, or NULL when it is no JSON. */
static inline json_t *parse(const uint8_t *data, size_t size)
{
        json_t *document = NULL;

        return bh_json_parse((const char *)data, size, &document, NULL) == 0 ? document : NULL;
}

/* A refusal says what, and where by a pointer. */
static inline void check_refusal(const struct bh_error *error)
{
        require(error->code == BH_ERROR_INVALID || error->code == BH_ERROR_REFUSED);
        require((error->code == BH_ERROR_REFUSED) == (error->reason[0] != '\0'));
        require(error->message[0] != '\0');
        require(error->subject[0] == '\0' || error->subject[0] == '/');
}

static inline const struct bh_policy *builtin_policy(void)
{
        static struct bh_policy *policy;

        if (!policy)
                require(bh_policy_load(NULL, &policy, NULL) == 0);
        return policy;
}

/* A plan goes through JSON without a change. */
static inline void check_plan(const struct bh_plan *plan)
{
        _cleanup_json_ json_t *encoded = bh_plan_encode(plan);
        struct bh_plan *again = NULL;

        require(bh_plan_decode(&BH_JSON_ROOT(encoded), &again, NULL) == 0);
        _cleanup_json_ json_t *reencoded = bh_plan_encode(again);
        require(json_equal(encoded, reencoded));
        require(plan->tier >= plan->required_tier);
        bh_plan_free(again);
}

/* Decides on a host that has everything; a plan is never below what is required. */
static inline void check_decision(const struct bh_capabilities *capabilities,
                                  const struct bh_request *request)
{
        struct bh_host host = {0};
        struct bh_decision decision;
        char name[] = "driver";

        for (int i = 0; i < BH_TIER_COUNT; i++)
                host.tier[i] = (struct bh_tier_host){
                        .available = true,
                        .driver = name,
                        .technology = name,
                        .version = name,
                        .features = (UINT32_C(1) << BH_FEATURE_COUNT) - 1,
                };
        bh_decide(builtin_policy(), capabilities, 1, request, &host, &decision);
        require(json_array_size(decision.reasons) > 0);
        require(decision.available == (decision.plan != NULL));
        require(decision.available == (json_array_size(decision.problems) == 0));
        if (decision.plan)
                check_plan(decision.plan);
        bh_decision_clear(&decision);
}

#endif
