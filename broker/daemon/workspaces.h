/* Named workspaces: a row, and an image of exactly its size in state_dir/workspaces/<tenant>/. */
#ifndef BULKHEAD_BROKER_DAEMON_WORKSPACES_H
#define BULKHEAD_BROKER_DAEMON_WORKSPACES_H

#include "base/error.h"

struct bh_daemon;

/* Removes images that no row has: what a crash between the two left. Called at start. */
int bh_workspaces_sweep(struct bh_daemon *daemon, struct bh_error *error);

#endif
