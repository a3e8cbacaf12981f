/* Mount sources on this host, as far as they can be judged when an agent declares them. A driver
 * opens them again by the same rules when it mounts. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "broker/daemon/agents.h"

static int refuse(struct bh_error *error, size_t index, const char *format, const char *path)
{
        char pointer[64], message[512];
        snprintf(pointer, sizeof(pointer), "/mounts/%zu/source", index);
        snprintf(message, sizeof(message), "%s %s", path, format);
        return bh_error_refused(error, "mount_not_allowed", pointer, "%s", message);
}

static bool is_allowed(const struct bh_policy *policy, const char *path)
{
        for (size_t i = 0; i < policy->allowed_root_count; i++)
                if (bh_path_is_below(path, policy->allowed_roots[i]))
                        return true;
        return false;
}

int bh_mount_sources_check(const struct bh_policy *policy, const struct bh_mount_rules *mounts,
                           struct bh_error *error)
{
        const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        for (size_t i = 0; i < mounts->count; i++) {
                const char *path = mounts->items[i].source;
                struct stat st;
                if (!is_allowed(policy, path))
                        return refuse(error, i, "lies under no root that the policy allows", path);
                _cleanup_close_ int fd =
                        (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
                if (fd < 0 && errno == ELOOP)
                        return refuse(error, i, "is reached through a symbolic link", path);
                if (fd < 0 || fstat(fd, &st) < 0)
                        return refuse(error, i, "cannot be opened", path);
                if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
                        return refuse(error, i, "is neither a directory nor a regular file", path);
        }
        return 0;
}
