/* What the kernel says about a running process: the other half of every control. Read from
 * /proc/<pid> by the shim, while the workload waits just before its first instruction and
 * later for `observe`. Nothing here knows what should be; drivers compare. */
#ifndef BULKHEAD_DRIVERS_KERNEL_READBACK_H
#define BULKHEAD_DRIVERS_KERNEL_READBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

/* One line of mountinfo (proc_pid_mountinfo(5)); the strings lie in the table's text. */
struct bh_mount_entry {
        const char *device;  /* "major:minor" */
        const char *root;    /* the part of its file system that is seen */
        const char *target;  /* where, beneath the process's root */
        const char *options; /* of this mount */
        bool propagates;     /* shared with, or a slave of, another mount */
        const char *type;
        const char *source;
        const char *super_options; /* of the file system */
};

struct bh_mount_table {
        char *text; /* owned */
        struct bh_mount_entry *entries;
        size_t count;
};

/* Takes text (NUL-terminated, changed in place). */
int bh_mount_table_parse_take(char *text, struct bh_mount_table *ret, struct bh_error *error);
/* The mount that is seen at target: the last one there. NULL when none is. */
const struct bh_mount_entry *bh_mount_table_find(const struct bh_mount_table *table,
                                                 const char *target);
/* Whether a comma-separated list of options holds one, as a whole. */
bool bh_mount_option(const char *options, const char *option);
void bh_mount_table_clear(struct bh_mount_table *table);

struct bh_readback {
        int process; /* descriptor of /proc/<pid> */
        char *status;
        struct bh_mount_table mounts;
};

#define BH_READBACK_NONE      \
        {                     \
                .process = -1 \
        } /* to begin with */

enum bh_readback_part { BH_READBACK_STATUS = 1, BH_READBACK_MOUNTS = 2 };

/* Opens a process (0: the caller) and reads the parts asked for (bits of the above) at once. */
int bh_readback_open(pid_t pid, unsigned parts, struct bh_readback *ret, struct bh_error *error);
void bh_readback_clear(struct bh_readback *readback);

/* The value of a field of status, without blanks around it, tabs turned to blanks. */
int bh_readback_status(const struct bh_readback *readback, const char *field, char *ret,
                       size_t size, struct bh_error *error);

/* A small file of the process, such as "uid_map" or "net/dev". Caller frees. */
int bh_readback_file(const struct bh_readback *readback, const char *path, char **ret,
                     struct bh_error *error);

/* The identity of one of the process's namespaces ("net", "pid", …). */
int bh_readback_namespace(const struct bh_readback *readback, const char *name, ino_t *ret,
                          struct bh_error *error);

/* Who made the process's user namespace (ioctl_nsfs(2)): whose limits its use is charged to. */
int bh_readback_namespace_owner(const struct bh_readback *readback, uid_t *ret,
                                struct bh_error *error);

/* The lowest `room` open descriptors, in order; returns how many there are, or -1. */
int bh_readback_descriptors(const struct bh_readback *readback, int *ret, size_t room,
                            struct bh_error *error);
/* The open flags of one, from fdinfo. */
int bh_readback_descriptor_flags(const struct bh_readback *readback, int fd, unsigned *ret,
                                 struct bh_error *error);

#endif
