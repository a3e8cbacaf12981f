/* See trial.h. */
#include "drivers/kernel/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "drivers/kernel/gateway.h"
#include "drivers/kernel/image.h"
#include "drivers/kernel/root.h"
#include "policy/controls.h"

#define PROBE_PROGRAM    "/usr/bin/true"
#define PROBE_TIMEOUT_MS 10000
#define PROBE_MEMORY     ((int64_t)64 << 20)
#define PROBE_SCRATCH    ((int64_t)1 << 20)

/* ---- the probe's own plan and instance ---- */

static void add_mount(struct bh_plan *plan, const char *source)
{
        plan->mounts.items = bh_alloc_array(1, sizeof(*plan->mounts.items));
        plan->mounts.items[plan->mounts.count++] = (struct bh_mount_rule){
                .source = bh_strdup(source),
                .target = bh_strdup("/mnt/probe"),
        };
}

static struct bh_plan *make_plan(const struct bh_driver *driver, enum bh_tier tier,
                                 const char *source)
{
        struct bh_plan *plan = bh_alloc(sizeof(*plan));

        plan->required_tier = plan->tier = tier;
        plan->driver = bh_strdup(driver->name);
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
        if (source)
                add_mount(plan, source);
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

/* ---- running it ---- */

/* An event may be no more than a step towards the end. */
static int await_end(struct bh_boundary *boundary, struct bh_end *ret, struct bh_error *error)
{
        int64_t until_us = bh_monotonic_us() + (int64_t)PROBE_TIMEOUT_MS * 1000;
        struct pollfd event = {.fd = boundary->event_fd, .events = POLLIN};
        int result = 0;

        while (result == 0 && bh_monotonic_us() < until_us) {
                if (poll(&event, 1, PROBE_TIMEOUT_MS) < 0 && errno != EINTR)
                        return bh_error_errno(error, errno, "wait for " PROBE_PROGRAM);
                result = boundary->driver->wait(boundary, ret, error);
        }
        return result == 0
                       ? bh_error_set(error, BH_ERROR_UNAVAILABLE, PROBE_PROGRAM " does not end")
                       : result;
}

static int run_to_end(struct bh_boundary *boundary, struct bh_error *error)
{
        struct bh_end how = {.lost = true};

        if (boundary->driver->start(boundary, error) < 0 || await_end(boundary, &how, error) < 0)
                return -1;
        if (how.lost || how.by_signal || how.status != 0)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                    PROBE_PROGRAM " in a boundary: %s %d",
                                    how.lost        ? "lost,"
                                    : how.by_signal ? "signal"
                                                    : "exit",
                                    how.status);
        return 0;
}

static int open_mount(const char *source, int *ret, struct bh_error *error)
{
        if (!source)
                return 0;
        *ret = open(source, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (*ret >= 0)
                return 0;
        bh_error_errno(error, errno, "open the root tree");
        return bh_error_control(error, "root.readonly");
}

static int build_and_run(const struct bh_driver *driver, const struct bh_driver_host *host,
                         const struct bh_plan *plan, const struct bh_instance *instance,
                         struct bh_boundary **boundary, struct bh_error *error)
{
        int result = driver->prepare(host, plan, instance, boundary, error);

        if (result < 0)
                return -1;
        if (result > 0)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                    "%lld bytes of memory are too few for " PROBE_PROGRAM,
                                    (long long)PROBE_MEMORY);
        return run_to_end(*boundary, error);
}

int bh_trial_run(const struct bh_driver *driver, const struct bh_driver_host *host,
                 enum bh_tier tier, const char *variant, const char *source, struct bh_error *error)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = make_plan(driver, tier, source);
        _cleanup_(close_instance) struct bh_instance instance = {.stdin_fd = -1,
                                                                 .gateway_fd = -1,
                                                                 .payload_fd = -1,
                                                                 .workspace_fd = -1,
                                                                 .variant = variant};
        struct bh_boundary *boundary = NULL;
        struct bh_error after;
        _cleanup_close_ int mount = -1;
        int result = open_mount(source, &mount, error);

        if (mount >= 0)
                instance.mount_fds = &mount;
        if (result == 0)
                result = fill_instance(host, &instance, error);

        if (result == 0)
                result = build_and_run(driver, host, plan, &instance, &boundary, error);
        driver->release(boundary);
        if (instance.id[0] && driver->destroy(host, instance.id, result < 0 ? &after : error) < 0)
                result = -1;
        return result;
}
