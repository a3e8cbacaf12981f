/* See launch.h. Between fork and exec only async-signal-safe calls are made. */
#include "drivers/container/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/container/order.h"
#include "drivers/container/places.h"
#include "drivers/kernel/execute.h"
#include "drivers/kernel/mounts.h"
#include "drivers/kernel/report.h"

#define RUNTIME_UMASK 022 /* the runtimes count on it */

static int check(int result)
{
        return result < 0 ? -errno : result;
}

static bool is_userkernel(const struct bh_launch *launch)
{
        return launch->runtime->tier == BH_TIER_USERKERNEL;
}

static void expect(const struct bh_launch *launch, const char *control, const char *step,
                   int result)
{
        const char *fault = launch->instance->fault;

        if (fault && strcmp(fault, control) == 0)
                result = -EPERM;
        if (result < 0)
                bh_report_failure(launch->channel, control, step, result);
}

/* ---- places ---- */

/* gVisor makes its root read-only by a call that forgets the flags which its user namespace may
 * not clear. What they keep out is not in the template's own file system. */
static int relax_root(int root)
{
        struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};

        return check(mount_setattr(root, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)));
}

static void place_root(const struct bh_launch *launch, int root)
{
        if (is_userkernel(launch))
                expect(launch, "root.readonly", "adapt the root tree", relax_root(root));
        expect(launch, "root.readonly", "place the root tree",
               bh_mount_attach(root, AT_FDCWD, BH_PLACE_ROOT));
        close(root);
}

/* One view of cgroups for every runtime on every host, and nothing to write: the unified
 * hierarchy, read-only. */
static int show_cgroups(void)
{
        int mount = bh_mount_new("cgroup2", NULL,
                                 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                         MOUNT_ATTR_NOEXEC);
        int result = mount < 0 ? mount : bh_mount_attach(mount, AT_FDCWD, "/sys/fs/cgroup");

        if (mount >= 0)
                close(mount);
        return result;
}

/* A directory of scratch as a mount with flags of its own. */
static int place_part(const char *part, const char *place, bool writable)
{
        uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        int mount = bh_mount_copy(AT_FDCWD, part, false), result;

        if (!writable)
                attributes |= MOUNT_ATTR_RDONLY;
        result = mount < 0 ? mount : bh_mount_restrict(mount, attributes, false);
        if (result == 0)
                result = bh_mount_attach(mount, AT_FDCWD, place);
        if (mount >= 0)
                close(mount);
        return result;
}

static int place_workspace(const struct bh_launch *launch)
{
        if (launch->workspace >= 0)
                return bh_mount_attach(launch->workspace, AT_FDCWD, BH_PLACE_WORKSPACE);
        return place_part(BH_PLACE_SCRATCH "/workspace", BH_PLACE_WORKSPACE,
                          launch->workspace_writable);
}

static void place_all(const struct bh_launch *launch)
{
        int root;

        expect(launch, "namespace.mount", "leave the host's mounts",
               check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)));
        root = bh_mount_copy(AT_FDCWD, launch->root, true);
        expect(launch, "root.readonly", "copy the root tree", root);
        expect(launch, "namespace.mount", "mount " BH_PLACE,
               bh_mount_attach(launch->bundle, AT_FDCWD, BH_PLACE));
        place_root(launch, root);
        expect(launch, "scratch.size", "place scratch",
               bh_mount_attach(launch->scratch, AT_FDCWD, BH_PLACE_SCRATCH));
        expect(launch, "scratch.size", "place /tmp",
               place_part(BH_PLACE_SCRATCH "/tmp", BH_PLACE_TMP, true));
        expect(launch, "shm.size", "place /dev/shm",
               bh_mount_attach(launch->shm, AT_FDCWD, BH_PLACE_SHM));
        expect(launch, "workspace", "place the workspace", place_workspace(launch));
        /* Runtimes mask with the /dev/null that they find: the template's, not the host's. */
        if (!is_userkernel(launch))
                expect(launch, "dev.private", "hide the host's devices",
                       check(mount(BH_PLACE_ROOT "/dev", "/dev", NULL, MS_BIND, NULL)));
        expect(launch, "namespace.cgroup", "show the unified cgroups", show_cgroups());
        expect(launch, "proc.private", "mount /proc",
               check(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)));
}

/* ---- the process ---- */

static int bind_life(void)
{
        return check(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
}

static void shed_inheritance(const struct bh_launch *launch)
{
        sigset_t none;

        for (int number = 1; number < NSIG; number++)
                signal(number, SIG_DFL); /* refuses SIGKILL and SIGSTOP */
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        umask(RUNTIME_UMASK);
        expect(launch, "gateway.deny_all", "leave the host's network",
               check(setns(launch->instance->gateway_fd, CLONE_NEWNET)));
        expect(launch, "namespace.net", "leave the host's network", 0);
        expect(launch, "namespace.cgroup", "enter the cgroup namespace",
               check(setns(launch->cgroup_namespace, CLONE_NEWCGROUP)));
        expect(launch, "namespace.pid", "start a session", check(setsid()));
        expect(launch, "namespace.mount", "enter the new tree", check(chdir("/")));
        expect(launch, "namespace.user", "leave every group",
               check((int)syscall(SYS_setgroups, 0, NULL)));
        /* The host's session keyring; a kernel without keys has none to leave. */
        if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
                expect(launch, "namespace.user", "leave the session keyring", -errno);
}

/* All of gVisor's processes count against the limits: the workload lives in one of them. */
static void enter_cgroups(const struct bh_launch *launch)
{
        expect(launch, "cgroup.memory", "join the cgroups", bh_cgroup_join_v1(launch->cgroup));
        expect(launch, "cgroup.pids", "join the cgroups", 0);
        expect(launch, "cgroup.cpu", "join the cgroups", 0);
        expect(launch, "cgroup.kill", "join the cgroups", 0);
}

/* Capabilities stay while the uid changes (capabilities(7), SECBIT_NO_SETUID_FIXUP). */
static int act_as(uid_t uid)
{
        if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
                return -errno;
        return check((int)syscall(SYS_setresuid, -1, uid, -1));
}

/* From here on no process of the boundary is the host's root, the runtime neither. The namespace
 * is made as the workload's uid: what it uses of per-user limits (inotify instances, queued
 * signals) is charged to its maker, too. */
static void become_unprivileged(const struct bh_launch *launch)
{
        struct bh_report report = {.kind = BH_REPORT_UNMAPPED};

        expect(launch, "namespace.user", "act as the workload's uid",
               act_as(launch->instance->workload_uid));
        expect(launch, "namespace.user", "make a user namespace",
               check(unshare(CLONE_NEWUSER | CLONE_NEWNS)));
        bh_report_send(launch->channel, &report);
        bh_execute_await_leave(launch->channel);
        expect(launch, "uid.distinct", "become the namespace's root",
               syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0 ? -errno
                                                                                          : 0);
        /* A change of ids cleared it (prctl(2)). */
        expect(launch, "namespace.pid", "bind the runtime's life to the shim's", bind_life());
}

static void run(const struct bh_launch *launch)
{
        static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
        char *environment[] = {path, NULL};
        struct bh_launch own = *launch;
        int standard[] = {launch->null, launch->log, launch->log};
        int placed;

        expect(launch, "namespace.pid", "bind the runtime's life to the shim's", bind_life());
        if (is_userkernel(launch)) {
                enter_cgroups(launch);
                standard[0] = launch->channel;
        }
        place_all(launch);
        shed_inheritance(launch);
        placed = bh_execute_place(standard, launch->channel);
        if (placed == 0)
                own.channel = BH_EXECUTE_CHANNEL_FD;
        expect(&own, "descriptors.closed", "place descriptors", placed);
        become_unprivileged(&own);
        if (!is_userkernel(launch))
                expect(&own, "descriptors.closed", "keep init's channel",
                       check(fcntl(BH_INIT_HOST_CHANNEL, F_SETFD, 0)));
        execve(own.path, own.words, environment);
        bh_report_failure(own.channel, "namespace.pid", "execute the runtime", -errno);
}

int bh_launch_run(const struct bh_launch *launch, struct bh_pidref *ret, struct bh_error *error)
{
        int into = is_userkernel(launch) ? bh_cgroup_v2_fd(launch->cgroup) : -1, pidfd = -1;
        struct clone_args arguments = {
                .flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_PIDFD |
                         (into >= 0 ? (uint64_t)CLONE_INTO_CGROUP : 0U),
                .pidfd = (uint64_t)(uintptr_t)&pidfd,
                .exit_signal = SIGCHLD,
                .cgroup = into >= 0 ? (unsigned)into : 0U,
        };
        pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

        if (pid == 0)
                run(launch);
        if (pid < 0) {
                bh_error_errno(error, errno, "clone the runtime's process");
                return bh_error_control(error, "namespace.pid");
        }
        *ret = (struct bh_pidref){.pid = pid, .pidfd = pidfd};
        return 0;
}
