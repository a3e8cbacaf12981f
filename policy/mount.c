/* Mount rules: decoding, lexical checks of source and target. See mount.h for what is not
 * checked here. Called by agent, policy and plan decoding. */
#include "policy/mount.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "policy/name.h"
#include "policy/path.h"
#include "policy/strings.h"

#define JUSTIFICATION_MAX 1024
#define REFUSED           "mount_not_allowed"

/* The boundary's own tree: what a mount there would replace or hide is a control. */
static const char *const closed_targets[] = {
        "/proc",  "/sys",     "/dev",    "/usr",     "/bin",       "/sbin",      "/lib",
        "/lib32", "/lib64",   "/libo32", "/libx32",  "/etc",       "/workspace", "/tmp",
        "/run",   "/var/run", "/boot",   "/var/tmp", "/var/empty",
};

/* The kernel's trees of the host: no root of the policy can stand in for them. */
static const char *const closed_sources[] = {"/proc", "/sys", "/dev"};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool below_any(const char *path, const char *const roots[], size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (bh_path_is_below(path, roots[i]))
                        return true;
        return false;
}

static int path_member_decode(const struct bh_json_at *at, const char *key,
                              const char *const closed[], size_t closed_count, char **ret,
                              struct bh_error *error)
{
        char pointer[sizeof(error->subject)];
        struct bh_json_at member;
        const char *path;

        if (bh_json_require(at, key, &member, error) < 0 ||
            bh_absolute_path_decode(&member, &path, error) < 0)
                return -1;
        if (strcmp(path, "/") == 0 || below_any(path, closed, closed_count)) {
                bh_json_pointer(&member, pointer, sizeof(pointer));
                return bh_error_refused(error, REFUSED, pointer, "%s can never be a mount's %s",
                                        path, key);
        }
        *ret = bh_strdup(path);
        return 0;
}

static int justification_decode(const struct bh_json_at *at, struct bh_mount_rule *rule,
                                struct bh_error *error)
{
        char pointer[sizeof(error->subject)];
        struct bh_json_at member;
        const char *text = "";

        if (bh_json_member(at, "justification", &member)) {
                if (bh_json_string(&member, rule->writable ? 0 : 1, JUSTIFICATION_MAX, &text,
                                   error) < 0)
                        return -1;
                if (!bh_text_printable(text))
                        return bh_json_fail(&member, error,
                                            "a justification holds no control characters");
        } else {
                member = (struct bh_json_at){.parent = at, .key = "justification"};
        }
        if (rule->writable && text[strspn(text, " ")] == '\0') {
                bh_json_pointer(&member, pointer, sizeof(pointer));
                return bh_error_refused(error, "capability_scope_mismatch", pointer,
                                        "a writable mount needs a justification: who writes what "
                                        "there, and why");
        }
        rule->justification = *text ? bh_strdup(text) : NULL;
        return 0;
}

/* Fills *rule, which the caller clears also on failure. */
static int rule_decode(const struct bh_json_at *at, struct bh_mount_rule *rule,
                       struct bh_error *error)
{
        static const char *const members[] = {"source", "target", "mode", "justification", NULL};
        static const char *const modes[] = {"ro", "rw", NULL};
        struct bh_json_at member;
        int mode;

        if (bh_json_object(at, members, error) < 0 ||
            path_member_decode(at, "source", closed_sources, COUNT(closed_sources), &rule->source,
                               error) < 0 ||
            path_member_decode(at, "target", closed_targets, COUNT(closed_targets), &rule->target,
                               error) < 0 ||
            bh_json_require(at, "mode", &member, error) < 0 ||
            bh_json_choice(&member, modes, &mode, error) < 0)
                return -1;
        rule->writable = mode == 1;
        return justification_decode(at, rule, error);
}

/* One target in another would hide part of it, or need a directory made in its source. */
static int check_nesting(const struct bh_json_at *at, const struct bh_mount_rules *rules,
                         size_t index, struct bh_error *error)
{
        const char *target = rules->items[index].target;
        struct bh_json_at member;

        for (size_t i = 0; i < index; i++) {
                const char *other = rules->items[i].target;

                if (bh_path_is_below(target, other) || bh_path_is_below(other, target)) {
                        bh_json_member(at, "target", &member);
                        return bh_json_fail(&member, error,
                                            "targets may not repeat or lie in one another: %s and "
                                            "%s",
                                            other, target);
                }
        }
        return 0;
}

int bh_mount_rules_decode(const struct bh_json_at *at, struct bh_mount_rules *ret,
                          struct bh_error *error)
{
        struct bh_mount_rules rules = {0};
        size_t count;

        if (bh_json_array(at, 0, BH_MOUNT_RULES_MAX, &count, error) < 0)
                return -1;
        rules.items = bh_alloc_array(count + 1, sizeof(*rules.items));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(at, i);

                rules.count = i + 1;
                if (rule_decode(&element, &rules.items[i], error) < 0 ||
                    check_nesting(&element, &rules, i, error) < 0) {
                        bh_mount_rules_clear(&rules);
                        return -1;
                }
        }
        *ret = rules;
        return 0;
}

json_t *bh_mount_rules_encode(const struct bh_mount_rules *rules)
{
        json_t *array = json_array();

        for (size_t i = 0; i < rules->count; i++) {
                const struct bh_mount_rule *rule = &rules->items[i];
                json_t *object = json_pack("{s:s, s:s, s:s}", "source", rule->source, "target",
                                           rule->target, "mode", rule->writable ? "rw" : "ro");

                if (rule->justification)
                        json_object_set_new(object, "justification",
                                            json_string(rule->justification));
                json_array_append_new(array, object);
        }
        return bh_json_sorted_take(array);
}

void bh_mount_rules_copy(const struct bh_mount_rules *rules, struct bh_mount_rules *ret)
{
        struct bh_mount_rule *items = bh_alloc_array(rules->count + 1, sizeof(*items));

        for (size_t i = 0; i < rules->count; i++) {
                const struct bh_mount_rule *rule = &rules->items[i];

                items[i] = (struct bh_mount_rule){
                        .source = bh_strdup(rule->source),
                        .target = bh_strdup(rule->target),
                        .writable = rule->writable,
                        .justification =
                                rule->justification ? bh_strdup(rule->justification) : NULL,
                };
        }
        ret->items = items;
        ret->count = rules->count;
}

void bh_mount_rules_clear(struct bh_mount_rules *rules)
{
        for (size_t i = 0; i < rules->count; i++) {
                free(rules->items[i].source);
                free(rules->items[i].target);
                free(rules->items[i].justification);
        }
        free(rules->items);
        *rules = (struct bh_mount_rules){0};
}
