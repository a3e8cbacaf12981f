/* The few mount operations that boundaries are built from, each one system call or two, and
 * the workload's /proc. Called while templates are made and, in a boundary's init, between
 * fork and exec: everything here is async-signal-safe and returns 0 or a descriptor, or
 * -errno. */
#ifndef BULKHEAD_DRIVERS_KERNEL_MOUNTS_H
#define BULKHEAD_DRIVERS_KERNEL_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* A detached copy of what is at path; `recursive` with all that is mounted below. */
int bh_mount_copy(int directory, const char *path, bool recursive);

/* The same for what an O_PATH descriptor holds, with all that is mounted below. */
int bh_mount_copy_of(int fd);

/* A new detached file system; options are "key=value" strings, or "key", ended by NULL.
 * attributes are MOUNT_ATTR_*. */
int bh_mount_new(const char *type, const char *const options[], unsigned attributes);

/* Attaches a detached mount at path. */
int bh_mount_attach(int mount, int directory, const char *path);

/* Sets MOUNT_ATTR_* on a mount, for `recursive` on all below too, and takes it out of every
 * peer group, so that nothing propagates. */
int bh_mount_restrict(int mount, uint64_t attributes, bool recursive);

/* Shows a detached mount's owners as user_namespace (a descriptor) maps them; `recursive` as
 * above. */
int bh_mount_idmap(int mount, int user_namespace, uint64_t attributes, bool recursive);

/* What of /proc is not the workload's business though file modes mostly say so as well. */
enum bh_proc_mask { BH_PROC_FILE, BH_PROC_DIRECTORY, BH_PROC_READ_ONLY };

struct bh_proc_entry {
        const char *path;
        enum bh_proc_mask mask;
};

extern const struct bh_proc_entry bh_proc_masked[]; /* ended by a NULL path */

/* An empty directory of the root template that covers masked directories. */
#define BH_PROC_EMPTY "/var/empty"

/* Mounts the calling process's pid namespace at /proc, other users' processes invisible,
 * masked as above. A masked path that this kernel does not have is fine. */
int bh_proc_mount(void);

#endif
