/* See place.h. */
#include "broker/files/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"

#define OPEN_TRIES     16 /* RESOLVE_BENEATH may say EAGAIN while names move (openat2(2)) */
#define DIRECTORY_MODE 0755
#define TEMPORARY_SIZE 40

int bh_place_error(int errnum, const char *path, struct bh_error *error)
{
        switch (errnum) {
        case ELOOP:
        case EXDEV:
        case ENAMETOOLONG:
                return bh_error_refused(error, "path_not_allowed", "",
                                        "%.200s leads through a link, or its name is too long",
                                        path);
        case ENOENT:
                return bh_error_refused(error, "not_found", "", "there is no %.200s", path);
        case ENOTDIR:
        case EISDIR:
        case ENXIO: /* a socket */
                return bh_error_refused(error, "not_a_file", "",
                                        "%.200s, or what leads there, is of another kind", path);
        case ENOTEMPTY:
                return bh_error_refused(error, "not_empty", "", "directory %.200s is not empty",
                                        path);
        case EACCES:
        case EPERM:
                return bh_error_refused(error, "file_denied", "",
                                        "the modes of %.200s, or of a directory above, forbid it",
                                        path);
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
        case EMLINK:
                return bh_error_refused(error, "workspace_full", "",
                                        "the workspace has no room for %.200s", path);
        default:
                return bh_error_errno(error, errnum, "%.200s", path);
        }
}

int bh_place_open(int directory, const char *path, int flags)
{
        struct open_how how = {
                .flags = (unsigned)(flags | O_CLOEXEC),
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
                           RESOLVE_NO_XDEV,
        };
        int fd = -1;

        if ((flags & O_TMPFILE) == O_TMPFILE)
                how.mode = 0600;
        for (int i = 0; i < OPEN_TRIES; i++) {
                fd = (int)syscall(SYS_openat2, directory, path[0] ? path : ".", &how, sizeof(how));
                if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
                        break;
        }
        return fd;
}

/* Makes the first length bytes of path, one component after the other. Returns 0 or -errno. */
static int make_directories(const struct bh_place *place, const char *path, size_t length)
{
        _cleanup_close_ int at = bh_place_open(place->root, "", O_PATH | O_DIRECTORY);

        for (size_t begin = 0; begin < length && at >= 0;) {
                size_t size = strcspn(path + begin, "/");
                _cleanup_free_ char *name = bh_strndup(path + begin, size);
                int next;

                if (mkdirat(at, name, DIRECTORY_MODE) < 0 && errno != EEXIST)
                        return -errno;
                next = bh_place_open(at, name, O_PATH | O_DIRECTORY);
                bh_close(at);
                at = next;
                begin += size + 1;
        }
        return at < 0 ? -errno : 0;
}

int bh_place_parent(const struct bh_place *place, const char *path, bool make, int *ret_fd,
                    const char **ret_name, struct bh_error *error)
{
        const char *slash = strrchr(path, '/');
        size_t length = slash ? (size_t)(slash - path) : 0;
        _cleanup_free_ char *parent = bh_strndup(path, length);
        int fd, result;

        result = make && length > 0 ? make_directories(place, path, length) : 0;
        fd = result < 0 ? -1 : bh_place_open(place->root, parent, O_PATH | O_DIRECTORY);
        if (fd < 0 && result == 0)
                result = -errno;
        if (result == -ENOENT && !make)
                return 0;
        if (fd < 0) {
                (void)bh_place_error(-result, path, error);
                return -1;
        }
        *ret_fd = fd;
        *ret_name = slash ? slash + 1 : path;
        return 1;
}

int bh_place_directory(const struct bh_place *place, const char *path, mode_t mode,
                       struct bh_error *error)
{
        _cleanup_close_ int fd = -1;
        int result = make_directories(place, path, strlen(path));

        if (result < 0)
                return bh_place_error(-result, path, error);
        fd = bh_place_open(place->root, path, O_RDONLY | O_DIRECTORY);
        if (fd < 0 || fchmod(fd, mode & 0777) < 0)
                return bh_place_error(errno, path, error);
        return 0;
}

int bh_place_check_file(const struct bh_place *place, const char *path, struct stat *ret,
                        struct bh_error *error)
{
        _cleanup_close_ int parent = -1;
        const char *name;
        int found = bh_place_parent(place, path, false, &parent, &name, error);

        if (found <= 0)
                return found;
        if (fstatat(parent, name, ret, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : bh_place_error(errno, path, error);
        if (S_ISLNK(ret->st_mode))
                return bh_place_error(ELOOP, path, error);
        return S_ISREG(ret->st_mode) ? 1 : bh_place_error(EISDIR, path, error);
}

int bh_place_unnamed(const struct bh_place *place, struct bh_error *error)
{
        int fd = bh_place_open(place->root, "", O_TMPFILE | O_RDWR);

        return fd < 0 ? bh_place_error(errno, "an upload", error) : fd;
}

/* A name that nobody has: what it is for is renamed at once. */
static void temporary_name(char ret[TEMPORARY_SIZE])
{
        uint64_t random = 0;

        bh_random_bytes(&random, sizeof(random));
        (void)snprintf(ret, TEMPORARY_SIZE, ".bulkhead-%016" PRIx64, random);
}

/* Puts what has the temporary name in directory where it belongs. */
static int settle(int directory, const char *temporary, const char *name, const char *path,
                  struct bh_error *error)
{
        int result = renameat(directory, temporary, directory, name) < 0
                             ? bh_place_error(errno, path, error)
                             : 0;

        /* Still there after a failure, and when both were names of one file (rename(2)). */
        (void)unlinkat(directory, temporary, 0);
        return result;
}

int bh_place_name(const struct bh_place *place, int fd, const char *path, struct bh_error *error)
{
        char number[16], temporary[TEMPORARY_SIZE];
        _cleanup_close_ int parent = -1;
        const char *name;

        if (bh_place_parent(place, path, true, &parent, &name, error) <= 0)
                return -1;
        (void)snprintf(number, sizeof(number), "%d", fd);
        if (linkat(place->descriptors, number, parent, name, AT_SYMLINK_FOLLOW) == 0)
                return 0;
        if (errno != EEXIST)
                return bh_place_error(errno, path, error);
        temporary_name(temporary);
        if (linkat(place->descriptors, number, parent, temporary, AT_SYMLINK_FOLLOW) < 0)
                return bh_place_error(errno, path, error);
        return settle(parent, temporary, name, path, error);
}

int bh_place_symlink(const struct bh_place *place, const char *target, const char *path,
                     struct bh_error *error)
{
        char temporary[TEMPORARY_SIZE];
        _cleanup_close_ int parent = -1;
        const char *name;

        if (bh_place_parent(place, path, true, &parent, &name, error) <= 0)
                return -1;
        temporary_name(temporary);
        if (symlinkat(target, parent, temporary) < 0)
                return bh_place_error(errno, path, error);
        return settle(parent, temporary, name, path, error);
}

int bh_place_link(const struct bh_place *place, const char *target, const char *path,
                  struct bh_error *error)
{
        char temporary[TEMPORARY_SIZE];
        _cleanup_close_ int parent = -1, source = -1;
        const char *name, *source_name;
        int found = bh_place_parent(place, target, false, &source, &source_name, error);

        if (found == 0)
                return bh_place_error(ENOENT, target, error);
        if (found < 0 || bh_place_parent(place, path, true, &parent, &name, error) <= 0)
                return -1;
        temporary_name(temporary);
        if (linkat(source, source_name, parent, temporary, 0) < 0)
                return bh_place_error(errno, path, error);
        return settle(parent, temporary, name, path, error);
}

bool bh_place_is_hidden(const char *path, const struct stat *st)
{
        return st->st_uid == 0 && S_ISDIR(st->st_mode) && strcmp(path, "lost+found") == 0;
}

static const char *type_of(mode_t mode)
{
        return S_ISREG(mode)   ? "file"
               : S_ISDIR(mode) ? "directory"
               : S_ISLNK(mode) ? "symlink"
                               : NULL;
}

json_t *bh_place_describe(const char *path, const struct stat *st)
{
        const char *type = type_of(st->st_mode);
        json_t *name = json_string(path); /* NULL when it is not UTF-8 */
        const char *encoding = name ? "utf-8" : "base64";
        char modified[BH_TIME_TEXT_SIZE], mode[8];

        if (!type) {
                json_decref(name);
                return NULL;
        }
        if (!name) {
                _cleanup_free_ char *coded = bh_base64_encode(path, strlen(path));

                name = json_string(coded);
        }
        (void)snprintf(mode, sizeof(mode), "%04o", (unsigned)(st->st_mode & 0777));
        bh_time_format((int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000,
                       modified);
        return json_pack("{sossss sI ssss}", "path", name, "encoding", encoding, "type", type,
                         "size", (json_int_t)(S_ISDIR(st->st_mode) ? 0 : st->st_size), "mode", mode,
                         "modified_at", modified);
}
