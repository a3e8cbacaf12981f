/* Re-tiering: what happens to executions under way when their agent's capability set, or the
 * policy, changes. */
#ifndef BULKHEAD_BROKER_DAEMON_RETIER_H
#define BULKHEAD_BROKER_DAEMON_RETIER_H

#include "broker/daemon/agents.h"
#include "broker/daemon/end_wait.h"

enum bh_retier_action { BH_RETIER_KEEP, BH_RETIER_KILL, BH_RETIER_DRAIN };

/* Pure: raising acts by policy, lowering moves nothing. */
enum bh_retier_action bh_retier_decide(const struct bh_policy *policy, enum bh_tier required,
                                       enum bh_tier effective);

/* Acts on every execution of the agent and appends {"execution", "action", "reason"} to affected.
 * Those that are killed are added to wait (which may be NULL). */
void bh_retier(struct bh_daemon *daemon, const struct bh_agent *agent, struct bh_end_wait *wait,
               json_t *affected);

/* The policy changed: the same for every agent that has something under way. Returns what was
 * affected. */
json_t *bh_retier_all(struct bh_daemon *daemon);

#endif
