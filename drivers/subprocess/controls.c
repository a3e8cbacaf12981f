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
        {"uid.distinct", bh_read_uid, "/proc/<pid>/status, uid_map, gid_map"},
        {"capabilities.empty", bh_read_capabilities, "/proc/<pid>/status"},
        {"no_new_privs", bh_read_no_new_privs, "/proc/<pid>/status"},
        {"seccomp", bh_read_seccomp, "/proc/<pid>/status"},
        {"landlock", bh_read_landlock, "mknod of a whiteout by the workload's process"},
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
}

/* On failure what was opened is left to clear_view. */
static int open_view(const struct bh_subprocess *boundary, struct bh_view *ret,
                     struct bh_error *error)
{
        ret->boundary = boundary;
        ret->workload = ret->init = BH_READBACK_NONE;
        return bh_readback_open(boundary->workload.pid, true, &ret->workload, error) < 0 ||
                               bh_readback_open(boundary->init.pid, false, &ret->init, error) < 0
                       ? -1
                       : 0;
}

int bh_subprocess_verify(const struct bh_subprocess *boundary, struct bh_error *error)
{
        _cleanup_(clear_view) struct bh_view view;

        if (open_view(boundary, &view, error) < 0)
                return bh_error_control(error, "namespace.pid");
        for (size_t i = 0; i < boundary->control_count; i++) {
                size_t found = find(boundary->controls[i]);
                _cleanup_json_ json_t *observed = NULL;

                view.control = controls[found].name;
                if (controls[found].read && controls[found].read(&view, &observed, error) < 0) {
                        bh_error_prefix(error, "readback");
                        return bh_error_control(error, view.control);
                }
        }
        return 0;
}

/* {"observed": …, "source": "…", "holds": true}, with "detail" when it does not. */
static json_t *observe_one(const struct bh_view *view, size_t control)
{
        struct bh_error error = {.code = BH_ERROR_NONE};
        json_t *observed = NULL, *entry;
        bool holds = controls[control].read(view, &observed, &error) == 0;

        entry = json_pack("{so* ss sb}", "observed", observed ? observed : json_null(), "source",
                          controls[control].source, "holds", holds);
        if (!holds)
                json_object_set_new(entry, "detail", json_string(error.message));
        return entry;
}

int bh_subprocess_observe(struct bh_boundary *base, json_t **ret, struct bh_error *error)
{
        const struct bh_subprocess *boundary = (const struct bh_subprocess *)base;
        _cleanup_(clear_view) struct bh_view view;
        json_t *object;

        if (open_view(boundary, &view, error) < 0)
                return bh_error_prefix(error, "observe");
        object = json_object();
        for (size_t i = 0; i < boundary->control_count; i++) {
                size_t found = find(boundary->controls[i]);

                if (!controls[found].read)
                        continue;
                view.control = controls[found].name;
                json_object_set_new(object, view.control, observe_one(&view, found));
        }
        *ret = object;
        return 0;
}
