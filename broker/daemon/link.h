/* A frame channel in the event loop: reads whole frames, writes when the peer has room. Used
 * for bulkhead-api and for each shim. */
#ifndef BULKHEAD_BROKER_DAEMON_LINK_H
#define BULKHEAD_BROKER_DAEMON_LINK_H

#include <event2/event.h>

#include "base/cleanup.h"
#include "base/wire.h"

struct bh_link;

struct bh_link_events {
        /* The frame's descriptors are closed afterwards unless stolen. */
        void (*frame)(void *data, struct bh_frame *frame);
        /* Once, after which nothing more comes; error->code BH_ERROR_CLOSED is a clean end. The
         * callback may free the link. */
        void (*closed)(void *data, const struct bh_error *error);
};

/* Takes fd, makes it non-blocking. */
struct bh_link *bh_link_new_take(struct event_base *base, int fd,
                                 const struct bh_link_events *events, void *data);
/* Queues; a dead peer is seen as `closed` from the loop, never from inside this call. */
void bh_link_send(struct bh_link *link, const json_t *message, const int *fds, size_t fd_count);
/* Safe inside the link's own callbacks. Accepts NULL. */
void bh_link_free(struct bh_link *link);
BH_DEFINE_CLEANUP(struct bh_link *, bh_link, bh_link_free);

#endif
