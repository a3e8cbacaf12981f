/* Starting helper programs; see spawn.h. */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"

/* No program of ours has a use for higher numbers, and every number below the highest is
 * closed one by one. */
#define TARGET_MAX 255
#define FDS_MAX    32

/* What one call holds until the child runs. */
struct launch {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int copies[FDS_MAX]; /* of the sources, above every target */
        size_t copy_count;
        int reserved; /* keeps a number free for the pidfd */
};

static void launch_clear(struct launch *launch)
{
        for (size_t i = 0; i < launch->copy_count; i++)
                bh_close(launch->copies[i]);
        bh_close(launch->reserved);
        posix_spawn_file_actions_destroy(&launch->actions);
        posix_spawnattr_destroy(&launch->attributes);
}

static bool is_target(const struct bh_spawn *spawn, int number)
{
        for (size_t i = 0; i < spawn->fd_count; i++) {
                if (spawn->fds[i].target == number)
                        return true;
        }
        return false;
}

static int highest_target(const struct bh_spawn *spawn)
{
        int highest = STDERR_FILENO;

        for (size_t i = 0; i < spawn->fd_count; i++) {
                if (spawn->fds[i].target > highest)
                        highest = spawn->fds[i].target;
        }
        return highest;
}

static int check(const struct bh_spawn *spawn, struct bh_error *error)
{
        if (spawn->path[0] != '/')
                return bh_error_set(error, BH_ERROR_INTERNAL, "%s is not an absolute path",
                                    spawn->path);
        if (spawn->fd_count > FDS_MAX)
                return bh_error_set(error, BH_ERROR_INTERNAL, "too many descriptors to pass");
        for (size_t i = 0; i < spawn->fd_count; i++) {
                int target = spawn->fds[i].target;

                if (target < 0 || target > TARGET_MAX)
                        return bh_error_set(error, BH_ERROR_INTERNAL,
                                            "descriptor target %d is out of range", target);
                for (size_t j = 0; j < i; j++) {
                        if (spawn->fds[j].target == target)
                                return bh_error_set(error, BH_ERROR_INTERNAL,
                                                    "descriptor target %d is named twice", target);
                }
        }
        return 0;
}

/* Descriptors 0-2 that the caller did not name. */
static int add_standard(struct launch *launch, const struct bh_spawn *spawn)
{
        int result = 0;

        if (!is_target(spawn, STDIN_FILENO))
                result = posix_spawn_file_actions_addopen(&launch->actions, STDIN_FILENO,
                                                          "/dev/null", O_RDONLY, 0);
        if (result == 0 && !is_target(spawn, STDOUT_FILENO))
                result = posix_spawn_file_actions_addopen(&launch->actions, STDOUT_FILENO,
                                                          "/dev/null", O_WRONLY, 0);
        if (result != 0 || is_target(spawn, STDERR_FILENO))
                return result;
        /* A dup2 onto itself clears close-on-exec (POSIX, posix_spawn_file_actions_adddup2). */
        if (fcntl(STDERR_FILENO, F_GETFD) >= 0)
                return posix_spawn_file_actions_adddup2(&launch->actions, STDERR_FILENO,
                                                        STDERR_FILENO);
        return posix_spawn_file_actions_addopen(&launch->actions, STDERR_FILENO, "/dev/null",
                                                O_WRONLY, 0);
}

/* Sources may be targets of others, so each is first copied to a number above all targets;
 * then the copies are put in place and every other number is closed, also those that this
 * process itself was started with and does not know of. */
static int add_descriptors(struct launch *launch, const struct bh_spawn *spawn,
                           struct bh_error *error)
{
        int highest = highest_target(spawn);
        int result = 0;

        for (size_t i = 0; i < spawn->fd_count; i++) {
                int copy = fcntl(spawn->fds[i].source, F_DUPFD_CLOEXEC, highest + 1);

                if (copy < 0)
                        return bh_error_errno(error, errno, "copy descriptor %d",
                                              spawn->fds[i].source);
                launch->copies[launch->copy_count++] = copy;
        }
        result = add_standard(launch, spawn);
        for (size_t i = 0; result == 0 && i < spawn->fd_count; i++)
                result = posix_spawn_file_actions_adddup2(&launch->actions, launch->copies[i],
                                                          spawn->fds[i].target);
        for (int number = STDERR_FILENO + 1; result == 0 && number < highest; number++) {
                if (!is_target(spawn, number))
                        result = posix_spawn_file_actions_addclose(&launch->actions, number);
        }
        if (result == 0)
                result = posix_spawn_file_actions_addclosefrom_np(&launch->actions, highest + 1);
        if (result != 0)
                return bh_error_errno(error, result, "describe the descriptors of %s", spawn->path);
        return 0;
}

/* The child starts with no signal blocked and every one at its default. */
static int set_attributes(struct launch *launch, const struct bh_spawn *spawn,
                          struct bh_error *error)
{
        short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
        sigset_t none, all;
        int result;

        if (spawn->new_session)
                flags |= POSIX_SPAWN_SETSID;
        sigemptyset(&none);
        sigfillset(&all);
        result = posix_spawnattr_setflags(&launch->attributes, flags);
        if (result == 0)
                result = posix_spawnattr_setsigmask(&launch->attributes, &none);
        if (result == 0)
                result = posix_spawnattr_setsigdefault(&launch->attributes, &all);
        if (result != 0)
                return bh_error_errno(error, result, "describe the start of %s", spawn->path);
        return 0;
}

/* Refers to a child that was not waited for yet, so its number is still its own. A child that
 * cannot be referred to is not left behind. */
static int refer_to_child(pid_t pid, struct bh_pidref *ret, struct bh_error *error)
{
        struct bh_pidref bare = {.pid = pid, .pidfd = pidfd_open(pid, 0)};
        int copy;

        if (bare.pidfd < 0)
                return bh_error_errno(error, errno, "open process %d", (int)pid);
        copy = fcntl(bare.pidfd, F_DUPFD_CLOEXEC, 0);
        if (copy >= 0 && bh_pidref_from_pidfd_take(copy, pid, ret, error) == 0) {
                bh_pidref_clear(&bare);
                return 0;
        }
        if (copy < 0)
                bh_error_errno(error, errno, "copy the pidfd of process %d", (int)pid);
        bh_pidref_signal(&bare, SIGKILL, NULL);
        bh_pidref_wait(&bare, true, NULL, NULL, NULL);
        bh_pidref_clear(&bare);
        return -1;
}

int bh_spawn(const struct bh_spawn *spawn, struct bh_pidref *ret, struct bh_error *error)
{
        static char *const no_environment[] = {NULL};
        _cleanup_(launch_clear) struct launch launch = {.reserved = -1};
        pid_t pid;
        int result;

        if (check(spawn, error) < 0)
                return -1;
        /* glibc's initialisers cannot fail. */
        posix_spawn_file_actions_init(&launch.actions);
        posix_spawnattr_init(&launch.attributes);
        if (add_descriptors(&launch, spawn, error) < 0)
                return -1;
        if (set_attributes(&launch, spawn, error) < 0)
                return -1;
        launch.reserved = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (launch.reserved < 0)
                return bh_error_errno(error, errno, "reserve a descriptor for %s", spawn->path);
        result = posix_spawn(&pid, spawn->path, &launch.actions, &launch.attributes, spawn->argv,
                             spawn->envp ? spawn->envp : no_environment);
        if (result != 0)
                return bh_error_errno(error, result, "start %s", spawn->path);
        launch.reserved = bh_close(launch.reserved);
        if (refer_to_child(pid, ret, error) < 0)
                return bh_error_prefix(error, "start %s", spawn->path);
        return 0;
}

/* Reads what is there; keeps the first max bytes and drops the rest, so that a talkative
 * program does not block. 1: the end, 0: nothing more for now, -1. */
static int drain(int fd, char *output, size_t max, size_t *used)
{
        char scratch[4096];

        for (;;) {
                bool full = *used == max;
                ssize_t got = full ? read(fd, scratch, sizeof(scratch))
                                   : read(fd, output + *used, max - *used);

                if (got == 0)
                        return 1;
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return errno == EAGAIN ? 0 : -1;
                if (!full)
                        *used += (size_t)got;
        }
}

/* Collects until the program has ended. The pipe's end alone would not do: a grandchild may
 * keep it open. */
static int collect(const struct bh_pidref *child, int fd, char *output, size_t max,
                   struct bh_error *error)
{
        size_t used = 0;

        for (;;) {
                struct pollfd watched[] = {{.fd = fd, .events = POLLIN},
                                           {.fd = child->pidfd, .events = POLLIN}};
                int drained;

                if (poll(watched, 2, -1) < 0 && errno != EINTR)
                        return bh_error_errno(error, errno, "poll");
                drained = drain(fd, output, max, &used);
                if (drained < 0)
                        return bh_error_errno(error, errno, "read output");
                if (drained == 1 || watched[1].revents)
                        return 0;
        }
}

static int finish(const struct bh_pidref *child, struct bh_error *error)
{
        int code, status;

        if (bh_pidref_wait(child, true, &code, &status, error) < 0)
                return -1;
        if (code != CLD_EXITED)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE, "ended by signal %d", status);
        return status;
}

int bh_spawn_capture(const struct bh_spawn *spawn, size_t max, char **ret_output,
                     struct bh_error *error)
{
        _cleanup_free_ char *output = bh_alloc(max + 1);
        _cleanup_close_ int read_end = -1, write_end = -1;
        struct bh_spawn_fd fds[FDS_MAX];
        struct bh_spawn with_output = *spawn;
        struct bh_pidref child = BH_PIDREF_NONE;
        int ends[2], status;

        if (spawn->fd_count > FDS_MAX - 2)
                return bh_error_set(error, BH_ERROR_INTERNAL, "too many descriptors to pass");
        if (pipe2(ends, O_CLOEXEC) < 0)
                return bh_error_errno(error, errno, "make a pipe for %s", spawn->path);
        read_end = ends[0];
        write_end = ends[1];
        if (fcntl(read_end, F_SETFL, O_NONBLOCK) < 0)
                return bh_error_errno(error, errno, "make a pipe for %s", spawn->path);
        if (spawn->fd_count > 0)
                memcpy(fds, spawn->fds, spawn->fd_count * sizeof(fds[0]));
        fds[spawn->fd_count] = (struct bh_spawn_fd){write_end, STDOUT_FILENO};
        fds[spawn->fd_count + 1] = (struct bh_spawn_fd){write_end, STDERR_FILENO};
        with_output.fds = fds;
        with_output.fd_count = spawn->fd_count + 2;
        if (bh_spawn(&with_output, &child, error) < 0)
                return -1;
        bh_close(bh_steal_fd(&write_end));
        status = collect(&child, read_end, output, max, error);
        if (status < 0)
                bh_pidref_signal(&child, SIGKILL, NULL);
        if (status == 0)
                status = finish(&child, error);
        else
                bh_pidref_wait(&child, true, NULL, NULL, NULL);
        bh_pidref_clear(&child);
        if (status < 0)
                return bh_error_prefix(error, "run %s", spawn->path);
        *ret_output = bh_steal_ptr(&output);
        return status;
}
