/* Egress rules: parsing, canonical form, matching. Pure; the proxy will use the same code.
 *
 * A host pattern is an exact name or "*." and at least two labels, in A-labels; case and one
 * trailing dot do not matter ("*.example.test" does not match "example.test"). A rule may
 * instead name a cidr. Addresses that no rule can ever list: loopback, unspecified,
 * link-local, multicast, and the metadata services of the known clouds, each also in its
 * v4-mapped, v4-compatible, 6to4 and NAT64 form (RFC 6052). */
#ifndef BULKHEAD_POLICY_EGRESS_H
#define BULKHEAD_POLICY_EGRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

#define BH_HOST_SIZE 256 /* RFC 1035: 253 characters, and NUL */

struct bh_cidr {
        int family;          /* AF_INET or AF_INET6 */
        uint8_t address[16]; /* network order; 4 bytes used for AF_INET; host bits are zero */
        uint8_t prefix;
};

enum bh_address_class {
        BH_ADDRESS_PUBLIC,
        BH_ADDRESS_PRIVATE,   /* allowed only when a rule lists it */
        BH_ADDRESS_FORBIDDEN, /* never */
};

struct bh_egress_rule {
        char *host;          /* lower case, no trailing dot; NULL for a cidr rule */
        bool wildcard;       /* host is the part after "*." */
        struct bh_cidr cidr; /* cidr rules: prefix of what may be dialled */
        uint16_t *ports;     /* sorted, distinct, not empty */
        size_t port_count;
        char **methods; /* upper case; empty: any */
        size_t method_count;
        char **paths; /* exact, or a prefix ending in '*'; empty: any */
        size_t path_count;
        struct bh_cidr *addresses; /* what a host may resolve to though private */
        size_t address_count;
};

struct bh_egress_rules {
        struct bh_egress_rule *items;
        size_t count;
};

#define BH_EGRESS_RULES_MAX 256

int bh_egress_rules_decode(const struct bh_json_at *at, struct bh_egress_rules *ret,
                           struct bh_error *error);
json_t *bh_egress_rules_encode(const struct bh_egress_rules *rules); /* canonical order */
void bh_egress_rules_copy(const struct bh_egress_rules *rules, struct bh_egress_rules *ret);
void bh_egress_rules_clear(struct bh_egress_rules *rules);

/* Normalises a host name as a workload may spell it. -1 when it is no valid host name. */
int bh_host_normalise(const char *text, char ret[BH_HOST_SIZE]);

/* The first rule that allows host:port (host normalised), or NULL. */
const struct bh_egress_rule *bh_egress_match_host(const struct bh_egress_rules *rules,
                                                  const char *host, uint16_t port);
/* The first cidr rule that allows this address and port, or NULL. */
const struct bh_egress_rule *bh_egress_match_address(const struct bh_egress_rules *rules,
                                                     const struct sockaddr *address);
/* Whether a rule with methods or paths lets this request through. path is the decoded,
 * normalised path without query. */
bool bh_egress_rule_allows_request(const struct bh_egress_rule *rule, const char *method,
                                   const char *path);
/* Whether a host rule may dial the address its name resolved to. */
bool bh_egress_rule_allows_address(const struct bh_egress_rule *rule,
                                   const struct sockaddr *address);

/* Whether every host:port that pattern (as in a secret binding) can match is matched by one
 * of the rules. ports may be NULL: then some rule must cover the pattern on any port. */
bool bh_egress_covers(const struct bh_egress_rules *rules, const char *pattern,
                      const uint16_t *ports, size_t port_count);

enum bh_address_class bh_address_classify(const struct sockaddr *address);

int bh_cidr_parse(const char *text, struct bh_cidr *ret);
bool bh_cidr_contains(const struct bh_cidr *cidr, const struct sockaddr *address);

#endif
