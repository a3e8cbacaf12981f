/* See execute.h. */
#include "drivers/kernel/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STANDARD_FDS     3
#define SPARE_FD         16 /* above the standard ones while those are put in place */
#define EXIT_NOT_FOUND   127
#define EXIT_NOT_STARTED 126

/* The sources may lie among the targets, so they are moved out of the way first. INT_MAX, not
 * ~0U: gVisor takes the bounds as signed. */
int bh_execute_place(const int fds[3], int channel)
{
        const int sources[] = {fds[0], fds[1], fds[2], channel};
        int spare[STANDARD_FDS + 1];

        for (int i = 0; i <= STANDARD_FDS; i++) {
                spare[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, SPARE_FD);
                if (spare[i] < 0)
                        return -errno;
        }
        for (int i = 0; i <= STANDARD_FDS; i++) {
                if (dup3(spare[i], i, i == BH_EXECUTE_CHANNEL_FD ? O_CLOEXEC : 0) < 0)
                        return -errno;
        }
        return close_range(BH_EXECUTE_CHANNEL_FD + 1, INT_MAX, 0) < 0 ? -errno : 0;
}

int bh_execute_enter(const char *path)
{
        struct open_how how = {
                .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
        };
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int directory = root < 0 ? -1 : (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        int result = directory < 0 || fchdir(directory) < 0 ? -errno : 0;

        /* gVisor has no such call; of another tree nothing but pipes is open under it. */
        if (result == -ENOSYS)
                result = chdir(path) < 0 ? -errno : 0;

        if (directory >= 0)
                close(directory);
        if (root >= 0)
                close(root);
        return result;
}

void bh_execute_await_leave(int channel)
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
static int try_execute(char *const *argv, char *const *environment, const char *path, int *denied)
{
        execve(path, argv, environment);
        if (errno == EACCES)
                *denied = 1;
        return errno == EACCES || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
}

static const char *find_path(char *const *environment)
{
        for (char *const *variable = environment; variable && *variable; variable++) {
                if (strncmp(*variable, "PATH=", 5) == 0)
                        return *variable + 5;
        }
        return NULL;
}

size_t bh_execute_room(char *const *argv, char *const *environment)
{
        const char *path = find_path(environment);

        return (path ? strlen(path) : 0) + strlen(argv[0]) + sizeof("./");
}

/* Looks for a plain name along PATH as execvpe(3) does, but hands nothing to a shell. */
static int search(char *const *argv, char *const *environment, char *room, int *denied)
{
        const char *name = argv[0], *directory = find_path(environment);
        int result = 0;

        while (directory && result == 0) {
                size_t length = strcspn(directory, ":");
                char *end = room;

                if (length == 0) /* an empty member is the working directory */
                        *end++ = '.';
                memcpy(end, directory, length);
                end += length;
                *end++ = '/';
                memcpy(end, name, strlen(name) + 1);
                result = try_execute(argv, environment, room, denied);
                directory = directory[length] ? directory + length + 1 : NULL;
        }
        return result;
}

void bh_execute(char *const *argv, char *const *environment, char *room, const char *absent)
{
        const char *name = argv[0];
        int denied = 0, result;

        if (absent)
                refuse(EXIT_NOT_STARTED, absent, ": not a directory in the boundary\n");
        if (name[0] == '\0')
                refuse(EXIT_NOT_FOUND, "''", ": not found in the boundary\n");
        result = strchr(name, '/') ? try_execute(argv, environment, name, &denied)
                                   : search(argv, environment, room, &denied);
        if (result == 0 && !denied)
                refuse(EXIT_NOT_FOUND, name, ": not found in the boundary\n");
        if (result == 0)
                refuse(EXIT_NOT_STARTED, name, ": permission denied\n");
        if (result == ENOEXEC)
                refuse(EXIT_NOT_STARTED, name, ": not a program that this machine can run\n");
        refuse(EXIT_NOT_STARTED, name, ": cannot be started\n");
        _exit(EXIT_NOT_STARTED);
}
