/* The decision: (policy, capability set, request, host) → tier, reasons, plan. Pure. Called
 * by broker/admission for executions and decisions and by broker/retier. */
#ifndef BULKHEAD_POLICY_DECIDE_H
#define BULKHEAD_POLICY_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/agent.h"
#include "policy/host.h"
#include "policy/plan.h"
#include "policy/policy.h"
#include "policy/request.h"

/* The tier that this capability set requires, with every rule that matched:
 * [{"rule", "capabilities", "tier", "text"}], strictest first. */
enum bh_tier bh_decide_tier(const struct bh_policy *policy, bh_capability_set set,
                            json_t **ret_reasons);

struct bh_decision {
        enum bh_tier required; /* by rules and min_tier */
        struct bh_plan *plan;  /* NULL when unavailable */
        json_t *reasons;
        bool available;
        bool limit_unenforceable; /* unavailable only because of a limit */
        json_t *problems; /* ["tier vm: no driver …; apt-get install …"], empty when available */
        enum bh_tier tier; /* chosen; = required when unavailable */
};

/* Never fails on well-formed input: what cannot be done is a problem in the decision. The
 * chosen tier is the lowest available one at or above the required one whose driver has every
 * feature the plan needs. */
void bh_decide(const struct bh_policy *policy, const struct bh_capabilities *capabilities,
               int64_t generation, const struct bh_request *request, const struct bh_host *host,
               struct bh_decision *ret);
void bh_decision_clear(struct bh_decision *decision);
json_t *bh_decision_encode(const struct bh_decision *decision); /* as api/openapi.json has it */

#endif
