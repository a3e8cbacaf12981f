/* Who waits for an execution or watches it: the replies and events that its progress lets go. */
#ifndef BULKHEAD_BROKER_DAEMON_WATCH_H
#define BULKHEAD_BROKER_DAEMON_WATCH_H

#include "broker/daemon/executions.h"

void bh_watch_states(struct bh_live *live); /* the state changed */
void bh_watch_output(struct bh_live *live); /* kept_out or kept_err grew */
void bh_watch_ended(struct bh_live *live);
/* It never was: whoever waits for it gets the error instead. */
void bh_watch_refuse(struct bh_live *live, const struct bh_error *error);
void bh_watch_drop_all(struct bh_live *live);

#endif
