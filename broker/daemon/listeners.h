/* The sockets that clients connect to. Opened by the broker, so that they outlive any
 * bulkhead-api; accepted from only by it. */
#ifndef BULKHEAD_BROKER_DAEMON_LISTENERS_H
#define BULKHEAD_BROKER_DAEMON_LISTENERS_H

#include "broker/daemon/config.h"

struct bh_listener {
        int fd;
        bool is_unix;
        char *text; /* with the real port */
        char *path; /* of a unix socket, removed at the end */
};

struct bh_listeners {
        struct bh_listener *items;
        size_t count;
};

int bh_listeners_open(const struct bh_config *config, struct bh_listeners *ret,
                      struct bh_error *error);
void bh_listeners_close(struct bh_listeners *listeners);
json_t *bh_listeners_encode(const struct bh_listeners *listeners); /* array of addresses */

#endif
