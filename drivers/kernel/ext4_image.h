/* Makes the ext4 file system inside an image file, sized so that what can be written is what
 * was asked for. Used by image.c. */
#ifndef BULKHEAD_DRIVERS_KERNEL_EXT4_IMAGE_H
#define BULKHEAD_DRIVERS_KERNEL_EXT4_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Size of the whole image for this much room for files. Below about 4 MiB there is no journal,
 * whether asked for or not: mkfs gives none to so small a file system. */
int64_t bh_ext4_image_bytes(int64_t bytes, bool journal);

/* Files that fit into it. */
int64_t bh_ext4_image_inodes(int64_t bytes);

/* Sizes the empty file behind fd, runs mkfs.ext4 on it, and checks in the superblock that the
 * room is within 3% of bytes. The root directory belongs to uid and gid. */
int bh_ext4_format(int fd, int64_t bytes, bool journal, uid_t uid, gid_t gid,
                   struct bh_error *error);

#endif
