/* See controls.h. */
#include "drivers/kernel/controls.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"

const struct bh_view bh_view_none = {
        .workload = BH_READBACK_NONE,
        .init = BH_READBACK_NONE,
        .self = BH_READBACK_NONE,
};

/* ---- what should be ---- */

int bh_expected_fill(struct bh_expected *expected, const struct bh_driver_host *host,
                     const struct bh_plan *plan, const struct bh_instance *instance,
                     struct bh_error *error)
{
        struct stat gateway;

        if (fstat(instance->gateway_fd, &gateway) < 0) {
                bh_error_errno(error, errno, "look at the gateway");
                return bh_error_control(error, "gateway.deny_all");
        }
        *expected = (struct bh_expected){
                .cgroup_path = bh_format("/%s/%s", host->cgroup_parent, instance->id),
                .controls = bh_alloc_array(plan->control_count + 1, sizeof(char *)),
                .control_count = plan->control_count,
                .workload_uid = instance->workload_uid,
                .init_uid = instance->init_uid,
                .inside_uid = plan->inside_uid,
                .inside_gid = plan->inside_gid,
                .gateway = gateway.st_ino,
                .workspace_kind = plan->workspace_kind,
                .workspace_writable = plan->workspace_writable,
                .scratch_backing = plan->scratch_backing,
                .scratch_bytes = plan->scratch_bytes,
                .scratch_inodes = plan->scratch_inodes,
                .shm_bytes = plan->shm_bytes,
        };
        for (size_t i = 0; i < plan->control_count; i++)
                expected->controls[i] = bh_strdup(plan->controls[i]);
        bh_mount_rules_copy(&plan->mounts, &expected->mounts);
        return 0;
}

void bh_expected_clear(struct bh_expected *expected)
{
        for (size_t i = 0; i < expected->control_count; i++)
                free(expected->controls[i]);
        free(expected->controls);
        free(expected->cgroup_path);
        bh_mount_rules_clear(&expected->mounts);
        *expected = (struct bh_expected){.control_count = 0};
}

/* ---- what is ---- */

void bh_view_clear(struct bh_view *view)
{
        bh_readback_clear(&view->workload);
        bh_readback_clear(&view->init);
        bh_readback_clear(&view->self);
        free(view->membership);
        json_decref(view->cgroup);
}

int bh_view_open(const struct bh_expected *expected, const struct bh_cgroup *cgroup, pid_t workload,
                 pid_t init, struct bh_view *ret, struct bh_error *error)
{
        ret->expected = expected;
        ret->cgroup = bh_cgroup_observe(cgroup);
        if (bh_readback_open(workload, BH_READBACK_STATUS | BH_READBACK_MOUNTS, &ret->workload,
                             error) < 0 ||
            bh_readback_open(init, BH_READBACK_STATUS, &ret->init, error) < 0 ||
            bh_readback_open(0, 0, &ret->self, error) < 0)
                return -1;
        return bh_readback_file(&ret->workload, "cgroup", &ret->membership, error);
}

/* ---- the comparison ---- */

static const struct bh_control_entry *find(const struct bh_control_entry *table, const char *name)
{
        while (table->name && strcmp(table->name, name) != 0)
                table++;
        return table;
}

int bh_controls_check(const struct bh_control_entry *table, const struct bh_plan *plan,
                      struct bh_error *error)
{
        for (size_t i = 0; i < plan->control_count; i++) {
                if (find(table, plan->controls[i])->name)
                        continue;
                bh_error_set(error, BH_ERROR_UNAVAILABLE, "the %s driver has no such control",
                             plan->driver);
                return bh_error_control(error, plan->controls[i]);
        }
        return 0;
}

/* One entry of the evidence. Returns 0 when the control holds. */
static int read_control(const struct bh_control_entry *control, struct bh_view *view,
                        json_t *evidence, struct bh_error *error)
{
        json_t *observed = NULL, *entry;
        int result;

        view->control = control->name;
        result = control->read(view, &observed, error);
        entry = json_pack("{so ss sb}", "observed", observed ? observed : json_null(), "source",
                          control->source, "holds", result == 0);
        json_object_set_new(evidence, control->name, entry);
        return result;
}

int bh_controls_verify(const struct bh_control_entry *table, struct bh_view *view, json_t **ret,
                       struct bh_error *error)
{
        _cleanup_json_ json_t *evidence = json_object();

        for (size_t i = 0; i < view->expected->control_count; i++) {
                const struct bh_control_entry *control = find(table, view->expected->controls[i]);

                if (control->read && read_control(control, view, evidence, error) < 0) {
                        bh_error_prefix(error, "readback");
                        return bh_error_control(error, control->name);
                }
        }
        *ret = bh_steal_ptr(&evidence);
        return 0;
}

json_t *bh_controls_observe(const struct bh_control_entry *table, struct bh_view *view)
{
        json_t *evidence = json_object();

        for (size_t i = 0; i < view->expected->control_count; i++) {
                const struct bh_control_entry *control = find(table, view->expected->controls[i]);
                struct bh_error failure = {.code = BH_ERROR_NONE};

                if (control->read && read_control(control, view, evidence, &failure) < 0)
                        json_object_set_new(json_object_get(evidence, control->name), "detail",
                                            json_string(failure.message));
        }
        return evidence;
}
