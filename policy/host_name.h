/* What rules and secret bindings need of host names beyond egress.h. */
#ifndef BULKHEAD_POLICY_HOST_NAME_H
#define BULKHEAD_POLICY_HOST_NAME_H

#include "policy/egress.h"

/* "name" or "*.name": ret is the normalised name, without "*.". */
int bh_host_pattern_decode(const struct bh_json_at *at, const char *text, char ret[BH_HOST_SIZE],
                           bool *ret_wildcard, struct bh_error *error);

/* Whether host is below suffix, by labels; not suffix itself. Both normalised. */
bool bh_host_below(const char *host, const char *suffix);

#endif
