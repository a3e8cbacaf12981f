/* The subprocess driver: builds a boundary from namespaces, an own root, cgroups, Landlock and
 * seccomp, on the host's kernel. docs/architecture.md, "Subprocess boundary, in order", is its
 * map; prepare.c builds, init.c and child.c are the two processes that it clones. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/controls.h"
#include "drivers/kernel/root.h"
#include "drivers/kernel/scratch.h"
#include "drivers/subprocess/boundary.h"
#include "drivers/subprocess/setup.h"

/* ---- what all boundaries share ---- */

char *bh_subprocess_root_path(const struct bh_driver_host *host)
{
        return bh_format("%s/roots/host", host->run_dir);
}

char *bh_subprocess_seccomp_path(const struct bh_driver_host *host)
{
        return bh_format("%s/seccomp/subprocess.bpf", host->run_dir);
}

static int install(const struct bh_driver_host *host, struct bh_error *error)
{
        _cleanup_free_ char *root = bh_subprocess_root_path(host);
        _cleanup_free_ char *filter = bh_subprocess_seccomp_path(host);

        if (bh_root_install(root, NULL, error) < 0)
                return bh_error_control(error, "root.readonly");
        if (bh_seccomp_install(filter, error) < 0)
                return bh_error_control(error, "seccomp");
        if (bh_cgroup_install(host, error) < 0)
                return bh_error_prefix(error, "cgroups");
        return 0;
}

/* ---- the life of one ---- */

void bh_subprocess_release(struct bh_boundary *base)
{
        struct bh_subprocess *boundary = (struct bh_subprocess *)base;

        if (!boundary)
                return;
        if (boundary->init.pidfd >= 0 && !boundary->ended) {
                bh_pidref_signal(&boundary->init, SIGKILL, NULL);
                bh_pidref_wait(&boundary->init, true, NULL, NULL, NULL);
        }
        bh_pidref_clear(&boundary->init);
        bh_pidref_clear(&boundary->workload);
        bh_close(boundary->channel);
        bh_cgroup_free(boundary->cgroup);
        bh_expected_clear(&boundary->expected);
        json_decref(boundary->evidence);
        free(boundary);
}

static int start(struct bh_boundary *base, struct bh_error *error)
{
        struct bh_subprocess *boundary = (struct bh_subprocess *)base;

        if (send(boundary->channel, "", 1, MSG_NOSIGNAL) != 1)
                return bh_error_errno(error, errno, "let the workload run");
        boundary->expected.running = true;
        return 0;
}

/* Init's last report, which it sent before it exited. */
static int take_report(struct bh_subprocess *boundary, struct bh_error *error)
{
        struct bh_report report;
        struct bh_usage usage = {0};
        struct bh_end *end = &boundary->end;
        int got = bh_report_receive(boundary->channel, &report, NULL, error);

        if (got < 0)
                return -1;
        *end = (struct bh_end){.lost = got == 0 || report.kind != BH_REPORT_ENDED};
        if (end->lost)
                return 0;
        end->by_signal = report.code != CLD_EXITED;
        end->status = report.status;
        if (end->by_signal && end->status == SIGKILL) {
                if (bh_cgroup_usage(boundary->cgroup, &usage, error) < 0)
                        return -1;
                end->oom = usage.oom_kills > 0;
        }
        return 0;
}

static int wait_end(struct bh_boundary *base, struct bh_end *ret, struct bh_error *error)
{
        struct bh_subprocess *boundary = (struct bh_subprocess *)base;

        if (!boundary->ended) {
                int result = bh_pidref_wait(&boundary->init, false, NULL, NULL, error);

                if (result <= 0)
                        return result;
                boundary->ended = true;
                if (take_report(boundary, error) < 0)
                        boundary->end = (struct bh_end){.lost = true};
        }
        *ret = boundary->end;
        return 1;
}

static int usage(struct bh_boundary *base, struct bh_usage *ret, struct bh_error *error)
{
        return bh_cgroup_usage(((struct bh_subprocess *)base)->cgroup, ret, error);
}

/* All but init is in the cgroup: init reports how the workload ended, and ends. Where the
 * cgroup cannot kill, init's death does (pid_namespaces(7)), and how it ended is lost. */
static int kill_all(struct bh_boundary *base, struct bh_error *error)
{
        struct bh_subprocess *boundary = (struct bh_subprocess *)base;

        if (boundary->ended || bh_cgroup_kill(boundary->cgroup, error) == 0)
                return 0;
        return bh_pidref_signal(&boundary->init, SIGKILL, error);
}

/* Namespaces and mounts went with their last process and descriptor. */
static int destroy(const struct bh_driver_host *host, const char *id, struct bh_error *error)
{
        return bh_cgroup_destroy(host, id, error);
}

const struct bh_driver bh_subprocess_driver = {
        .name = "subprocess",
        .probe = bh_subprocess_probe,
        .install = install,
        .prepare = bh_subprocess_prepare,
        .start = start,
        .wait = wait_end,
        .usage = usage,
        .kill = kill_all,
        .observe = bh_subprocess_observe,
        .release = bh_subprocess_release,
        .destroy = destroy,
};
