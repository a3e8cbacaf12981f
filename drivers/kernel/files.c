/* See files.h. */
#include "drivers/kernel/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "policy/request.h"

#define DIRECTORY_MODE 0755

/* Enters one directory on the way, or makes it. Returns its descriptor, or -1 and errno. */
static int enter(int parent, const char *name, uid_t owner)
{
        int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int fd = openat(parent, name, flags);

        if (fd >= 0 || errno != ENOENT)
                return fd;
        if (mkdirat(parent, name, DIRECTORY_MODE) < 0)
                return -1;
        fd = openat(parent, name, flags);
        if (fd >= 0 && fchownat(fd, "", owner, owner, AT_EMPTY_PATH) < 0)
                return bh_close(fd);
        return fd;
}

/* Opens the directory that path's last component is to be in, component by component. */
static int enter_parents(int directory, const char *path, uid_t owner, const char **ret_name)
{
        _cleanup_close_ int current = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        const char *slash;

        while (current >= 0 && (slash = strchr(path, '/'))) {
                char name[NAME_MAX + 1];
                int next;

                if ((size_t)(slash - path) >= sizeof(name)) {
                        errno = ENAMETOOLONG;
                        return -1;
                }
                memcpy(name, path, (size_t)(slash - path));
                name[slash - path] = '\0';
                next = enter(current, name, owner);
                bh_close(current);
                current = next;
                path = slash + 1;
        }
        *ret_name = path;
        return bh_steal_fd(&current);
}

static int copy_bytes(int to, int payload, uint64_t offset, uint64_t length)
{
        off_t position = (off_t)offset;

        while (length > 0) {
                ssize_t size = sendfile(to, payload, &position, length);

                if (size < 0 && errno == EINTR)
                        continue;
                if (size <= 0) {
                        errno = size == 0 ? ENODATA : errno;
                        return -1;
                }
                length -= (uint64_t)size;
        }
        return 0;
}

/* The temporary name holds the execution's id, which nothing in the workspace could know. */
static int write_file(int directory, const struct bh_instance *instance,
                      const struct bh_file_entry *file, uid_t owner)
{
        const char *name;
        _cleanup_close_ int parent = enter_parents(directory, file->path, owner, &name);
        _cleanup_close_ int fd = -1;
        char temporary[BH_ID_SIZE + 16];
        int saved;

        if (parent < 0)
                return -1;
        snprintf(temporary, sizeof(temporary), ".bulkhead-%s", instance->id);
        fd = openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -1;
        if (copy_bytes(fd, instance->payload_fd, file->offset, file->length) == 0 &&
            fchown(fd, owner, owner) == 0 && fchmod(fd, file->mode) == 0 &&
            renameat(parent, temporary, parent, name) == 0)
                return 0;
        saved = errno;
        unlinkat(parent, temporary, 0);
        errno = saved;
        return -1;
}

int bh_files_write(int directory, const struct bh_instance *instance, uid_t owner,
                   struct bh_error *error)
{
        for (size_t i = 0; i < instance->file_count; i++) {
                if (write_file(directory, instance, &instance->files[i], owner) < 0)
                        return bh_error_errno(error, errno, "write the file %s",
                                              instance->files[i].path);
        }
        return 0;
}

/* A workload may open /dev/stdout again only when the pipe is its own (runc does the same). */
int bh_files_give_pipes(const struct bh_instance *instance, struct bh_error *error)
{
        const int fds[] = {instance->stdin_fd, instance->stdout_fd, instance->stderr_fd};

        for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
                struct stat status;

                if (fstat(fds[i], &status) < 0)
                        return bh_error_errno(error, errno, "look at standard descriptor %zu", i);
                if (S_ISFIFO(status.st_mode) &&
                    fchown(fds[i], instance->workload_uid, instance->workload_uid) < 0)
                        return bh_error_errno(error, errno, "give away standard descriptor %zu", i);
        }
        return 0;
}
