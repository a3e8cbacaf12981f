/* Landlock (Documentation/userspace-api/landlock.rst) as the workload's last own wall: even
 * where the mount table and file modes would let it, it makes no device nodes, writes only
 * where rules say, and neither signals nor reaches abstract sockets outside its domain. Called
 * by the driver, and by the child of one execution. */
#ifndef BULKHEAD_DRIVERS_KERNEL_LANDLOCK_H
#define BULKHEAD_DRIVERS_KERNEL_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum bh_landlock_access {
        BH_LANDLOCK_EXECUTE, /* read and execute */
        BH_LANDLOCK_WRITE,   /* read, execute, and everything but device nodes */
        BH_LANDLOCK_FILES,   /* the same without making sockets and fifos */
        BH_LANDLOCK_DEVICES, /* read, write and ioctl of what is there */
};

struct bh_landlock_rule {
        const char *path;
        enum bh_landlock_access access;
};

/* The kernel's ABI version, or -1: not built in or not enabled. */
int bh_landlock_abi(struct bh_error *error);

/* Restricts the calling thread for ever to the rules (ended by a NULL path), handling every
 * right that the ABI knows. Needs no_new_privs. Async-signal-safe; 0 or -errno. */
int bh_landlock_restrict(int abi, const struct bh_landlock_rule *rules);

/* Whether the restriction is in force, by an attempt at a block device node in directory, which
 * must be writable. Landlock is asked before the missing CAP_MKNOD and says EACCES, not EPERM.
 * (A whiteout, which needs no capability, passes Landlock on Linux 6.1.) 0 when Landlock
 * refused it, else -errno. Async-signal-safe. */
int bh_landlock_check(const char *directory);

#endif
