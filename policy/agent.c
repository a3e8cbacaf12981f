/* An agent's declaration: decoding with scope checks, canonical form, digest, difference.
 * Called by broker for agents, re-tiering and reviews, and by the decision. */
#include "policy/agent.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "policy/name.h"

#define SCOPE_MISMATCH     "capability_scope_mismatch"

/* The members of a capability set; agents have two more. */
#define CAPABILITY_MEMBERS "capabilities", "egress", "mounts", "secrets"

static int scope_refuse(const struct bh_json_at *at, const char *scope, bh_capability_set set,
                        enum bh_capability needed, struct bh_error *error)
{
        char pointer[sizeof(error->subject)];

        if (set & BH_CAP_BIT(needed))
                return 0;
        bh_json_pointer(at, pointer, sizeof(pointer));
        return bh_error_refused(error, SCOPE_MISMATCH, pointer, "%s needs the capability %s", scope,
                                bh_capability_name(needed));
}

static int egress_decode(const struct bh_json_at *at, struct bh_capabilities *capabilities,
                         struct bh_error *error)
{
        struct bh_json_at member;

        if (!bh_json_member(at, "egress", &member))
                return 0;
        if (bh_egress_rules_decode(&member, &capabilities->egress, error) < 0)
                return -1;
        if (capabilities->egress.count == 0)
                return 0;
        return scope_refuse(&member, "egress", capabilities->set, BH_CAP_NET_EGRESS, error);
}

static int mounts_decode(const struct bh_json_at *at, struct bh_capabilities *capabilities,
                         struct bh_error *error)
{
        struct bh_json_at member;

        if (!bh_json_member(at, "mounts", &member))
                return 0;
        if (bh_mount_rules_decode(&member, &capabilities->mounts, error) < 0)
                return -1;
        for (size_t i = 0; i < capabilities->mounts.count; i++) {
                struct bh_json_at element = bh_json_element(&member, i);
                bool writable = capabilities->mounts.items[i].writable;

                if (scope_refuse(&element, writable ? "a writable mount" : "a read-only mount",
                                 capabilities->set,
                                 writable ? BH_CAP_FS_MOUNT_WRITE : BH_CAP_FS_MOUNT_READ,
                                 error) < 0)
                        return -1;
        }
        return 0;
}

/* A secret can go only where the agent may connect, so a host beyond that is a slip. */
static int check_covered(const struct bh_json_at *at, const struct bh_egress_rules *egress,
                         const struct bh_secret_binding *binding, struct bh_error *error)
{
        char pointer[sizeof(error->subject)];
        struct bh_json_at hosts;

        bh_json_member(at, "hosts", &hosts);
        for (size_t i = 0; i < binding->host_count; i++) {
                struct bh_json_at host = bh_json_element(&hosts, i);

                if (bh_egress_covers(egress, binding->hosts[i], binding->ports,
                                     binding->port_count))
                        continue;
                bh_json_pointer(&host, pointer, sizeof(pointer));
                return bh_error_refused(error, SCOPE_MISMATCH, pointer,
                                        "no egress rule covers %s%s", binding->hosts[i],
                                        binding->port_count ? " on every port given" : "");
        }
        return 0;
}

static int secrets_decode(const struct bh_json_at *at, struct bh_capabilities *capabilities,
                          struct bh_error *error)
{
        struct bh_json_at member;

        if (!bh_json_member(at, "secrets", &member))
                return 0;
        if (bh_secret_bindings_decode(&member, &capabilities->secrets, error) < 0)
                return -1;
        if (capabilities->secrets.count == 0)
                return 0;
        if (scope_refuse(&member, "secrets", capabilities->set, BH_CAP_SECRETS_USE, error) < 0)
                return -1;
        for (size_t i = 0; i < capabilities->secrets.count; i++) {
                struct bh_json_at element = bh_json_element(&member, i);

                if (check_covered(&element, &capabilities->egress, &capabilities->secrets.items[i],
                                  error) < 0)
                        return -1;
        }
        return 0;
}

/* The members of the set, in an object whose members were checked. */
static int set_members_decode(const struct bh_json_at *at, struct bh_capabilities *ret,
                              struct bh_error *error)
{
        struct bh_capabilities capabilities = {0};
        struct bh_json_at member;

        if (bh_json_require(at, "capabilities", &member, error) < 0 ||
            bh_capability_set_decode(&member, &capabilities.set, error) < 0)
                return -1;
        if (egress_decode(at, &capabilities, error) < 0 ||
            mounts_decode(at, &capabilities, error) < 0 ||
            secrets_decode(at, &capabilities, error) < 0) {
                bh_capabilities_clear(&capabilities);
                return -1;
        }
        *ret = capabilities;
        return 0;
}

int bh_capabilities_decode(const struct bh_json_at *at, struct bh_capabilities *ret,
                           struct bh_error *error)
{
        static const char *const members[] = {CAPABILITY_MEMBERS, NULL};

        if (bh_json_object(at, members, error) < 0)
                return -1;
        return set_members_decode(at, ret, error);
}

json_t *bh_capabilities_encode(const struct bh_capabilities *capabilities)
{
        return json_pack("{s:o, s:o, s:o, s:o}", "capabilities",
                         bh_capability_set_encode(capabilities->set), "egress",
                         bh_egress_rules_encode(&capabilities->egress), "mounts",
                         bh_mount_rules_encode(&capabilities->mounts), "secrets",
                         bh_secret_bindings_encode(&capabilities->secrets));
}

void bh_capabilities_clear(struct bh_capabilities *capabilities)
{
        bh_egress_rules_clear(&capabilities->egress);
        bh_mount_rules_clear(&capabilities->mounts);
        bh_secret_bindings_clear(&capabilities->secrets);
        capabilities->set = 0;
}

void bh_capabilities_digest(const struct bh_capabilities *capabilities,
                            char ret[BH_DIGEST_TEXT_SIZE])
{
        _cleanup_json_ json_t *encoded = bh_capabilities_encode(capabilities);

        bh_json_digest(encoded, ret);
}

int bh_agent_spec_decode(const struct bh_json_at *at, struct bh_agent_spec **ret,
                         struct bh_error *error)
{
        static const char *const members[] = {"owner", CAPABILITY_MEMBERS, "labels", NULL};
        _cleanup_(bh_agent_spec_cleanup) struct bh_agent_spec *spec = bh_alloc(sizeof(*spec));
        struct bh_json_at member;
        const char *owner = "";

        if (bh_json_object(at, members, error) < 0)
                return -1;
        if (bh_json_member(at, "owner", &member) && bh_owner_decode(&member, &owner, error) < 0)
                return -1;
        spec->owner = bh_strdup(owner);
        if (set_members_decode(at, &spec->capabilities, error) < 0)
                return -1;
        if (!bh_json_member(at, "labels", &member))
                spec->labels = json_object();
        else if (bh_labels_decode(&member, &spec->labels, error) < 0)
                return -1;
        *ret = bh_steal_ptr(&spec);
        return 0;
}

void bh_agent_spec_free(struct bh_agent_spec *spec)
{
        if (!spec)
                return;
        free(spec->owner);
        bh_capabilities_clear(&spec->capabilities);
        json_decref(spec->labels);
        free(spec);
}

/* What a set holds as an object from everything that makes an entry the same (canonical text)
 * to the name by which people know it. */
static void collect_egress(const struct bh_capabilities *capabilities, json_t *entries)
{
        _cleanup_json_ json_t *rules = bh_egress_rules_encode(&capabilities->egress);
        size_t index;
        json_t *rule;

        json_array_foreach (rules, index, rule) {
                _cleanup_free_ char *text = bh_json_canonical(rule);
                _cleanup_free_ char *name = bh_format("egress:%s", text);

                json_object_set_new(entries, name, json_string(name));
        }
}

static void collect_mounts(const struct bh_capabilities *capabilities, json_t *entries)
{
        for (size_t i = 0; i < capabilities->mounts.count; i++) {
                const struct bh_mount_rule *rule = &capabilities->mounts.items[i];
                _cleanup_free_ char *name =
                        bh_format("mount:%s:%s", rule->target, rule->writable ? "rw" : "ro");
                /* Another source behind the same target is another mount. */
                _cleanup_free_ char *key = bh_format("%s:%s", name, rule->source);

                json_object_set_new(entries, key, json_string(name));
        }
}

static void collect_secrets(const struct bh_capabilities *capabilities, json_t *entries)
{
        _cleanup_json_ json_t *bindings = bh_secret_bindings_encode(&capabilities->secrets);
        size_t index, host_index;
        json_t *binding, *host;

        json_array_foreach (bindings, index, binding) {
                _cleanup_json_ json_t *rest = json_copy(binding);

                json_object_del(rest, "hosts");
                _cleanup_free_ char *rest_text = bh_json_canonical(rest);
                json_array_foreach (json_object_get(binding, "hosts"), host_index, host) {
                        _cleanup_free_ char *name = bh_format(
                                "secret:%s@%s", json_string_value(json_object_get(binding, "name")),
                                json_string_value(host));
                        _cleanup_free_ char *key = bh_format("%s:%s", name, rest_text);

                        json_object_set_new(entries, key, json_string(name));
                }
        }
}

static json_t *collect(const struct bh_capabilities *capabilities)
{
        json_t *entries = json_object();

        for (int i = 0; i < BH_CAP_COUNT; i++)
                if (capabilities->set & BH_CAP_BIT(i))
                        json_object_set_new(entries, bh_capability_name((enum bh_capability)i),
                                            json_string(bh_capability_name((enum bh_capability)i)));
        collect_egress(capabilities, entries);
        collect_mounts(capabilities, entries);
        collect_secrets(capabilities, entries);
        return entries;
}

json_t *bh_capabilities_added(const struct bh_capabilities *previous,
                              const struct bh_capabilities *next)
{
        _cleanup_json_ json_t *before = collect(previous), *after = collect(next);
        json_t *added = json_array();
        const char *key;
        json_t *name;

        json_object_foreach (after, key, name)
                if (!json_object_get(before, key))
                        json_array_append(added, name);
        return added;
}
