/* The plan as JSON and back, and its digest. See plan.h; called by the broker when it stores
 * and hands over a plan, by the shim when it takes one. decide.c makes them. */
#include "policy/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "policy/name.h"
#include "policy/path.h"
#include "policy/request.h"
#include "policy/strings.h"

#define TEXT_MAX        256
#define ENVIRONMENT_MAX 1024
#define CONTROLS_MAX    128
#define REASONS_MAX     512

static const char *const workspace_kinds[] = {
        [BH_WORKSPACE_EPHEMERAL] = "ephemeral", [BH_WORKSPACE_NAMED] = "named", NULL};
static const char *const workspace_modes[] = {"ro", "rw", NULL};
static const char *const scratch_backings[] = {
        [BH_SCRATCH_TMPFS] = "tmpfs", [BH_SCRATCH_IMAGE] = "image", NULL};

static size_t list_length(char *const *list)
{
        size_t length = 0;

        while (list[length])
                length++;
        return length;
}

json_t *bh_plan_encode(const struct bh_plan *plan)
{
        json_t *object = json_pack(
                "{s:i, s:{s:s, s:s}, s:s, s:s, s:s, s:o, s:I, s:s, s:s}", "version",
                BH_PLAN_VERSION, "tier", "required", bh_tier_name(plan->required_tier), "effective",
                bh_tier_name(plan->tier), "driver", plan->driver, "technology", plan->technology,
                "image", plan->image, "capabilities", bh_capability_set_encode(plan->capabilities),
                "capability_generation", (json_int_t)plan->capability_generation,
                "capability_digest", plan->capability_digest, "policy_digest", plan->policy_digest);
        _cleanup_json_ json_t *rest = json_pack(
                "{s:o, s:s, s:o, s:{s:i, s:i}, s:o, s:{s:s, s:s?, s:s}, s:{s:s, s:I, s:I, s:I},"
                " s:o, s:o, s:o, s:o, s:O}",
                "argv", bh_strings_encode(plan->argv, list_length(plan->argv)), "cwd", plan->cwd,
                "environment", bh_strings_encode(plan->environment, list_length(plan->environment)),
                "identity", "uid", (int)plan->inside_uid, "gid", (int)plan->inside_gid, "limits",
                bh_limits_encode(&plan->limits), "workspace", "kind",
                workspace_kinds[plan->workspace_kind], "name", plan->workspace_name, "mode",
                workspace_modes[plan->workspace_writable], "scratch", "backing",
                scratch_backings[plan->scratch_backing], "bytes", (json_int_t)plan->scratch_bytes,
                "inodes", (json_int_t)plan->scratch_inodes, "shm_bytes",
                (json_int_t)plan->shm_bytes, "mounts", bh_mount_rules_encode(&plan->mounts),
                "egress", bh_egress_rules_encode(&plan->egress), "secrets",
                bh_secret_bindings_encode(&plan->secrets), "controls",
                bh_strings_encode(plan->controls, plan->control_count), "reasons", plan->reasons);

        json_object_update(object, rest);
        return object;
}

static int text_decode(const struct bh_json_at *at, const char *key, char **ret,
                       struct bh_error *error)
{
        struct bh_json_at member;
        const char *text;

        if (bh_json_require(at, key, &member, error) < 0 ||
            bh_json_string(&member, 1, TEXT_MAX, &text, error) < 0)
                return -1;
        if (!bh_text_printable(text))
                return bh_json_fail(&member, error, "the text holds control characters");
        *ret = bh_strdup(text);
        return 0;
}

static int digest_decode(const struct bh_json_at *at, const char *key,
                         char ret[BH_DIGEST_TEXT_SIZE], struct bh_error *error)
{
        struct bh_json_at member;
        const char *text;

        if (bh_json_require(at, key, &member, error) < 0 ||
            bh_json_string(&member, BH_DIGEST_TEXT_SIZE - 1, BH_DIGEST_TEXT_SIZE - 1, &text,
                           error) < 0)
                return -1;
        if (strncmp(text, "sha256:", 7) != 0 || text[7 + strspn(text + 7, "0123456789abcdef")])
                return bh_json_fail(&member, error, "a digest is sha256: and 64 hex digits");
        memcpy(ret, text, BH_DIGEST_TEXT_SIZE);
        return 0;
}

static int integer_decode(const struct bh_json_at *at, const char *key, int64_t min, int64_t max,
                          int64_t *ret, struct bh_error *error)
{
        struct bh_json_at member;

        if (bh_json_require(at, key, &member, error) < 0)
                return -1;
        return bh_json_integer(&member, min, max, ret, error);
}

static int choice_decode(const struct bh_json_at *at, const char *key, const char *const names[],
                         int *ret, struct bh_error *error)
{
        struct bh_json_at member;

        if (bh_json_require(at, key, &member, error) < 0)
                return -1;
        return bh_json_choice(&member, names, ret, error);
}

static int tier_decode(const struct bh_json_at *at, struct bh_plan *plan, struct bh_error *error)
{
        static const char *const members[] = {"required", "effective", NULL};
        struct bh_json_at tier, member;

        if (bh_json_require(at, "tier", &tier, error) < 0 ||
            bh_json_object(&tier, members, error) < 0 ||
            bh_json_require(&tier, "required", &member, error) < 0 ||
            bh_tier_decode(&member, &plan->required_tier, error) < 0 ||
            bh_json_require(&tier, "effective", &member, error) < 0 ||
            bh_tier_decode(&member, &plan->tier, error) < 0)
                return -1;
        if (plan->tier < plan->required_tier)
                return bh_json_fail(&member, error, "the boundary is weaker than required");
        return 0;
}

static int head_decode(const struct bh_json_at *at, struct bh_plan *plan, struct bh_error *error)
{
        struct bh_json_at member;
        int64_t version;

        if (integer_decode(at, "version", BH_PLAN_VERSION, BH_PLAN_VERSION, &version, error) < 0 ||
            tier_decode(at, plan, error) < 0 ||
            text_decode(at, "driver", &plan->driver, error) < 0 ||
            text_decode(at, "technology", &plan->technology, error) < 0 ||
            text_decode(at, "image", &plan->image, error) < 0 ||
            bh_json_require(at, "capabilities", &member, error) < 0 ||
            bh_capability_set_decode(&member, &plan->capabilities, error) < 0 ||
            integer_decode(at, "capability_generation", 0, INT64_MAX, &plan->capability_generation,
                           error) < 0 ||
            digest_decode(at, "capability_digest", plan->capability_digest, error) < 0)
                return -1;
        return digest_decode(at, "policy_digest", plan->policy_digest, error);
}

/* An array of strings that may repeat and may be empty, as arguments do. */
static int list_decode(const struct bh_json_at *at, const char *key, size_t max, char ***ret,
                       struct bh_error *error)
{
        struct bh_json_at member;
        size_t count;

        if (bh_json_require(at, key, &member, error) < 0 ||
            bh_json_array(&member, 1, max, &count, error) < 0)
                return -1;
        char **list = bh_alloc_array(count + 1, sizeof(*list));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(&member, i);
                const char *text;

                if (bh_json_string(&element, 0, 2 * BH_ARGV_BYTES_MAX, &text, error) < 0) {
                        bh_strings_free(list, i);
                        return -1;
                }
                list[i] = bh_strdup(text);
        }
        *ret = list;
        return 0;
}

static int identity_decode(const struct bh_json_at *at, struct bh_plan *plan,
                           struct bh_error *error)
{
        static const char *const members[] = {"uid", "gid", NULL};
        struct bh_json_at identity;
        int64_t uid, gid;

        if (bh_json_require(at, "identity", &identity, error) < 0 ||
            bh_json_object(&identity, members, error) < 0 ||
            integer_decode(&identity, "uid", 0, INT32_MAX, &uid, error) < 0 ||
            integer_decode(&identity, "gid", 0, INT32_MAX, &gid, error) < 0)
                return -1;
        plan->inside_uid = (unsigned)uid;
        plan->inside_gid = (unsigned)gid;
        return 0;
}

static int process_decode(const struct bh_json_at *at, struct bh_plan *plan, struct bh_error *error)
{
        struct bh_json_at member;
        const char *cwd;

        if (list_decode(at, "argv", BH_ARGV_MAX, &plan->argv, error) < 0 ||
            bh_json_require(at, "cwd", &member, error) < 0 ||
            bh_absolute_path_decode(&member, &cwd, error) < 0 ||
            list_decode(at, "environment", ENVIRONMENT_MAX, &plan->environment, error) < 0)
                return -1;
        plan->cwd = bh_strdup(cwd);
        for (size_t i = 0; plan->environment[i]; i++)
                if (!strchr(plan->environment[i], '=') || plan->environment[i][0] == '=') {
                        bh_json_member(at, "environment", &member);
                        return bh_json_fail(&member, error, "an entry is NAME=value");
                }
        return identity_decode(at, plan, error);
}

static int workspace_decode(const struct bh_json_at *at, struct bh_plan *plan,
                            struct bh_error *error)
{
        static const char *const members[] = {"kind", "name", "mode", NULL};
        struct bh_json_at workspace, member;
        const char *name;
        int kind, mode;

        if (bh_json_require(at, "workspace", &workspace, error) < 0 ||
            bh_json_object(&workspace, members, error) < 0 ||
            choice_decode(&workspace, "kind", workspace_kinds, &kind, error) < 0 ||
            choice_decode(&workspace, "mode", workspace_modes, &mode, error) < 0 ||
            bh_json_require(&workspace, "name", &member, error) < 0)
                return -1;
        plan->workspace_kind = (enum bh_workspace_kind)kind;
        plan->workspace_writable = mode == 1;
        if (plan->workspace_kind == BH_WORKSPACE_EPHEMERAL) {
                if (!json_is_null(member.value))
                        return bh_json_fail(&member, error, "an ephemeral workspace has no name");
                return 0;
        }
        if (bh_name_decode(&member, &name, error) < 0)
                return -1;
        plan->workspace_name = bh_strdup(name);
        return 0;
}

static int scratch_decode(const struct bh_json_at *at, struct bh_plan *plan, struct bh_error *error)
{
        static const char *const members[] = {"backing", "bytes", "inodes", "shm_bytes", NULL};
        struct bh_json_at scratch;
        int backing;

        if (bh_json_require(at, "scratch", &scratch, error) < 0 ||
            bh_json_object(&scratch, members, error) < 0 ||
            choice_decode(&scratch, "backing", scratch_backings, &backing, error) < 0 ||
            integer_decode(&scratch, "bytes", 1, INT64_MAX, &plan->scratch_bytes, error) < 0 ||
            integer_decode(&scratch, "inodes", 1, INT64_MAX, &plan->scratch_inodes, error) < 0)
                return -1;
        plan->scratch_backing = (enum bh_scratch_backing)backing;
        return integer_decode(&scratch, "shm_bytes", 1, INT64_MAX, &plan->shm_bytes, error);
}

/* Every limit is written out; what may be asked for was checked when the plan was made. */
static int limits_decode(const struct bh_json_at *at, struct bh_plan *plan, struct bh_error *error)
{
        struct bh_limit_policy bounds = {0};
        struct bh_json_at limits, member;

        if (bh_json_require(at, "limits", &limits, error) < 0)
                return -1;
        for (int i = 0; i < BH_LIMIT_COUNT; i++) {
                bounds.max.value[i] = INT64_MAX;
                if (json_is_object(limits.value) &&
                    bh_json_require(&limits, bh_limit_name((enum bh_limit)i), &member, error) < 0)
                        return -1;
        }
        return bh_limits_decode(&limits, &bounds, &plan->limits, error);
}

static int scopes_decode(const struct bh_json_at *at, struct bh_plan *plan, struct bh_error *error)
{
        struct bh_json_at member;

        if (bh_json_require(at, "mounts", &member, error) < 0 ||
            bh_mount_rules_decode(&member, &plan->mounts, error) < 0 ||
            bh_json_require(at, "egress", &member, error) < 0 ||
            bh_egress_rules_decode(&member, &plan->egress, error) < 0 ||
            bh_json_require(at, "secrets", &member, error) < 0)
                return -1;
        return bh_secret_bindings_decode(&member, &plan->secrets, error);
}

static int reasons_decode(const struct bh_json_at *at, struct bh_plan *plan, struct bh_error *error)
{
        static const char *const members[] = {"rule", "capabilities", "tier", "text", NULL};
        struct bh_json_at reasons;
        size_t count;

        if (bh_json_require(at, "reasons", &reasons, error) < 0 ||
            bh_json_array(&reasons, 1, REASONS_MAX, &count, error) < 0)
                return -1;
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at reason = bh_json_element(&reasons, i);

                if (bh_json_object(&reason, members, error) < 0)
                        return -1;
        }
        plan->reasons = json_deep_copy(reasons.value);
        return 0;
}

static int controls_decode(const struct bh_json_at *at, struct bh_plan *plan,
                           struct bh_error *error)
{
        struct bh_json_at member;

        if (bh_json_require(at, "controls", &member, error) < 0)
                return -1;
        return bh_strings_decode(&member, 1, CONTROLS_MAX, TEXT_MAX, NULL, &plan->controls,
                                 &plan->control_count, error);
}

int bh_plan_decode(const struct bh_json_at *at, struct bh_plan **ret, struct bh_error *error)
{
        static const char *const members[] = {"version",
                                              "tier",
                                              "driver",
                                              "technology",
                                              "image",
                                              "capabilities",
                                              "capability_generation",
                                              "capability_digest",
                                              "policy_digest",
                                              "argv",
                                              "cwd",
                                              "environment",
                                              "identity",
                                              "limits",
                                              "workspace",
                                              "scratch",
                                              "mounts",
                                              "egress",
                                              "secrets",
                                              "controls",
                                              "reasons",
                                              NULL};
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_alloc(sizeof(*plan));

        if (bh_json_object(at, members, error) < 0 || head_decode(at, plan, error) < 0 ||
            process_decode(at, plan, error) < 0 || limits_decode(at, plan, error) < 0 ||
            workspace_decode(at, plan, error) < 0 || scratch_decode(at, plan, error) < 0 ||
            scopes_decode(at, plan, error) < 0 || controls_decode(at, plan, error) < 0 ||
            reasons_decode(at, plan, error) < 0)
                return -1;
        *ret = bh_steal_ptr(&plan);
        return 0;
}

void bh_plan_digest(const struct bh_plan *plan, char ret[BH_DIGEST_TEXT_SIZE])
{
        _cleanup_json_ json_t *encoded = bh_plan_encode(plan);

        bh_json_digest(encoded, ret);
}

static void list_free(char **list)
{
        if (list)
                bh_strings_free(list, list_length(list));
}

void bh_plan_free(struct bh_plan *plan)
{
        if (!plan)
                return;
        free(plan->driver);
        free(plan->technology);
        free(plan->image);
        list_free(plan->argv);
        free(plan->cwd);
        list_free(plan->environment);
        free(plan->workspace_name);
        bh_mount_rules_clear(&plan->mounts);
        bh_egress_rules_clear(&plan->egress);
        bh_secret_bindings_clear(&plan->secrets);
        bh_strings_free(plan->controls, plan->control_count);
        json_decref(plan->reasons);
        free(plan);
}
