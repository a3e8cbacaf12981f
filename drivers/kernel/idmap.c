/* See idmap.h; user_namespaces(7). */
#include "drivers/kernel/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/pidref.h"

/* A mapping is written to a process; this one does nothing until it is killed. */
static int clone_holder(struct bh_pidref *ret, struct bh_error *error)
{
        int pidfd = -1;
        struct clone_args arguments = {
                .flags = CLONE_NEWUSER | CLONE_PIDFD,
                .pidfd = (uint64_t)(uintptr_t)&pidfd,
                .exit_signal = SIGCHLD,
        };
        pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                for (;;)
                        pause();
        }
        if (pid < 0)
                return bh_error_errno(error, errno, "clone into a user namespace");
        *ret = (struct bh_pidref){.pid = pid, .pidfd = pidfd};
        return 0;
}

static int write_map(int process, const char *file, unsigned on_disk, unsigned shown,
                     struct bh_error *error)
{
        char text[64];

        snprintf(text, sizeof(text), "%u %u 1", on_disk, shown);
        return bh_write_attribute(process, file, text, error);
}

static int map_holder(const struct bh_pidref *holder, uid_t uid, gid_t gid, uid_t shown,
                      struct bh_error *error)
{
        _cleanup_close_ int process = -1, names = -1;
        char path[32];

        /* Ours until it is reaped, so the number is still its own. */
        snprintf(path, sizeof(path), "/proc/%d", (int)holder->pid);
        process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (process < 0)
                return bh_error_errno(error, errno, "open %s", path);
        if (write_map(process, "uid_map", uid, shown, error) < 0 ||
            write_map(process, "gid_map", gid, shown, error) < 0)
                return -1;
        names = openat(process, "ns/user", O_RDONLY | O_CLOEXEC);
        if (names < 0)
                return bh_error_errno(error, errno, "open a user namespace");
        return bh_steal_fd(&names);
}

int bh_idmap_make(uid_t uid, gid_t gid, uid_t shown, struct bh_error *error)
{
        struct bh_pidref holder = BH_PIDREF_NONE;
        int names;

        if (clone_holder(&holder, error) < 0)
                return -1;
        names = map_holder(&holder, uid, gid, shown, error);
        bh_pidref_signal(&holder, SIGKILL, NULL);
        bh_pidref_wait(&holder, true, NULL, NULL, NULL);
        bh_pidref_clear(&holder);
        return names;
}
