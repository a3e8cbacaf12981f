/* What this host offers for the subprocess tier, found out by building and running a boundary
 * with every control, with a named workspace on an image without a name, and with a mount. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/gateway.h"
#include "drivers/kernel/image.h"
#include "drivers/kernel/landlock.h"
#include "drivers/kernel/root.h"
#include "drivers/kernel/seccomp.h"
#include "drivers/subprocess/boundary.h"
#include "policy/controls.h"

#define PROBE_PROGRAM    "/usr/bin/true"
#define PROBE_TIMEOUT_MS 10000
#define PROBE_MEMORY     ((int64_t)64 << 20)
#define PROBE_SCRATCH    ((int64_t)1 << 20)

/* What helps where a control failed for this reason. The first entry whose name the control
 * begins with and whose errno is the failure's. A cause without a sure remedy has no entry: its
 * text has to do. */
static const struct {
        const char *control;
        int errnum;
        const char *fix;
} fixes[] = {
        {"landlock", EOPNOTSUPP, "boot with landlock in lsm="},
        {"landlock", ENOSYS, "boot a kernel with CONFIG_SECURITY_LANDLOCK=y and landlock in lsm="},
        {"seccomp", ENOENT, "start the broker again: its run_dir lost the filter"},
        {"seccomp", EINVAL, "boot a kernel with CONFIG_SECCOMP_FILTER=y"},
        {"seccomp", ENOSYS, "boot a kernel with CONFIG_SECCOMP_FILTER=y"},
        {"namespace.user", ENOSPC, "sysctl -w user.max_user_namespaces=15000"},
        {"namespace.", ENOSPC, "raise what is too low of sysctl user.max_*_namespaces"},
        {"namespace.", EPERM, "run the broker as root on the host"},
        {"namespace.", EINVAL, "boot Linux 6.1 or newer with CONFIG_NAMESPACES=y"},
        {"namespace.", ENOSYS, "boot Linux 6.1 or newer with CONFIG_NAMESPACES=y"},
        {"cgroup.", ENODEV, "mount -t cgroup2 none /sys/fs/cgroup; no cgroup_disable= at boot"},
        {"cgroup.", EOPNOTSUPP, "boot with swapaccount=1, or swapoff -a"},
        {"cgroup.", ENOENT, "find out who removes the broker's cgroups, and start it again"},
        {"cgroup.", EROFS, "mount -o remount,rw /sys/fs/cgroup"},
        {"cgroup.", EACCES, "run the broker as root, with cgroups that it may write"},
        {"cgroup.", EPERM, "run the broker as root, with cgroups that it may write"},
        {"cgroup.", EAGAIN, "raise cgroup.max.descendants"},
        {"cgroup.", EBUSY, "start the broker where the root of /sys/fs/cgroup has no processes"},
        {"workspace", ENOSPC, "make room in state_dir"},
        {"workspace", ENOENT, "modprobe loop"},
        {"workspace", ENXIO, "modprobe loop"},
        {"workspace", ENODEV, "modprobe ext4"},
        {"root.readonly", EPERM, "run the broker as root, in a mount namespace of its own"},
};

const char *bh_subprocess_fix(const char *control, int errnum)
{
        for (size_t i = 0; i < sizeof(fixes) / sizeof(fixes[0]); i++) {
                if (strncmp(control, fixes[i].control, strlen(fixes[i].control)) == 0 &&
                    fixes[i].errnum == errnum)
                        return fixes[i].fix;
        }
        return "";
}

static void add_missing(struct bh_tier_host *tier, const struct bh_error *error)
{
        bool named = error->code == BH_ERROR_CONTROL;
        _cleanup_free_ char *what = named ? bh_format("%s: %s", error->subject, error->message)
                                          : bh_strdup(error->message);

        bh_tier_host_add_missing(tier, what,
                                 named ? bh_subprocess_fix(error->subject, error->errnum) : "");
}

/* ---- the probe's own plan and instance ---- */

/* A directory that is there, and empty: one of the template's own. */
static char *mount_source(const struct bh_driver_host *host)
{
        _cleanup_free_ char *root = bh_subprocess_root_path(host);

        return bh_format("%s/mnt", root);
}

static void add_mount(struct bh_plan *plan, const struct bh_driver_host *host)
{
        plan->mounts.items = bh_alloc_array(1, sizeof(*plan->mounts.items));
        plan->mounts.items[plan->mounts.count++] = (struct bh_mount_rule){
                .source = mount_source(host),
                .target = bh_strdup("/mnt/probe"),
        };
}

static struct bh_plan *make_plan(const struct bh_driver_host *host)
{
        struct bh_plan *plan = bh_alloc(sizeof(*plan));

        plan->required_tier = plan->tier = BH_TIER_SUBPROCESS;
        plan->driver = bh_strdup("subprocess");
        plan->image = bh_strdup("host");
        plan->argv = bh_alloc_array(2, sizeof(char *));
        plan->argv[0] = bh_strdup(PROBE_PROGRAM);
        plan->cwd = bh_strdup("/workspace");
        plan->environment = bh_alloc_array(1, sizeof(char *));
        plan->inside_uid = plan->inside_gid = BH_ROOT_INSIDE_UID;
        plan->limits = (struct bh_limits){.value = {
                                                  [BH_LIMIT_WALL_MS] = PROBE_TIMEOUT_MS,
                                                  [BH_LIMIT_CPU_MS] = PROBE_TIMEOUT_MS,
                                                  [BH_LIMIT_MEMORY_BYTES] = PROBE_MEMORY,
                                                  [BH_LIMIT_PIDS] = 8,
                                                  [BH_LIMIT_DISK_BYTES] = PROBE_SCRATCH,
                                                  [BH_LIMIT_OUTPUT_BYTES] = 1,
                                          }};
        plan->workspace_kind = BH_WORKSPACE_NAMED;
        plan->workspace_name = bh_strdup("probe");
        plan->workspace_writable = true;
        plan->scratch_backing = BH_SCRATCH_TMPFS;
        plan->scratch_bytes = PROBE_SCRATCH;
        plan->scratch_inodes = 64;
        plan->shm_bytes = PROBE_SCRATCH;
        add_mount(plan, host);
        plan->reasons = json_array();
        bh_plan_set_controls(plan);
        return plan;
}

static void close_instance(struct bh_instance *instance)
{
        bh_close(instance->stdin_fd);
        bh_close(instance->gateway_fd);
        bh_close(instance->workspace_fd);
}

static int make_workspace(const struct bh_driver_host *host, struct bh_error *error)
{
        _cleanup_close_ int directory = bh_make_directory(host->state_dir, 0700, error);

        if (directory < 0)
                return -1;
        return bh_image_make_unnamed(directory, BH_IMAGE_BYTES_MIN, BH_ROOT_INSIDE_UID,
                                     BH_ROOT_INSIDE_UID, error);
}

/* Everything the caller of a driver gives. One descriptor of /dev/null stands for all three. */
static int fill_instance(const struct bh_driver_host *host, struct bh_instance *instance,
                         struct bh_error *error)
{
        bh_id_make("probe_", instance->id);
        instance->workload_uid = host->uid_base;
        instance->init_uid = host->uid_base + 1;
        instance->stdin_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (instance->stdin_fd < 0) {
                bh_error_errno(error, errno, "open /dev/null");
                return bh_error_control(error, "descriptors.closed");
        }
        instance->stdout_fd = instance->stderr_fd = instance->stdin_fd;
        instance->gateway_fd = bh_gateway_make(error);
        if (instance->gateway_fd < 0)
                return bh_error_control(error, "gateway.deny_all");
        instance->workspace_fd = make_workspace(host, error);
        return instance->workspace_fd < 0 ? bh_error_control(error, "workspace") : 0;
}

static int open_mount(const struct bh_plan *plan, int *ret, struct bh_error *error)
{
        *ret = open(plan->mounts.items[0].source, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (*ret >= 0)
                return 0;
        bh_error_errno(error, errno, "open the root tree");
        return bh_error_control(error, "root.readonly");
}

/* ---- running it ---- */

static int run_to_end(struct bh_boundary *boundary, struct bh_error *error)
{
        struct pollfd end = {.fd = boundary->event_fd, .events = POLLIN};
        struct bh_end how;
        int result;

        if (bh_subprocess_driver.start(boundary, error) < 0)
                return -1;
        do {
                result = poll(&end, 1, PROBE_TIMEOUT_MS);
        } while (result < 0 && errno == EINTR);
        if (result < 0)
                return bh_error_errno(error, errno, "wait for " PROBE_PROGRAM);
        result = bh_subprocess_driver.wait(boundary, &how, error);
        if (result < 0)
                return -1;
        if (result == 0)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE, PROBE_PROGRAM " does not end");
        if (how.lost || how.by_signal || how.status != 0)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                    PROBE_PROGRAM " in a boundary: %s %d",
                                    how.lost        ? "lost,"
                                    : how.by_signal ? "signal"
                                                    : "exit",
                                    how.status);
        return 0;
}

static int run(const struct bh_driver_host *host, struct bh_error *error)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = make_plan(host);
        _cleanup_(close_instance) struct bh_instance instance = {
                .stdin_fd = -1, .gateway_fd = -1, .payload_fd = -1, .workspace_fd = -1};
        _cleanup_close_ int source = -1;
        struct bh_boundary *boundary = NULL;
        struct bh_error after;
        int result = open_mount(plan, &source, error);

        instance.mount_fds = &source;
        if (result == 0)
                result = fill_instance(host, &instance, error);
        if (result == 0)
                result = bh_subprocess_driver.prepare(host, plan, &instance, &boundary, error);
        if (result > 0)
                result = bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                      "%lld bytes of memory are too few for " PROBE_PROGRAM,
                                      (long long)PROBE_MEMORY);
        if (result == 0)
                result = run_to_end(boundary, error);
        bh_subprocess_driver.release(boundary);
        if (instance.id[0] &&
            bh_subprocess_driver.destroy(host, instance.id, result < 0 ? &after : error) < 0)
                result = -1;
        return result;
}

int bh_subprocess_probe(const struct bh_driver_host *host, enum bh_tier tier,
                        struct bh_tier_host *ret, struct bh_error *error)
{
        struct bh_tier_host found = {.driver = bh_strdup("subprocess")};
        struct bh_error failure = {.code = BH_ERROR_NONE};
        struct utsname system;
        int abi = bh_landlock_abi(NULL);

        if (tier != BH_TIER_SUBPROCESS) {
                bh_tier_host_clear(&found);
                return bh_error_set(error, BH_ERROR_INTERNAL, "not a tier of this driver");
        }
        uname(&system);
        found.version = bh_strdup(system.release);
        found.technology = abi < 0 ? bh_format("Linux namespaces, seccomp (%zu calls)",
                                               bh_seccomp_rule_count())
                                   : bh_format("Linux namespaces, seccomp (%zu calls), Landlock "
                                               "ABI %d",
                                               bh_seccomp_rule_count(), abi);
        found.available = run(host, &failure) == 0;
        if (found.available)
                found.features = 1U << BH_FEATURE_NAMED_WORKSPACE | 1U << BH_FEATURE_MOUNTS;
        else
                add_missing(&found, &failure);
        *ret = found;
        return 0;
}
