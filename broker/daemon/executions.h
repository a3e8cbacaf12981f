/* The executions that are under way: queued, provisioning, running, or ended but not yet stored
 * as such. The object here is the truth; the store follows at the end of the turn. */
#ifndef BULKHEAD_BROKER_DAEMON_EXECUTIONS_H
#define BULKHEAD_BROKER_DAEMON_EXECUTIONS_H

#include <event2/event.h>
#include <sys/queue.h>

#include "broker/daemon/call.h"
#include "broker/daemon/execution.h"
#include "policy/request.h"

struct bh_daemon;
struct bh_shim;
struct bh_live;
struct bh_waiter;
struct bh_search;

typedef void (*bh_end_action)(struct bh_live *live, void *data);

struct bh_end_hook {
        LIST_ENTRY(bh_end_hook) entry;
        bh_end_action action;
        void *data;
};

LIST_HEAD(bh_waiter_list, bh_waiter);
LIST_HEAD(bh_end_hook_list, bh_end_hook);

struct bh_live {
        struct bh_daemon *daemon;
        LIST_ENTRY(bh_live) bucket;
        TAILQ_ENTRY(bh_live) order; /* daemon->executions.all, oldest first */
        struct bh_execution *record;
        json_t *plan;
        struct bh_request *request; /* what the start order still needs; NULL once it is out */
        int payload_fd;
        int directory_fd, out_fd, err_fd; /* on their way to the shim, which gets them with `go` */
        struct bh_shim *shim;             /* NULL while queued, and once the shim is done */
        bool stored;                      /* the store has a row */
        bool dirty;                       /* the row is behind */
        struct event *drain;              /* when draining ends */
        struct event *kill_deadline;      /* when a kill has not led to an end */
        struct event *overdue;            /* when its shim should long have ended it */
        const char *kill_outcome;         /* for a shim that cannot be told yet; NULL: nothing */
        char *kill_detail;
        struct bh_search *search;   /* for its shim, after a restart; NULL: none */
        int64_t kept_out, kept_err; /* bytes in the files, as the shim last said */
        struct bh_waiter_list waiters;
        struct bh_waiter_list watchers;
        struct bh_end_hook_list hooks;
};

#define BH_LIVE_BUCKETS 4096

TAILQ_HEAD(bh_live_list, bh_live);
LIST_HEAD(bh_live_bucket, bh_live);

struct bh_executions {
        struct bh_live_list all;
        struct bh_live_bucket buckets[BH_LIVE_BUCKETS];
        int64_t active; /* holding a place: provisioning or running */
        int64_t queued;
        bool dirty; /* some row is behind */
};

void bh_executions_init(struct bh_executions *executions);

/* Takes the record. */
struct bh_live *bh_live_new_take(struct bh_daemon *daemon, struct bh_execution *record);
/* Without a word to anyone: for what was never stored, and at shutdown. */
void bh_live_free(struct bh_live *live);
/* The execution's directory with its empty files, for the shim. */
int bh_live_make_files(struct bh_live *live, struct bh_error *error);
void bh_live_close_files(struct bh_live *live);
/* The row is to be written at the end of this turn. */
void bh_live_changed(struct bh_live *live);
struct bh_live *bh_live_find(struct bh_daemon *daemon, const char *id);

/* The next one (after NULL: the first) of the agent that has not ended. */
struct bh_live *bh_live_of_agent(struct bh_daemon *daemon, struct bh_live *after,
                                 const char *tenant, const char *agent);

/* The shim said that it is this far. */
void bh_live_set_state(struct bh_live *live, enum bh_execution_state state, int64_t at_ms);
void bh_live_output(struct bh_live *live, int64_t kept_out, int64_t kept_err);
/* The record says ended: tells waiters and watchers, gives its place to the next. */
void bh_live_ended(struct bh_live *live);
/* Ends it without a shim's word. */
void bh_live_end(struct bh_live *live, const char *outcome, const char *detail);

/* Asks for the end; it comes through the shim. outcome is "killed" or "retiered". */
void bh_live_kill(struct bh_live *live, const char *outcome, const char *detail);

/* Calls action once, when it has ended or is forgotten. */
void bh_live_hook(struct bh_live *live, bh_end_action action, void *data);

/* The execution as the reply of call; descriptors stdout and stderr where they exist. */
json_t *bh_execution_show(struct bh_daemon *daemon, struct bh_call *call,
                          struct bh_execution *record);

/* Replies with the execution when it ends or the time is over. */
void bh_live_wait(struct bh_live *live, struct bh_call *call, int status, int64_t wait_ms);
void bh_live_watch(struct bh_live *live, struct bh_call *call);
/* The events of an execution that has ended long ago. */
void bh_execution_replay(struct bh_call *call, const struct bh_execution *record, int64_t kept_out,
                         int64_t kept_err);
/* At drain: answers every wait with the state of now. */
void bh_executions_answer_waiters(struct bh_daemon *daemon);

/* Around the turn's end (commit.c). */
int bh_executions_store(struct bh_daemon *daemon, struct bh_error *error);
void bh_executions_stored(struct bh_daemon *daemon);

/* reclaim.c: stops looking for a shim. Accepts NULL. */
void bh_search_free(struct bh_search *search);

/* Starts queued ones while there are places (admission.c). */
void bh_executions_start_queued(struct bh_daemon *daemon);

#endif
