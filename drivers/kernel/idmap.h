/* User namespaces that hold nothing but a mapping, for idmapped mounts. Called while the shim
 * prepares a boundary. */
#ifndef BULKHEAD_DRIVERS_KERNEL_IDMAP_H
#define BULKHEAD_DRIVERS_KERNEL_IDMAP_H

#include <sys/types.h>

#include "base/error.h"

/* A user namespace for bh_mount_idmap in which files of uid and gid on disk belong to `shown`
 * (uid and gid), and no other files to anybody. No process is left in it. Returns a descriptor,
 * or -1. */
int bh_idmap_make(uid_t uid, gid_t gid, uid_t shown, struct bh_error *error);

#endif
