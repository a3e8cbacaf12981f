/* Limits of time; see deadline.h. */
#include "broker/shim/deadline.h"

/* Without overflow: limits are bounded by policy only. */
static int64_t us_from_ms(int64_t ms)
{
        return ms > INT64_MAX / 2000 ? INT64_MAX / 2 : ms * 1000;
}

/* All CPUs together need at least left/cpus to spend what is left, so a look then is never late
 * by more than the shortest interval. The longest one bounds what a CPU that is added meanwhile
 * could spend. */
static int64_t interval_us(int64_t left_us, unsigned cpus)
{
        int64_t interval = left_us / (cpus > 0 ? cpus : 1);

        if (interval < BH_CPU_CHECK_MIN_US)
                return BH_CPU_CHECK_MIN_US;
        return interval > BH_CPU_CHECK_MAX_US ? BH_CPU_CHECK_MAX_US : interval;
}

struct bh_deadline bh_deadline_from(const struct bh_limits *limits, unsigned cpus, int64_t now_us)
{
        int64_t cpu = us_from_ms(limits->value[BH_LIMIT_CPU_MS]);

        return (struct bh_deadline){
                .wall_at_us = now_us + us_from_ms(limits->value[BH_LIMIT_WALL_MS]),
                .cpu_limit_us = cpu,
                .cpu_check_at_us = now_us + interval_us(cpu, cpus),
                .cpus = cpus,
        };
}

bool bh_deadline_wall_reached(const struct bh_deadline *deadline, int64_t now_us)
{
        return now_us >= deadline->wall_at_us;
}

bool bh_deadline_cpu_due(const struct bh_deadline *deadline, int64_t now_us)
{
        return now_us >= deadline->cpu_check_at_us;
}

bool bh_deadline_cpu_reached(struct bh_deadline *deadline, int64_t cpu_us, int64_t now_us)
{
        if (cpu_us >= deadline->cpu_limit_us)
                return true;
        deadline->cpu_check_at_us =
                now_us + interval_us(deadline->cpu_limit_us - cpu_us, deadline->cpus);
        return false;
}

int64_t bh_deadline_next_us(const struct bh_deadline *deadline)
{
        return deadline->wall_at_us < deadline->cpu_check_at_us ? deadline->wall_at_us
                                                                : deadline->cpu_check_at_us;
}
