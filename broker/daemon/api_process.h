/* The bulkhead-api process: started, given the listening sockets and the tokens, and started
 * again when it ends. */
#ifndef BULKHEAD_BROKER_DAEMON_API_PROCESS_H
#define BULKHEAD_BROKER_DAEMON_API_PROCESS_H

#include <event2/event.h>
#include <stdbool.h>

#include "base/pidref.h"
#include "broker/daemon/link.h"

struct bh_daemon;

struct bh_api {
        struct bh_pidref process;
        struct bh_link *link; /* NULL while there is none */
        bool ready;
        bool announced; /* the ready line is out */
        struct event *restart;
        int64_t started_us;
        int failures;
};

int bh_api_init(struct bh_daemon *daemon, struct bh_error *error);
int bh_api_start(struct bh_daemon *daemon, struct bh_error *error);
/* Takes the broker's end of a channel whose other end speaks for bulkhead-api. */
void bh_api_attach_take(struct bh_daemon *daemon, int channel);
void bh_api_drain(struct bh_daemon *daemon);
/* Tells it which tokens count now. */
void bh_api_send_principals(struct bh_daemon *daemon);
void bh_api_clear(struct bh_daemon *daemon);

#endif
