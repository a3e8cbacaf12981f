/* The root tree of an execution with mounts; see agent_mounts.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/image.h"
#include "drivers/kernel/mounts.h"
#include "drivers/subprocess/agent_mounts.h"

/* Directories, links and empty files only; a plan that names deeper targets is refused. */
#define ROOT_BYTES       ((int64_t)64 << 10)
#define ROOT_INODES      1024
#define DIRECTORY_MODE   0755
#define MOUNT_POINT_MODE 0444

#define OPEN_DIRECTORY   (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static void close_directory(DIR **directory)
{
        if (*directory)
                closedir(*directory);
}

static DIR *list(int parent, const char *name)
{
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *directory = fd < 0 ? NULL : fdopendir(fd);

        if (fd >= 0 && !directory)
                bh_close(fd);
        return directory;
}

/* The next entry that is not the directory itself or its parent; NULL at the end. */
static const struct dirent *next_entry(DIR *directory)
{
        const struct dirent *entry;

        do {
                entry = readdir(directory);
        } while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
        return entry;
}

static bool is_empty(int parent, const char *name)
{
        _cleanup_(close_directory) DIR *directory = list(parent, name);

        return directory && !next_entry(directory);
}

/* Opens a directory, made when missing. umask(2) must not reach the tree. -1 and errno. */
static int make_directory(int parent, const char *name, mode_t mode)
{
        if (mkdirat(parent, name, mode) == 0) {
                if (fchmodat(parent, name, mode, 0) < 0)
                        return -1;
        } else if (errno != EEXIST) {
                return -1;
        }
        return openat(parent, name, OPEN_DIRECTORY);
}

/* Whether some target lies in the directory. */
static bool leads_to_target(const struct bh_mount_rules *rules, const char *path)
{
        for (size_t i = 0; i < rules->count; i++) {
                if (bh_path_is_below(rules->items[i].target, path) &&
                    strcmp(rules->items[i].target, path) != 0)
                        return true;
        }
        return false;
}

static void add_copy(struct bh_agent_mounts *mounts, const char *path)
{
        mounts->copies =
                bh_realloc_array(mounts->copies, mounts->copy_count + 2, sizeof(*mounts->copies));
        mounts->copies[mounts->copy_count++] = bh_strdup(path + 1); /* relative to the root */
        mounts->copies[mounts->copy_count] = NULL;
}

static int copy_link(int from, int to, const char *name, const char *path, struct bh_error *error)
{
        char target[PATH_MAX];
        ssize_t length = readlinkat(from, name, target, sizeof(target) - 1);

        if (length >= 0)
                target[length] = '\0';
        if (length < 0 || symlinkat(target, to, name) < 0)
                return bh_error_errno(error, errno, "make %s", path);
        return 0;
}

static int mirror(int from, int to, const char *path, const struct bh_mount_rules *rules,
                  struct bh_agent_mounts *mounts, struct bh_error *error);

static int mirror_directory(int from, int to, const char *name, const struct stat *status,
                            const char *path, const struct bh_mount_rules *rules,
                            struct bh_agent_mounts *mounts, struct bh_error *error)
{
        _cleanup_close_ int below_to = make_directory(to, name, status->st_mode & 07777);
        _cleanup_close_ int below_from = openat(from, name, OPEN_DIRECTORY);

        if (below_from < 0 || below_to < 0)
                return bh_error_errno(error, errno, "make %s", path);
        if (is_empty(from, name))
                return 0;
        if (!leads_to_target(rules, path)) {
                add_copy(mounts, path);
                return 0;
        }
        return mirror(below_from, below_to, path, rules, mounts, error);
}

/* path is "" for the root. */
static int mirror(int from, int to, const char *path, const struct bh_mount_rules *rules,
                  struct bh_agent_mounts *mounts, struct bh_error *error)
{
        _cleanup_(close_directory) DIR *directory = list(from, ".");
        const struct dirent *entry;
        int result = 0;

        if (!directory)
                return bh_error_errno(error, errno, "list the root tree's %s", path);
        while (result == 0 && (entry = next_entry(directory))) {
                _cleanup_free_ char *below = bh_format("%s/%s", path, entry->d_name);
                struct stat status;

                if (fstatat(from, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
                        return bh_error_errno(error, errno, "look at %s", below);
                if (S_ISLNK(status.st_mode))
                        result = copy_link(from, to, entry->d_name, below, error);
                else if (S_ISDIR(status.st_mode))
                        result = mirror_directory(from, to, entry->d_name, &status, below, rules,
                                                  mounts, error);
                else
                        result = bh_error_set(error, BH_ERROR_INTERNAL,
                                              "%s in the root tree is no directory", below);
        }
        return result;
}

/* Makes what is missing. A link on the way is not followed. Returns the descriptor of the last
 * component's directory, or -1 and errno. */
static int make_parents(int root, const char *path, const char **ret_name)
{
        _cleanup_close_ int current = openat(root, ".", OPEN_DIRECTORY);
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
                next = make_directory(current, name, DIRECTORY_MODE);
                bh_close(current);
                current = next;
                path = slash + 1;
        }
        *ret_name = path;
        return bh_steal_fd(&current);
}

static int make_mount_point(int root, const struct bh_mount_rule *rule, int source,
                            struct bh_error *error)
{
        const char *name;
        _cleanup_close_ int parent = make_parents(root, rule->target + 1, &name);
        _cleanup_close_ int point = -1;
        struct stat status;

        if (parent < 0 || fstat(source, &status) < 0)
                return bh_error_errno(error, errno, "make the way to %s", rule->target);
        if (!S_ISDIR(status.st_mode))
                point = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                               MOUNT_POINT_MODE);
        else
                point = make_directory(parent, name, DIRECTORY_MODE);
        return point < 0 ? bh_error_errno(error, errno, "make a place at %s", rule->target) : 0;
}

int bh_agent_root_make(const struct bh_mount_rules *rules, const int *sources, const char *template,
                       struct bh_agent_mounts *ret, struct bh_error *error)
{
        _cleanup_close_ int from = open(template, OPEN_DIRECTORY);
        int result;

        if (from < 0)
                return bh_error_errno(error, errno, "open the root tree");
        ret->root = bh_tmpfs_mount(ROOT_BYTES, ROOT_INODES, error);
        if (ret->root < 0 || mirror(from, ret->root, "", rules, ret, error) < 0)
                return -1;
        for (size_t i = 0; i < rules->count; i++) {
                if (make_mount_point(ret->root, &rules->items[i], sources[i], error) < 0)
                        return -1;
        }
        result = bh_mount_restrict(ret->root, MOUNT_ATTR_RDONLY, false);
        return result < 0 ? bh_error_errno(error, -result, "make the root read-only") : 0;
}
