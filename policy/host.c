/* What the host can give: keeping and showing it. See host.h; called by drivers/table.c and
 * by broker for GET /v1/host. */
#include "policy/host.h"

#include <stdlib.h>

#include "base/alloc.h"

static const char *const feature_names[BH_FEATURE_COUNT] = {
        [BH_FEATURE_EGRESS] = "egress",
        [BH_FEATURE_MOUNTS] = "mounts",
        [BH_FEATURE_SECRETS] = "secrets",
        [BH_FEATURE_ROOT_INSIDE] = "root_inside",
        [BH_FEATURE_NAMED_WORKSPACE] = "named_workspace",
};

const char *bh_feature_name(enum bh_feature feature)
{
        return feature_names[feature];
}

void bh_tier_host_add_missing(struct bh_tier_host *tier, const char *what, const char *fix)
{
        tier->missing =
                bh_realloc_array(tier->missing, tier->missing_count + 1, sizeof(*tier->missing));
        tier->missing[tier->missing_count++] =
                (struct bh_missing){.what = bh_strdup(what), .fix = bh_strdup(fix)};
}

void bh_tier_host_clear(struct bh_tier_host *tier)
{
        for (size_t i = 0; i < tier->missing_count; i++) {
                free(tier->missing[i].what);
                free(tier->missing[i].fix);
        }
        free(tier->missing);
        free(tier->driver);
        free(tier->technology);
        free(tier->version);
        *tier = (struct bh_tier_host){0};
}

void bh_host_clear(struct bh_host *host)
{
        for (int i = 0; i < BH_TIER_COUNT; i++)
                bh_tier_host_clear(&host->tier[i]);
        free(host->kernel);
        free(host->kvm_reason);
        *host = (struct bh_host){0};
}

static json_t *tier_encode(const struct bh_tier_host *tier)
{
        json_t *missing = json_array(), *features = json_array(), *limits = json_array();

        for (size_t i = 0; i < tier->missing_count; i++)
                json_array_append_new(missing,
                                      json_pack("{s:s, s:s}", "what", tier->missing[i].what, "fix",
                                                tier->missing[i].fix));
        for (int i = 0; i < BH_FEATURE_COUNT; i++)
                if (tier->features & (UINT32_C(1) << i))
                        json_array_append_new(features,
                                              json_string(bh_feature_name((enum bh_feature)i)));
        for (int i = 0; i < BH_LIMIT_COUNT; i++)
                if (tier->unenforceable_limits & (UINT32_C(1) << i))
                        json_array_append_new(limits, json_string(bh_limit_name((enum bh_limit)i)));
        return json_pack("{s:b, s:s?, s:s?, s:s?, s:o, s:o, s:o}", "available", tier->available,
                         "driver", tier->driver, "technology", tier->technology, "version",
                         tier->version, "missing", missing, "features", features,
                         "unenforceable_limits", limits);
}

json_t *bh_host_encode(const struct bh_host *host)
{
        json_t *tiers = json_object();

        for (int i = 0; i < BH_TIER_COUNT; i++)
                json_object_set_new(tiers, bh_tier_name((enum bh_tier)i),
                                    tier_encode(&host->tier[i]));
        return json_pack("{s:o, s:s?, s:s?, s:{s:b, s:s}}", "tiers", tiers, "kernel", host->kernel,
                         "cgroup", host->cgroup, "kvm", "usable", host->kvm_usable, "reason",
                         host->kvm_reason ? host->kvm_reason : "");
}
