/* Namespaces that are wanted by descriptor before anything of a boundary runs, made by a process
 * that lives just long enough. Used by container.c. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_HOLDER_H
#define BULKHEAD_DRIVERS_CONTAINER_HOLDER_H

#include "drivers/kernel/cgroup.h"

/* *ret_user is a user namespace with this map of uids and gids, for the owners of a workspace's
 * mount; *ret_cgroup a cgroup namespace that begins at the cgroup. The error names the control. */
int bh_holder_make(const struct bh_cgroup *cgroup, const char *map, int *ret_user, int *ret_cgroup,
                   struct bh_error *error);

/* Writes uid_map and gid_map of a process (proc_pid_uid_map(5)). */
int bh_holder_map(pid_t pid, const char *map, bool deny_setgroups, struct bh_error *error);

#endif
