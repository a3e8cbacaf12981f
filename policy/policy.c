/* The policy file: reading, decoding over the built-in values, encoding what is in force.
 * Called by bulkheadd at start and on SIGHUP, and by `bulkhead policy check`. */
#include "policy/policy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "policy/mount.h"
#include "policy/name.h"
#include "policy/path.h"
#include "policy/rule.h"
#include "policy/strings.h"

#include "policy/default_policy.h" /* generated: bh_default_policy_text */

#define FILE_MAX          ((size_t)1 << 20)
#define ALLOWED_ROOTS_MAX 64
#define DRAIN_MS_MAX      3600000
#define AGE_DAYS_MAX      3650
#define PERIOD_MS_MIN     100
#define PERIOD_MS_MAX     3600000

static const char *const dimension_names[] = {
        [BH_DIMENSION_COMPUTE] = "compute",   [BH_DIMENSION_FILESYSTEM] = "filesystem",
        [BH_DIMENSION_EGRESS] = "egress",     [BH_DIMENSION_BLAST_RADIUS] = "blast_radius",
        [BH_DIMENSION_CURRENCY] = "currency", [BH_DIMENSION_COUNT] = NULL,
};

static const char *const on_raise_names[] = {"kill", "drain", NULL};
static const char *const on_stale_names[] = {"allow", "deny", NULL};
static const char *const on_violation_names[] = {"report", "kill", NULL};

static int rules_decode(const struct bh_json_at *at, struct bh_policy *policy,
                        struct bh_error *error)
{
        struct bh_rule *rules;
        size_t count;

        if (bh_rules_decode(at, &rules, &count, error) < 0)
                return -1;
        bh_rules_free(policy->rules, policy->rule_count);
        policy->rules = rules;
        policy->rule_count = count;
        return 0;
}

static int limits_decode(const struct bh_json_at *at, struct bh_policy *policy,
                         struct bh_error *error)
{
        return bh_limit_policy_decode(at, &policy->limits, error);
}

static int check_root(const struct bh_json_at *at, const char *text, char **ret_text,
                      struct bh_error *error)
{
        const char *path;

        (void)text;
        (void)ret_text;
        if (bh_absolute_path_decode(at, &path, error) < 0)
                return -1;
        if (strcmp(path, "/") == 0 || bh_path_is_below(path, "/proc") ||
            bh_path_is_below(path, "/sys") || bh_path_is_below(path, "/dev"))
                return bh_json_fail(at, error, "%s can never be a root of agents' mounts", path);
        return 0;
}

static int mounts_decode(const struct bh_json_at *at, struct bh_policy *policy,
                         struct bh_error *error)
{
        static const char *const members[] = {"allowed_roots", NULL};
        struct bh_json_at member;
        char **roots;
        size_t count;

        if (bh_json_object(at, members, error) < 0)
                return -1;
        if (!bh_json_member(at, "allowed_roots", &member))
                return 0;
        if (bh_strings_decode(&member, 0, ALLOWED_ROOTS_MAX, 4095, check_root, &roots, &count,
                              error) < 0)
                return -1;
        bh_strings_free(policy->allowed_roots, policy->allowed_root_count);
        policy->allowed_roots = roots;
        policy->allowed_root_count = count;
        return 0;
}

static int retier_decode(const struct bh_json_at *at, struct bh_policy *policy,
                         struct bh_error *error)
{
        static const char *const members[] = {"on_raise", "drain_ms", NULL};
        struct bh_json_at member;
        int choice;

        if (bh_json_object(at, members, error) < 0)
                return -1;
        if (bh_json_member(at, "on_raise", &member)) {
                if (bh_json_choice(&member, on_raise_names, &choice, error) < 0)
                        return -1;
                policy->on_raise = (enum bh_on_raise)choice;
        }
        if (bh_json_member(at, "drain_ms", &member) &&
            bh_json_integer(&member, 0, DRAIN_MS_MAX, &policy->drain_ms, error) < 0)
                return -1;
        return 0;
}

static int currency_decode(const struct bh_json_at *at, struct bh_policy *policy,
                           struct bh_error *error)
{
        static const char *const members[] = {"max_age_days", "on_stale", NULL};
        struct bh_json_at member;
        int choice;

        if (bh_json_object(at, members, error) < 0)
                return -1;
        if (bh_json_member(at, "max_age_days", &member) &&
            bh_json_integer(&member, 1, AGE_DAYS_MAX, &policy->currency_max_age_days, error) < 0)
                return -1;
        if (bh_json_member(at, "on_stale", &member)) {
                if (bh_json_choice(&member, on_stale_names, &choice, error) < 0)
                        return -1;
                policy->currency_deny_stale = choice == 1;
        }
        return 0;
}

static int owners_decode(const struct bh_json_at *at, struct bh_policy *policy,
                         struct bh_error *error)
{
        if (bh_json_object(at, dimension_names, error) < 0)
                return -1;
        for (int i = 0; i < BH_DIMENSION_COUNT; i++) {
                struct bh_json_at member;
                const char *owner;

                if (!bh_json_member(at, dimension_names[i], &member))
                        continue;
                if (bh_owner_decode(&member, &owner, error) < 0)
                        return -1;
                free(policy->owners[i]);
                policy->owners[i] = bh_strdup(owner);
        }
        return 0;
}

static int posture_decode(const struct bh_json_at *at, struct bh_policy *policy,
                          struct bh_error *error)
{
        static const char *const members[] = {"period_ms", "on_violation", NULL};
        struct bh_json_at member;
        int choice;

        if (bh_json_object(at, members, error) < 0)
                return -1;
        if (bh_json_member(at, "period_ms", &member) &&
            bh_json_integer(&member, PERIOD_MS_MIN, PERIOD_MS_MAX, &policy->posture_period_ms,
                            error) < 0)
                return -1;
        if (bh_json_member(at, "on_violation", &member)) {
                if (bh_json_choice(&member, on_violation_names, &choice, error) < 0)
                        return -1;
                policy->posture_kill_on_violation = choice == 1;
        }
        return 0;
}

static int secrets_proxy_decode(const struct bh_json_at *at, struct bh_policy *policy,
                                struct bh_error *error)
{
        return bh_secrets_proxy_decode(at, &policy->secrets_proxy_remote, error);
}

/* The members of the document (docs/policy.md). Each decoder sets what its member says and leaves
 * the rest of the policy as it is. */
static const struct {
        const char *name;
        int (*decode)(const struct bh_json_at *at, struct bh_policy *policy,
                      struct bh_error *error);
} sections[] = {
        {"rules", rules_decode},       {"limits", limits_decode},
        {"mounts", mounts_decode},     {"retier", retier_decode},
        {"currency", currency_decode}, {"owners", owners_decode},
        {"posture", posture_decode},   {"secrets_proxy", secrets_proxy_decode},
};

static int sections_decode(const struct bh_json_at *at, struct bh_policy *policy,
                           struct bh_error *error)
{
        static const char *const members[] = {"rules",   "limits",        "mounts",
                                              "retier",  "currency",      "owners",
                                              "posture", "secrets_proxy", NULL};

        if (bh_json_object(at, members, error) < 0)
                return -1;
        for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
                struct bh_json_at member;

                if (bh_json_member(at, sections[i].name, &member) &&
                    sections[i].decode(&member, policy, error) < 0)
                        return -1;
        }
        return 0;
}

/* The compiled-in document has every member: what a file leaves out is never weaker. */
static int builtin_decode(struct bh_policy *policy, struct bh_error *error)
{
        _cleanup_json_ json_t *document = NULL;

        if (bh_json_parse(bh_default_policy_text, strlen(bh_default_policy_text), &document,
                          error) < 0)
                return bh_error_prefix(error, "built-in policy");
        if (sections_decode(&BH_JSON_ROOT(document), policy, error) < 0)
                return bh_error_prefix(error, "built-in policy");
        return 0;
}

static void finish(struct bh_policy *policy)
{
        _cleanup_json_ json_t *effective = bh_policy_encode(policy);

        bh_json_digest(effective, policy->digest);
}

int bh_policy_decode(const struct bh_json_at *at, struct bh_policy **ret, struct bh_error *error)
{
        _cleanup_(bh_policy_cleanup) struct bh_policy *policy = bh_alloc(sizeof(*policy));

        if (builtin_decode(policy, error) < 0 || sections_decode(at, policy, error) < 0)
                return -1;
        finish(policy);
        *ret = bh_steal_ptr(&policy);
        return 0;
}

/* "policy.json: /rules/0/tier: …": the file, then the place in it. */
static int prefix_place(struct bh_error *error, const char *path)
{
        if (!error)
                return -1;
        if (error->subject[0])
                bh_error_prefix(error, "%s", error->subject);
        return bh_error_prefix(error, "%s", path);
}

static int load_file(const char *path, struct bh_policy **ret, struct bh_error *error)
{
        _cleanup_json_ json_t *document = NULL;
        _cleanup_free_ char *text = NULL;
        size_t size;

        if (bh_read_file(AT_FDCWD, path, FILE_MAX, &text, &size, error) < 0)
                return -1;
        if (bh_json_parse(text, size, &document, error) < 0 ||
            bh_policy_decode(&BH_JSON_ROOT(document), ret, error) < 0)
                return prefix_place(error, path);
        return 0;
}

int bh_policy_load(const char *path, struct bh_policy **ret, struct bh_error *error)
{
        if (path)
                return load_file(path, ret, error);

        _cleanup_(bh_policy_cleanup) struct bh_policy *policy = bh_alloc(sizeof(*policy));
        if (builtin_decode(policy, error) < 0)
                return -1;
        finish(policy);
        *ret = bh_steal_ptr(&policy);
        return 0;
}

int bh_policy_check_mounts(const struct bh_policy *policy, const struct bh_mount_rules *mounts,
                           struct bh_error *error)
{
        for (size_t i = 0; i < mounts->count; i++) {
                const char *source = mounts->items[i].source;
                bool allowed = false;

                for (size_t k = 0; k < policy->allowed_root_count && !allowed; k++)
                        allowed = bh_path_is_below(source, policy->allowed_roots[k]);
                if (allowed)
                        continue;
                _cleanup_free_ char *pointer = bh_format("/mounts/%zu/source", i);
                return bh_error_refused(error, "mount_not_allowed", pointer,
                                        "%s lies under no root of the policy's "
                                        "mounts.allowed_roots",
                                        source);
        }
        return 0;
}

json_t *bh_policy_encode(const struct bh_policy *policy)
{
        json_t *owners = json_object();

        for (int i = 0; i < BH_DIMENSION_COUNT; i++)
                json_object_set_new(owners, dimension_names[i], json_string(policy->owners[i]));
        return json_pack(
                "{s:o, s:o, s:{s:o}, s:{s:s, s:I}, s:{s:I, s:s}, s:o, s:{s:I, s:s}, s:s}", "rules",
                bh_rules_encode(policy->rules, policy->rule_count), "limits",
                bh_limit_policy_encode(&policy->limits), "mounts", "allowed_roots",
                bh_strings_encode_sorted(policy->allowed_roots, policy->allowed_root_count),
                "retier", "on_raise", on_raise_names[policy->on_raise], "drain_ms",
                (json_int_t)policy->drain_ms, "currency", "max_age_days",
                (json_int_t)policy->currency_max_age_days, "on_stale",
                on_stale_names[policy->currency_deny_stale], "owners", owners, "posture",
                "period_ms", (json_int_t)policy->posture_period_ms, "on_violation",
                on_violation_names[policy->posture_kill_on_violation], "secrets_proxy",
                policy->secrets_proxy_remote ? "remote" : "local");
}

void bh_policy_free(struct bh_policy *policy)
{
        if (!policy)
                return;
        bh_rules_free(policy->rules, policy->rule_count);
        bh_strings_free(policy->allowed_roots, policy->allowed_root_count);
        for (int i = 0; i < BH_DIMENSION_COUNT; i++)
                free(policy->owners[i]);
        free(policy);
}
