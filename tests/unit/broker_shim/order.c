/* See order.h. */
#include "order.h"

#include "policy/controls.h"
#include "policy/strings.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static json_t *list(const char *const items[])
{
        json_t *array = json_array();

        for (size_t i = 0; items[i]; i++)
                json_array_append_new(array, json_string(items[i]));
        return array;
}

static json_t *new_plan(const char *driver, const char *const argv[], const char *const controls[])
{
        static const char *const environment[] = {"HOME=/workspace", "LANG=C.UTF-8",
                                                  "PATH=/usr/bin:/bin", "TMPDIR=/tmp", NULL};
        static const char *const capabilities[] = {"command.run", "fs.workspace.write", NULL};
        json_t *plan = json_pack(
                "{s:i, s:{s:s, s:s}, s:s, s:s, s:s, s:o, s:i, s:s, s:s, s:o, s:s, s:o}", "version",
                1, "tier", "required", "subprocess", "effective", "subprocess", "driver", driver,
                "technology", "a test", "image", "host", "capabilities", list(capabilities),
                "capability_generation", 1, "capability_digest", DIGEST, "policy_digest", DIGEST,
                "argv", list(argv), "cwd", "/workspace", "environment", list(environment));
        json_t *rest = json_pack(
                "{s:{s:i, s:i}, s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:{s:s, s:n, s:s},"
                " s:{s:s, s:i, s:i, s:i}, s:[], s:[], s:[], s:o, s:[{s:s, s:[s], s:s, s:s}]}",
                "identity", "uid", 1000, "gid", 1000, "limits", "wall_ms", 20000, "cpu_ms", 20000,
                "memory_bytes", 128 << 20, "pids", 64, "disk_bytes", 8 << 20, "output_bytes",
                1 << 20, "workspace", "kind", "ephemeral", "name", "mode", "rw", "scratch",
                "backing", "tmpfs", "bytes", 8 << 20, "inodes", 4096, "shm_bytes", 1 << 20,
                "mounts", "egress", "secrets", "controls", list(controls), "reasons", "rule", "any",
                "capabilities", "command.run", "tier", "subprocess", "text", "a test");

        json_object_update(plan, rest);
        json_decref(rest);
        return plan;
}

json_t *order_new(const char *driver, const char *const argv[], const char *const controls[])
{
        return json_pack("{s:s, s:s, s:o, s:{s:s, s:s, s:s, s:I}, s:{s:I, s:I}, s:[], s:n, s:b,"
                         " s:b}",
                         "type", "start", "execution", ORDER_ID, "plan",
                         new_plan(driver, argv, controls), "host", "state_dir", "/var/lib/bulkhead",
                         "run_dir", "/run/bulkhead", "cgroup_parent", "bulkhead.1a2b3c4d",
                         "uid_base", (json_int_t)1900000000, "instance", "workload_uid",
                         (json_int_t)1900000002, "init_uid", (json_int_t)1900000003, "files",
                         "stdin", "payload", 0, "workspace_image", 0);
}

void order_set_limit(json_t *order, const char *name, json_int_t value)
{
        json_object_set_new(json_object_get(json_object_get(order, "plan"), "limits"), name,
                            json_integer(value));
}

void order_set_all_controls(json_t *order)
{
        struct bh_json_at at = BH_JSON_ROOT(json_object_get(order, "plan"));
        struct bh_plan *plan = NULL;

        if (bh_plan_decode(&at, &plan, NULL) < 0)
                return; /* the shim will say what is wrong */
        bh_strings_free(plan->controls, plan->control_count);
        plan->control_count = 0;
        bh_plan_set_controls(plan);
        json_object_set_new(order, "plan", bh_plan_encode(plan));
        bh_plan_free(plan);
}
