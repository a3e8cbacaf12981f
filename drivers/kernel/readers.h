/* One reader for each control: reads the kernel's word, gives it as evidence, and compares it
 * with what the plan and the instance said. Called by controls.c through a driver's table. */
#ifndef BULKHEAD_DRIVERS_KERNEL_READERS_H
#define BULKHEAD_DRIVERS_KERNEL_READERS_H

#include "drivers/driver.h"
#include "drivers/kernel/readback.h"

/* What the descriptor of a mount's source held. */
struct bh_mount_identity {
        dev_t device;
        ino_t inode;
};

/* What the plan and the instance said, for comparing with what is read back. */
struct bh_expected {
        char **controls;
        size_t control_count;
        char *cgroup_path; /* "/<parent>/<id>", as /proc/<pid>/cgroup ends */
        uid_t workload_uid, init_uid;
        unsigned inside_uid, inside_gid;
        bool init_mapped; /* uid 0 inside is init's, in the workload's own user namespace */
        ino_t gateway;
        enum bh_workspace_kind workspace_kind;
        bool workspace_writable;
        enum bh_scratch_backing scratch_backing;
        int64_t scratch_bytes, scratch_inodes, shm_bytes;
        struct bh_mount_rules mounts;
        struct bh_mount_identity mount_identity[BH_MOUNT_RULES_MAX];
        int landlock_abi; /* of the domain that the workload's process tried; 0: none */
        char seccomp_digest[BH_DIGEST_TEXT_SIZE]; /* of the filter that it loaded */
        bool running; /* the workload runs: descriptors are its own by now */
};

/* The processes of one boundary, and our own, read once for all readers. */
struct bh_view {
        const struct bh_expected *expected;
        struct bh_readback workload, init, self;
        char *membership;    /* the workload's /proc/<pid>/cgroup */
        json_t *cgroup;      /* bh_cgroup_observe */
        json_t *told;        /* what the boundary's own kernel says, where it has one; borrowed */
        const char *control; /* the one that is read */
};

/* *ret_observed is filled, also when the control does not hold; NULL only when it could not be
 * read at all. Returns 0 when it holds, else -1. */
typedef int (*bh_control_reader)(const struct bh_view *view, json_t **ret_observed,
                                 struct bh_error *error);

/* readers.c: processes */
int bh_read_namespace(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_uid(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_capabilities(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_no_new_privs(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_seccomp(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_landlock(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_cgroup(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_gateway(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_descriptors(const struct bh_view *view, json_t **ret, struct bh_error *error);

/* readers_mounts.c: what it sees */
int bh_read_root(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_proc(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_dev(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_scratch(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_shm(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_mounts(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_read_workspace(const struct bh_view *view, json_t **ret, struct bh_error *error);

#endif
