/* Framed messages between our own processes: a JSON object and file descriptors, over a
 * connected unix stream socket.
 *
 * Frame: u32 payload length, u32 descriptor count (little endian), payload. Descriptors
 * travel as SCM_RIGHTS on the header (unix(7)). A peer that passes a cap or mismatches the
 * count is a protocol error and the channel is done. The channel never blocks when its
 * descriptor is non-blocking; the owner watches the descriptor in its event loop. */
#ifndef BULKHEAD_BASE_WIRE_H
#define BULKHEAD_BASE_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define BH_WIRE_FRAME_MAX ((size_t)4 << 20)  /* bytes of JSON in one frame */
#define BH_WIRE_FDS_MAX   72                 /* descriptors with one frame: a start order's */
#define BH_WIRE_QUEUE_MAX ((size_t)64 << 20) /* bytes waiting for a slow peer */

struct bh_channel;

struct bh_frame {
        json_t *message; /* owned */
        int fds[BH_WIRE_FDS_MAX];
        size_t fd_count; /* fds[0..fd_count) are owned; a consumer steals by setting -1 */
};

/* Takes fd (a connected AF_UNIX SOCK_STREAM). */
struct bh_channel *bh_channel_new_take(int fd);
void bh_channel_free(struct bh_channel *channel);
int bh_channel_fd(const struct bh_channel *channel);

/* Queues a frame and tries to send. Descriptors are duplicated into the queue, the caller
 * keeps its own. -1: the peer is gone, or the queue is over its cap. */
int bh_channel_send(struct bh_channel *channel, const json_t *message, const int *fds,
                    size_t fd_count, struct bh_error *error);

/* Sends what is queued. 1: all sent, 0: the socket is full (watch for writability), -1. */
int bh_channel_flush(struct bh_channel *channel, struct bh_error *error);
bool bh_channel_wants_write(const struct bh_channel *channel);

/* Takes the next whole frame. 1: *ret filled, 0: none yet, -1: error; BH_ERROR_CLOSED at a
 * clean end between frames. */
int bh_channel_receive(struct bh_channel *channel, struct bh_frame *ret, struct bh_error *error);

void bh_frame_clear(struct bh_frame *frame);

#endif
