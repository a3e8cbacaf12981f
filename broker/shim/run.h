/* One execution from the start order to its delivered result. main.c calls bh_shim_run; the rest
 * is shared between run.c (the loop), provision.c (building) and finish.c (tearing down,
 * delivering). */
#ifndef BULKHEAD_BROKER_SHIM_RUN_H
#define BULKHEAD_BROKER_SHIM_RUN_H

#include "broker/shim/capture.h"
#include "broker/shim/control.h"
#include "broker/shim/deadline.h"
#include "broker/shim/outcome.h"
#include "broker/shim/pump.h"
#include "broker/shim/settings.h"
#include "broker/shim/start_order.h"
#include "broker/shim/stdin_feed.h"
#include "broker/shim/watch.h"
#include "drivers/kernel/cgroup_layout.h"

/* Waits for a start order on channel_fd (taken), carries it out, delivers the result. Returns the
 * program's exit status: 0 also when the broker went away before there was an order. */
int bh_shim_run(const struct bh_shim_settings *settings, int channel_fd);

enum bh_run_state { BH_RUN_PROVISIONING, BH_RUN_RUNNING, BH_RUN_ENDED };

struct bh_run {
        const struct bh_shim_settings *settings;
        struct bh_control control;
        struct bh_start_order *order;
        const struct bh_driver *driver;
        struct bh_boundary *boundary;      /* NULL: none was built */
        struct bh_cgroup_topology cgroups; /* of this host; count 0: not read */
        int gateway_fd;
        int directory_fd;   /* the execution's; -1 until the broker says go */
        int out_fd, err_fd; /* its files; -1 until then, and once they are kept in */

        /* Once there is a pump the descriptors are its, and the counts are what it last said. */
        struct bh_capture out, err;
        struct bh_stdin_feed in;
        struct bh_pump *idle_pump; /* the thread, until then */
        struct bh_pump *pump;
        struct bh_deadline deadline;
        struct bh_watch watch;
        json_t *evidence;

        enum bh_run_state state;
        int64_t state_at_ms;
        int64_t ordered_us, started_us, gone_us;
        int64_t started_ms; /* 0: not started */

        struct bh_verdict verdict;
        bool killed;           /* the driver was told */
        int64_t give_up_at_us; /* after a kill; the end is waited for no longer */
        bool gone;             /* nothing of the boundary runs, or it is given up */
        bool has_end;
        struct bh_end end;

        json_t *result;
        bool taken;
};

/* Builds the boundary and starts the workload. What goes wrong, or a kill meanwhile, is claimed
 * in the verdict; started_ms says whether the workload ran. */
void bh_run_provision(struct bh_run *run);

/* Reads usage, destroys the boundary, drains the pipes, fills run->result. Everything of the
 * boundary is gone after it, however far it was built. */
void bh_run_finish(struct bh_run *run);

/* Gives the result to the broker, or to result.json. Returns the exit status. */
int bh_run_deliver(struct bh_run *run);

/* Enters a state and tells the broker. */
void bh_run_enter(struct bh_run *run, enum bh_run_state state);

/* Carries out what the broker has said meanwhile, and notices being told to stop. */
void bh_run_obey(struct bh_run *run);

#endif
