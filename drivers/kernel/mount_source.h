/* What of the host may be the source of an agent's mount. A source is opened by its name once,
 * when an execution starts; the descriptor is what the boundary's driver mounts, so that nothing
 * which happens to the name afterwards matters. Called by broker/daemon/mount_sources and, for
 * the descriptor that it was given, by a driver. */
#ifndef BULKHEAD_DRIVERS_KERNEL_MOUNT_SOURCE_H
#define BULKHEAD_DRIVERS_KERNEL_MOUNT_SOURCE_H

#include <stdbool.h>

#include "base/error.h"

/* Opens path, which is below root or root itself (both absolute and without "." or ".."), as
 * O_PATH: root first, then what lies beneath it, neither through any link. Returns the
 * descriptor, or -1 with a sentence about path. */
int bh_mount_source_open(const char *root, const char *path, struct bh_error *error);

/* 0 when fd is a directory or a regular file, and for a writable mount no property of root's
 * (user or group): what a workload makes there belongs to the source's owner on disk, and a
 * setuid file of root's must never come about. Else -1 with a sentence about path. */
int bh_mount_source_check(int fd, const char *path, bool writable, struct bh_error *error);

#endif
