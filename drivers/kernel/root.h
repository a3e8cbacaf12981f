/* The root tree that boundaries of the host image start from: built once by the broker in its
 * own mount namespace, copied by each boundary. Read-only throughout; /etc and /dev are made,
 * /usr is the host's. Nothing of the host's configuration, users or devices is in it. */
#ifndef BULKHEAD_DRIVERS_KERNEL_ROOT_H
#define BULKHEAD_DRIVERS_KERNEL_ROOT_H

#include "base/error.h"

/* Uid and gid of the workload inside, as named in /etc/passwd. */
#define BH_ROOT_INSIDE_UID 1000

#define BH_ROOT_HOSTNAME   "bulkhead"

/* Builds the tree at path (made when missing), in place of an older one. Mount points for
 * /proc, /tmp, /dev/shm and /workspace are in it, empty. */
int bh_root_install(const char *path, struct bh_error *error);

#endif
