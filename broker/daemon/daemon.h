/* What the parts of bulkheadd share. One event loop, one thread: nothing here is locked. */
#ifndef BULKHEAD_BROKER_DAEMON_DAEMON_H
#define BULKHEAD_BROKER_DAEMON_DAEMON_H

#include <event2/event.h>

#include "base/pidref.h"
#include "broker/daemon/api_process.h"
#include "broker/daemon/audit.h"
#include "broker/daemon/call.h"
#include "broker/daemon/config.h"
#include "broker/daemon/executions.h"
#include "broker/daemon/files.h"
#include "broker/daemon/listeners.h"
#include "broker/daemon/shims.h"
#include "broker/daemon/slots.h"
#include "broker/daemon/store.h"
#include "broker/daemon/tokens.h"
#include "broker/daemon/turn.h"
#include "drivers/driver.h"
#include "policy/policy.h"

/* Where the broker meets the host; tests put their own in. */
struct bh_seams {
        int (*install)(const struct bh_driver_host *paths, struct bh_error *error);
        int (*probe)(const struct bh_driver_host *paths, struct bh_host *ret,
                     struct bh_error *error);
        /* Starts a shim that has no execution yet. */
        int (*spawn_shim)(struct bh_daemon *daemon, int *ret_channel, struct bh_pidref *ret,
                          struct bh_error *error);
        /* Removes all that is left of an execution. */
        int (*destroy)(struct bh_daemon *daemon, const char *id, struct bh_error *error);
};

extern const struct bh_seams bh_seams_real;

struct bh_daemon {
        struct event_base *base;
        const struct bh_seams *seams;
        struct bh_config *config; /* owned */
        int argc;                 /* of main, to read the config again */
        char *const *argv;
        struct bh_policy *policy; /* owned */
        struct bh_store *store;
        struct bh_audit *audit;
        struct bh_turn turn;
        struct bh_driver_host paths;
        struct bh_host host;
        int64_t probed_us;        /* monotonic */
        bool probe_again;         /* a control failed since */
        bool installed;           /* else tried again with each probe */
        int64_t audit_synced;     /* last entry that is on the disk */
        int64_t audit_unstaged;   /* last entry that the store has let go of */
        struct event *audit_sync; /* NULL once a sync has failed */
        int lock_fd, state_fd, audit_fd, executions_fd, workspaces_fd;
        struct bh_slots slots;
        struct bh_tokens tokens;
        struct bh_call_list calls;
        struct bh_executions executions;
        struct bh_files_jobs files; /* zero: none */
        struct bh_shims shims;
        struct bh_listeners listeners;
        struct bh_api api;
        struct event *signals[4];
        struct event *minutely; /* retention, expiry of keys and tokens */
        struct event *retry;    /* a turn that could not be stored */
        struct event *drain_timer;
        bool store_failed; /* the last turn's end */
        bool turn_changes; /* a call of this turn may have changed something */
        bool draining;
        bool stopping; /* the loop ends after this turn */
};

/* Takes config and policy. Opens the state directory, the store and the audit log, probes the
 * host; starts nothing. On failure everything is undone. */
int bh_daemon_new_take(struct bh_config *config, struct bh_policy *policy,
                       const struct bh_seams *seams, struct bh_daemon **ret,
                       struct bh_error *error);
void bh_daemon_free(struct bh_daemon *daemon);
BH_DEFINE_CLEANUP(struct bh_daemon *, bh_daemon, bh_daemon_free);

/* Listens, reclaims, starts spares and the API, runs until told to stop. */
int bh_daemon_run(struct bh_daemon *daemon, struct bh_error *error);

/* One turn: waits for events when block is set, handles them, commits. */
void bh_daemon_turn(struct bh_daemon *daemon, bool block);

/* Stop admitting; finish replies under way; end. */
void bh_daemon_drain(struct bh_daemon *daemon);

/* commit.c: makes the turn durable and lets its actions out. */
void bh_daemon_commit(struct bh_daemon *daemon);
/* A while after a turn that could not be stored. */
void bh_daemon_retry(struct bh_daemon *daemon);

/* commit.c: after it the store may let go of what is in the audit file. */
void bh_daemon_sync_audit(struct bh_daemon *daemon);

/* A frame to the API, if there is one now. */
void bh_daemon_send_api(struct bh_daemon *daemon, const json_t *frame, const int *fds,
                        size_t fd_count);

/* Reads config and policy again (SIGHUP). policy_reload.c. */
void bh_daemon_reload(struct bh_daemon *daemon);

/* hostinfo.c: probes this host, installing what the drivers need where that failed so far. */
int bh_daemon_probe(struct bh_daemon *daemon, struct bh_error *error);
/* Probes again when something is amiss, at most once a second. True when it did. */
bool bh_daemon_probe_again(struct bh_daemon *daemon);

/* retention.c: prunes a bounded number of what is too old. */
void bh_daemon_retain(struct bh_daemon *daemon);
/* With all that is in it. */
void bh_execution_remove_directory(struct bh_daemon *daemon, const char *id);
/* At a start: removes the directories of executions that the store does not have. */
int bh_daemon_sweep(struct bh_daemon *daemon, struct bh_error *error);

/* reclaim.c: adopts or ends what an earlier broker left. */
int bh_daemon_reclaim(struct bh_daemon *daemon, struct bh_error *error);

/* Absolute path of a helper program: beside bulkheadd, else in ../lib/bulkhead. Caller frees. */
int bh_helper_path(const char *name, char **ret, struct bh_error *error);

#endif
