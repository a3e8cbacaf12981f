/* Fuzzes egress rules together with what a workload asks for. Input: 18 bytes of address and
 * port, a line with a host name, and the rules.
 *
 * No rule, however written, lets a forbidden address through; a private one passes only where
 * a rule lists it; a name that matches is one that the rules cover. */
#include "support.h"

#include <arpa/inet.h>

#define ADDRESS_BYTES 16
#define HEAD_BYTES    (ADDRESS_BYTES + 2)

union address {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
};

/* The same bytes as IPv6 address, and their last four as IPv4. */
static union address address_from(const uint8_t *head, int family)
{
        union address address = {0};

        address.any.sa_family = (sa_family_t)family;
        if (family == AF_INET) {
                memcpy(&address.in.sin_addr, head + ADDRESS_BYTES - 4, 4);
                memcpy(&address.in.sin_port, head + ADDRESS_BYTES, 2);
        } else {
                memcpy(&address.in6.sin6_addr, head, ADDRESS_BYTES);
                memcpy(&address.in6.sin6_port, head + ADDRESS_BYTES, 2);
        }
        return address;
}

static void check_address(const struct bh_egress_rules *rules, const union address *address)
{
        enum bh_address_class class = bh_address_classify(&address->any);
        const struct bh_egress_rule *match = bh_egress_match_address(rules, &address->any);

        require(!match || (class != BH_ADDRESS_FORBIDDEN && !match->host &&
                           bh_cidr_contains(&match->cidr, &address->any)));
        for (size_t i = 0; i < rules->count; i++) {
                const struct bh_egress_rule *rule = &rules->items[i];
                bool listed = !rule->host && bh_cidr_contains(&rule->cidr, &address->any);

                for (size_t k = 0; k < rule->address_count; k++)
                        listed |= bh_cidr_contains(&rule->addresses[k], &address->any);
                require(!listed || class != BH_ADDRESS_FORBIDDEN);
                bool allowed = bh_egress_rule_allows_address(rule, &address->any);
                require(!allowed || class != BH_ADDRESS_FORBIDDEN);
                require(!allowed || class != BH_ADDRESS_PRIVATE || listed);
        }
}

static void check_host(const struct bh_egress_rules *rules, const char *text, uint16_t port)
{
        char host[BH_HOST_SIZE], again[BH_HOST_SIZE];

        if (bh_host_normalise(text, host) < 0)
                return;
        require(bh_host_normalise(host, again) == 0 && strcmp(host, again) == 0);
        const struct bh_egress_rule *match = bh_egress_match_host(rules, host, port);
        require((match != NULL) == bh_egress_covers(rules, host, &port, 1));
        if (match)
                require(strlen(host) > strlen(match->host) == match->wildcard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *line =
                size > HEAD_BYTES ? memchr(data + HEAD_BYTES, '\n', size - HEAD_BYTES) : NULL;
        struct bh_egress_rules rules = {0}, again = {0};
        struct bh_error error = {0};

        if (!line)
                return 0;
        const uint8_t *text = line + 1;
        _cleanup_json_ json_t *document = parse(text, size - (size_t)(text - data));
        if (!document)
                return 0;
        if (bh_egress_rules_decode(&BH_JSON_ROOT(document), &rules, &error) < 0) {
                check_refusal(&error);
                return 0;
        }
        _cleanup_json_ json_t *encoded = bh_egress_rules_encode(&rules);
        require(bh_egress_rules_decode(&BH_JSON_ROOT(encoded), &again, NULL) == 0);
        _cleanup_json_ json_t *reencoded = bh_egress_rules_encode(&again);
        require(json_equal(encoded, reencoded));

        union address v4 = address_from(data, AF_INET), v6 = address_from(data, AF_INET6);
        check_address(&rules, &v4);
        check_address(&rules, &v6);
        _cleanup_free_ char *host =
                bh_strndup((const char *)data + HEAD_BYTES, (size_t)(line - data) - HEAD_BYTES);
        check_host(&rules, host, ntohs(v4.in.sin_port));
        bh_egress_rules_clear(&rules);
        bh_egress_rules_clear(&again);
        return 0;
}
