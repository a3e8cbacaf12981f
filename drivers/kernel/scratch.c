/* See scratch.h. */
#include "drivers/kernel/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/files.h"
#include "drivers/kernel/image.h"

#define WORKSPACE_MODE 0700 /* as the root of a named one has */

/* The mode is set after the owner: chown(2) clears bits, umask(2) hides some. */
static int make_directory(int parent, const char *name, uid_t owner, mode_t mode,
                          struct bh_error *error)
{
        if (mkdirat(parent, name, mode) < 0 || fchownat(parent, name, owner, owner, 0) < 0 ||
            fchmodat(parent, name, mode, 0) < 0)
                return bh_error_errno(error, errno, "make %s on scratch", name);
        return 0;
}

static int make_image(const struct bh_plan *plan, const struct bh_driver_host *host,
                      struct bh_error *error)
{
        _cleanup_free_ char *path = bh_format("%s/executions", host->state_dir);
        _cleanup_close_ int directory = bh_make_directory(path, 0700, error);
        _cleanup_close_ int image = -1;

        if (directory < 0)
                return -1;
        image = bh_image_make_unnamed(directory, plan->scratch_bytes, 0, 0, error);
        if (image < 0)
                return -1;
        return bh_image_mount(image, false, error);
}

int bh_scratch_make(const struct bh_plan *plan, const struct bh_instance *instance,
                    const struct bh_driver_host *host, struct bh_error *error)
{
        _cleanup_close_ int mount =
                plan->scratch_backing == BH_SCRATCH_TMPFS
                        ? bh_tmpfs_mount(plan->scratch_bytes, plan->scratch_inodes, error)
                        : make_image(plan, host, error);

        if (mount < 0 || make_directory(mount, "tmp", 0, 01777, error) < 0)
                return -1;
        if (plan->workspace_kind == BH_WORKSPACE_EPHEMERAL &&
            make_directory(mount, "workspace", instance->workload_uid, WORKSPACE_MODE, error) < 0)
                return -1;
        return bh_steal_fd(&mount);
}

int bh_workspace_make(const struct bh_plan *plan, const struct bh_instance *instance, int scratch,
                      int *ret_mount, struct bh_error *error)
{
        _cleanup_close_ int mount = -1, directory = -1;
        bool named = plan->workspace_kind == BH_WORKSPACE_NAMED;

        if (named) {
                /* Writable for us whatever the workload's mode is: the files go in. */
                mount = bh_image_mount(instance->workspace_fd, false, error);
                if (mount < 0)
                        return -1;
        }
        directory = openat(named ? mount : scratch, named ? "." : "workspace",
                           O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (directory < 0)
                return bh_error_errno(error, errno, "open the workspace");
        if (bh_files_write(directory, instance, named ? plan->inside_uid : instance->workload_uid,
                           error) < 0)
                return -1;
        *ret_mount = bh_steal_fd(&mount);
        return 0;
}
