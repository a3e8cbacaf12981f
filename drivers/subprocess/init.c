/* Pid 1 of a boundary. Starts as host root in new mount, pid, ipc and uts namespaces; builds
 * what the workload will see; clones the workload's process; gives up everything; reaps. Its
 * end makes the kernel kill all that is left in the pid namespace (pid_namespaces(7)). */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core_dumps.h"
#include "drivers/kernel/mounts.h"
#include "drivers/kernel/privileges.h"
#include "drivers/kernel/root.h"
#include "drivers/subprocess/setup.h"

#define CHANNEL_FD 3

static int check(int result)
{
        return result < 0 ? -errno : result;
}

/* Makes a directory of the scratch file system appear at the place of its name in the root. */
static int show(int scratch, const char *name, int root, bool writable)
{
        int mount = bh_mount_copy(scratch, name, false);
        int result = mount < 0 ? mount : 0;

        if (result == 0 && !writable)
                result = bh_mount_restrict(mount, MOUNT_ATTR_RDONLY, false);
        if (result == 0)
                result = bh_mount_attach(mount, root, name);
        if (mount >= 0)
                close(mount);
        return result;
}

/* The scratch mount must be attached somewhere before parts of it can be copied (before Linux
 * 6.15): on run_dir, which goes with the old root a moment later. */
static void attach_scratch(const struct bh_setup *setup, int root)
{
        bh_setup_expect(setup, "scratch.size", "attach scratch",
                        bh_mount_attach(setup->scratch, AT_FDCWD, setup->run_dir));
        bh_setup_expect(setup, "scratch.size", "attach /tmp",
                        show(setup->scratch, "tmp", root, true));
        if (setup->workspace < 0)
                bh_setup_expect(
                        setup, "workspace", "attach /workspace",
                        show(setup->scratch, "workspace", root, setup->plan->workspace_writable));
}

/* Puts the root that has places for the agent's mounts over the template, with copies of what the
 * template holds. Returns its descriptor. */
static int cover_template(const struct bh_setup *setup, int template)
{
        int root = setup->mounts.root;
        int result = bh_mount_attach(root, AT_FDCWD, setup->root);

        for (char **path = setup->mounts.copies; path && *path && result == 0; path++) {
                int mount = bh_mount_copy(template, *path, true);

                result = mount < 0 ? mount : bh_mount_attach(mount, root, *path);
                if (mount >= 0)
                        close(mount);
        }
        bh_setup_expect(setup, "mounts", "make a root with places for mounts", result);
        close(template);
        return root;
}

static void attach_agent_mounts(const struct bh_setup *setup)
{
        for (size_t i = 0; i < setup->mounts.count; i++)
                bh_setup_expect(setup, "mounts", setup->plan->mounts.items[i].target,
                                bh_mount_attach(setup->mounts.fds[i], AT_FDCWD,
                                                setup->plan->mounts.items[i].target));
}

/* This namespace's copy of the template becomes the root; the host's tree goes away.
 * pivot_root(2), "pivot_root(".", ".")". */
static void change_root(const struct bh_setup *setup)
{
        int root = open(setup->root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        bh_setup_expect(setup, "namespace.mount", "open the root tree", check(root));
        if (setup->mounts.root >= 0)
                root = cover_template(setup, root);
        attach_scratch(setup, root);
        bh_setup_expect(setup, "root.readonly", "enter the root tree", check(fchdir(root)));
        bh_setup_expect(setup, "root.readonly", "pivot_root",
                        check((int)syscall(SYS_pivot_root, ".", ".")));
        bh_setup_expect(setup, "root.readonly", "detach the host's tree",
                        check(umount2(".", MNT_DETACH)));
        bh_setup_expect(setup, "root.readonly", "enter the new root", check(chdir("/")));
        close(root);
}

static void build_tree(const struct bh_setup *setup)
{
        change_root(setup);
        bh_setup_expect(setup, "proc.private", "mount /proc", bh_proc_mount());
        bh_setup_expect(setup, "dev.private", "look at /dev", check(access("/dev/null", R_OK)));
        bh_setup_expect(setup, "shm.size", "mount /dev/shm",
                        check(mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                                    setup->shm_options)));
        attach_agent_mounts(setup);
}

/* Resource limits that the workload starts with; see getrlimit(2). */
static int set_resource_limits(void)
{
        static const struct {
                __rlimit_resource_t resource;
                rlim_t soft, hard;
        } limits[] = {
                {RLIMIT_NOFILE, 1024, 4096},
                {RLIMIT_MEMLOCK, 8 << 20, 8 << 20},
                {RLIMIT_STACK, 8 << 20, RLIM_INFINITY},
                {RLIMIT_NICE, 0, 0},
                {RLIMIT_RTPRIO, 0, 0},
        };

        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
                struct rlimit limit;

                if (getrlimit(limits[i].resource, &limit) < 0)
                        return -errno;
                /* A host that gives us less is not asked for more. */
                if (limit.rlim_max > limits[i].hard)
                        limit.rlim_max = limits[i].hard;
                limit.rlim_cur = limits[i].soft < limit.rlim_max ? limits[i].soft : limit.rlim_max;
                if (setrlimit(limits[i].resource, &limit) < 0)
                        return -errno;
        }
        return 0;
}

/* Default dispositions and an empty mask, for both processes. */
static void reset_signals(void)
{
        sigset_t none;

        for (int number = 1; number < NSIG; number++)
                signal(number, SIG_DFL); /* refuses SIGKILL and SIGSTOP */
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What both processes have from the shim and must not keep. */
static void shed_inheritance(const struct bh_setup *setup)
{
        reset_signals();
        umask(022);
        bh_setup_expect(setup, "uid.distinct", "drop groups",
                        check((int)syscall(SYS_setgroups, 0, NULL)));
        bh_setup_expect(setup, "namespace.uts", "sethostname",
                        check(sethostname(BH_ROOT_HOSTNAME, strlen(BH_ROOT_HOSTNAME))));
        bh_setup_expect(setup, "namespace.uts", "setdomainname", check(setdomainname("", 0)));
        bh_setup_expect(setup, "namespace.user", "set resource limits", set_resource_limits());
        bh_setup_expect(setup, "namespace.user", "forbid core dumps", bh_core_dumps_forbid());
        /* The host's session keyring; a kernel without keys has none to leave. */
        if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
                bh_report_failure(setup->channel, "namespace.user", "leave the session keyring",
                                  -errno);
}

/* The kernel charges what a user namespace uses of per-user limits (inotify instances, queued
 * signals) to whoever made it, too. Were that root, one workload could use up the host's. So it
 * is made as the workload's uid; capabilities stay (capabilities(7), SECBIT_NO_SETUID_FIXUP),
 * for the cgroup's directory is root's. A change of ids clears PR_SET_PDEATHSIG: give_up() sets
 * it again. */
static int act_as(uid_t uid)
{
        return check((int)syscall(SYS_setresuid, -1, uid, -1));
}

static void clone_child(const struct bh_setup *setup)
{
        int cgroup = bh_cgroup_v2_fd(setup->cgroup);
        struct clone_args arguments = {
                .flags = CLONE_NEWUSER | (cgroup >= 0 ? CLONE_INTO_CGROUP : 0),
                .exit_signal = SIGCHLD,
                .cgroup = cgroup >= 0 ? (unsigned int)cgroup : 0U,
        };
        pid_t pid;

        bh_setup_expect(setup, "namespace.user", "keep capabilities",
                        check(prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0)));
        bh_setup_expect(setup, "namespace.user", "act as the workload's uid",
                        act_as(setup->instance->workload_uid));
        pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
        if (pid == 0)
                bh_child_run(setup);
        bh_setup_expect(setup, "namespace.user", "clone the workload's process", check(pid));
        bh_setup_expect(setup, "namespace.user", "act as root again", act_as(0));
        if (pid != BH_SETUP_WORKLOAD_PID)
                bh_report_failure(setup->channel, "namespace.pid", "count the first process",
                                  -EEXIST);
}

static int write_file(const char *path, const char *text)
{
        size_t size = strlen(text);
        int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        int result = 0;

        if (fd < 0)
                return -errno;
        if (write(fd, text, size) != (ssize_t)size)
                result = errno ? -errno : -EIO;
        close(fd);
        return result;
}

/* user_namespaces(7): setgroups must be denied before a map; each is written once. */
static void map_child(const struct bh_setup *setup)
{
        bh_setup_expect(setup, "uid.distinct", "deny setgroups",
                        write_file("/proc/2/setgroups", "deny"));
        bh_setup_expect(setup, "uid.distinct", "write uid_map",
                        write_file("/proc/2/uid_map", setup->uid_map));
        bh_setup_expect(setup, "uid.distinct", "write gid_map",
                        write_file("/proc/2/gid_map", setup->gid_map));
}

/* Written with CAP_SYS_RESOURCE, so 0 is also the lowest that the workload may set; init is the
 * last that the OOM killer takes (proc(5), oom_score_adj). A broker without that capability
 * leaves init to the host's choice: it is outside of the workload's memory cgroup anyway. */
static void set_oom_scores(const struct bh_setup *setup)
{
        int result;

        bh_setup_expect(setup, "cgroup.memory", "set the workload's oom_score_adj",
                        write_file("/proc/2/oom_score_adj", "0"));
        result = write_file("/proc/1/oom_score_adj", "-1000");
        bh_setup_expect(setup, "cgroup.memory", "set init's oom_score_adj",
                        result == -EACCES ? 0 : result);
}

/* On disk a workspace belongs to uid 1000 for ever; the child's maps show it as the host uid
 * that this execution happens to have. */
static void attach_workspace(const struct bh_setup *setup)
{
        uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        int names = open("/proc/2/ns/user", O_RDONLY | O_CLOEXEC);

        bh_setup_expect(setup, "workspace", "open the workload's user namespace", check(names));
        if (!setup->plan->workspace_writable)
                attributes |= MOUNT_ATTR_RDONLY;
        bh_setup_expect(setup, "workspace", "map the workspace's owner",
                        bh_mount_idmap(setup->workspace, names, attributes, false));
        bh_setup_expect(setup, "workspace", "attach /workspace",
                        bh_mount_attach(setup->workspace, AT_FDCWD, "/workspace"));
        close(names);
}

static int let_child_go_on(const struct bh_setup *setup)
{
        uint64_t one = 1;

        return write(setup->attached, &one, sizeof(one)) < 0 ? -errno : 0;
}

/* From here on init has no right that its uid does not have, and holds no descriptor but the
 * channel. Its parent's death is its own (prctl(2): a change of ids clears that). */
static void give_up(const struct bh_setup *setup)
{
        const struct bh_instance *instance = setup->instance;
        struct bh_report report = {.kind = BH_REPORT_INIT_READY};

        bh_setup_expect(setup, "capabilities.empty", "bound init's privileges",
                        bh_privileges_bound());
        bh_setup_expect(setup, "capabilities.empty", "drop init's privileges",
                        bh_privileges_drop(instance->init_uid, instance->init_uid));
        bh_setup_expect(setup, "no_new_privs", "set no_new_privs on init", bh_privileges_no_new());
        bh_setup_expect(setup, "namespace.pid", "bind init's life to the shim's",
                        check(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)));
        bh_setup_expect(setup, "proc.private", "make init undumpable",
                        check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)));
        if (setup->channel != CHANNEL_FD)
                bh_setup_expect(setup, "descriptors.closed", "keep init's channel",
                                check(dup3(setup->channel, CHANNEL_FD, O_CLOEXEC)));
        if (close_range(0, CHANNEL_FD - 1, 0) < 0 || close_range(CHANNEL_FD + 1, ~0U, 0) < 0)
                bh_report_failure(CHANNEL_FD, "descriptors.closed", "close init's descriptors",
                                  -errno);
        /* Also the check that the shim did not die before PR_SET_PDEATHSIG. */
        bh_report_send(CHANNEL_FD, &report);
}

/* Waits for everybody, since orphans come to pid 1, until the workload's process ends. */
static void reap(void)
{
        struct bh_report report = {.kind = BH_REPORT_ENDED};
        siginfo_t info;

        for (;;) {
                info.si_pid = 0;
                if (waitid(P_ALL, 0, &info, WEXITED) < 0 && errno != EINTR)
                        _exit(EXIT_FAILURE);
                if (info.si_pid == BH_SETUP_WORKLOAD_PID)
                        break;
        }
        report.code = info.si_code;
        report.status = info.si_status;
        bh_report_send(CHANNEL_FD, &report);
}

void bh_init_run(const struct bh_setup *setup)
{
        prctl(PR_SET_NAME, "bulkhead-init", 0, 0, 0); /* for people who read ps */
        bh_setup_expect(setup, "namespace.pid", "bind init's life to the shim's",
                        check(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)));
        bh_setup_expect(setup, "namespace.net", "join the gateway",
                        check(setns(setup->instance->gateway_fd, CLONE_NEWNET)));
        shed_inheritance(setup);
        /* Before the tree is built: the child has enough to do meanwhile, and pivot_root takes
         * every process of this mount namespace along (pivot_root(2)). */
        clone_child(setup);
        build_tree(setup);
        map_child(setup);
        set_oom_scores(setup);
        if (setup->workspace >= 0)
                attach_workspace(setup);
        bh_setup_expect(setup, "workspace", "let the workload's process go on",
                        let_child_go_on(setup));
        give_up(setup);
        reap();
        _exit(EXIT_SUCCESS);
}
