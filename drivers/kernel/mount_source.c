/* See mount_source.h; openat2(2). */
#include "drivers/kernel/mount_source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static int refuse(const char *path, int errnum, struct bh_error *error)
{
        if (errnum == ELOOP)
                return bh_error_set(error, BH_ERROR_SYSTEM, "%s is reached through a symbolic link",
                                    path);
        return bh_error_errno(error, errnum, "%s cannot be opened", path);
}

/* "" is the directory itself. */
static int enter(int directory, const char *relative, int flags)
{
        relative += strspn(relative, "/");
        return bh_open_beneath(directory, *relative ? relative : ".", O_PATH | flags, 0, NULL);
}

int bh_mount_source_open(const char *root, const char *path, struct bh_error *error)
{
        _cleanup_close_ int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_close_ int allowed = -1;
        int source;

        if (host < 0)
                return bh_error_errno(error, errno, "open /");
        allowed = enter(host, root, O_DIRECTORY);
        if (allowed < 0)
                return refuse(root, errno, error);
        source = enter(allowed, path + strlen(root), 0);
        return source < 0 ? refuse(path, errno, error) : source;
}

int bh_mount_source_check(int fd, const char *path, bool writable, struct bh_error *error)
{
        struct stat status;

        if (fstat(fd, &status) < 0)
                return bh_error_errno(error, errno, "look at %s", path);
        if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
                return bh_error_set(error, BH_ERROR_SYSTEM,
                                    "%s is neither a directory nor a regular file", path);
        if (writable && (status.st_uid == 0 || status.st_gid == 0))
                return bh_error_set(error, BH_ERROR_SYSTEM,
                                    "%s belongs to root or its group and can only be mounted "
                                    "read-only",
                                    path);
        return 0;
}
