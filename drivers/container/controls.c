/* The controls of both tiers of the container driver, each with what reads it back. */
#include "drivers/kernel/controls.h"
#include "base/cleanup.h"
#include "drivers/container/boundary.h"
#include "drivers/container/sentry.h"

/* crun and runc: processes of the host's kernel, as in the subprocess tier. */
static const struct bh_control_entry container[] = {
        {"namespace.user", bh_read_namespace, "/proc/<pid>/ns/user"},
        {"namespace.mount", bh_read_namespace, "/proc/<pid>/ns/mnt"},
        {"namespace.pid", bh_read_namespace, "/proc/<pid>/ns/pid"},
        {"namespace.net", bh_read_namespace, "/proc/<pid>/ns/net"},
        {"namespace.ipc", bh_read_namespace, "/proc/<pid>/ns/ipc"},
        {"namespace.uts", bh_read_namespace, "/proc/<pid>/ns/uts"},
        {"namespace.cgroup", bh_read_namespace, "/proc/<pid>/ns/cgroup"},
        {"root.readonly", bh_read_root, "/proc/<pid>/mountinfo"},
        {"proc.private", bh_read_proc, "/proc/<pid>/mountinfo"},
        {"dev.private", bh_read_dev, "/proc/<pid>/mountinfo"},
        {"scratch.size", bh_read_scratch, "statfs /proc/<pid>/root/tmp"},
        {"shm.size", bh_read_shm, "statfs /proc/<pid>/root/dev/shm"},
        {"workspace", bh_read_workspace, "/proc/<pid>/mountinfo, stat /proc/<pid>/root/workspace"},
        {"uid.distinct", bh_read_uid, "/proc/<pid>/status, uid_map, gid_map"},
        {"capabilities.empty", bh_read_capabilities, "/proc/<pid>/status"},
        {"no_new_privs", bh_read_no_new_privs, "/proc/<pid>/status"},
        {"seccomp", bh_read_seccomp, "/proc/<pid>/status"},
        {"cgroup.memory", bh_read_cgroup, "/proc/<pid>/cgroup, cgroup files"},
        {"cgroup.pids", bh_read_cgroup, "/proc/<pid>/cgroup, cgroup files"},
        {"cgroup.cpu", bh_read_cgroup, "/proc/<pid>/cgroup, cgroup files"},
        {"cgroup.kill", bh_read_cgroup, "/proc/<pid>/cgroup, cgroup files"},
        {"gateway.deny_all", bh_read_gateway, "/proc/<pid>/net/dev, route, ipv6_route"},
        {"descriptors.closed", bh_read_descriptors, "/proc/<pid>/fd"},
        {"limit.wall", NULL, NULL},
        {"limit.cpu", NULL, NULL},
        {"limit.output", NULL, NULL},
        {NULL, NULL, NULL},
};

static const struct bh_control_entry userkernel[] = {
        {"namespace.user", bh_sentry_read_namespace, "/proc/<sentry, gofer>/ns/user"},
        {"namespace.mount", bh_sentry_read_namespace, "/proc/<sentry, gofer>/ns/mnt"},
        {"namespace.pid", bh_sentry_read_namespace, "/proc/<sentry, gofer>/ns/pid"},
        {"namespace.net", bh_sentry_read_namespace, "/proc/<sentry, gofer>/ns/net"},
        {"namespace.ipc", bh_sentry_read_namespace, "/proc/<sentry, gofer>/ns/ipc"},
        {"namespace.uts", bh_sentry_read_namespace, "/proc/<sentry, gofer>/ns/uts"},
        {"namespace.cgroup", bh_sentry_read_namespace, "/proc/<sentry, gofer>/ns/cgroup"},
        {"root.readonly", bh_sentry_read_root, "/proc/<gofer>/mountinfo"},
        {"scratch.size", bh_read_scratch, "statfs /proc/<gofer>/root/tmp"},
        {"shm.size", bh_read_shm, "statfs /proc/<gofer>/root/dev/shm"},
        {"workspace", bh_read_workspace,
         "/proc/<gofer>/mountinfo, stat /proc/<gofer>/root/workspace"},
        {"uid.distinct", bh_sentry_read_uid,
         "/proc/<sentry, gofer>/status, the guest's /proc/self/status"},
        {"capabilities.empty", bh_sentry_read_capabilities,
         "the guest's /proc/self/status, /proc/<sentry, gofer>/status"},
        {"no_new_privs", bh_sentry_read_no_new_privs, "/proc/<sentry, gofer>/status"},
        {"seccomp", bh_sentry_read_seccomp,
         "/proc/<sentry, gofer>/status, the guest's /proc/self/status"},
        {"cgroup.memory", bh_read_cgroup, "/proc/<gofer>/cgroup, cgroup files"},
        {"cgroup.pids", bh_read_cgroup, "/proc/<gofer>/cgroup, cgroup files"},
        {"cgroup.cpu", bh_read_cgroup, "/proc/<gofer>/cgroup, cgroup files"},
        {"cgroup.kill", bh_read_cgroup, "/proc/<gofer>/cgroup, cgroup files"},
        {"gateway.deny_all", bh_sentry_read_gateway, "/proc/<sentry>/net/dev, route, ipv6_route"},
        {"descriptors.closed", bh_sentry_read_descriptors, "the guest's /proc/self/fd"},
        {"limit.wall", NULL, NULL},
        {"limit.cpu", NULL, NULL},
        {"limit.output", NULL, NULL},
        {NULL, NULL, NULL},
};

static const struct bh_control_entry *table_of(enum bh_tier tier)
{
        return tier == BH_TIER_USERKERNEL ? userkernel : container;
}

int bh_container_check_controls(const struct bh_plan *plan, struct bh_error *error)
{
        return bh_controls_check(table_of(plan->tier), plan, error);
}

static int open_view(const struct bh_container *boundary, struct bh_view *ret,
                     struct bh_error *error)
{
        pid_t workload = boundary->workload.pid;

        ret->told = boundary->guest;
        if (boundary->runtime->tier == BH_TIER_USERKERNEL &&
            bh_sentry_find_gofer(&boundary->manager, &boundary->workload, &workload, error) < 0)
                return -1;
        return bh_view_open(&boundary->expected, boundary->cgroup, workload, boundary->init.pid,
                            ret, error);
}

int bh_container_verify(struct bh_container *boundary, struct bh_error *error)
{
        _cleanup_(bh_view_clear) struct bh_view view = bh_view_none;

        if (open_view(boundary, &view, error) < 0)
                return bh_error_control(error, "namespace.pid");
        return bh_controls_verify(table_of(boundary->runtime->tier), &view, &boundary->evidence,
                                  error);
}

int bh_container_observe(struct bh_boundary *base, json_t **ret, struct bh_error *error)
{
        struct bh_container *boundary = (struct bh_container *)base;
        _cleanup_(bh_view_clear) struct bh_view view = bh_view_none;

        /* Nothing has changed since prepare() looked: the workload's process still waits. */
        if (!boundary->expected.running && boundary->evidence) {
                *ret = bh_steal_ptr(&boundary->evidence);
                return 0;
        }
        if (open_view(boundary, &view, error) < 0)
                return bh_error_prefix(error, "observe");
        *ret = bh_controls_observe(table_of(boundary->runtime->tier), &view);
        return 0;
}
