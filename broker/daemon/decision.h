/* Decisions of policy on this host now: what admission and POST /v1/decisions share. */
#ifndef BULKHEAD_BROKER_DAEMON_DECISION_H
#define BULKHEAD_BROKER_DAEMON_DECISION_H

#include "broker/daemon/agents.h"
#include "policy/decide.h"

/* Decides; when the host cannot give the tier, looks at the host again (at most once a second)
 * and decides once more, so that what was repaired is seen. Clear *ret afterwards. */
void bh_decision_make(struct bh_daemon *daemon, const struct bh_agent *agent,
                      const struct bh_request *request, struct bh_decision *ret);

/* BH_ERROR_REFUSED "tier_unavailable" or "limit_unenforceable" with what is missing. */
int bh_decision_refuse(const struct bh_decision *decision, struct bh_error *error);

/* The request of params' `body`, whose payload is the call's descriptor. */
struct bh_call;
int bh_request_of_call(struct bh_call *call, const struct bh_json_at *body, struct bh_request **ret,
                       struct bh_error *error);

#endif
