/* One listening socket served by one libmicrohttpd daemon inside our event loop. Called by
 * server.c. */
#ifndef BULKHEAD_API_LISTENER_H
#define BULKHEAD_API_LISTENER_H

#include "api/server.h"
#include "base/wire.h"

/* Takes the descriptors of a {"event": "listen"} frame and adds a listener to the server. */
int bh_listener_add(struct bh_server *server, struct bh_frame *frame, struct bh_error *error);
void bh_listener_free_all(struct bh_server *server);

/* One turn of libmicrohttpd, and when it wants the next. */
void bh_listener_pump(struct bh_listener *listener);
struct bh_listener *bh_listener_next(struct bh_listener *listener);

/* Accept nothing more. */
void bh_listener_quiesce(struct bh_listener *listener);

#endif
