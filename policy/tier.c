/* Names of the tiers. Called wherever a tier is read or written as text. */
#include "policy/tier.h"

/* Ends in NULL so that it is also bh_json_choice's list. */
static const char *const tier_names[] = {
        [BH_TIER_SUBPROCESS] = "subprocess",
        [BH_TIER_CONTAINER] = "container",
        [BH_TIER_USERKERNEL] = "userkernel",
        [BH_TIER_VM] = "vm",
        [BH_TIER_COUNT] = NULL,
};

const char *bh_tier_name(enum bh_tier tier)
{
        return tier_names[tier];
}

int bh_tier_decode(const struct bh_json_at *at, enum bh_tier *ret, struct bh_error *error)
{
        int choice;

        if (bh_json_choice(at, tier_names, &choice, error) < 0)
                return -1;
        *ret = (enum bh_tier)choice;
        return 0;
}
