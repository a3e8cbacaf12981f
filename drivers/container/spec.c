/* See spec.h. */
#include "drivers/container/spec.h"

#include "drivers/container/order.h"
#include "drivers/container/places.h"
#include "drivers/kernel/mounts.h"
#include "drivers/kernel/root.h"

#define OCI_VERSION "1.0.2"

static bool is_userkernel(const struct bh_plan *plan)
{
        return plan->tier == BH_TIER_USERKERNEL;
}

/* ---- process ---- */

static json_t *strings(char *const *texts)
{
        json_t *array = json_array();

        for (; texts && *texts; texts++)
                json_array_append_new(array, json_string(*texts));
        return array;
}

/* Our init, which becomes the workload's parent; order.h says what its words are. */
static json_t *arguments(const struct bh_plan *plan)
{
        json_t *array = json_pack("[s s s]", BH_INIT_PATH,
                                  is_userkernel(plan) ? BH_INIT_GUEST : BH_INIT_HOST, plan->cwd);
        _cleanup_json_ json_t *argv = strings(plan->argv);

        json_array_extend(array, argv);
        return array;
}

/* What init needs to become another user for good; it and its child empty every set before the
 * workload's first instruction, and both are read back. */
static json_t *capabilities(void)
{
        static const char *const sets[] = {"bounding", "effective", "permitted"};
        json_t *object = json_pack("{s[] s[]}", "inheritable", "ambient");

        for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
                json_object_set_new(
                        object, sets[i],
                        json_pack("[s s s]", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"));
        return object;
}

static json_t *rlimit(const char *type, json_int_t soft, json_int_t hard)
{
        return json_pack("{ss sI sI}", "type", type, "soft", soft, "hard", hard);
}

/* The same as in the subprocess tier; core(5) has why a core limit of 1 keeps the host's handler
 * still where 0 does not. gVisor counts processes itself, all but the first, which init made. */
static json_t *rlimits(const struct bh_plan *plan)
{
        json_int_t others = plan->limits.value[BH_LIMIT_PIDS] - 1;
        json_t *array = json_array();

        json_array_append_new(array, rlimit("RLIMIT_CORE", 1, 1));
        json_array_append_new(array, rlimit("RLIMIT_NOFILE", 1024, 4096));
        if (is_userkernel(plan)) {
                json_array_append_new(array, rlimit("RLIMIT_NPROC", others, others));
                return array;
        }
        json_array_append_new(array, rlimit("RLIMIT_MEMLOCK", 8 << 20, 8 << 20));
        json_array_append_new(array, rlimit("RLIMIT_NICE", 0, 0));
        json_array_append_new(array, rlimit("RLIMIT_RTPRIO", 0, 0));
        return array;
}

static json_t *process(const struct bh_plan *plan)
{
        return json_pack("{sb s{si si} so so ss so sb so}", "terminal", 0, "user", "uid", 0, "gid",
                         0, "args", arguments(plan), "env", strings(plan->environment), "cwd", "/",
                         "capabilities", capabilities(), "noNewPrivileges", 1, "rlimits",
                         rlimits(plan));
}

/* ---- mounts ---- */

/* The flags are those that the source has: a user namespace may not clear them. */
static json_t *bind_mount(const char *source, const char *target, const char *access, bool nodev,
                          bool noexec)
{
        json_t *options = json_pack("[s s s]", "bind", access, "nosuid");

        if (nodev)
                json_array_append_new(options, json_string("nodev"));
        if (noexec)
                json_array_append_new(options, json_string("noexec"));
        return json_pack("{ss ss ss so}", "destination", target, "type", "bind", "source", source,
                         "options", options);
}

/* A runtime that finds /dev given makes no devices of its own. gVisor has its own /dev, and its
 * own /proc with nothing of the host's in it. */
static json_t *mounts(const struct bh_plan *plan)
{
        json_t *array = json_array();

        if (is_userkernel(plan)) {
                json_array_append_new(array, json_pack("{ss ss ss}", "destination", "/proc", "type",
                                                       "proc", "source", "proc"));
        } else {
                json_array_append_new(array,
                                      json_pack("{ss ss ss s[s s s s]}", "destination", "/proc",
                                                "type", "proc", "source", "proc", "options",
                                                "nosuid", "nodev", "noexec", "hidepid=invisible"));
                json_array_append_new(array,
                                      bind_mount(BH_PLACE_ROOT "/dev", "/dev", "ro", false, true));
        }
        json_array_append_new(array, bind_mount(BH_PLACE_SHM, "/dev/shm", "rw", true, true));
        json_array_append_new(array, bind_mount(BH_PLACE_TMP, "/tmp", "rw", true, false));
        json_array_append_new(array,
                              bind_mount(BH_PLACE_WORKSPACE, "/workspace",
                                         plan->workspace_writable ? "rw" : "ro", true, false));
        return array;
}

/* ---- linux ---- */

static json_t *mapping(unsigned inside, unsigned outside)
{
        return json_pack("{si si si}", "containerID", (int)inside, "hostID", (int)outside, "size",
                         1);
}

/* The runtime's own user namespace, gateway and cgroup namespace are the container's: they were
 * made for it, and whoever may make none cannot make a wrong one. gVisor makes its own on top, and
 * numbers the two ids as the workload is to see them. */
static json_t *namespaces(const struct bh_plan *plan)
{
        static const char *const fresh[] = {"mount", "pid", "ipc", "uts", NULL};
        static const char *const nested[] = {"mount", "pid", "ipc", "uts", "user", "network", NULL};
        json_t *array = json_array();

        for (const char *const *type = is_userkernel(plan) ? nested : fresh; *type; type++)
                json_array_append_new(array, json_pack("{ss}", "type", *type));
        return array;
}

static json_t *mappings(const struct bh_plan *plan)
{
        json_t *array = json_array();

        json_array_append_new(array, mapping(0, BH_SPEC_OUTER_ROOT));
        json_array_append_new(array, mapping(plan->inside_uid, BH_SPEC_OUTER_NOBODY));
        return array;
}

static void add_masks(json_t *linux_object)
{
        json_t *masked = json_array(), *read_only = json_array();

        for (const struct bh_proc_entry *entry = bh_proc_masked; entry->path; entry++)
                json_array_append_new(entry->mask == BH_PROC_READ_ONLY ? read_only : masked,
                                      json_string(entry->path));
        json_object_set_new(linux_object, "maskedPaths", masked);
        json_object_set_new(linux_object, "readonlyPaths", read_only);
}

static json_t *linux_part(const struct bh_plan *plan)
{
        json_t *object = json_pack("{so}", "namespaces", namespaces(plan));

        if (is_userkernel(plan)) {
                json_object_set_new(object, "uidMappings", mappings(plan));
                json_object_set_new(object, "gidMappings", mappings(plan));
                return object;
        }
        add_masks(object);
        json_object_set_new(object, "seccomp", bh_spec_seccomp());
        return object;
}

json_t *bh_spec_make(const struct bh_plan *plan)
{
        return json_pack("{ss so s{ss sb} ss so so}", "ociVersion", OCI_VERSION, "process",
                         process(plan), "root", "path", BH_PLACE_ROOT, "readonly", 1, "hostname",
                         BH_ROOT_HOSTNAME, "mounts", mounts(plan), "linux", linux_part(plan));
}
