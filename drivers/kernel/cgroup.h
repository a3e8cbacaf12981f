/* The cgroup of one execution, on cgroup v2 and on the v1 controllers of hybrid hosts alike
 * (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/). Called by the drivers in the shim,
 * and by bulkheadd for reclaim. */
#ifndef BULKHEAD_DRIVERS_KERNEL_CGROUP_H
#define BULKHEAD_DRIVERS_KERNEL_CGROUP_H

#include <stddef.h>

#include "drivers/driver.h"

enum bh_cgroup_layout { BH_CGROUP_V2, BH_CGROUP_V1, BH_CGROUP_HYBRID };

/* "v2", "v1", "hybrid": which layout the host has; -1 when no usable one is mounted. */
int bh_cgroup_layout(enum bh_cgroup_layout *ret, struct bh_error *error);
const char *bh_cgroup_layout_name(enum bh_cgroup_layout layout);

/* Makes the parent in every hierarchy and enables what is needed below it. Names in the error
 * which of memory, pids, cpu is missing. Repeatable. */
int bh_cgroup_install(const struct bh_driver_host *host, struct bh_error *error);

struct bh_cgroup;

/* Makes <parent>/<id> in every hierarchy and sets memory (swap included), pids and cpu
 * accounting from limits, reading each back. The error names the control (cgroup.memory,
 * cgroup.pids, cgroup.cpu, cgroup.kill). */
int bh_cgroup_create(const struct bh_driver_host *host, const char *id,
                     const struct bh_limits *limits, struct bh_cgroup **ret,
                     struct bh_error *error);

/* For clone3(CLONE_INTO_CGROUP): descriptor of the v2 directory, or -1 on pure v1. Borrowed. */
int bh_cgroup_v2_fd(const struct bh_cgroup *cgroup);

/* Moves the calling, single-threaded process into the v1 hierarchies by writing "0" to each
 * `tasks` (the write that needs no global lock). Async-signal-safe; returns 0 or -errno.
 * A no-op on pure v2, where the clone did it. */
int bh_cgroup_join_v1(const struct bh_cgroup *cgroup);

/* Opens the files into which a process of another driver's making writes "0" to join every
 * hierarchy: root's descriptors, so that it needs no right of its own. Fills ret with at most
 * BH_CGROUP_JOINS_MAX, the caller's; returns how many, or -1. */
#define BH_CGROUP_JOINS_MAX 5
int bh_cgroup_open_joins(const struct bh_cgroup *cgroup, int ret[BH_CGROUP_JOINS_MAX],
                         struct bh_error *error);

int bh_cgroup_usage(const struct bh_cgroup *cgroup, struct bh_usage *ret, struct bh_error *error);

/* SIGKILL to every process in it: cgroup.kill, or freeze-and-signal on pure v1. */
int bh_cgroup_kill(const struct bh_cgroup *cgroup, struct bh_error *error);

/* What is in force, read from the files: {"memory": {"limit_bytes", "swap": …}, "pids": …,
 * "source": "/sys/fs/cgroup/…"}. */
json_t *bh_cgroup_observe(const struct bh_cgroup *cgroup);

/* Frees the object, not the cgroup. */
void bh_cgroup_free(struct bh_cgroup *cgroup);

/* Kills and removes <parent>/<id> everywhere; waits a bounded time for the kernel to let go.
 * Nothing there is success. */
int bh_cgroup_destroy(const struct bh_driver_host *host, const char *id, struct bh_error *error);

/* Names below the parent in any hierarchy, without repeats; NULL-terminated, caller frees. */
int bh_cgroup_list(const struct bh_driver_host *host, char ***ret, struct bh_error *error);

/* Removes the parent itself in every hierarchy when it is empty (clean shutdown). */
int bh_cgroup_uninstall(const struct bh_driver_host *host, struct bh_error *error);

#endif
