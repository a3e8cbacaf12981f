/* The state of the one process: its event loop, its channel, who may call, who is connected.
 * main.c makes it; exchanges reach everything through it. */
#ifndef BULKHEAD_API_SERVER_H
#define BULKHEAD_API_SERVER_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "api/auth.h"
#include "api/broker_link.h"
#include "api/client.h"

struct bh_listener;

struct bh_server {
        struct event_base *base;
        struct bh_broker *broker;
        struct bh_clients *clients;
        struct bh_callers callers;
        struct bh_listener *listeners; /* list */
        struct event *drain_check;     /* pending while draining */
        int64_t drain_until_us;
        LIST_HEAD(bh_exchange_list, bh_exchange) exchanges;   /* requests under way */
        int (*harden)(void *context, struct bh_error *error); /* before "ready"; see main.c */
        void *harden_context;
        struct bh_error failed; /* why the loop ended; code 0: as it should */
};

/* Takes channel_fd. */
int bh_server_new_take(int channel_fd, struct bh_client_limits limits, struct bh_server **ret,
                       struct bh_error *error);
void bh_server_free(struct bh_server *server);

/* Until the broker closes the channel or a drain is done. -1: server->failed. */
int bh_server_run(struct bh_server *server);

/* Lets every listener go on with connections that were resumed. Not from inside a callback of
 * libmicrohttpd. */
void bh_server_pump(struct bh_server *server);

/* What is asked is still answered, but nothing goes on for as long as an execution does. */
bool bh_server_drains(const struct bh_server *server);

#endif
