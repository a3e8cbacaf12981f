/* See agent_mounts.h; open_tree(2), mount_setattr(2). */
#include "drivers/subprocess/agent_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "drivers/kernel/idmap.h"
#include "drivers/kernel/mount_source.h"
#include "drivers/kernel/mounts.h"

#define ATTRIBUTES (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* What the workload writes belongs to the source's owner on disk, as if that one had: the source's
 * owner is shown as the workload, and what is anybody else's can be read where its mode says so. */
static int map_owner(int mount, uid_t workload, const char *source, struct bh_error *error)
{
        _cleanup_close_ int names = -1;
        struct stat status;
        int result;

        if (fstat(mount, &status) < 0)
                return bh_error_errno(error, errno, "look at %s", source);
        names = bh_idmap_make(status.st_uid, status.st_gid, workload, error);
        if (names < 0)
                return -1;
        result = bh_mount_idmap(mount, names, 0, true);
        return result < 0 ? bh_error_errno(error, -result,
                                           "%s: its file system cannot map the owner", source)
                          : 0;
}

static int copy_source(int source, const struct bh_mount_rule *rule, uid_t workload,
                       struct bh_error *error)
{
        _cleanup_close_ int mount = -1;
        int result;

        if (bh_mount_source_check(source, rule->source, rule->writable, error) < 0)
                return -1;
        mount = bh_mount_copy_of(source);
        if (mount < 0)
                return bh_error_errno(error, -mount, "copy the mount of %s", rule->source);
        result = bh_mount_restrict(mount, ATTRIBUTES | (rule->writable ? 0 : MOUNT_ATTR_RDONLY),
                                   true);
        if (result < 0)
                return bh_error_errno(error, -result, "restrict the mount of %s", rule->source);
        if (rule->writable && map_owner(mount, workload, rule->source, error) < 0)
                return -1;
        return bh_steal_fd(&mount);
}

int bh_agent_mounts_make(const struct bh_plan *plan, const struct bh_instance *instance,
                         const char *template, struct bh_agent_mounts *ret, struct bh_error *error)
{
        const struct bh_mount_rules *rules = &plan->mounts;

        for (; ret->count < rules->count; ret->count++) {
                int mount = copy_source(instance->mount_fds[ret->count], &rules->items[ret->count],
                                        instance->workload_uid, error);

                if (mount < 0)
                        return -1;
                ret->fds[ret->count] = mount;
        }
        return rules->count == 0
                       ? 0
                       : bh_agent_root_make(rules, instance->mount_fds, template, ret, error);
}

void bh_agent_mounts_clear(struct bh_agent_mounts *mounts)
{
        while (mounts->count > 0)
                bh_close(mounts->fds[--mounts->count]);
        mounts->root = bh_close(mounts->root);
        for (size_t i = 0; i < mounts->copy_count; i++)
                free(mounts->copies[i]);
        free(mounts->copies);
        *mounts = (struct bh_agent_mounts)BH_AGENT_MOUNTS_NONE;
}
