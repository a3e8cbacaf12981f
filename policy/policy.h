/* The policy file: rules, limits, allowed mount roots, re-tiering, currency, owners. Read
 * once, immutable, named by its digest. deploy/policy.json is the default and is compiled
 * in. */
#ifndef BULKHEAD_POLICY_POLICY_H
#define BULKHEAD_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/json.h"
#include "policy/capability.h"
#include "policy/limits.h"
#include "policy/mount.h"
#include "policy/tier.h"

struct bh_rule {
        char *name;
        bh_capability_set all, any, none; /* any == 0: not asked */
        bool unless_secrets_proxy_remote; /* unless_host: {"secrets_proxy": "remote"} */
        bool unless_secrets_proxy_local;
        enum bh_tier tier;
        char *text;
};

enum bh_on_raise { BH_ON_RAISE_KILL, BH_ON_RAISE_DRAIN };

enum bh_dimension { /* of posture */
                    BH_DIMENSION_COMPUTE,
                    BH_DIMENSION_FILESYSTEM,
                    BH_DIMENSION_EGRESS,
                    BH_DIMENSION_BLAST_RADIUS,
                    BH_DIMENSION_CURRENCY,
                    BH_DIMENSION_COUNT,
};

struct bh_policy {
        struct bh_rule *rules;
        size_t rule_count;
        struct bh_limit_policy limits;
        char **allowed_roots; /* absolute, normalised */
        size_t allowed_root_count;
        enum bh_on_raise on_raise;
        int64_t drain_ms;
        int64_t currency_max_age_days;
        bool currency_deny_stale;
        char *owners[BH_DIMENSION_COUNT];
        int64_t posture_period_ms;
        bool posture_kill_on_violation;
        bool secrets_proxy_remote;
        char digest[BH_DIGEST_TEXT_SIZE]; /* of the canonical effective policy */
};

/* Decodes a whole policy document; members left out take the built-in values. */
int bh_policy_decode(const struct bh_json_at *at, struct bh_policy **ret, struct bh_error *error);
/* Reads and decodes path, or the compiled-in default when path is NULL. The error names the
 * file and the JSON pointer. */
int bh_policy_load(const char *path, struct bh_policy **ret, struct bh_error *error);
/* Whether every source lies under one of the policy's allowed roots, as text; else
 * BH_ERROR_REFUSED "mount_not_allowed" at /mounts/<i>/source. Called when an agent is put and
 * by the decision. */
int bh_policy_check_mounts(const struct bh_policy *policy, const struct bh_mount_rules *mounts,
                           struct bh_error *error);
json_t *bh_policy_encode(const struct bh_policy *policy); /* effective, all members */
void bh_policy_free(struct bh_policy *policy);
BH_DEFINE_CLEANUP(struct bh_policy *, bh_policy, bh_policy_free);

#endif
