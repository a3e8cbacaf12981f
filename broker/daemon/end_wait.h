/* A reply that goes out only when certain executions have really ended. */
#ifndef BULKHEAD_BROKER_DAEMON_END_WAIT_H
#define BULKHEAD_BROKER_DAEMON_END_WAIT_H

#include "broker/daemon/executions.h"

struct bh_end_wait;

/* call's headers are set by then; body is taken. */
struct bh_end_wait *bh_end_wait_new_take(struct bh_call *call, int status, json_t *body);
void bh_end_wait_add(struct bh_end_wait *wait, struct bh_live *live);
/* Replies at once when there is nothing to wait for. Frees itself after the reply. */
void bh_end_wait_arm(struct bh_end_wait *wait);

#endif
