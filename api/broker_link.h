/* The API's end of the channel to bulkheadd: requests out, replies and events back to whoever
 * asked. Owns the channel and the table of calls under way. Called by server.c (which watches the
 * descriptor) and by exchange.c. */
#ifndef BULKHEAD_API_BROKER_LINK_H
#define BULKHEAD_API_BROKER_LINK_H

#include <event2/event.h>
#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "base/wire.h"
#include "broker/protocol.h"

struct bh_broker;

/* A reply (has "status") or an event of a watch (has "event"). May steal from frame. */
typedef void (*bh_broker_receiver)(void *context, struct bh_frame *frame);

struct bh_broker_handlers {
        void *context;
        bh_broker_receiver notice;      /* a frame without "id" */
        void (*drained)(void *context); /* all frames that had come were handed out */
        void (*closed)(void *context, const struct bh_error *error); /* the last call */
};

/* Takes fd. */
int bh_broker_new_take(struct event_base *base, int fd, const struct bh_broker_handlers *handlers,
                       struct bh_broker **ret, struct bh_error *error);
void bh_broker_free(struct bh_broker *broker);

int bh_broker_notify(struct bh_broker *broker, const char *event, struct bh_error *error);

struct bh_broker_request {
        enum bh_op op;
        const char *token_sha256; /* "" for nobody */
        const char *request_id;
        json_t *params; /* borrowed */
        int payload;    /* -1: none */
};

/* Sends; receiver is called with the reply and, for a watch, with its events, until the last one
 * or bh_broker_cancel. Returns 0 and the call's id. */
int bh_broker_call(struct bh_broker *broker, const struct bh_broker_request *request,
                   bh_broker_receiver receiver, void *context, uint64_t *ret_id,
                   struct bh_error *error);

/* Forgets the call and tells the broker. An id that is done is ignored. */
void bh_broker_cancel(struct bh_broker *broker, uint64_t id);

#endif
