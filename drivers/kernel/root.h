/* The root tree that boundaries of the host image start from: built once by the broker in its
 * own mount namespace, copied by each boundary. Read-only throughout; /etc and /dev are made,
 * /usr is the host's. Nothing of the host's configuration, users or devices is in it. */
#ifndef BULKHEAD_DRIVERS_KERNEL_ROOT_H
#define BULKHEAD_DRIVERS_KERNEL_ROOT_H

#include <stddef.h>

#include "base/error.h"

/* Uid and gid of the workload inside, as named in /etc/passwd. */
#define BH_ROOT_INSIDE_UID 1000

#define BH_ROOT_HOSTNAME   "bulkhead"

struct bh_root_program {
        const void *data;
        size_t size;
};

/* Builds the tree at path (made when missing), in place of an older one. Mount points for
 * /proc, /tmp, /dev/shm and /workspace are in it, empty. With a program, that is its
 * /.bulkhead/init. */
int bh_root_install(const char *path, const struct bh_root_program *program,
                    struct bh_error *error);

#endif
