/* What the shim hands to the two processes that it clones for a boundary, and how they answer.
 * The clones are forks of the shim: they read this structure where it lies. Between fork and
 * exec only async-signal-safe calls are made, so all text is made before. Used inside
 * drivers/subprocess only. */
#ifndef BULKHEAD_DRIVERS_SUBPROCESS_SETUP_H
#define BULKHEAD_DRIVERS_SUBPROCESS_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/driver.h"
#include "drivers/kernel/cgroup.h"
#include "drivers/kernel/landlock.h"
#include "drivers/kernel/report.h"
#include "drivers/kernel/seccomp.h"
#include "drivers/subprocess/agent_mounts.h"

#define BH_SETUP_LANDLOCK_RULES (8 + BH_MOUNT_RULES_MAX)

/* Pid of the workload's process inside: init's first child in a new pid namespace. */
#define BH_SETUP_WORKLOAD_PID   2

struct bh_setup {
        const struct bh_plan *plan;
        const struct bh_instance *instance;
        const struct bh_cgroup *cgroup;
        char *run_dir;     /* what is below it is hidden before anything is shown */
        char *root;        /* the template's path */
        char *shm_options; /* of mount(2) */
        char *uid_map, *gid_map;
        char *candidate; /* bh_execute_room() bytes */
        struct bh_seccomp_program seccomp;
        struct bh_landlock_rule landlock[BH_SETUP_LANDLOCK_RULES];
        int landlock_abi;
        int scratch;   /* detached mount with tmp/ and, when ephemeral, workspace/ */
        int workspace; /* detached mount of a named workspace, or -1 */
        struct bh_agent_mounts mounts;
        int channel;  /* reports to the shim, and its leave to go on */
        int attached; /* eventfd: init → child, "maps and mounts are complete" */
};

/* init.c: the life of the boundary's pid 1. */
void bh_init_run(const struct bh_setup *setup) __attribute__((noreturn));

/* child.c: from clone to execve of the workload. */
void bh_child_run(const struct bh_setup *setup) __attribute__((noreturn));

/* setup.c. Unless the instance's fault names this control, runs on; else fails as if the kernel had
 * said EPERM. Checks `result` (0 or more, or -errno) of the step as well. */
void bh_setup_expect(const struct bh_setup *setup, const char *control, const char *step,
                     int result);

#endif
