/* From a plan to a boundary whose workload waits just before its first instruction: everything
 * that init and the child will need is made here, in the shim, before they are cloned. Called
 * as driver.h's prepare. */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/controls.h"
#include "drivers/kernel/execute.h"
#include "drivers/kernel/files.h"
#include "drivers/kernel/root.h"
#include "drivers/kernel/scratch.h"
#include "drivers/subprocess/boundary.h"
#include "drivers/subprocess/setup.h"

#define REPORT_TIMEOUT_S 30 /* a host that needs longer for a boundary is not well */

/* ---- setup ---- */

static void clear_setup(struct bh_setup *setup)
{
        free(setup->run_dir);
        free(setup->root);
        free(setup->shm_options);
        free(setup->uid_map);
        free(setup->gid_map);
        free(setup->candidate);
        bh_seccomp_clear(&setup->seccomp);
        bh_close(setup->scratch);
        bh_close(setup->workspace);
        bh_agent_mounts_clear(&setup->mounts);
        bh_close(setup->channel);
        bh_close(setup->attached);
}

/* The steps that the shim does itself fail here when the instance's fault names one of the
 * NULL-terminated controls; the others' do in setup.h's bh_setup_expect. */
static int fail_injected(const struct bh_instance *instance, const char *const controls[],
                         struct bh_error *error)
{
        for (; instance->fault && *controls; controls++) {
                if (strcmp(instance->fault, *controls) != 0)
                        continue;
                bh_error_errno(error, EPERM, "fault injection");
                return bh_error_control(error, *controls);
        }
        return 0;
}

static void fill_landlock_rules(struct bh_setup *setup)
{
        const struct bh_landlock_rule rules[] = {
                {"/", BH_LANDLOCK_EXECUTE},
                {"/tmp", BH_LANDLOCK_WRITE},
                {"/dev", BH_LANDLOCK_DEVICES},
                {"/dev/shm", BH_LANDLOCK_WRITE},
                {"/proc", BH_LANDLOCK_DEVICES}, /* its own files; modes and masks say which */
                {"/workspace",
                 setup->plan->workspace_writable ? BH_LANDLOCK_WRITE : BH_LANDLOCK_EXECUTE},
        };
        const struct bh_mount_rules *mounts = &setup->plan->mounts;
        struct bh_landlock_rule *next = setup->landlock + sizeof(rules) / sizeof(rules[0]);

        _Static_assert(sizeof(rules) / sizeof(rules[0]) + BH_MOUNT_RULES_MAX <
                               BH_SETUP_LANDLOCK_RULES,
                       "room for the rules");
        memcpy(setup->landlock, rules, sizeof(rules));
        /* Reading is allowed everywhere. */
        for (size_t i = 0; i < mounts->count; i++) {
                if (mounts->items[i].writable)
                        *next++ = (struct bh_landlock_rule){mounts->items[i].target,
                                                            BH_LANDLOCK_FILES};
        }
        next->path = NULL;
}

static void fill_texts(struct bh_setup *setup, const struct bh_driver_host *host)
{
        const struct bh_plan *plan = setup->plan;
        uid_t outside = setup->instance->workload_uid;

        setup->run_dir = bh_strdup(host->run_dir);
        setup->root = bh_subprocess_root_path(host);
        setup->shm_options = bh_format("mode=1777,size=%lld,nr_inodes=%lld",
                                       (long long)plan->shm_bytes, (long long)plan->scratch_inodes);
        setup->uid_map = bh_format("%u %u 1", plan->inside_uid, outside);
        setup->gid_map = bh_format("%u %u 1", plan->inside_gid, outside);
        setup->candidate = bh_alloc(bh_execute_room(plan->argv, plan->environment));
}

/* The files go in before anything of the workload exists; see files.h for what may lie there. */
static int make_mounts(struct bh_setup *setup, const struct bh_driver_host *host,
                       struct bh_error *error)
{
        const struct bh_instance *instance = setup->instance;

        setup->scratch = bh_scratch_make(setup->plan, instance, host, error);
        if (setup->scratch < 0)
                return bh_error_control(error, "scratch.size");
        if (bh_workspace_make(setup->plan, instance, setup->scratch, &setup->workspace, error) < 0)
                return bh_error_control(error, "workspace");
        if (bh_agent_mounts_make(setup->plan, instance, setup->root, &setup->mounts, error) < 0)
                return bh_error_control(error, "mounts");
        return 0;
}

static int prepare_confinement(struct bh_setup *setup, const struct bh_driver_host *host,
                               struct bh_error *error)
{
        _cleanup_free_ char *path = bh_subprocess_seccomp_path(host);

        if (bh_seccomp_read(path, &setup->seccomp, error) < 0)
                return bh_error_control(error, "seccomp");
        setup->landlock_abi = bh_landlock_abi(error);
        if (setup->landlock_abi < 0)
                return bh_error_control(error, "landlock");
        fill_landlock_rules(setup);
        return 0;
}

static int make_channel(struct bh_setup *setup, int *ret, struct bh_error *error)
{
        int pair[2];

        if (bh_report_channel(pair, REPORT_TIMEOUT_S, error) < 0)
                return -1;
        *ret = pair[0];
        setup->channel = pair[1];
        setup->attached = eventfd(0, EFD_CLOEXEC);
        return setup->attached < 0 ? bh_error_errno(error, errno, "make the boundary's channel")
                                   : 0;
}

/* ---- the boundary ---- */

static void release_cleanup(struct bh_subprocess **boundary)
{
        if (*boundary)
                bh_subprocess_release(&(*boundary)->base);
}

static struct bh_subprocess *new_boundary(void)
{
        struct bh_subprocess *boundary = bh_alloc(sizeof(*boundary));

        boundary->base = (struct bh_boundary){.driver = &bh_subprocess_driver, .event_fd = -1};
        boundary->channel = -1;
        boundary->init = boundary->workload = BH_PIDREF_NONE;
        return boundary;
}

/* What this driver cannot do it refuses, though the decision should not have asked. */
static int check_plan(const struct bh_plan *plan, const struct bh_instance *instance,
                      struct bh_error *error)
{
        const char *what = NULL;

        if (!plan->argv[0])
                what = "no command";
        else if (plan->egress.count > 0)
                what = "egress";
        else if (plan->mounts.count > 0 && !instance->mount_fds)
                what = "mounts without their sources";
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
                                    "the subprocess driver does not take %s", what);
        return bh_subprocess_check_controls(plan, error);
}

/* What has to be seen at the targets. */
static int look_at_sources(struct bh_subprocess *boundary, const struct bh_instance *instance,
                           struct bh_error *error)
{
        for (size_t i = 0; i < boundary->expected.mounts.count; i++) {
                struct stat status;

                if (fstat(instance->mount_fds[i], &status) < 0) {
                        bh_error_errno(error, errno, "look at %s",
                                       boundary->expected.mounts.items[i].source);
                        return bh_error_control(error, "mounts");
                }
                boundary->expected.mount_identity[i] =
                        (struct bh_mount_identity){status.st_dev, status.st_ino};
        }
        return 0;
}

static int make_cgroup(struct bh_subprocess *boundary, const struct bh_driver_host *host,
                       struct bh_setup *setup, struct bh_error *error)
{
        static const char *const injected[] = {"cgroup.memory", "cgroup.pids", "cgroup.cpu",
                                               "cgroup.kill", NULL};
        const struct bh_instance *instance = setup->instance;

        if (bh_cgroup_create(host, instance->id, &setup->plan->limits, &boundary->cgroup, error) <
            0)
                return error && error->code == BH_ERROR_CONTROL
                               ? -1
                               : bh_error_control(error, "cgroup.memory");
        setup->cgroup = boundary->cgroup;
        /* After the fact, so that there is something to leave behind. */
        return fail_injected(instance, injected, error);
}

static int clone_init(struct bh_subprocess *boundary, const struct bh_setup *setup,
                      struct bh_error *error)
{
        static const char *const injected[] = {"namespace.mount", "namespace.pid", "namespace.ipc",
                                               NULL};
        int pidfd = -1;
        struct clone_args arguments = {
                .flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD,
                .pidfd = (uint64_t)(uintptr_t)&pidfd,
                .exit_signal = SIGCHLD,
        };
        pid_t pid;

        if (fail_injected(setup->instance, injected, error) < 0)
                return -1;
        pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
        if (pid == 0)
                bh_init_run(setup);
        if (pid < 0) {
                bh_error_errno(error, errno, "clone the boundary's init");
                return bh_error_control(error, "namespace.pid");
        }
        /* From the first moment on release() can end it. */
        boundary->init = (struct bh_pidref){.pid = pid, .pidfd = pidfd};
        boundary->base.event_fd = pidfd;
        return 0;
}

/* Waits until both processes have said that they are done. */
static int await_ready(struct bh_subprocess *boundary, struct bh_error *error)
{
        bool init = false, workload = false;

        while (!init || !workload) {
                struct bh_report report;
                pid_t pid;
                int got = bh_report_receive(boundary->channel, &report, &pid, error);

                if (got < 0)
                        return bh_error_control(error, "namespace.pid");
                if (got > 0 && report.kind == BH_REPORT_FAILED)
                        return bh_report_error(&report, error);
                if (got == 0 || report.kind == BH_REPORT_ENDED) {
                        bh_error_set(error, BH_ERROR_CLOSED,
                                     "the boundary ended while it was built");
                        return bh_error_control(error, "namespace.pid");
                }
                if (report.kind == BH_REPORT_INIT_READY)
                        init = true;
                if (report.kind == BH_REPORT_WORKLOAD_READY) {
                        workload = true;
                        if (bh_pidref_open(pid, &boundary->workload, error) < 0)
                                return bh_error_control(error, "namespace.pid");
                }
        }
        return 0;
}

static int build(struct bh_subprocess *boundary, const struct bh_driver_host *host,
                 struct bh_setup *setup, struct bh_error *error)
{
        static const char *const injected[] = {"gateway.deny_all", NULL};
        struct bh_expected *expected = &boundary->expected;

        if (bh_expected_fill(expected, host, setup->plan, setup->instance, error) < 0 ||
            fail_injected(setup->instance, injected, error) < 0 ||
            look_at_sources(boundary, setup->instance, error) < 0 ||
            make_cgroup(boundary, host, setup, error) < 0 || make_mounts(setup, host, error) < 0 ||
            prepare_confinement(setup, host, error) < 0)
                return -1;
        if (make_channel(setup, &boundary->channel, error) < 0 ||
            bh_files_give_pipes(setup->instance, error) < 0)
                return bh_error_control(error, "descriptors.closed");
        if (clone_init(boundary, setup, error) < 0)
                return -1;
        /* Only the boundary's processes hold their end now: its closing is their end. */
        setup->channel = bh_close(setup->channel);
        if (await_ready(boundary, error) < 0)
                return -1;
        expected->landlock_abi = setup->landlock_abi;
        memcpy(expected->seccomp_digest, setup->seccomp.digest, sizeof(setup->seccomp.digest));
        return bh_subprocess_verify(boundary, error);
}

/* Whether a failed build is the memory limit's doing: until the workload starts, its process is
 * the only one in the cgroup. If so the boundary is ended, and says so from now on. */
static bool ended_by_memory_limit(struct bh_subprocess *boundary)
{
        struct bh_usage usage;

        if (boundary->init.pidfd < 0 || bh_cgroup_usage(boundary->cgroup, &usage, NULL) < 0 ||
            usage.oom_kills == 0 || bh_pidref_signal(&boundary->init, SIGKILL, NULL) < 0 ||
            bh_pidref_wait(&boundary->init, true, NULL, NULL, NULL) <= 0)
                return false;
        boundary->ended = true;
        boundary->end = (struct bh_end){.by_signal = true, .status = SIGKILL, .oom = true};
        return true;
}

int bh_subprocess_prepare(const struct bh_driver_host *host, const struct bh_plan *plan,
                          const struct bh_instance *instance, struct bh_boundary **ret,
                          struct bh_error *error)
{
        _cleanup_(release_cleanup) struct bh_subprocess *boundary = NULL;
        _cleanup_(clear_setup) struct bh_setup setup = {
                .plan = plan,
                .instance = instance,
                .scratch = -1,
                .workspace = -1,
                .mounts = BH_AGENT_MOUNTS_NONE,
                .channel = -1,
                .attached = -1,
        };
        int result;

        if (check_plan(plan, instance, error) < 0)
                return -1;
        boundary = new_boundary();
        fill_texts(&setup, host);
        result = build(boundary, host, &setup, error);
        if (result < 0 && ended_by_memory_limit(boundary))
                result = 1;
        if (result >= 0)
                *ret = &bh_steal_ptr(&boundary)->base;
        return result;
}
