/* The controls of the subprocess driver: one table, each with what reads it back. Used for the
 * comparison before the workload's first instruction and for `observe`. */
#include <string.h>

#include "drivers/subprocess/boundary.h"
#include "drivers/subprocess/readers.h"

static const struct {
        const char *name;
        bh_control_reader read; /* NULL: the shim keeps this one */
        const char *source;
} controls[] = {
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
};

#define CONTROL_COUNT (sizeof(controls) / sizeof(controls[0]))

static const struct bh_view view_none = {
        .workload = BH_READBACK_NONE,
        .init = BH_READBACK_NONE,
        .self = BH_READBACK_NONE,
};

static size_t find(const char *name)
{
        size_t i = 0;

        while (i < CONTROL_COUNT && strcmp(controls[i].name, name) != 0)
                i++;
        return i;
}

int bh_subprocess_check_controls(const struct bh_plan *plan, struct bh_error *error)
{
        for (size_t i = 0; i < plan->control_count; i++) {
                if (find(plan->controls[i]) < CONTROL_COUNT)
                        continue;
                bh_error_set(error, BH_ERROR_UNAVAILABLE,
                             "the subprocess driver has no such control");
                return bh_error_control(error, plan->controls[i]);
        }
        return 0;
}

static void clear_view(struct bh_view *view)
{
        bh_readback_clear(&view->workload);
        bh_readback_clear(&view->init);
        bh_readback_clear(&view->self);
        free(view->membership);
        json_decref(view->cgroup);
}

/* Fills a view_none. On failure what was opened is left to clear_view. */
static int open_view(const struct bh_subprocess *boundary, struct bh_view *ret,
                     struct bh_error *error)
{
        ret->boundary = boundary;
        ret->cgroup = bh_cgroup_observe(boundary->cgroup);
        if (bh_readback_open(boundary->workload.pid, BH_READBACK_STATUS | BH_READBACK_MOUNTS,
                             &ret->workload, error) < 0 ||
            bh_readback_open(boundary->init.pid, BH_READBACK_STATUS, &ret->init, error) < 0 ||
            bh_readback_open(0, 0, &ret->self, error) < 0)
                return -1;
        return bh_readback_file(&ret->workload, "cgroup", &ret->membership, error);
}

/* One entry of the evidence. Returns 0 when the control holds. */
static int read_control(struct bh_view *view, size_t control, json_t *evidence,
                        struct bh_error *error)
{
        json_t *observed = NULL, *entry;
        int result;

        view->control = controls[control].name;
        result = controls[control].read(view, &observed, error);
        entry = json_pack("{so ss sb}", "observed", observed ? observed : json_null(), "source",
                          controls[control].source, "holds", result == 0);
        json_object_set_new(evidence, view->control, entry);
        return result;
}

int bh_subprocess_verify(struct bh_subprocess *boundary, struct bh_error *error)
{
        _cleanup_(clear_view) struct bh_view view = view_none;
        _cleanup_json_ json_t *evidence = json_object();

        if (open_view(boundary, &view, error) < 0)
                return bh_error_control(error, "namespace.pid");
        for (size_t i = 0; i < boundary->control_count; i++) {
                size_t found = find(boundary->controls[i]);

                if (controls[found].read && read_control(&view, found, evidence, error) < 0) {
                        bh_error_prefix(error, "readback");
                        return bh_error_control(error, view.control);
                }
        }
        boundary->evidence = bh_steal_ptr(&evidence);
        return 0;
}

int bh_subprocess_observe(struct bh_boundary *base, json_t **ret, struct bh_error *error)
{
        struct bh_subprocess *boundary = (struct bh_subprocess *)base;
        _cleanup_(clear_view) struct bh_view view = view_none;
        json_t *evidence;

        /* Nothing has changed since prepare() looked: the workload's process still waits. */
        if (!boundary->running && boundary->evidence) {
                *ret = bh_steal_ptr(&boundary->evidence);
                return 0;
        }
        if (open_view(boundary, &view, error) < 0)
                return bh_error_prefix(error, "observe");
        evidence = json_object();
        for (size_t i = 0; i < boundary->control_count; i++) {
                size_t found = find(boundary->controls[i]);
                struct bh_error failure = {.code = BH_ERROR_NONE};

                if (controls[found].read && read_control(&view, found, evidence, &failure) < 0)
                        json_object_set_new(json_object_get(evidence, view.control), "detail",
                                            json_string(failure.message));
        }
        *ret = evidence;
        return 0;
}
