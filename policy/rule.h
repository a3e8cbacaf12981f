/* The rules of the policy file: one rule's decoding and encoding. Called by policy.c only;
 * decide.c reads the struct. */
#ifndef BULKHEAD_POLICY_RULE_H
#define BULKHEAD_POLICY_RULE_H

#include "policy/policy.h"

#define BH_RULES_MAX 256

/* The value "local" or "remote" of `secrets_proxy`, here and at the policy's top. */
int bh_secrets_proxy_decode(const struct bh_json_at *at, bool *ret_remote, struct bh_error *error);

/* An array of rules with distinct names. */
int bh_rules_decode(const struct bh_json_at *at, struct bh_rule **ret, size_t *ret_count,
                    struct bh_error *error);
json_t *bh_rules_encode(const struct bh_rule *rules, size_t count);
void bh_rules_free(struct bh_rule *rules, size_t count);

#endif
