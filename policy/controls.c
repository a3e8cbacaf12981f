/* The controls of each tier, by name. See controls.h. */
#include "policy/controls.h"

#include "base/alloc.h"

enum { /* tiers that have a control */
       SUBPROCESS = 1 << BH_TIER_SUBPROCESS,
       CONTAINER = 1 << BH_TIER_CONTAINER,
       USERKERNEL = 1 << BH_TIER_USERKERNEL,
       VM = 1 << BH_TIER_VM,
       SHARED_KERNEL = SUBPROCESS | CONTAINER,
       PROCESSES = SHARED_KERNEL | USERKERNEL, /* the boundary is made of host processes */
       ALL = PROCESSES | VM,
};

enum condition { ALWAYS, WITHOUT_EGRESS, WITH_EGRESS, WITH_MOUNTS, WITH_SECRETS };

/* In the order in which people read them; docs/architecture.md says what each is. */
static const struct {
        const char *name;
        unsigned tiers;
        enum condition condition;
} control_table[] = {
        {"namespace.user", PROCESSES, ALWAYS},
        {"namespace.mount", PROCESSES, ALWAYS},
        {"namespace.pid", PROCESSES, ALWAYS},
        {"namespace.net", ALL, ALWAYS},
        {"namespace.ipc", PROCESSES, ALWAYS},
        {"namespace.uts", PROCESSES, ALWAYS},
        {"namespace.cgroup", PROCESSES, ALWAYS},
        {"root.readonly", ALL, ALWAYS},
        {"proc.private", SHARED_KERNEL, ALWAYS},
        {"dev.private", SHARED_KERNEL, ALWAYS},
        {"scratch.size", ALL, ALWAYS},
        {"shm.size", ALL, ALWAYS},
        {"workspace", ALL, ALWAYS},
        {"mounts", ALL, WITH_MOUNTS},
        {"uid.distinct", ALL, ALWAYS},
        {"capabilities.empty", ALL, ALWAYS},
        {"no_new_privs", ALL, ALWAYS},
        {"seccomp", ALL, ALWAYS},
        {"landlock", SUBPROCESS, ALWAYS},
        {"cgroup.memory", ALL, ALWAYS},
        {"cgroup.pids", ALL, ALWAYS},
        {"cgroup.cpu", ALL, ALWAYS},
        {"cgroup.kill", ALL, ALWAYS},
        {"gateway.deny_all", ALL, WITHOUT_EGRESS},
        {"gateway.allow_list", ALL, WITH_EGRESS},
        {"secrets.outside", ALL, WITH_SECRETS},
        {"descriptors.closed", ALL, ALWAYS},
        {"limit.wall", ALL, ALWAYS},
        {"limit.cpu", ALL, ALWAYS},
        {"limit.output", ALL, ALWAYS},
};

static bool holds(enum condition condition, const struct bh_plan *plan)
{
        switch (condition) {
        case ALWAYS:
                break;
        case WITHOUT_EGRESS:
                return plan->egress.count == 0;
        case WITH_EGRESS:
                return plan->egress.count > 0;
        case WITH_MOUNTS:
                return plan->mounts.count > 0;
        case WITH_SECRETS:
                return plan->secrets.count > 0;
        }
        return true;
}

void bh_plan_set_controls(struct bh_plan *plan)
{
        size_t count = sizeof(control_table) / sizeof(*control_table);

        plan->controls = bh_alloc_array(count + 1, sizeof(*plan->controls));
        for (size_t i = 0; i < count; i++)
                if ((control_table[i].tiers & (1U << plan->tier)) &&
                    holds(control_table[i].condition, plan))
                        plan->controls[plan->control_count++] = bh_strdup(control_table[i].name);
}
