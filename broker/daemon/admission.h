/* From a request to an execution: the decision, everything that can refuse it, a place, a shim. */
#ifndef BULKHEAD_BROKER_DAEMON_ADMISSION_H
#define BULKHEAD_BROKER_DAEMON_ADMISSION_H

#include "broker/daemon/agents.h"
#include "broker/daemon/executions.h"
#include "policy/decide.h"

/* All that can refuse a request, but for free places. */
int bh_admission_check(struct bh_daemon *daemon, const char *tenant, const struct bh_agent *agent,
                       const struct bh_request *request, const struct bh_decision *decision,
                       struct bh_error *error);

/* Decides again by the agent's present set, for an execution that is still queued. -1: it can no
 * longer be given what it needs; error->message says why. */
int bh_admission_replan(struct bh_live *live, const struct bh_agent *agent, struct bh_error *error);

/* The execution of the named workspace that makes a new use of it impossible: any while one of
 * the two writes. NULL for none. */
struct bh_live *bh_workspace_user(struct bh_daemon *daemon, const char *tenant, const char *name,
                                  bool writable);

#endif
