/* File descriptors; see fd.h. Whole files are in fd_file.c. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* linux/memfd.h since 6.3 */
#endif

/* openat2(2) gives EAGAIN when a rename anywhere raced with "..": try again, but not for
 * ever. */
#define OPEN_TRIES 64

int bh_close(int fd)
{
        int saved = errno;

        /* On Linux the descriptor is gone even when close(2) says EINTR. */
        if (fd >= 0)
                close(fd);
        errno = saved;
        return -1;
}

int bh_open_beneath(int directory, const char *path, int flags, mode_t mode, struct bh_error *error)
{
        struct open_how how = {
                .flags = (unsigned int)(flags | O_CLOEXEC),
                .mode = (flags & (O_CREAT | __O_TMPFILE)) ? mode : 0,
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        long fd;
        int tries = 0;

        do {
                fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));
        } while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < OPEN_TRIES)));
        if (fd < 0)
                return bh_error_errno(error, errno, "open %s", path);
        return (int)fd;
}

/* Opens or makes one component of a path. Intermediate ones as O_PATH: searching a directory
 * does not need leave to list it. */
static int enter_directory(int parent, const char *name, bool last, mode_t mode)
{
        int flags = O_DIRECTORY | O_CLOEXEC | (last ? O_RDONLY : O_PATH);
        int fd = openat(parent, name, flags);

        if (fd >= 0 || errno != ENOENT)
                return fd;
        if (mkdirat(parent, name, mode) < 0) {
                /* Someone else made it just now. */
                return errno == EEXIST ? openat(parent, name, flags) : -1;
        }
        fd = openat(parent, name, O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW | O_RDONLY);
        /* The umask must not decide. */
        if (fd >= 0 && fchmod(fd, mode) < 0)
                return bh_close(fd);
        return fd;
}

int bh_make_directory(const char *path, mode_t mode, struct bh_error *error)
{
        _cleanup_close_ int current = -1;
        const char *rest = path + strspn(path, "/");
        char name[NAME_MAX + 1];

        if (path[0] != '/')
                return bh_error_set(error, BH_ERROR_INVALID, "%s is not an absolute path", path);
        current = open("/", O_DIRECTORY | O_CLOEXEC | O_RDONLY);
        if (current < 0)
                return bh_error_errno(error, errno, "open /");
        while (*rest) {
                size_t length = strcspn(rest, "/");
                const char *after = rest + length + strspn(rest + length, "/");
                int child;

                if (length > NAME_MAX)
                        return bh_error_errno(error, ENAMETOOLONG, "make directory %s", path);
                memcpy(name, rest, length);
                name[length] = '\0';
                if (strcmp(name, "..") == 0)
                        return bh_error_set(error, BH_ERROR_INVALID, "%s holds \"..\"", path);
                child = enter_directory(current, name, *after == '\0', mode);
                if (child < 0)
                        return bh_error_errno(error, errno, "make directory %s", path);
                bh_close(current);
                current = child;
                rest = after;
        }
        return bh_steal_fd(&current);
}

ssize_t bh_read_full(int fd, void *buffer, size_t size)
{
        size_t done = 0;

        while (done < size) {
                ssize_t got = read(fd, (char *)buffer + done, size - done);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return -1;
                if (got == 0)
                        break;
                done += (size_t)got;
        }
        return (ssize_t)done;
}

ssize_t bh_pread_full(int fd, void *buffer, size_t size, off_t offset)
{
        size_t done = 0;

        while (done < size) {
                ssize_t got = pread(fd, (char *)buffer + done, size - done, offset + (off_t)done);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return -1;
                if (got == 0)
                        break;
                done += (size_t)got;
        }
        return (ssize_t)done;
}

int bh_write_full(int fd, const void *buffer, size_t size)
{
        size_t done = 0;

        while (done < size) {
                ssize_t put = write(fd, (const char *)buffer + done, size - done);

                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        return -1;
                done += (size_t)put;
        }
        return 0;
}

int bh_memfd_sealed(const char *name, const void *data, size_t size, struct bh_error *error)
{
        _cleanup_close_ int fd =
                memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

        if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
                fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return bh_error_errno(error, errno, "create memfd %s", name);
        if (bh_write_full(fd, data, size) < 0)
                return bh_error_errno(error, errno, "write memfd %s", name);
        if (lseek(fd, 0, SEEK_SET) < 0)
                return bh_error_errno(error, errno, "rewind memfd %s", name);
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
                return bh_error_errno(error, errno, "seal memfd %s", name);
        return bh_steal_fd(&fd);
}

int bh_memfd_check_sealed(int fd, struct bh_error *error)
{
        const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
        int seals = fcntl(fd, F_GET_SEALS);

        if (seals < 0 && errno == EBADF)
                return bh_error_errno(error, errno, "read the seals of descriptor %d", fd);
        if (seals < 0)
                return bh_error_set(error, BH_ERROR_INVALID, "the descriptor is not a memfd");
        if ((seals & needed) != needed)
                return bh_error_set(error, BH_ERROR_INVALID, "the memfd is not sealed");
        return 0;
}
