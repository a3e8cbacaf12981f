/* The workload's process from clone to execve: joins its cgroups, waits for its maps and mounts,
 * gives up everything, confines itself, reports, waits for leave, becomes the workload. */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "drivers/kernel/execute.h"
#include "drivers/kernel/privileges.h"
#include "drivers/subprocess/setup.h"

static int check(int result)
{
        return result < 0 ? -errno : result;
}

/* A cgroup namespace begins at the cgroups that its maker is in: join first. */
static void enter_cgroups(const struct bh_setup *setup)
{
        bh_setup_expect(setup, "cgroup.memory", "join the cgroups",
                        bh_cgroup_join_v1(setup->cgroup));
        bh_setup_expect(setup, "namespace.cgroup", "make a cgroup namespace",
                        check(unshare(CLONE_NEWCGROUP)));
}

static void wait_for_init(const struct bh_setup *setup)
{
        uint64_t count;

        while (read(setup->attached, &count, sizeof(count)) < 0) {
                if (errno != EINTR)
                        bh_report_failure(setup->channel, "namespace.user", "wait for init",
                                          -errno);
        }
}

static int confine(const struct bh_setup *setup)
{
        int entered;

        bh_setup_expect(setup, "capabilities.empty", "drop privileges",
                        bh_privileges_drop(setup->plan->inside_uid, setup->plan->inside_gid));
        bh_setup_expect(setup, "no_new_privs", "set no_new_privs", bh_privileges_no_new());
        bh_setup_expect(setup, "landlock", "restrict with Landlock",
                        bh_landlock_restrict(setup->landlock_abi, setup->landlock));
        bh_setup_expect(setup, "landlock", "try what Landlock forbids", bh_landlock_check("/tmp"));
        entered = bh_execute_enter(setup->plan->cwd);
        bh_setup_expect(setup, "seccomp", "load the seccomp filter",
                        bh_seccomp_load(&setup->seccomp));
        return entered;
}

void bh_child_run(const struct bh_setup *setup)
{
        struct bh_report report = {.kind = BH_REPORT_WORKLOAD_READY};
        const int standard[] = {setup->instance->stdin_fd, setup->instance->stdout_fd,
                                setup->instance->stderr_fd};
        struct bh_setup own = *setup;
        int directory;

        /* While init builds what will be seen. */
        enter_cgroups(setup);
        if (setsid() < 0)
                bh_report_failure(setup->channel, "namespace.pid", "start a session", -errno);
        bh_setup_expect(setup, "capabilities.empty", "bound privileges", bh_privileges_bound());
        wait_for_init(setup);
        /* pivot_root took our root along, but not a working directory elsewhere. */
        bh_setup_expect(setup, "root.readonly", "enter the root", check(chdir("/")));
        bh_setup_expect(setup, "descriptors.closed", "place descriptors",
                        bh_execute_place(standard, setup->channel));
        own.channel = BH_EXECUTE_CHANNEL_FD;
        directory = confine(&own);
        bh_report_send(own.channel, &report);
        bh_execute_await_leave(own.channel);
        bh_execute(setup->plan->argv, setup->plan->environment, setup->candidate,
                   directory < 0 ? setup->plan->cwd : NULL);
}
