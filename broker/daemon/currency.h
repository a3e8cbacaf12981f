/* Whether today's capability set is the one that was reviewed.
 * Pure. */
#ifndef BULKHEAD_BROKER_DAEMON_CURRENCY_H
#define BULKHEAD_BROKER_DAEMON_CURRENCY_H

#include "broker/daemon/store.h"
#include "policy/agent.h"
#include "policy/policy.h"

struct bh_currency {
        bool stale;
        json_t *grown; /* names of what the review did not see */
};

/* review: the latest, or NULL for none. Growth and age make stale; a smaller set does not. */
int bh_currency_judge(const struct bh_policy *policy, const struct bh_capabilities *capabilities,
                      const struct bh_review_row *review, int64_t now_ms, struct bh_currency *ret,
                      struct bh_error *error);
json_t *bh_currency_encode_take(struct bh_currency *currency, const char *capability_digest,
                                const struct bh_review_row *review);

#endif
