/* Sockets that were answered and closed while their clients were still sending: what comes is
 * read and dropped for a short while, so that the answer is not lost to a reset (RFC 9112
 * section 9.6). Called by client.c. */
#ifndef BULKHEAD_API_LINGER_H
#define BULKHEAD_API_LINGER_H

#include <event2/event.h>

struct bh_lingerers;

struct bh_lingerers *bh_lingerers_new(struct event_base *base);
void bh_lingerers_free(struct bh_lingerers *lingerers);

/* Keeps a copy of fd. Best effort: when there are too many, the oldest way out is a reset. */
void bh_linger(struct bh_lingerers *lingerers, int fd);

#endif
