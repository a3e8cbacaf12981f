/* The end of a cgroup: kill, wait for the kernel to let go, remove; see cgroup.h. Works from
 * the name alone and from any half-made state. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "drivers/kernel/cgroup_files.h"
#include "drivers/kernel/cgroup_layout.h"

#define REMOVE_WAIT_US   5000000 /* exiting tasks, and their memory, take a while to go */
#define REMOVE_POLL_US   50      /* at first; doubles */
#define REMOVE_POLL_MAX  20000
#define REMOVE_DEPTH_MAX 8 /* a runtime may have made cgroups of its own below ours */

static void close_directory(DIR **directory)
{
        if (*directory)
                closedir(*directory);
}

static int remove_tree(int parent, const char *name, bool v2, int depth, int64_t deadline,
                       struct bh_error *error);

/* Removes the cgroups below an open directory, which the function closes. */
static int remove_children_take(int directory, bool v2, int depth, int64_t deadline,
                                struct bh_error *error)
{
        _cleanup_(close_directory) DIR *stream = fdopendir(directory);
        struct dirent *entry;

        if (!stream) {
                bh_close(directory);
                return bh_error_errno(error, ENOMEM, "list a cgroup");
        }
        while ((entry = readdir(stream))) {
                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                if (remove_tree(dirfd(stream), entry->d_name, v2, depth - 1, deadline, error) < 0)
                        return -1;
        }
        return 0;
}

/* What makes a busy directory less busy: dead tasks need only time, but a task that is in a v1
 * hierarchy alone (it died or was killed half-way into the boundary) was not reached yet. */
static int empty_directory(int parent, const char *name, bool v2, int depth, int64_t deadline,
                           struct bh_error *error)
{
        int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (directory < 0)
                return errno == ENOENT || errno == ENODEV
                               ? 0
                               : bh_error_errno(error, errno, "open cgroup %s", name);
        if (!v2 && bh_cgroup_v1_signal_members(directory, error) < 0) {
                bh_close(directory);
                return -1;
        }
        return remove_children_take(directory, v2, depth, deadline, error);
}

static int remove_tree(int parent, const char *name, bool v2, int depth, int64_t deadline,
                       struct bh_error *error)
{
        struct timespec pause = {.tv_nsec = REMOVE_POLL_US * 1000L};

        if (depth < 0)
                return bh_error_set(error, BH_ERROR_SYSTEM, "cgroups are nested too deep");
        while (unlinkat(parent, name, AT_REMOVEDIR) < 0) {
                if (errno == ENOENT)
                        return 0;
                if (errno != EBUSY || bh_monotonic_us() >= deadline)
                        return bh_error_errno(error, errno, "remove cgroup %s", name);
                if (empty_directory(parent, name, v2, depth, deadline, error) < 0)
                        return -1;
                nanosleep(&pause, NULL);
                if (pause.tv_nsec < REMOVE_POLL_MAX * 1000L)
                        pause.tv_nsec *= 2;
        }
        return 0;
}

/* Kills what is in one hierarchy's directory when that hierarchy can. */
static int kill_in(int parent, const char *id, bool v2, struct bh_error *error)
{
        _cleanup_close_ int directory =
                openat(parent, id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (directory < 0)
                return errno == ENOENT ? 0 : bh_error_errno(error, errno, "open cgroup %s", id);
        if (!v2)
                return bh_cgroup_v1_freeze_and_kill(directory, error);
        return bh_write_attribute(directory, "cgroup.kill", "1", error);
}

int bh_cgroup_destroy_in(const struct bh_cgroup_topology *topology, const char *parent,
                         const char *id, struct bh_error *error)
{
        int64_t deadline = bh_monotonic_us() + REMOVE_WAIT_US;
        size_t killer = topology->role[BH_CGROUP_KILL];

        if (bh_cgroup_check_name(parent, error) < 0 || bh_cgroup_check_name(id, error) < 0)
                return -1;
        /* The hierarchy that kills is the first to be killed in and the last to go: as long
         * as anything of the execution is left, it can be asked again. */
        for (size_t n = 0; n <= topology->count; n++) {
                size_t i = n == 0 || n == topology->count ? killer : (killer + n) % topology->count;
                bool v2 = topology->hierarchies[i].v2;
                _cleanup_free_ char *path =
                        bh_format("%s/%s", topology->hierarchies[i].mount, parent);
                _cleanup_close_ int directory = bh_cgroup_open(path);
                int result;

                if (directory < 0 && errno == ENOENT)
                        continue;
                if (directory < 0)
                        return bh_error_errno(error, errno, "open cgroup %s", path);
                result = n == 0 ? kill_in(directory, id, v2, error)
                                : remove_tree(directory, id, v2, REMOVE_DEPTH_MAX, deadline, error);
                if (result < 0)
                        return bh_error_prefix(error, "destroy cgroup %s in %s", id, path);
        }
        return 0;
}
