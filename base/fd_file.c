/* Whole files, read and written at once; see fd.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fd.h"

#define READ_CHUNK 4096

int bh_read_file(int directory, const char *path, size_t max, char **ret_data, size_t *ret_size,
                 struct bh_error *error)
{
        _cleanup_close_ int fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        _cleanup_free_ char *data = NULL;
        size_t size = 0, room = 0;

        if (fd < 0)
                return bh_error_errno(error, errno, "open %s", path);
        /* Sizes by stat are 0 in /proc and may grow: read until the end or past max. */
        while (size <= max && size == room) {
                ssize_t got;

                room = room == 0 ? READ_CHUNK : 2 * room;
                data = bh_realloc_array(data, room + 1, 1);
                got = bh_read_full(fd, data + size, room - size);
                if (got < 0)
                        return bh_error_errno(error, errno, "read %s", path);
                size += (size_t)got;
        }
        if (size > max)
                return bh_error_set(error, BH_ERROR_INVALID, "%s is longer than %zu bytes", path,
                                    max);
        data[size] = '\0';
        *ret_data = bh_steal_ptr(&data);
        if (ret_size)
                *ret_size = size;
        return 0;
}

/* Fills a new file in parent and syncs it. */
static int write_new(int parent, const char *name, const void *data, size_t size, mode_t mode)
{
        _cleanup_close_ int fd =
                openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0)
                return -1;
        if (bh_write_full(fd, data, size) < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0) {
                int saved = errno;

                unlinkat(parent, name, 0);
                errno = saved;
                return -1;
        }
        return 0;
}

/* Opens the directory that path's last component is in. */
static int open_parent(int directory, const char *path, const char **ret_name)
{
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *parent = NULL;

        if (!slash)
                parent = bh_strdup(".");
        else
                parent = bh_strndup(path, slash == path ? 1 : (size_t)(slash - path));
        *ret_name = slash ? slash + 1 : path;
        return openat(directory, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int bh_write_file_atomic(int directory, const char *path, const void *data, size_t size,
                         mode_t mode, struct bh_error *error)
{
        _cleanup_close_ int parent = -1;
        _cleanup_free_ char *temporary = NULL;
        const char *name;
        uint64_t random;

        parent = open_parent(directory, path, &name);
        if (parent < 0)
                return bh_error_errno(error, errno, "open the directory of %s", path);
        bh_random_bytes(&random, sizeof(random));
        temporary = bh_format(".new-%016llx", (unsigned long long)random);
        if (write_new(parent, temporary, data, size, mode) < 0)
                return bh_error_errno(error, errno, "write %s", path);
        if (renameat(parent, temporary, parent, name) < 0) {
                int saved = errno;

                unlinkat(parent, temporary, 0);
                return bh_error_errno(error, saved, "rename to %s", path);
        }
        if (fsync(parent) < 0)
                return bh_error_errno(error, errno, "sync the directory of %s", path);
        return 0;
}

int bh_write_attribute(int directory, const char *path, const char *text, struct bh_error *error)
{
        _cleanup_close_ int fd = openat(directory, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        size_t size = strlen(text);
        ssize_t put;

        if (fd < 0)
                return bh_error_errno(error, errno, "open %s", path);
        do {
                put = write(fd, text, size);
        } while (put < 0 && errno == EINTR);
        if (put < 0)
                return bh_error_errno(error, errno, "write %s", path);
        /* The kernel takes an attribute whole or not at all; half of one was not set. */
        if ((size_t)put != size)
                return bh_error_errno(error, EIO, "write %s: short write", path);
        return 0;
}
