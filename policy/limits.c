/* Resource limits: names, ceilings, decoding of requests' and the policy file's. Called by
 * request, policy and plan. */
#include "policy/limits.h"

#define MS_CEILING    ((int64_t)31 * 24 * 3600 * 1000) /* so that microseconds fit easily */
#define BYTES_CEILING ((int64_t)1 << 46)

/* The ceiling is what even a policy's maximum may not pass: beyond it a value is a slip, and
 * sums and conversions of it could overflow. */
static const struct {
        const char *name;
        int64_t ceiling;
} limit_table[BH_LIMIT_COUNT] = {
        [BH_LIMIT_WALL_MS] = {"wall_ms", MS_CEILING},
        [BH_LIMIT_CPU_MS] = {"cpu_ms", MS_CEILING},
        [BH_LIMIT_MEMORY_BYTES] = {"memory_bytes", BYTES_CEILING},
        [BH_LIMIT_PIDS] = {"pids", 4194304}, /* PID_MAX_LIMIT, linux/threads.h */
        [BH_LIMIT_DISK_BYTES] = {"disk_bytes", BYTES_CEILING},
        [BH_LIMIT_OUTPUT_BYTES] = {"output_bytes", (int64_t)1 << 32},
};

/* For bh_json_object. */
static const char *const limit_members[] = {
        "wall_ms", "cpu_ms", "memory_bytes", "pids", "disk_bytes", "output_bytes", NULL,
};

const char *bh_limit_name(enum bh_limit limit)
{
        return limit_table[limit].name;
}

int bh_limits_decode(const struct bh_json_at *at, const struct bh_limit_policy *policy,
                     struct bh_limits *ret, struct bh_error *error)
{
        struct bh_limits limits = policy->standard;

        if (!at) {
                *ret = limits;
                return 0;
        }
        if (bh_json_object(at, limit_members, error) < 0)
                return -1;
        for (int i = 0; i < BH_LIMIT_COUNT; i++) {
                struct bh_json_at member;

                if (bh_json_member(at, limit_table[i].name, &member) &&
                    bh_json_integer(&member, 1, policy->max.value[i], &limits.value[i], error) < 0)
                        return -1;
        }
        *ret = limits;
        return 0;
}

json_t *bh_limits_encode(const struct bh_limits *limits)
{
        json_t *object = json_object();

        for (int i = 0; i < BH_LIMIT_COUNT; i++)
                json_object_set_new(object, limit_table[i].name, json_integer(limits->value[i]));
        return object;
}

static int limit_entry_decode(const struct bh_json_at *at, enum bh_limit limit,
                              struct bh_limit_policy *policy, struct bh_error *error)
{
        static const char *const members[] = {"default", "max", NULL};
        int64_t *standard = &policy->standard.value[limit], *max = &policy->max.value[limit];
        int64_t ceiling = limit_table[limit].ceiling;
        struct bh_json_at member;

        if (bh_json_object(at, members, error) < 0)
                return -1;
        if (bh_json_member(at, "default", &member) &&
            bh_json_integer(&member, 1, ceiling, standard, error) < 0)
                return -1;
        if (bh_json_member(at, "max", &member) &&
            bh_json_integer(&member, 1, ceiling, max, error) < 0)
                return -1;
        if (*standard > *max)
                return bh_json_fail(at, error, "the default %lld is above the maximum %lld",
                                    (long long)*standard, (long long)*max);
        return 0;
}

int bh_limit_policy_decode(const struct bh_json_at *at, struct bh_limit_policy *policy,
                           struct bh_error *error)
{
        struct bh_limit_policy result = *policy;

        if (bh_json_object(at, limit_members, error) < 0)
                return -1;
        for (int i = 0; i < BH_LIMIT_COUNT; i++) {
                struct bh_json_at member;

                if (bh_json_member(at, limit_table[i].name, &member) &&
                    limit_entry_decode(&member, (enum bh_limit)i, &result, error) < 0)
                        return -1;
        }
        *policy = result;
        return 0;
}

json_t *bh_limit_policy_encode(const struct bh_limit_policy *policy)
{
        json_t *object = json_object();

        for (int i = 0; i < BH_LIMIT_COUNT; i++)
                json_object_set_new(object, limit_table[i].name,
                                    json_pack("{s:I, s:I}", "default",
                                              (json_int_t)policy->standard.value[i], "max",
                                              (json_int_t)policy->max.value[i]));
        return object;
}
