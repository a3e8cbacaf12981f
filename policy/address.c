/* Addresses: classes, cidrs. The other half of egress.h; called by egress rule decoding and
 * matching, later by the proxy before it dials.
 *
 * IPv4 is treated as its v4-mapped IPv6 form, so that one table of patterns says it all, and
 * a v4 address cannot hide in a v6 socket address. An entry of the IPv4 tables is looked for
 * in every form in which a v6 address can carry a v4 one to its place. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/address.h"

struct pattern { /* matches x when (x ^ value) & mask == 0 */
        uint8_t value[16], mask[16];
};

struct v4_range {
        uint8_t address[4];
        uint8_t prefix;
};

struct v6_range {
        uint8_t address[16];
        uint8_t prefix;
};

/* IANA IPv4 special-purpose registry (RFC 6890 and updates), and the metadata services of
 * clouds. */
static const struct v4_range v4_forbidden[] = {
        {{0, 0, 0, 0}, 8},          /* unspecified, "this network" */
        {{127, 0, 0, 0}, 8},        /* loopback */
        {{169, 254, 0, 0}, 16},     /* link-local; metadata of most clouds */
        {{224, 0, 0, 0}, 4},        /* multicast */
        {{240, 0, 0, 0}, 4},        /* reserved, broadcast */
        {{100, 100, 100, 200}, 32}, /* Alibaba Cloud metadata */
        {{168, 63, 129, 16}, 32},   /* Azure wire server */
        {{192, 0, 0, 192}, 32},     /* Oracle Cloud metadata */
};

static const struct v4_range v4_private[] = {
        {{10, 0, 0, 0}, 8},    {{172, 16, 0, 0}, 12},   {{192, 168, 0, 0}, 16}, /* RFC 1918 */
        {{100, 64, 0, 0}, 10},                         /* RFC 6598: carrier NAT */
        {{192, 0, 0, 0}, 24},  {{192, 88, 99, 0}, 24}, /* protocols, 6to4 relays */
        {{198, 18, 0, 0}, 15},                         /* RFC 2544: benchmarks */
        {{192, 0, 2, 0}, 24},  {{198, 51, 100, 0}, 24}, {{203, 0, 113, 0}, 24}, /* examples */
};

static const struct v6_range v6_forbidden[] = {
        /* ::/128 and ::1/128 are 0.0.0.0/8 in v4-compatible form. */
        {{0xfe, 0x80}, 10}, /* link-local */
        {{0xff}, 8},        /* multicast */
        /* RFC 8215: where the v4 address lies inside is the operator's choice, so it cannot
         * be checked. */
        {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48},
        {{0x20, 0x01, 0x00, 0x00}, 32}, /* Teredo: a tunnel to a v4 address */
        {{0xfd, 0x00, 0x0e, 0xc2}, 32}, /* AWS: metadata fd00:ec2::254, and kin */
        {{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54}, 128},             /* Google Cloud */
        {{0xfd, 0x00, 0x00, 0xc1, [12] = 0xa9, 0xfe, 0xa9, 0xfe}, 128}, /* Oracle Cloud */
        {{0xfd, 0x00, 0x00, 0x42, [15] = 0x42}, 128},                   /* Scaleway */
};

static const struct v6_range v6_private[] = {
        {{0x20, 0x01, 0x0d, 0xb8}, 32},             /* RFC 3849: examples */
        {{0x3f, 0xff}, 20},                         /* RFC 9637: examples */
        {{0x20, 0x01, 0x00, 0x02, 0x00, 0x00}, 48}, /* RFC 5180: benchmarks */
        {{0x20, 0x01, 0x00, 0x10}, 28},             /* RFC 4843: ORCHID */
        {{0x20, 0x01, 0x00, 0x20}, 28},             /* RFC 7343: ORCHIDv2 */
};

static const struct v6_range v6_global_unicast = {{0x20}, 3}; /* RFC 4291 §2.4, IANA */

/* How a v6 address carries a v4 one: prefix, and the byte where the v4 address begins. */
static const struct {
        uint8_t prefix[12];
        uint8_t offset; /* also the prefix's length in bytes */
} v4_carriers[] = {
        {{[10] = 0xff, 0xff}, 12},      /* v4-mapped, RFC 4291 §2.5.5.2 */
        {{0}, 12},                      /* v4-compatible, RFC 4291 §2.5.5.1 */
        {{[8] = 0xff, 0xff}, 12},       /* v4-translated, RFC 2765 §2.1 */
        {{0x00, 0x64, 0xff, 0x9b}, 12}, /* NAT64, RFC 6052 §2.1 */
        {{0x20, 0x02}, 2},              /* 6to4, RFC 3056 §2 */
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Sets the bits begin..begin+count of mask. */
static void set_bits(uint8_t mask[16], unsigned begin, unsigned count)
{
        for (unsigned bit = begin; bit < begin + count; bit++)
                mask[bit / 8] |= (uint8_t)(0x80 >> (bit % 8));
}

static bool patterns_overlap(const struct pattern *a, const struct pattern *b)
{
        for (size_t i = 0; i < 16; i++)
                if ((a->value[i] ^ b->value[i]) & a->mask[i] & b->mask[i])
                        return false;
        return true;
}

static struct pattern pattern_of_carrier(size_t carrier, const struct v4_range *range)
{
        struct pattern pattern = {0};
        unsigned offset = v4_carriers[carrier].offset;

        memcpy(pattern.value, v4_carriers[carrier].prefix, offset);
        memcpy(pattern.value + offset, range->address, 4);
        set_bits(pattern.mask, 0, offset * 8 + range->prefix);
        return pattern;
}

static struct pattern pattern_of_v6(const struct v6_range *range)
{
        struct pattern pattern = {0};

        memcpy(pattern.value, range->address, 16);
        set_bits(pattern.mask, 0, range->prefix);
        return pattern;
}

static struct pattern pattern_of_cidr(const struct bh_cidr *cidr)
{
        if (cidr->family == AF_INET) {
                struct v4_range range = {.prefix = cidr->prefix};

                memcpy(range.address, cidr->address, 4);
                return pattern_of_carrier(0, &range);
        }
        struct v6_range range = {.prefix = cidr->prefix};

        memcpy(range.address, cidr->address, 16);
        return pattern_of_v6(&range);
}

static bool overlaps_v4(const struct pattern *pattern, const struct v4_range *ranges, size_t count)
{
        for (size_t i = 0; i < count; i++)
                for (size_t carrier = 0; carrier < COUNT(v4_carriers); carrier++) {
                        struct pattern form = pattern_of_carrier(carrier, &ranges[i]);

                        if (patterns_overlap(pattern, &form))
                                return true;
                }
        return false;
}

static bool overlaps_v6(const struct pattern *pattern, const struct v6_range *ranges, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct pattern form = pattern_of_v6(&ranges[i]);

                if (patterns_overlap(pattern, &form))
                        return true;
        }
        return false;
}

static bool pattern_forbidden(const struct pattern *pattern)
{
        return overlaps_v4(pattern, v4_forbidden, COUNT(v4_forbidden)) ||
               overlaps_v6(pattern, v6_forbidden, COUNT(v6_forbidden));
}

static bool carries_v4(const struct pattern *pattern)
{
        static const struct v4_range every = {{0}, 0};

        return overlaps_v4(pattern, &every, 1);
}

int bh_address_cidr(const struct sockaddr *address, struct bh_cidr *ret)
{
        struct bh_cidr cidr = {.family = address->sa_family};

        if (address->sa_family == AF_INET) {
                const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;

                memcpy(cidr.address, &in->sin_addr, 4);
                cidr.prefix = 32;
        } else if (address->sa_family == AF_INET6) {
                const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)address;

                memcpy(cidr.address, &in6->sin6_addr, 16);
                cidr.prefix = 128;
        } else {
                return -1;
        }
        *ret = cidr;
        return 0;
}

enum bh_address_class bh_address_classify(const struct sockaddr *address)
{
        struct bh_cidr cidr;

        if (bh_address_cidr(address, &cidr) < 0)
                return BH_ADDRESS_FORBIDDEN; /* neither v4 nor v6: a unix socket, say */
        struct pattern pattern = pattern_of_cidr(&cidr);

        if (pattern_forbidden(&pattern))
                return BH_ADDRESS_FORBIDDEN;
        if (overlaps_v4(&pattern, v4_private, COUNT(v4_private)) ||
            overlaps_v6(&pattern, v6_private, COUNT(v6_private)))
                return BH_ADDRESS_PRIVATE;
        /* Unique local addresses, and all that nobody was given. */
        if (!overlaps_v6(&pattern, &v6_global_unicast, 1) && !carries_v4(&pattern))
                return BH_ADDRESS_PRIVATE;
        return BH_ADDRESS_PUBLIC;
}

bool bh_cidr_forbidden(const struct bh_cidr *cidr)
{
        struct pattern pattern = pattern_of_cidr(cidr);

        return pattern_forbidden(&pattern);
}

/* The prefix length after "/": plain decimal, so that one value has one spelling. */
static int parse_prefix(const char *text, unsigned max, uint8_t *ret)
{
        size_t length = strlen(text);
        char *end;

        if (length < 1 || length > 3 || strspn(text, "0123456789") != length ||
            (text[0] == '0' && length > 1))
                return -1;
        unsigned long prefix = strtoul(text, &end, 10);
        if (prefix > max)
                return -1;
        *ret = (uint8_t)prefix;
        return 0;
}

int bh_cidr_parse(const char *text, struct bh_cidr *ret)
{
        static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
        struct bh_cidr cidr = {0};
        char address[INET6_ADDRSTRLEN];
        const char *slash = strchr(text, '/');

        if (!slash || (size_t)(slash - text) >= sizeof(address))
                return -1;
        memcpy(address, text, (size_t)(slash - text));
        address[slash - text] = '\0';
        cidr.family = strchr(address, ':') ? AF_INET6 : AF_INET;
        if (inet_pton(cidr.family, address, cidr.address) != 1 ||
            parse_prefix(slash + 1, cidr.family == AF_INET ? 32 : 128, &cidr.prefix) < 0)
                return -1;
        /* One address, one spelling: what is IPv4 is written as IPv4. */
        if (cidr.family == AF_INET6 && memcmp(cidr.address, mapped, sizeof(mapped)) == 0)
                return -1;
        for (unsigned bit = cidr.prefix; bit < 128; bit++)
                if (cidr.address[bit / 8] & (0x80 >> (bit % 8)))
                        return -1;
        *ret = cidr;
        return 0;
}

void bh_cidr_format(const struct bh_cidr *cidr, char ret[BH_CIDR_TEXT_SIZE])
{
        char address[INET6_ADDRSTRLEN];

        inet_ntop(cidr->family, cidr->address, address, sizeof(address));
        snprintf(ret, BH_CIDR_TEXT_SIZE, "%s/%u", address, cidr->prefix);
}

bool bh_cidr_contains(const struct bh_cidr *cidr, const struct sockaddr *address)
{
        struct bh_cidr single;

        if (bh_address_cidr(address, &single) < 0)
                return false;
        struct pattern outer = pattern_of_cidr(cidr), inner = pattern_of_cidr(&single);

        return patterns_overlap(&outer, &inner);
}
