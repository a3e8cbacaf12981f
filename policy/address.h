/* What egress rules need of addresses beyond egress.h. Called by egress decoding only. */
#ifndef BULKHEAD_POLICY_ADDRESS_H
#define BULKHEAD_POLICY_ADDRESS_H

#include "policy/egress.h"

#define BH_CIDR_TEXT_SIZE 64

void bh_cidr_format(const struct bh_cidr *cidr, char ret[BH_CIDR_TEXT_SIZE]);

/* The single address as a cidr. -1 when it is neither IPv4 nor IPv6. */
int bh_address_cidr(const struct sockaddr *address, struct bh_cidr *ret);

/* Whether any address of cidr is one that no rule can list. */
bool bh_cidr_forbidden(const struct bh_cidr *cidr);

#endif
