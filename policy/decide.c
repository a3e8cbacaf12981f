/* The decision. See decide.h; pure: the same policy, set, request and host give the same
 * plan, byte for byte. */
#include "policy/decide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "policy/controls.h"
#include "policy/strings.h"

#define PAGE_BYTES          ((int64_t)4096)
#define SHM_BYTES_MAX       ((int64_t)64 << 20)
#define SCRATCH_INODE_BYTES ((int64_t)16384) /* as mke2fs's default inode_ratio */
#define SCRATCH_INODES_MIN  ((int64_t)256)
#define SCRATCH_INODES_MAX  ((int64_t)1 << 20)
#define WORKLOAD_ID         1000

/* What every workload finds set; a request's own values replace them. */
static const char *const base_environment[][2] = {
        {"HOME", "/workspace"},
        {"LANG", "C.UTF-8"},
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"TMPDIR", "/tmp"},
};

/* What to say when a driver lacks a feature that the plan needs. */
static const struct {
        const char *lack, *fix;
} feature_texts[BH_FEATURE_COUNT] = {
        [BH_FEATURE_EGRESS] = {"open an egress allow-list", "remove the agent's egress rules"},
        [BH_FEATURE_MOUNTS] = {"attach an agent's mounts", "remove the agent's mounts"},
        [BH_FEATURE_SECRETS] = {"keep secrets outside of the boundary",
                                "remove the agent's secrets"},
        [BH_FEATURE_ROOT_INSIDE] = {"run a workload as root inside",
                                    "remove root.inside from the agent's capabilities"},
        [BH_FEATURE_NAMED_WORKSPACE] = {"attach a named workspace",
                                        "leave workspace out of the request"},
};

static bool rule_matches(const struct bh_rule *rule, const struct bh_policy *policy,
                         bh_capability_set set)
{
        if (policy->secrets_proxy_remote ? rule->unless_secrets_proxy_remote
                                         : rule->unless_secrets_proxy_local)
                return false;
        return (set & rule->all) == rule->all && (rule->any == 0 || (set & rule->any)) &&
               (set & rule->none) == 0;
}

static json_t *reason(const char *rule, bh_capability_set set, enum bh_tier tier, const char *text)
{
        return json_pack("{s:s, s:o, s:s, s:s}", "rule", rule, "capabilities",
                         bh_capability_set_encode(set), "tier", bh_tier_name(tier), "text", text);
}

enum bh_tier bh_decide_tier(const struct bh_policy *policy, bh_capability_set set,
                            json_t **ret_reasons)
{
        json_t *reasons = json_array();
        enum bh_tier required = BH_TIER_SUBPROCESS;

        /* Strictest first; within a tier in the file's order. */
        for (int tier = BH_TIER_COUNT - 1; tier >= 0; tier--)
                for (size_t i = 0; i < policy->rule_count; i++) {
                        const struct bh_rule *rule = &policy->rules[i];

                        if ((int)rule->tier != tier || !rule_matches(rule, policy, set))
                                continue;
                        if (rule->tier > required)
                                required = rule->tier;
                        json_array_append_new(reasons,
                                              reason(rule->name, set & (rule->all | rule->any),
                                                     rule->tier, rule->text));
                }
        if (json_array_size(reasons) == 0) {
                required = BH_TIER_COUNT - 1;
                json_array_append_new(reasons,
                                      reason("no-rule-matched", set, required,
                                             "No rule of the policy speaks of this capability "
                                             "set, so the strictest tier is required."));
        }
        *ret_reasons = reasons;
        return required;
}

static uint32_t features_needed(const struct bh_capabilities *capabilities,
                                const struct bh_request *request)
{
        uint32_t needed = 0;

        if (capabilities->egress.count)
                needed |= UINT32_C(1) << BH_FEATURE_EGRESS;
        if (capabilities->mounts.count)
                needed |= UINT32_C(1) << BH_FEATURE_MOUNTS;
        if (capabilities->secrets.count)
                needed |= UINT32_C(1) << BH_FEATURE_SECRETS;
        if (capabilities->set & BH_CAP_BIT(BH_CAP_ROOT_INSIDE))
                needed |= UINT32_C(1) << BH_FEATURE_ROOT_INSIDE;
        if (request->workspace)
                needed |= UINT32_C(1) << BH_FEATURE_NAMED_WORKSPACE;
        return needed;
}

/* Appends "tier <tier>: …". */
__attribute__((format(printf, 3, 4))) static void add_problem(json_t *problems, enum bh_tier tier,
                                                              const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        _cleanup_free_ char *text = bh_vformat(format, arguments);
        va_end(arguments);
        _cleanup_free_ char *sentence = bh_format("tier %s: %s", bh_tier_name(tier), text);
        json_array_append_new(problems, json_string(sentence));
}

static void add_missing(json_t *problems, enum bh_tier tier, const struct bh_tier_host *host)
{
        for (size_t i = 0; i < host->missing_count; i++) {
                const struct bh_missing *missing = &host->missing[i];

                add_problem(problems, tier, "%s%s%s", missing->what, *missing->fix ? "; " : "",
                            missing->fix);
        }
}

enum verdict { TIER_SUITS, TIER_LACKS_LIMIT, TIER_UNSUITABLE };

/* Whether this tier can carry the plan; every reason why not goes to problems. */
static enum verdict judge_tier(enum bh_tier tier, const struct bh_tier_host *host, uint32_t needed,
                               json_t *problems)
{
        enum verdict verdict = TIER_SUITS;

        if (!host->available) {
                if (host->missing_count == 0)
                        add_problem(problems, tier, "this host has no driver for it");
                add_missing(problems, tier, host);
                return TIER_UNSUITABLE;
        }
        for (int i = 0; i < BH_LIMIT_COUNT; i++)
                if (host->unenforceable_limits & (UINT32_C(1) << i)) {
                        add_problem(problems, tier, "driver %s cannot enforce %s on this host",
                                    host->driver, bh_limit_name((enum bh_limit)i));
                        verdict = TIER_LACKS_LIMIT;
                }
        for (int i = 0; i < BH_FEATURE_COUNT; i++)
                if (needed & ~host->features & (UINT32_C(1) << i)) {
                        add_problem(problems, tier,
                                    "driver %s cannot %s; %s, or use a host whose driver can",
                                    host->driver, feature_texts[i].lack, feature_texts[i].fix);
                        verdict = TIER_UNSUITABLE;
                }
        if (verdict != TIER_SUITS)
                add_missing(problems, tier, host);
        return verdict;
}

static int64_t clamp(int64_t value, int64_t min, int64_t max)
{
        return value < min ? min : value > max ? max : value;
}

static void plan_storage(struct bh_plan *plan, const struct bh_request *request)
{
        int64_t memory = request->limits.value[BH_LIMIT_MEMORY_BYTES];
        int64_t disk = request->limits.value[BH_LIMIT_DISK_BYTES];

        plan->workspace_kind = request->workspace ? BH_WORKSPACE_NAMED : BH_WORKSPACE_EPHEMERAL;
        plan->workspace_name = request->workspace ? bh_strdup(request->workspace) : NULL;
        plan->workspace_writable =
                (plan->capabilities & BH_CAP_BIT(BH_CAP_FS_WORKSPACE_WRITE)) != 0;
        plan->scratch_backing = disk <= memory / 2 ? BH_SCRATCH_TMPFS : BH_SCRATCH_IMAGE;
        plan->scratch_bytes = disk;
        plan->scratch_inodes =
                clamp(disk / SCRATCH_INODE_BYTES, SCRATCH_INODES_MIN, SCRATCH_INODES_MAX);
        plan->shm_bytes = clamp(memory / 8 / PAGE_BYTES * PAGE_BYTES, PAGE_BYTES, SHM_BYTES_MAX);
}

static int compare_entries(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **make_environment(const json_t *requested)
{
        _cleanup_json_ json_t *merged = json_object();
        const char *name;
        json_t *value;
        size_t count = 0;

        for (size_t i = 0; i < sizeof(base_environment) / sizeof(*base_environment); i++)
                json_object_set_new(merged, base_environment[i][0],
                                    json_string(base_environment[i][1]));
        json_object_update(merged, (json_t *)requested);

        char **entries = bh_alloc_array(json_object_size(merged) + 1, sizeof(*entries));
        json_object_foreach (merged, name, value)
                entries[count++] = bh_format("%s=%s", name, json_string_value(value));
        qsort(entries, count, sizeof(*entries), compare_entries);
        return entries;
}

static struct bh_plan *make_plan(const struct bh_policy *policy,
                                 const struct bh_capabilities *capabilities, int64_t generation,
                                 const struct bh_request *request, const struct bh_tier_host *host,
                                 const struct bh_decision *decision)
{
        struct bh_plan *plan = bh_alloc(sizeof(*plan));
        bool root = (capabilities->set & BH_CAP_BIT(BH_CAP_ROOT_INSIDE)) != 0;

        plan->required_tier = decision->required;
        plan->tier = decision->tier;
        plan->driver = bh_strdup(host->driver);
        plan->technology = bh_strdup(host->technology);
        plan->capabilities = capabilities->set;
        plan->capability_generation = generation;
        bh_capabilities_digest(capabilities, plan->capability_digest);
        memcpy(plan->policy_digest, policy->digest, sizeof(plan->policy_digest));
        plan->image = bh_strdup(request->image);
        plan->argv = bh_strings_copy(request->argv, request->argc);
        plan->cwd = bh_strdup(request->cwd);
        plan->environment = make_environment(request->environment);
        plan->inside_uid = plan->inside_gid = root ? 0 : WORKLOAD_ID;
        plan->limits = request->limits;
        plan_storage(plan, request);
        bh_mount_rules_copy(&capabilities->mounts, &plan->mounts);
        bh_egress_rules_copy(&capabilities->egress, &plan->egress);
        bh_secret_bindings_copy(&capabilities->secrets, &plan->secrets);
        bh_plan_set_controls(plan);
        plan->reasons = json_deep_copy(decision->reasons);
        return plan;
}

/* Adds the request's own wish to what the rules say. */
static void apply_min_tier(const struct bh_request *request, struct bh_decision *decision)
{
        if (!request->has_min_tier || request->min_tier <= decision->required)
                return;
        decision->required = request->min_tier;
        json_array_insert_new(decision->reasons, 0,
                              reason("min_tier", 0, request->min_tier,
                                     "The request asks for at least this tier."));
}

/* Chooses the lowest tier that suits. Returns whether there is one. */
static bool choose_tier(const struct bh_host *host, uint32_t needed, struct bh_decision *decision)
{
        _cleanup_json_ json_t *problems = json_array();

        for (int i = (int)decision->required; i < BH_TIER_COUNT; i++) {
                enum bh_tier tier = (enum bh_tier)i;

                switch (judge_tier(tier, &host->tier[tier], needed, problems)) {
                case TIER_SUITS:
                        decision->tier = tier;
                        decision->limit_unenforceable = false;
                        return true;
                case TIER_LACKS_LIMIT:
                        decision->limit_unenforceable = true;
                        break;
                case TIER_UNSUITABLE:
                        break;
                }
        }
        json_array_extend(decision->problems, problems);
        return false;
}

void bh_decide(const struct bh_policy *policy, const struct bh_capabilities *capabilities,
               int64_t generation, const struct bh_request *request, const struct bh_host *host,
               struct bh_decision *ret)
{
        struct bh_decision decision = {.problems = json_array()};
        struct bh_error error = {0};

        decision.required = bh_decide_tier(policy, capabilities->set, &decision.reasons);
        apply_min_tier(request, &decision);
        decision.tier = decision.required;

        bool suits = choose_tier(host, features_needed(capabilities, request), &decision);
        /* The roots may have narrowed since the agent was put. */
        if (bh_policy_check_mounts(policy, &capabilities->mounts, &error) < 0) {
                json_array_append_new(decision.problems, json_string(error.message));
                decision.limit_unenforceable = false;
                decision.tier = decision.required;
                suits = false;
        }
        decision.available = suits;
        if (suits)
                decision.plan = make_plan(policy, capabilities, generation, request,
                                          &host->tier[decision.tier], &decision);
        *ret = decision;
}

void bh_decision_clear(struct bh_decision *decision)
{
        bh_plan_free(decision->plan);
        json_decref(decision->reasons);
        json_decref(decision->problems);
        *decision = (struct bh_decision){0};
}

json_t *bh_decision_encode(const struct bh_decision *decision)
{
        const struct bh_plan *plan = decision->plan;

        return json_pack("{s:s, s:s, s:s?, s:s?, s:O, s:o?, s:b, s:O}", "tier",
                         bh_tier_name(decision->tier), "required_tier",
                         bh_tier_name(decision->required), "driver", plan ? plan->driver : NULL,
                         "technology", plan ? plan->technology : NULL, "reasons", decision->reasons,
                         "plan", plan ? bh_plan_encode(plan) : NULL, "available",
                         decision->available, "problems", decision->problems);
}
