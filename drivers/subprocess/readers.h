/* One reader for each control: reads the kernel's word, gives it as evidence, and compares it
 * with what the plan and the instance said. Called by controls.c through its table. */
#ifndef BULKHEAD_DRIVERS_SUBPROCESS_READERS_H
#define BULKHEAD_DRIVERS_SUBPROCESS_READERS_H

#include "drivers/kernel/readback.h"
#include "drivers/subprocess/boundary.h"

/* The processes of one boundary, and our own, read once for all readers. */
struct bh_view {
        const struct bh_subprocess *boundary;
        struct bh_readback workload, init, self;
        char *membership;    /* the workload's /proc/<pid>/cgroup */
        json_t *cgroup;      /* bh_cgroup_observe */
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
