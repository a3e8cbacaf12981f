/* The driver interface: what builds, runs, observes and destroys one kind of boundary.
 *
 * `probe`, `install` and `destroy` may be called by bulkheadd (at start and on reclaim) and by
 * the shim; every other slot only by the shim of one execution, in the order prepare, start,
 * wait/usage/observe/kill, release, destroy. No slot logs. Slots may block for as long as the
 * kernel takes (milliseconds); only `wait` must not block. */
#ifndef BULKHEAD_DRIVERS_DRIVER_H
#define BULKHEAD_DRIVERS_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/ulid.h"
#include "policy/host.h"
#include "policy/plan.h"

struct bh_cgroup_topology;

/* Where a broker keeps things on this host; the same for all its executions. */
struct bh_driver_host {
        char *state_dir;     /* absolute */
        char *run_dir;       /* absolute */
        char *cgroup_parent; /* "bulkhead.1a2b3c4d", below the root of each hierarchy */
        uid_t uid_base;      /* first host uid of the range given to executions */

        /* What a shim has read while it waited for its order, borrowed. NULL: not yet known. */
        const struct bh_cgroup_topology *cgroups;
};

/* Host uids of one execution: two neighbours from the broker's range. */
struct bh_instance {
        char id[BH_ID_SIZE];
        uid_t workload_uid; /* also its gid; what uid 1000 inside is outside */
        uid_t init_uid;     /* also its gid; the boundary's init */
        int stdin_fd;       /* descriptors below are the caller's and stay open */
        int stdout_fd;
        int stderr_fd;
        int gateway_fd;                    /* network namespace of this execution */
        int payload_fd;                    /* sealed memfd with the files' bytes, or -1 */
        int workspace_fd;                  /* image file of the named workspace, or -1 */
        const struct bh_file_entry *files; /* written into the workspace before the start */
        size_t file_count;
        const int *mount_fds; /* sources of the plan's mounts, in its order (mount_source.h) */
        /* Fault injection for tests: NULL, or the name of the control that is to fail. */
        const char *fault;
        /* For a driver's own trials: NULL, or which of its ways to build a boundary to take. */
        const char *variant;
};

struct bh_usage {
        int64_t cpu_us;
        int64_t memory_peak_bytes;
        int64_t oom_kills;
};

/* How the process of argv ended, as waitid(2) says. */
struct bh_end {
        bool by_signal;
        int status; /* exit code or signal number */
        bool lost;  /* the boundary went without telling: no code is known */
        bool oom;   /* killed by the memory limit */
};

struct bh_driver;

/* Base of each driver's own boundary type. */
struct bh_boundary {
        const struct bh_driver *driver;
        int event_fd; /* readable when wait() has news; owned by the boundary */
};

struct bh_driver {
        const char *name;

        /* Fills what this driver offers for tier on this host, by building and running a
         * real boundary; what is missing is an answer (ret->available false), not an error. */
        int (*probe)(const struct bh_driver_host *host, enum bh_tier tier, struct bh_tier_host *ret,
                     struct bh_error *error);

        /* Makes what all executions share (root trees, seccomp programs). Repeatable. The
         * caller is in its own mount namespace. */
        int (*install)(const struct bh_driver_host *host, struct bh_error *error);

        /* Builds everything short of the workload's first instruction, and reads it back: 0.
         * 1: the memory limit killed the workload's process during that; *ret has ended, as
         * wait() and usage() tell, and is not to be started. On failure the error names the
         * control; destroy() by id removes what was made. */
        int (*prepare)(const struct bh_driver_host *host, const struct bh_plan *plan,
                       const struct bh_instance *instance, struct bh_boundary **ret,
                       struct bh_error *error);

        /* Lets the workload run. An execve that fails (no such command) is an ordinary end
         * with exit code 127 (not found) or 126 and a line on the workload's stderr. */
        int (*start)(struct bh_boundary *boundary, struct bh_error *error);

        /* 1: the workload's process ended and every other process of the boundary is gone
         * (*ret filled), 0: not yet, -1: cannot be known. Never blocks. */
        int (*wait)(struct bh_boundary *boundary, struct bh_end *ret, struct bh_error *error);

        int (*usage)(struct bh_boundary *boundary, struct bh_usage *ret, struct bh_error *error);

        /* Kills every process of the boundary; wait() then reports. Repeatable. */
        int (*kill)(struct bh_boundary *boundary, struct bh_error *error);

        /* Readback from the running boundary, never from the plan: object of
         * "control" → {"observed": …, "source": "…", "holds": bool}. Called once before start,
         * which is refused when a control of the plan is missing or does not hold. */
        int (*observe)(struct bh_boundary *boundary, json_t **ret, struct bh_error *error);

        /* Frees the object and its descriptors (which lets the kernel drop the mounts and
         * namespaces). Accepts NULL. */
        void (*release)(struct bh_boundary *boundary);

        /* Removes everything that exists under this id, whatever state it is in, any number
         * of times. Nothing there is success. */
        int (*destroy)(const struct bh_driver_host *host, const char *id, struct bh_error *error);
};

/* drivers/table.c: the only place that knows them all. */
const struct bh_driver *bh_driver_by_name(const char *name); /* NULL when not built */
const struct bh_driver *const *bh_drivers(void);             /* NULL-terminated */

/* Probes every tier. A tier that no built driver serves is unavailable and says so. */
int bh_drivers_probe(const struct bh_driver_host *host, struct bh_host *ret,
                     struct bh_error *error);
/* Ids that still have something on this host (cgroups), for reclaim. NULL-terminated, caller
 * frees strings and array. */
int bh_drivers_list_remains(const struct bh_driver_host *host, char ***ret, struct bh_error *error);

#endif
