/* Which controls a plan asks of its driver (docs/architecture.md, "Controls"). Called by the
 * decision only. */
#ifndef BULKHEAD_POLICY_CONTROLS_H
#define BULKHEAD_POLICY_CONTROLS_H

#include "policy/plan.h"

/* Fills plan->controls from its tier and scopes. */
void bh_plan_set_controls(struct bh_plan *plan);

#endif
