/* The controls of the subprocess driver, each with what reads it back. */
#include "drivers/kernel/controls.h"
#include "base/cleanup.h"
#include "drivers/subprocess/boundary.h"

static const struct bh_control_entry controls[] = {
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
        {"mounts", bh_read_mounts, "/proc/<pid>/mountinfo, stat of each target"},
        {"uid.distinct", bh_read_uid, "/proc/<pid>/status, uid_map, gid_map"},
        {"capabilities.empty", bh_read_capabilities, "/proc/<pid>/status"},
        {"no_new_privs", bh_read_no_new_privs, "/proc/<pid>/status"},
        {"seccomp", bh_read_seccomp, "/proc/<pid>/status"},
        {"landlock", bh_read_landlock, "mknod of a device by the workload's process"},
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

int bh_subprocess_check_controls(const struct bh_plan *plan, struct bh_error *error)
{
        return bh_controls_check(controls, plan, error);
}

static int open_view(const struct bh_subprocess *boundary, struct bh_view *ret,
                     struct bh_error *error)
{
        return bh_view_open(&boundary->expected, boundary->cgroup, boundary->workload.pid,
                            boundary->init.pid, ret, error);
}

int bh_subprocess_verify(struct bh_subprocess *boundary, struct bh_error *error)
{
        _cleanup_(bh_view_clear) struct bh_view view = bh_view_none;

        if (open_view(boundary, &view, error) < 0)
                return bh_error_control(error, "namespace.pid");
        return bh_controls_verify(controls, &view, &boundary->evidence, error);
}

int bh_subprocess_observe(struct bh_boundary *base, json_t **ret, struct bh_error *error)
{
        struct bh_subprocess *boundary = (struct bh_subprocess *)base;
        _cleanup_(bh_view_clear) struct bh_view view = bh_view_none;

        /* Nothing has changed since prepare() looked: the workload's process still waits. */
        if (!boundary->expected.running && boundary->evidence) {
                *ret = bh_steal_ptr(&boundary->evidence);
                return 0;
        }
        if (open_view(boundary, &view, error) < 0)
                return bh_error_prefix(error, "observe");
        *ret = bh_controls_observe(controls, &view);
        return 0;
}
