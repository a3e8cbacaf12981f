/* The workload's process from clone to execve: joins its cgroups, waits for its maps and mounts,
 * gives up everything, confines itself, reports, waits for leave, becomes the workload. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/kernel/privileges.h"
#include "drivers/subprocess/setup.h"

#define CHANNEL_FD       3 /* in the workload's process, until execve closes it */
#define STANDARD_FDS     3
#define SPARE_FD         16  /* above the standard ones while those are put in place */
#define EXIT_NOT_FOUND   127 /* as shells have it (POSIX, 2.8.2) */
#define EXIT_NOT_STARTED 126

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

/* Leaves descriptors 0-2 and the channel, which execve closes. The sources may lie among the
 * targets, so they are moved out of the way first. */
static int place_descriptors(const struct bh_setup *setup)
{
        const int sources[] = {setup->instance->stdin_fd, setup->instance->stdout_fd,
                               setup->instance->stderr_fd, setup->channel};
        int spare[STANDARD_FDS + 1];

        for (int i = 0; i <= STANDARD_FDS; i++) {
                spare[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, SPARE_FD);
                if (spare[i] < 0)
                        return -errno;
        }
        for (int i = 0; i <= STANDARD_FDS; i++) {
                if (dup3(spare[i], i, i == CHANNEL_FD ? O_CLOEXEC : 0) < 0)
                        return -errno;
        }
        return close_range(CHANNEL_FD + 1, ~0U, 0) < 0 ? -errno : 0;
}

/* Beneath the root and through no magic link, so that no descriptor of another tree can become
 * the working directory (openat2(2)). 0 or -errno. */
static int enter_directory(const char *path)
{
        struct open_how how = {
                .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
        };
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int directory = root < 0 ? -1 : (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        int result = directory < 0 || fchdir(directory) < 0 ? -errno : 0;

        if (directory >= 0)
                close(directory);
        if (root >= 0)
                close(root);
        return result;
}

static int confine(const struct bh_setup *setup)
{
        int directory;

        bh_setup_expect(setup, "capabilities.empty", "drop privileges",
                        bh_privileges_drop(setup->plan->inside_uid, setup->plan->inside_gid));
        bh_setup_expect(setup, "no_new_privs", "set no_new_privs", bh_privileges_no_new());
        bh_setup_expect(setup, "landlock", "restrict with Landlock",
                        bh_landlock_restrict(setup->landlock_abi, setup->landlock));
        bh_setup_expect(setup, "landlock", "try what Landlock forbids", bh_landlock_check("/tmp"));
        directory = enter_directory(setup->plan->cwd);
        bh_setup_expect(setup, "seccomp", "load the seccomp filter",
                        bh_seccomp_load(&setup->seccomp));
        return directory;
}

/* Waits just before execve while the shim reads back. No leave means that the shim is gone. */
static void wait_for_leave(int channel)
{
        char leave;
        ssize_t size;

        do {
                size = recv(channel, &leave, sizeof(leave), 0);
        } while (size < 0 && errno == EINTR);
        if (size != sizeof(leave))
                _exit(EXIT_FAILURE);
}

static void put(const char *text)
{
        size_t size = strlen(text);

        while (size > 0) {
                ssize_t written = write(STDERR_FILENO, text, size);

                if (written <= 0)
                        return; /* nobody reads: the exit code still tells */
                text += written;
                size -= (size_t)written;
        }
}

static void refuse(int code, const char *subject, const char *text)
{
        put("bulkhead: ");
        put(subject);
        put(text);
        _exit(code);
}

/* One try. Returns when it failed: 0 to go on looking, else the errno that ends the search. */
static int try_execute(const struct bh_setup *setup, const char *path, int *denied)
{
        execve(path, setup->plan->argv, setup->plan->environment);
        if (errno == EACCES)
                *denied = 1;
        return errno == EACCES || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
}

/* Looks for a plain name along PATH as execvpe(3) does, but hands nothing to a shell. */
static int search(const struct bh_setup *setup, int *denied)
{
        const char *name = setup->plan->argv[0], *directory = setup->path;
        int result = 0;

        while (directory && result == 0) {
                size_t length = strcspn(directory, ":");
                char *end = setup->candidate;

                if (length == 0) /* an empty member is the working directory */
                        *end++ = '.';
                memcpy(end, directory, length);
                end += length;
                *end++ = '/';
                memcpy(end, name, strlen(name) + 1);
                result = try_execute(setup, setup->candidate, denied);
                directory = directory[length] ? directory + length + 1 : NULL;
        }
        return result;
}

static void execute(const struct bh_setup *setup)
{
        const char *name = setup->plan->argv[0];
        int denied = 0, result;

        if (name[0] == '\0')
                refuse(EXIT_NOT_FOUND, "''", ": not found in the boundary\n");
        result = strchr(name, '/') ? try_execute(setup, name, &denied) : search(setup, &denied);
        if (result == 0 && !denied)
                refuse(EXIT_NOT_FOUND, name, ": not found in the boundary\n");
        if (result == 0)
                refuse(EXIT_NOT_STARTED, name, ": permission denied\n");
        if (result == ENOEXEC)
                refuse(EXIT_NOT_STARTED, name, ": not a program that this machine can run\n");
        refuse(EXIT_NOT_STARTED, name, ": cannot be started\n");
}

void bh_child_run(const struct bh_setup *setup)
{
        struct bh_report report = {.kind = BH_REPORT_WORKLOAD_READY};
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
        bh_setup_expect(setup, "descriptors.closed", "close descriptors", place_descriptors(setup));
        own.channel = CHANNEL_FD;
        directory = confine(&own);
        bh_report_send(CHANNEL_FD, &report);
        wait_for_leave(CHANNEL_FD);
        if (directory < 0)
                refuse(EXIT_NOT_STARTED, setup->plan->cwd, ": not a directory in the boundary\n");
        execute(&own);
        _exit(EXIT_NOT_STARTED);
}
