/* Resource limits of one execution: names, units, and the policy's default and maximum. */
#ifndef BULKHEAD_POLICY_LIMITS_H
#define BULKHEAD_POLICY_LIMITS_H

#include <stdint.h>

#include "base/json.h"

enum bh_limit {
        BH_LIMIT_WALL_MS,      /* real time from the workload's first instruction, ms */
        BH_LIMIT_CPU_MS,       /* user+system time of all its processes, ms */
        BH_LIMIT_MEMORY_BYTES, /* anonymous, page cache and kernel memory, swap included */
        BH_LIMIT_PIDS,         /* tasks at a time */
        BH_LIMIT_DISK_BYTES,   /* what it may write outside a named workspace */
        BH_LIMIT_OUTPUT_BYTES, /* kept of each of stdout and stderr */
        BH_LIMIT_COUNT,
};

struct bh_limits {
        int64_t value[BH_LIMIT_COUNT];
};

struct bh_limit_policy {
        struct bh_limits standard; /* the default */
        struct bh_limits max;
};

const char *bh_limit_name(enum bh_limit limit);

/* A request's `limits` over the policy's defaults; every value 1..max. at may be NULL. */
int bh_limits_decode(const struct bh_json_at *at, const struct bh_limit_policy *policy,
                     struct bh_limits *ret, struct bh_error *error);
json_t *bh_limits_encode(const struct bh_limits *limits);

/* The policy file's `limits`: {"wall_ms": {"default": n, "max": n}, ...}, default <= max.
 * Names that are left out keep the built-in values already in *policy. */
int bh_limit_policy_decode(const struct bh_json_at *at, struct bh_limit_policy *policy,
                           struct bh_error *error);
json_t *bh_limit_policy_encode(const struct bh_limit_policy *policy);

#endif
