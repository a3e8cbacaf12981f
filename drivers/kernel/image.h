/* Size-limited file systems of ours: an ext4 image in a file, attached through a loop device
 * and mounted *detached* (no path on the host), so that nothing is left behind when the last
 * descriptor closes. Only the kernel's ext4 writes into them after mkfs; they are never given
 * to a workload as a block device. Called by the drivers and by broker/daemon/workspaces. */
#ifndef BULKHEAD_DRIVERS_KERNEL_IMAGE_H
#define BULKHEAD_DRIVERS_KERNEL_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define BH_IMAGE_BYTES_MIN ((int64_t)1 << 20) /* smaller requests are made this large */

/* Makes `name` (mode 0600) in directory: an ext4 file system on which about `bytes` can be
 * written, whose root belongs to uid and gid, mode 0700. Written to a temporary name first.
 * Sparse. */
int bh_image_make(int directory, const char *name, int64_t bytes, uid_t uid, gid_t gid,
                  struct bh_error *error);

/* An unnamed image for one execution's scratch (O_TMPFILE in directory). Returns the
 * descriptor, or -1. */
int bh_image_make_unnamed(int directory, int64_t bytes, uid_t uid, gid_t gid,
                          struct bh_error *error);

/* Mounts the image detached, nosuid, nodev (and read-only when asked). When a loop device for
 * this very file exists it is used again, never a second one: two would corrupt it. The loop
 * device clears itself with its last user. Returns a mount descriptor, or -1. */
int bh_image_mount(int image_fd, bool read_only, struct bh_error *error);

/* A detached tmpfs (nosuid, nodev, mode 0755) that refuses more than bytes and inodes. Returns a
 * mount descriptor, or -1. */
int bh_tmpfs_mount(int64_t bytes, int64_t inodes, struct bh_error *error);

#endif
