/* The ladder of tiers, weakest first. */
#ifndef BULKHEAD_POLICY_TIER_H
#define BULKHEAD_POLICY_TIER_H

#include "base/json.h"

enum bh_tier {
        BH_TIER_SUBPROCESS,
        BH_TIER_CONTAINER,
        BH_TIER_USERKERNEL,
        BH_TIER_VM,
        BH_TIER_COUNT,
};

const char *bh_tier_name(enum bh_tier tier);
int bh_tier_decode(const struct bh_json_at *at, enum bh_tier *ret, struct bh_error *error);

#endif
