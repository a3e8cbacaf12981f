/* When a limit of time is reached: wall time by the monotonic clock, CPU time by looking at the
 * boundary's usage no later than the budget could be spent. Pure arithmetic; run.c owns clock
 * and boundary. */
#ifndef BULKHEAD_BROKER_SHIM_DEADLINE_H
#define BULKHEAD_BROKER_SHIM_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/limits.h"

#define BH_CPU_CHECK_MIN_US INT64_C(5000)
#define BH_CPU_CHECK_MAX_US INT64_C(250000)

struct bh_deadline {
        int64_t wall_at_us;
        int64_t cpu_limit_us;
        int64_t cpu_check_at_us;
        unsigned cpus;
};

/* now_us is the workload's first instruction. */
struct bh_deadline bh_deadline_from(const struct bh_limits *limits, unsigned cpus, int64_t now_us);

bool bh_deadline_wall_reached(const struct bh_deadline *deadline, int64_t now_us);
bool bh_deadline_cpu_due(const struct bh_deadline *deadline, int64_t now_us);

/* Takes what was used; true when the limit is reached, else the next look is scheduled. */
bool bh_deadline_cpu_reached(struct bh_deadline *deadline, int64_t cpu_us, int64_t now_us);

/* The earlier of wall end and next look. */
int64_t bh_deadline_next_us(const struct bh_deadline *deadline);

#endif
