/* See holder.h. */
#include "drivers/container/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pidref.h"

#define PATH_ROOM 64

/* A cgroup namespace begins at the cgroups that its maker is in. Tells 0 or -errno. */
static void hold(const struct bh_cgroup *cgroup, int told)
{
        int result =
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : bh_cgroup_join_v1(cgroup);

        if (result == 0 && unshare(CLONE_NEWCGROUP) < 0)
                result = -errno;
        if (write(told, &result, sizeof(result)) != sizeof(result))
                _exit(EXIT_FAILURE);
        for (;;)
                pause();
}

static int clone_holder(const struct bh_cgroup *cgroup, int told, struct bh_pidref *ret)
{
        int into = bh_cgroup_v2_fd(cgroup), pidfd = -1;
        struct clone_args arguments = {
                .flags = CLONE_NEWUSER | CLONE_PIDFD |
                         (into >= 0 ? (uint64_t)CLONE_INTO_CGROUP : 0U),
                .pidfd = (uint64_t)(uintptr_t)&pidfd,
                .exit_signal = SIGCHLD,
                .cgroup = into >= 0 ? (unsigned)into : 0U,
        };
        pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

        if (pid == 0)
                hold(cgroup, told);
        if (pid < 0)
                return -1;
        *ret = (struct bh_pidref){.pid = pid, .pidfd = pidfd};
        return 0;
}

int bh_holder_map(pid_t pid, const char *map, bool deny_setgroups, struct bh_error *error)
{
        char path[PATH_ROOM];
        _cleanup_close_ int process = -1;

        snprintf(path, sizeof(path), "/proc/%d", pid);
        process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (process < 0)
                return bh_error_errno(error, errno, "open %s", path);
        if ((deny_setgroups && bh_write_attribute(process, "setgroups", "deny", error) < 0) ||
            bh_write_attribute(process, "uid_map", map, error) < 0 ||
            bh_write_attribute(process, "gid_map", map, error) < 0)
                return -1;
        return 0;
}

static int open_namespace(pid_t pid, const char *name, struct bh_error *error)
{
        char path[PATH_ROOM];
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? bh_error_errno(error, errno, "open %s", path) : fd;
}

static int await(int told, struct bh_error *error)
{
        int result;

        if (bh_read_full(told, &result, sizeof(result)) != sizeof(result))
                return bh_error_set(error, BH_ERROR_CLOSED, "its maker was killed");
        return result < 0 ? bh_error_errno(error, -result, "make a cgroup namespace") : 0;
}

static int take(const struct bh_pidref *holder, int told, const char *map, int *ret_user,
                int *ret_cgroup, struct bh_error *error)
{
        _cleanup_close_ int user = -1, cgroup = -1;

        if (bh_holder_map(holder->pid, map, true, error) < 0)
                return bh_error_control(error, "uid.distinct");
        user = open_namespace(holder->pid, "user", error);
        if (user < 0)
                return bh_error_control(error, "namespace.user");
        if (await(told, error) < 0)
                return bh_error_control(error, "namespace.cgroup");
        cgroup = open_namespace(holder->pid, "cgroup", error);
        if (cgroup < 0)
                return bh_error_control(error, "namespace.cgroup");
        *ret_user = bh_steal_fd(&user);
        *ret_cgroup = bh_steal_fd(&cgroup);
        return 0;
}

int bh_holder_make(const struct bh_cgroup *cgroup, const char *map, int *ret_user, int *ret_cgroup,
                   struct bh_error *error)
{
        _cleanup_close_ int reading = -1, writing = -1;
        struct bh_pidref holder = BH_PIDREF_NONE;
        int ends[2], result;

        if (pipe2(ends, O_CLOEXEC) == 0) {
                reading = ends[0];
                writing = ends[1];
        }
        if (writing < 0 || clone_holder(cgroup, writing, &holder) < 0) {
                bh_error_errno(error, errno, "make a process that holds namespaces");
                return bh_error_control(error, "namespace.user");
        }
        bh_close(bh_steal_fd(&writing)); /* its end is the maker's end */
        result = take(&holder, reading, map, ret_user, ret_cgroup, error);
        bh_pidref_signal(&holder, SIGKILL, NULL);
        bh_pidref_wait(&holder, true, NULL, NULL, NULL);
        bh_pidref_clear(&holder);
        return result;
}
