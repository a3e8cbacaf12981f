/* One request of bulkhead-api on its way through the broker: who asks, what, and the one reply.
 *
 * A handler either replies, or returns -1 with an error that becomes the reply, or keeps the
 * call (bh_call_hold) and replies later. Replies go out at the end of the turn; a turn that the
 * store could not take turns each of them into 500 store_failed. */
#ifndef BULKHEAD_BROKER_DAEMON_CALL_H
#define BULKHEAD_BROKER_DAEMON_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/wire.h"
#include "broker/daemon/principal.h"

struct bh_daemon;
struct bh_call;

typedef void (*bh_call_gone)(struct bh_call *call, void *data);

struct bh_call {
        struct bh_daemon *daemon;
        LIST_ENTRY(bh_call) entry; /* daemon->calls */
        int64_t id;
        enum bh_op op;
        struct bh_principal principal;
        char actor[160]; /* for the audit log */
        json_t *params;
        int payload_fd;       /* -1: none */
        bool answered;        /* a reply is queued or out */
        bool streaming;       /* events follow the reply; the call stays */
        bool gone;            /* the client or the API went away: nothing more is sent */
        int references;       /* queued frames, and the list of calls */
        bh_call_gone on_gone; /* of whoever holds the call */
        void *holder;
        json_t *headers; /* NULL: none */
        int reply_fds[BH_WIRE_FDS_MAX];
        size_t reply_fd_count;
};

LIST_HEAD(bh_call_list, bh_call);

/* Keeps the call past its handler; on_gone is called when nobody waits for it any longer. */
void bh_call_hold(struct bh_call *call, bh_call_gone on_gone, void *holder);

void bh_call_header(struct bh_call *call, const char *name, const char *value);
void bh_call_attach_take(struct bh_call *call, int fd);

/* The reply. body may be NULL (204). */
void bh_call_reply_take(struct bh_call *call, int status, json_t *body);
void bh_call_problem_take(struct bh_call *call, int status, json_t *problem);
/* From an error; logs it when it is the broker's own failure. */
void bh_call_fail(struct bh_call *call, const struct bh_error *error);

/* After the reply of a streaming call. `last` ends the call. */
void bh_call_event_take(struct bh_call *call, json_t *event, bool last);

/* Nobody waits any longer: tells the holder, forgets the call. */
void bh_call_drop(struct bh_call *call);

/* The tenant that this call is about. Reads: NULL means any (operator, auditor without
 * `tenant`) where `any` is set; else "default". */
int bh_call_tenant(const struct bh_call *call, bool any, const char **ret, struct bh_error *error);

#endif
