/* What the host can give, as the drivers' probes found it: the input of a decision that is
 * neither request nor policy. Filled by drivers/table.c. */
#ifndef BULKHEAD_POLICY_HOST_H
#define BULKHEAD_POLICY_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/limits.h"
#include "policy/tier.h"

struct bh_missing {
        char *what; /* "unprivileged image support: mkfs.ext4 is not installed" */
        char *fix;  /* a command or setting, or "" */
};

/* Parts of a plan that a driver may or may not be able to carry out. */
enum bh_feature {
        BH_FEATURE_EGRESS, /* an allow-list; deny-all needs no feature */
        BH_FEATURE_MOUNTS, /* an agent's own mounts */
        BH_FEATURE_SECRETS,
        BH_FEATURE_ROOT_INSIDE,
        BH_FEATURE_NAMED_WORKSPACE,
        BH_FEATURE_COUNT,
};

const char *bh_feature_name(enum bh_feature feature);

struct bh_tier_host {
        bool available;
        char *driver;     /* "subprocess" */
        char *technology; /* "namespaces, seccomp and Landlock on Linux 6.1" */
        char *version;
        uint32_t features;             /* bit per enum bh_feature */
        uint32_t unenforceable_limits; /* bit per enum bh_limit */
        struct bh_missing *missing;
        size_t missing_count;
};

struct bh_host {
        struct bh_tier_host tier[BH_TIER_COUNT];
        char *kernel;       /* uname release */
        const char *cgroup; /* "v2", "v1" or "hybrid" */
        bool kvm_usable;
        char *kvm_reason;
};

void bh_host_clear(struct bh_host *host);
void bh_tier_host_clear(struct bh_tier_host *tier);
void bh_tier_host_add_missing(struct bh_tier_host *tier, const char *what, const char *fix);
json_t *bh_host_encode(const struct bh_host *host); /* the body of GET /v1/host */

#endif
