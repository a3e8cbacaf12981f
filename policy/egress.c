/* Egress rules: decoding, canonical encoding, matching. Host names are host_name.c's,
 * addresses address.c's. See egress.h for who calls it. */
#include "policy/egress.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "policy/address.h"
#include "policy/filter.h"
#include "policy/host_name.h"
#include "policy/strings.h"

#define ADDRESSES_MAX 64

static int cidr_decode(const struct bh_json_at *at, struct bh_cidr *ret, struct bh_error *error)
{
        const char *text;

        if (bh_json_string(at, 1, BH_CIDR_TEXT_SIZE, &text, error) < 0)
                return -1;
        if (bh_cidr_parse(text, ret) < 0)
                return bh_json_fail(at, error,
                                    "an address range is written like 10.9.1.0/28: all bits after "
                                    "the prefix zero, IPv4 in its own form and not v4-mapped");
        /* Also refuses a prefix of 0: everything overlaps. */
        if (bh_cidr_forbidden(ret))
                return bh_json_fail(at, error,
                                    "%s overlaps addresses that no rule can list: loopback, "
                                    "unspecified, link-local, multicast or a cloud's metadata "
                                    "service",
                                    text);
        return 0;
}

static bool cidr_equal(const struct bh_cidr *a, const struct bh_cidr *b)
{
        return a->family == b->family && a->prefix == b->prefix &&
               memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

static int addresses_decode(const struct bh_json_at *at, struct bh_egress_rule *rule,
                            struct bh_error *error)
{
        size_t count;

        if (bh_json_array(at, 1, ADDRESSES_MAX, &count, error) < 0)
                return -1;
        rule->addresses = bh_alloc_array(count, sizeof(*rule->addresses));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(at, i);

                if (cidr_decode(&element, &rule->addresses[i], error) < 0)
                        return -1;
                for (size_t k = 0; k < i; k++)
                        if (cidr_equal(&rule->addresses[k], &rule->addresses[i]))
                                return bh_json_fail(&element, error, "the range is listed twice");
                rule->address_count = i + 1;
        }
        return 0;
}

static int destination_decode(const struct bh_json_at *at, struct bh_egress_rule *rule,
                              struct bh_error *error)
{
        struct bh_json_at host, cidr, addresses;
        bool has_host = bh_json_member(at, "host", &host);
        bool has_cidr = bh_json_member(at, "cidr", &cidr);
        char name[BH_HOST_SIZE];
        const char *text;

        if (has_host == has_cidr)
                return bh_json_fail(at, error, "a rule names either a host or a cidr");
        if (has_cidr) {
                if (bh_json_member(at, "addresses", &addresses))
                        return bh_json_fail(&addresses, error,
                                            "addresses belong to a host rule; a cidr rule is its "
                                            "own list");
                return cidr_decode(&cidr, &rule->cidr, error);
        }
        if (bh_json_string(&host, 1, BH_HOST_SIZE + 2, &text, error) < 0 ||
            bh_host_pattern_decode(&host, text, name, &rule->wildcard, error) < 0)
                return -1;
        rule->host = bh_strdup(name);
        if (bh_json_member(at, "addresses", &addresses))
                return addresses_decode(&addresses, rule, error);
        return 0;
}

/* Fills *rule, which the caller clears also on failure. */
static int rule_decode(const struct bh_json_at *at, struct bh_egress_rule *rule,
                       struct bh_error *error)
{
        static const char *const members[] = {"host",  "cidr",      "ports", "methods",
                                              "paths", "addresses", NULL};
        struct bh_json_at member;

        if (bh_json_object(at, members, error) < 0 || destination_decode(at, rule, error) < 0)
                return -1;
        if (bh_json_require(at, "ports", &member, error) < 0 ||
            bh_ports_decode(&member, &rule->ports, &rule->port_count, error) < 0)
                return -1;
        if (bh_json_member(at, "methods", &member) &&
            bh_methods_decode(&member, &rule->methods, &rule->method_count, error) < 0)
                return -1;
        if (bh_json_member(at, "paths", &member) &&
            bh_paths_decode(&member, &rule->paths, &rule->path_count, error) < 0)
                return -1;
        return 0;
}

static void rule_clear(struct bh_egress_rule *rule)
{
        free(rule->host);
        free(rule->ports);
        bh_strings_free(rule->methods, rule->method_count);
        bh_strings_free(rule->paths, rule->path_count);
        free(rule->addresses);
}

static json_t *rule_encode(const struct bh_egress_rule *rule)
{
        json_t *object = json_object();
        char text[BH_CIDR_TEXT_SIZE];

        if (rule->host) {
                _cleanup_free_ char *host =
                        bh_format("%s%s", rule->wildcard ? "*." : "", rule->host);

                json_object_set_new(object, "host", json_string(host));
        } else {
                bh_cidr_format(&rule->cidr, text);
                json_object_set_new(object, "cidr", json_string(text));
        }
        json_object_set_new(object, "ports", bh_ports_encode(rule->ports, rule->port_count));
        if (rule->method_count)
                json_object_set_new(object, "methods",
                                    bh_strings_encode_sorted(rule->methods, rule->method_count));
        if (rule->path_count)
                json_object_set_new(object, "paths",
                                    bh_strings_encode_sorted(rule->paths, rule->path_count));
        if (rule->address_count) {
                json_t *addresses = json_array();

                for (size_t i = 0; i < rule->address_count; i++) {
                        bh_cidr_format(&rule->addresses[i], text);
                        json_array_append_new(addresses, json_string(text));
                }
                json_object_set_new(object, "addresses", bh_json_sorted_take(addresses));
        }
        return object;
}

int bh_egress_rules_decode(const struct bh_json_at *at, struct bh_egress_rules *ret,
                           struct bh_error *error)
{
        struct bh_egress_rules rules = {0};
        _cleanup_json_ json_t *seen = json_object();
        size_t count;

        if (bh_json_array(at, 0, BH_EGRESS_RULES_MAX, &count, error) < 0)
                return -1;
        rules.items = bh_alloc_array(count + 1, sizeof(*rules.items));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(at, i);
                struct bh_egress_rule *rule = &rules.items[rules.count++];

                if (rule_decode(&element, rule, error) < 0)
                        goto fail;
                _cleanup_json_ json_t *encoded = rule_encode(rule);
                _cleanup_free_ char *text = bh_json_canonical(encoded);
                if (json_object_get(seen, text)) {
                        bh_json_fail(&element, error, "the same rule is listed twice");
                        goto fail;
                }
                json_object_set_new(seen, text, json_true());
        }
        *ret = rules;
        return 0;
fail:
        bh_egress_rules_clear(&rules);
        return -1;
}

json_t *bh_egress_rules_encode(const struct bh_egress_rules *rules)
{
        json_t *array = json_array();

        for (size_t i = 0; i < rules->count; i++)
                json_array_append_new(array, rule_encode(&rules->items[i]));
        return bh_json_sorted_take(array);
}

void bh_egress_rules_copy(const struct bh_egress_rules *rules, struct bh_egress_rules *ret)
{
        struct bh_egress_rule *items = bh_alloc_array(rules->count + 1, sizeof(*items));

        for (size_t i = 0; i < rules->count; i++) {
                const struct bh_egress_rule *rule = &rules->items[i];
                struct bh_egress_rule *copy = &items[i];

                *copy = *rule;
                copy->host = rule->host ? bh_strdup(rule->host) : NULL;
                copy->ports = bh_alloc_array(rule->port_count, sizeof(*rule->ports));
                memcpy(copy->ports, rule->ports, rule->port_count * sizeof(*rule->ports));
                copy->methods = bh_strings_copy(rule->methods, rule->method_count);
                copy->paths = bh_strings_copy(rule->paths, rule->path_count);
                copy->addresses = bh_alloc_array(rule->address_count + 1, sizeof(*rule->addresses));
                for (size_t k = 0; k < rule->address_count; k++)
                        copy->addresses[k] = rule->addresses[k];
        }
        ret->items = items;
        ret->count = rules->count;
}

void bh_egress_rules_clear(struct bh_egress_rules *rules)
{
        for (size_t i = 0; i < rules->count; i++)
                rule_clear(&rules->items[i]);
        free(rules->items);
        *rules = (struct bh_egress_rules){0};
}

static bool rule_names_host(const struct bh_egress_rule *rule, const char *host)
{
        if (!rule->host)
                return false;
        return rule->wildcard ? bh_host_below(host, rule->host) : strcmp(host, rule->host) == 0;
}

const struct bh_egress_rule *bh_egress_match_host(const struct bh_egress_rules *rules,
                                                  const char *host, uint16_t port)
{
        for (size_t i = 0; i < rules->count; i++) {
                const struct bh_egress_rule *rule = &rules->items[i];

                if (rule_names_host(rule, host) &&
                    bh_ports_contain(rule->ports, rule->port_count, port))
                        return rule;
        }
        return NULL;
}

static uint16_t address_port(const struct sockaddr *address)
{
        /* sin_port and sin6_port lie at the same place (RFC 3493 §3.3, Linux netinet/in.h). */
        return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
}

const struct bh_egress_rule *bh_egress_match_address(const struct bh_egress_rules *rules,
                                                     const struct sockaddr *address)
{
        if (bh_address_classify(address) == BH_ADDRESS_FORBIDDEN)
                return NULL;
        for (size_t i = 0; i < rules->count; i++) {
                const struct bh_egress_rule *rule = &rules->items[i];

                if (!rule->host && bh_cidr_contains(&rule->cidr, address) &&
                    bh_ports_contain(rule->ports, rule->port_count, address_port(address)))
                        return rule;
        }
        return NULL;
}

bool bh_egress_rule_allows_request(const struct bh_egress_rule *rule, const char *method,
                                   const char *path)
{
        return bh_methods_allow(rule->methods, rule->method_count, method) &&
               bh_paths_allow(rule->paths, rule->path_count, path);
}

bool bh_egress_rule_allows_address(const struct bh_egress_rule *rule,
                                   const struct sockaddr *address)
{
        switch (bh_address_classify(address)) {
        case BH_ADDRESS_FORBIDDEN:
                return false;
        case BH_ADDRESS_PUBLIC:
                return rule->host || bh_cidr_contains(&rule->cidr, address);
        case BH_ADDRESS_PRIVATE:
                break;
        }
        if (!rule->host)
                return bh_cidr_contains(&rule->cidr, address);
        for (size_t i = 0; i < rule->address_count; i++)
                if (bh_cidr_contains(&rule->addresses[i], address))
                        return true;
        return false;
}

/* Whether each name that pattern can be is one that rule names. */
static bool rule_covers(const struct bh_egress_rule *rule, const char *pattern)
{
        if (strncmp(pattern, "*.", 2) != 0)
                return rule_names_host(rule, pattern);
        return rule->host && rule->wildcard &&
               (strcmp(pattern + 2, rule->host) == 0 || bh_host_below(pattern + 2, rule->host));
}

static bool covered_on_port(const struct bh_egress_rules *rules, const char *pattern,
                            const uint16_t *port)
{
        for (size_t i = 0; i < rules->count; i++) {
                const struct bh_egress_rule *rule = &rules->items[i];

                if (rule_covers(rule, pattern) &&
                    (!port || bh_ports_contain(rule->ports, rule->port_count, *port)))
                        return true;
        }
        return false;
}

bool bh_egress_covers(const struct bh_egress_rules *rules, const char *pattern,
                      const uint16_t *ports, size_t port_count)
{
        if (!ports || port_count == 0)
                return covered_on_port(rules, pattern, NULL);
        for (size_t i = 0; i < port_count; i++)
                if (!covered_on_port(rules, pattern, &ports[i]))
                        return false;
        return true;
}
