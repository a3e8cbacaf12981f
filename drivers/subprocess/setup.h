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
        char *path;      /* PATH of the plan's environment, or NULL */
        char *candidate; /* room for one directory of path with argv[0] */
        struct bh_seccomp_program seccomp;
        struct bh_landlock_rule landlock[BH_SETUP_LANDLOCK_RULES];
        int landlock_abi;
        int scratch;   /* detached mount with tmp/ and, when ephemeral, workspace/ */
        int workspace; /* detached mount of a named workspace, or -1 */
        struct bh_agent_mounts mounts;
        int channel;  /* reports to the shim, and its leave to go on */
        int attached; /* eventfd: init → child, "maps and mounts are complete" */
};

enum bh_report_kind {
        BH_REPORT_FAILED = 1,     /* a step failed: control, step, errnum */
        BH_REPORT_INIT_READY,     /* init gave up its privileges */
        BH_REPORT_WORKLOAD_READY, /* the workload's process waits just before execve */
        BH_REPORT_ENDED,          /* code and status as waitid(2) has them */
};

/* One message on the channel (SOCK_SEQPACKET). */
struct bh_report {
        uint32_t kind;
        int32_t errnum;
        int32_t code;
        int32_t status;
        char control[32];
        char step[64];
};

/* init.c: the life of the boundary's pid 1. */
void bh_init_run(const struct bh_setup *setup) __attribute__((noreturn));

/* child.c: from clone to execve of the workload. */
void bh_child_run(const struct bh_setup *setup) __attribute__((noreturn));

/* report.c, for both: sends a report; ends the process with a failed one. `result` is -errno. */
void bh_report_send(int channel, const struct bh_report *report);
void bh_report_failure(int channel, const char *control, const char *step, int result)
        __attribute__((noreturn));

/* Unless the instance's fault names this control, runs on; else fails as if the kernel had
 * said EPERM. Checks `result` (0 or more, or -errno) of the step as well. */
void bh_setup_expect(const struct bh_setup *setup, const char *control, const char *step,
                     int result);

/* report.c, for the shim: 1 a report, 0 the other ends are closed, -1. *ret_pid is the sender's
 * pid as the kernel saw it, in the shim's pid namespace. */
int bh_report_receive(int channel, struct bh_report *ret, pid_t *ret_pid, struct bh_error *error);

/* Turns a failed report into the error that it stands for. Returns -1. */
int bh_report_error(const struct bh_report *report, struct bh_error *error);

#endif
