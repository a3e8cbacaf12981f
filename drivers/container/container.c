/* The container driver: builds a boundary by an OCI runtime that it feeds and watches, for the
 * tiers container (crun or runc) and userkernel (runsc). docs/drivers-container.md is its map. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/container/boundary.h"
#include "drivers/container/build.h"
#include "drivers/container/choice.h"
#include "drivers/container/init_program.h"
#include "drivers/kernel/controls.h"
#include "drivers/kernel/report.h"
#include "drivers/kernel/root.h"
#include "drivers/kernel/seccomp.h"

/* ---- what all boundaries share ---- */

char *bh_container_root_path(const struct bh_driver_host *host)
{
        return bh_format("%s/roots/container", host->run_dir);
}

char *bh_container_seccomp_path(const struct bh_driver_host *host)
{
        return bh_format("%s/seccomp/container.bpf", host->run_dir);
}

static int install(const struct bh_driver_host *host, struct bh_error *error)
{
        const struct bh_root_program init = {
                .data = bh_init_program,
                .size = bh_init_program_size,
        };
        _cleanup_free_ char *root = bh_container_root_path(host);
        _cleanup_free_ char *filter = bh_container_seccomp_path(host);

        if (bh_root_install(root, &init, error) < 0)
                return bh_error_control(error, "root.readonly");
        if (bh_seccomp_install(filter, error) < 0)
                return bh_error_control(error, "seccomp");
        if (bh_cgroup_install(host, error) < 0)
                return bh_error_prefix(error, "cgroups");
        return bh_choice_forget(host, error);
}

/* ---- the boundary ---- */

static void release(struct bh_boundary *base)
{
        struct bh_container *boundary = (struct bh_container *)base;

        if (!boundary)
                return;
        if (boundary->manager.pidfd >= 0 && !boundary->ended) {
                bh_pidref_signal(&boundary->manager, SIGKILL, NULL);
                bh_pidref_wait(&boundary->manager, true, NULL, NULL, NULL);
        }
        bh_pidref_clear(&boundary->manager);
        bh_pidref_clear(&boundary->workload);
        bh_pidref_clear(&boundary->init);
        bh_close(boundary->base.event_fd);
        bh_close(boundary->channel);
        bh_close(boundary->log);
        bh_cgroup_free(boundary->cgroup);
        bh_expected_clear(&boundary->expected);
        json_decref(boundary->guest);
        json_decref(boundary->evidence);
        free(boundary);
}

static void release_cleanup(struct bh_container **boundary)
{
        release((struct bh_boundary *)*boundary);
}

static struct bh_container *new_boundary(const struct bh_runtime *runtime)
{
        struct bh_container *boundary = bh_alloc(sizeof(*boundary));

        boundary->base = (struct bh_boundary){.driver = &bh_container_driver, .event_fd = -1};
        boundary->runtime = runtime;
        boundary->channel = boundary->log = -1;
        boundary->manager = boundary->workload = boundary->init = BH_PIDREF_NONE;
        boundary->guest = json_object();
        return boundary;
}

/* What this driver cannot do it refuses, though the decision should not have asked. */
static int check_plan(const struct bh_plan *plan, const struct bh_instance *instance,
                      struct bh_error *error)
{
        const char *what = NULL;

        if (plan->tier != BH_TIER_CONTAINER && plan->tier != BH_TIER_USERKERNEL)
                what = "this tier";
        else if (plan->egress.count > 0)
                what = "egress";
        else if (plan->mounts.count > 0)
                what = "mounts";
        else if (plan->secrets.count > 0)
                what = "secrets";
        else if (plan->inside_uid != BH_ROOT_INSIDE_UID || plan->inside_gid != BH_ROOT_INSIDE_UID)
                what = "another identity";
        else if (strcmp(plan->image, "host") != 0)
                what = "an image";
        else if (instance->workload_uid == 0 || instance->init_uid == 0 ||
                 instance->workload_uid == instance->init_uid)
                what = "uids that are not two of their own";
        else if ((plan->workspace_kind == BH_WORKSPACE_NAMED) != (instance->workspace_fd >= 0))
                what = "a workspace image where none belongs, or none where one does";
        if (what)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                    "the container driver does not take %s", what);
        return bh_container_check_controls(plan, error);
}

/* The one that a trial is about, or that the probe chose. */
static const struct bh_runtime *find_runtime(const struct bh_driver_host *host,
                                             const struct bh_plan *plan,
                                             const struct bh_instance *instance)
{
        _cleanup_free_ char *name =
                instance->variant ? bh_strdup(instance->variant) : bh_choice_name(host, plan->tier);
        const struct bh_runtime *runtime = name ? bh_runtime_by_name(name) : NULL;

        return runtime && runtime->tier == plan->tier ? runtime : NULL;
}

/* Whether a failed build is the memory limit's doing: until the workload starts, nothing of anybody
 * else is in the cgroup. If so the boundary is ended, and says so from now on. */
static bool ended_by_memory_limit(struct bh_container *boundary)
{
        struct bh_usage usage;

        if (!boundary->cgroup || bh_cgroup_usage(boundary->cgroup, &usage, NULL) < 0 ||
            usage.oom_kills == 0)
                return false;
        if (boundary->manager.pidfd >= 0 &&
            (bh_pidref_signal(&boundary->manager, SIGKILL, NULL) < 0 ||
             bh_pidref_wait(&boundary->manager, true, NULL, NULL, NULL) <= 0))
                return false;
        boundary->told = boundary->ended = true;
        boundary->end = (struct bh_end){.by_signal = true, .status = SIGKILL, .oom = true};
        return true;
}

static int prepare(const struct bh_driver_host *host, const struct bh_plan *plan,
                   const struct bh_instance *instance, struct bh_boundary **ret,
                   struct bh_error *error)
{
        const struct bh_runtime *runtime;
        _cleanup_(release_cleanup) struct bh_container *boundary = NULL;
        int result = 0;

        if (check_plan(plan, instance, error) < 0)
                return -1;
        runtime = find_runtime(host, plan, instance);
        if (!runtime)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                    "no runtime was found to work for the tier %s",
                                    bh_tier_name(plan->tier));
        boundary = new_boundary(runtime);
        if (bh_container_build(boundary, host, plan, instance, error) < 0 ||
            bh_container_verify(boundary, error) < 0)
                result = ended_by_memory_limit(boundary) ? 1 : -1;
        if (result < 0 && !instance->variant)
                bh_choice_doubt(host, plan->tier);
        if (result >= 0)
                *ret = &bh_steal_ptr(&boundary)->base;
        return result;
}

static int start(struct bh_boundary *base, struct bh_error *error)
{
        struct bh_container *boundary = (struct bh_container *)base;
        int flags = fcntl(boundary->channel, F_GETFL);
        struct bh_usage usage;

        if (bh_cgroup_usage(boundary->cgroup, &usage, error) < 0)
                return bh_error_control(error, "limit.cpu");
        boundary->cpu_before_us = usage.cpu_us;
        if (flags < 0 || fcntl(boundary->channel, F_SETFL, flags | O_NONBLOCK) < 0 ||
            send(boundary->channel, "", 1, MSG_NOSIGNAL) != 1)
                return bh_error_errno(error, errno, "let the workload run");
        boundary->expected.running = true;
        return 0;
}

/* ---- its end ---- */

/* A sentry is the workload for who kills it: the kernel for its memory, or we. It cannot say so
 * any more. */
static int mark_killed(struct bh_container *boundary, struct bh_error *error)
{
        struct bh_end *end = &boundary->end;
        bool sentry_lost = end->lost && boundary->runtime->tier == BH_TIER_USERKERNEL;
        struct bh_usage usage = {0};

        if (!sentry_lost && !(end->by_signal && end->status == SIGKILL))
                return 0;
        if (bh_cgroup_usage(boundary->cgroup, &usage, error) < 0)
                return -1;
        end->oom = usage.oom_kills > 0;
        if (end->oom || (sentry_lost && boundary->killed))
                *end = (struct bh_end){.by_signal = true, .status = SIGKILL, .oom = end->oom};
        return 0;
}

/* Takes init's last report, when there is one. Then nothing that the runtime still has to do
 * matters: all that it would clean up is its own and goes with it. */
static void take_report(struct bh_container *boundary)
{
        struct bh_report report;
        struct bh_error error = {.code = BH_ERROR_NONE};
        int got = bh_report_receive(boundary->channel, &report, NULL, &error);

        if (got < 0 && error.errnum == EAGAIN)
                return;
        boundary->told = true;
        boundary->end = (struct bh_end){.lost = got <= 0 || report.kind != BH_REPORT_ENDED};
        if (!boundary->end.lost) {
                boundary->end.by_signal = report.code != CLD_EXITED;
                boundary->end.status = report.status;
        }
        epoll_ctl(boundary->base.event_fd, EPOLL_CTL_DEL, boundary->channel, NULL);
        bh_pidref_signal(&boundary->manager, SIGKILL, NULL);
}

static int wait_end(struct bh_boundary *base, struct bh_end *ret, struct bh_error *error)
{
        struct bh_container *boundary = (struct bh_container *)base;

        if (!boundary->ended) {
                int result;

                if (!boundary->told)
                        take_report(boundary);
                result = bh_pidref_wait(&boundary->manager, false, NULL, NULL, error);
                if (result <= 0)
                        return result;
                boundary->ended = true;
                if (!boundary->told) /* said between the two looks, or never */
                        take_report(boundary);
                if (mark_killed(boundary, error) < 0)
                        boundary->end = (struct bh_end){.lost = true};
        }
        *ret = boundary->end;
        return 1;
}

static int usage(struct bh_boundary *base, struct bh_usage *ret, struct bh_error *error)
{
        struct bh_container *boundary = (struct bh_container *)base;

        if (bh_cgroup_usage(boundary->cgroup, ret, error) < 0)
                return -1;
        ret->cpu_us -= boundary->cpu_before_us;
        return 0;
}

/* container: all but init is in the cgroup, and init tells how the workload ended. userkernel:
 * everything is. Where the cgroup cannot kill, the end of the pid namespace does. */
static int kill_all(struct bh_boundary *base, struct bh_error *error)
{
        struct bh_container *boundary = (struct bh_container *)base;

        boundary->killed = true;
        if (boundary->ended || bh_cgroup_kill(boundary->cgroup, error) == 0)
                return 0;
        return bh_pidref_signal(&boundary->manager, SIGKILL, error);
}

/* Namespaces, mounts and the runtime's state went with the last process. */
static int destroy(const struct bh_driver_host *host, const char *id, struct bh_error *error)
{
        return bh_cgroup_destroy(host, id, error);
}

const struct bh_driver bh_container_driver = {
        .name = "container",
        .probe = bh_container_probe,
        .install = install,
        .prepare = prepare,
        .start = start,
        .wait = wait_end,
        .usage = usage,
        .kill = kill_all,
        .observe = bh_container_observe,
        .release = release,
        .destroy = destroy,
};
