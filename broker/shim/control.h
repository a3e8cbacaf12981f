/* The shim's side of its channel to bulkheadd: the socketpair that it was born with, and after
 * the broker's death control.sock in the execution's directory, where the next broker adopts.
 * Owned by run.c, which polls one descriptor of it. */
#ifndef BULKHEAD_BROKER_SHIM_CONTROL_H
#define BULKHEAD_BROKER_SHIM_CONTROL_H

#include <poll.h>

#include "broker/shim/command.h"

struct bh_control {
        struct bh_channel *channel; /* NULL: nobody is there */
        bool is_broker;             /* the peer started us, or said adopt */
        int listener;               /* -1: no broker died yet, control.sock is not there */
        int directory;              /* the execution's, borrowed; -1 before it is told */
};

/* Takes fd, a connected unix stream socket; makes it non-blocking. */
int bh_control_open_take(struct bh_control *control, int fd, struct bh_error *error);

/* What to poll: the peer, or the listener while nobody is there; fd -1 when neither. */
struct pollfd bh_control_pollfd(const struct bh_control *control);

/* Sends what is queued after poll said POLLOUT. */
void bh_control_flush(struct bh_control *control);

/* The next frame as it came, for the start order. 1, 0: none yet, -1: BH_ERROR_CLOSED or broken. */
int bh_control_receive(struct bh_control *control, struct bh_frame *ret, struct bh_error *error);

/* The next command, accepting a broker where one comes. 1: *ret is filled; ADOPT comes exactly
 * once per adoption. 0: none now, or nobody there. -1, BH_ERROR_PROTOCOL: the broker broke the
 * protocol and is cut off; BH_ERROR_SYSTEM: control.sock could not be made. */
int bh_control_next(struct bh_control *control, struct bh_command *ret, struct bh_error *error);

/* Sends to the broker, if there is one; a peer that is gone shows up in bh_control_next. */
void bh_control_send_take(struct bh_control *control, json_t *message);

/* Cuts off a broker that said what it may not say now, and waits for the next one. */
void bh_control_cut_off(struct bh_control *control);

bool bh_control_has_broker(const struct bh_control *control);

/* Hangs up and removes control.sock. */
void bh_control_close(struct bh_control *control);

#endif
