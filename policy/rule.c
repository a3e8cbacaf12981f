/* The rules of the policy file. See rule.h for who calls it. */
#include "policy/rule.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "policy/name.h"

#define TEXT_MAX 512

int bh_secrets_proxy_decode(const struct bh_json_at *at, bool *ret_remote, struct bh_error *error)
{
        static const char *const places[] = {"local", "remote", NULL};
        int place;

        if (bh_json_choice(at, places, &place, error) < 0)
                return -1;
        *ret_remote = place == 1;
        return 0;
}

static int when_member_decode(const struct bh_json_at *at, const char *key, bh_capability_set *ret,
                              struct bh_error *error)
{
        struct bh_json_at member;

        if (!bh_json_member(at, key, &member))
                return 0;
        return bh_capability_set_decode(&member, ret, error);
}

static int when_decode(const struct bh_json_at *at, struct bh_rule *rule, struct bh_error *error)
{
        static const char *const members[] = {"all", "any", "none", NULL};
        struct bh_json_at any;

        if (bh_json_object(at, members, error) < 0 ||
            when_member_decode(at, "all", &rule->all, error) < 0 ||
            when_member_decode(at, "any", &rule->any, error) < 0 ||
            when_member_decode(at, "none", &rule->none, error) < 0)
                return -1;
        /* "Any of nothing" is never true to some and always to others. */
        if (bh_json_member(at, "any", &any) && rule->any == 0)
                return bh_json_fail(&any, error, "an empty list: leave `any` out instead");
        if ((rule->all & rule->none) || (rule->any && (rule->any & ~rule->none) == 0))
                return bh_json_fail(at, error,
                                    "the rule can never match: it wants what `none` excludes");
        return 0;
}

static int unless_decode(const struct bh_json_at *at, struct bh_rule *rule, struct bh_error *error)
{
        static const char *const members[] = {"secrets_proxy", NULL};
        struct bh_json_at member;
        bool remote;

        if (bh_json_object(at, members, error) < 0 ||
            bh_json_require(at, "secrets_proxy", &member, error) < 0 ||
            bh_secrets_proxy_decode(&member, &remote, error) < 0)
                return -1;
        rule->unless_secrets_proxy_remote = remote;
        rule->unless_secrets_proxy_local = !remote;
        return 0;
}

/* Fills *rule, which the caller clears also on failure. */
static int rule_decode(const struct bh_json_at *at, struct bh_rule *rule, struct bh_error *error)
{
        static const char *const members[] = {"name", "when", "unless_host", "tier", "text", NULL};
        struct bh_json_at member;
        const char *name, *text = "";

        if (bh_json_object(at, members, error) < 0 ||
            bh_json_require(at, "name", &member, error) < 0 ||
            bh_name_decode(&member, &name, error) < 0)
                return -1;
        rule->name = bh_strdup(name);
        if (bh_json_member(at, "when", &member) && when_decode(&member, rule, error) < 0)
                return -1;
        if (bh_json_member(at, "unless_host", &member) && unless_decode(&member, rule, error) < 0)
                return -1;
        if (bh_json_require(at, "tier", &member, error) < 0 ||
            bh_tier_decode(&member, &rule->tier, error) < 0)
                return -1;
        if (bh_json_member(at, "text", &member) &&
            bh_json_string(&member, 1, TEXT_MAX, &text, error) < 0)
                return -1;
        if (!bh_text_printable(text))
                return bh_json_fail(&member, error, "a rule's text holds no control characters");
        rule->text = bh_strdup(text);
        return 0;
}

static int check_name_distinct(const struct bh_json_at *at, const struct bh_rule *rules,
                               size_t index, struct bh_error *error)
{
        struct bh_json_at member;

        for (size_t i = 0; i < index; i++)
                if (strcmp(rules[i].name, rules[index].name) == 0) {
                        bh_json_member(at, "name", &member);
                        return bh_json_fail(&member, error, "two rules are called %s",
                                            rules[i].name);
                }
        return 0;
}

int bh_rules_decode(const struct bh_json_at *at, struct bh_rule **ret, size_t *ret_count,
                    struct bh_error *error)
{
        size_t count;

        if (bh_json_array(at, 0, BH_RULES_MAX, &count, error) < 0)
                return -1;
        struct bh_rule *rules = bh_alloc_array(count + 1, sizeof(*rules));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(at, i);

                if (rule_decode(&element, &rules[i], error) < 0 ||
                    check_name_distinct(&element, rules, i, error) < 0) {
                        bh_rules_free(rules, i + 1);
                        return -1;
                }
        }
        *ret = rules;
        *ret_count = count;
        return 0;
}

static json_t *when_encode(const struct bh_rule *rule)
{
        json_t *when = json_object();

        if (rule->all)
                json_object_set_new(when, "all", bh_capability_set_encode(rule->all));
        if (rule->any)
                json_object_set_new(when, "any", bh_capability_set_encode(rule->any));
        if (rule->none)
                json_object_set_new(when, "none", bh_capability_set_encode(rule->none));
        return when;
}

json_t *bh_rules_encode(const struct bh_rule *rules, size_t count)
{
        json_t *array = json_array();

        for (size_t i = 0; i < count; i++) {
                const struct bh_rule *rule = &rules[i];
                json_t *object =
                        json_pack("{s:s, s:o}", "name", rule->name, "when", when_encode(rule));

                if (rule->unless_secrets_proxy_remote || rule->unless_secrets_proxy_local)
                        json_object_set_new(
                                object, "unless_host",
                                json_pack("{s:s}", "secrets_proxy",
                                          rule->unless_secrets_proxy_remote ? "remote" : "local"));
                json_object_set_new(object, "tier", json_string(bh_tier_name(rule->tier)));
                json_object_set_new(object, "text", json_string(rule->text));
                json_array_append_new(array, object);
        }
        return array;
}

void bh_rules_free(struct bh_rule *rules, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                free(rules[i].name);
                free(rules[i].text);
        }
        free(rules);
}
