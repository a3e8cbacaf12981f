/* Named workspaces: a row, and an image of exactly its size in state_dir/workspaces/<tenant>/. */
#ifndef BULKHEAD_BROKER_DAEMON_WORKSPACES_H
#define BULKHEAD_BROKER_DAEMON_WORKSPACES_H

#include <stdbool.h>

#include "base/error.h"
#include "broker/daemon/call.h"
#include "broker/daemon/store.h"

struct bh_daemon;

/* The row that params' `workspace` names in the call's tenant. */
int bh_workspace_load(struct bh_call *call, const struct bh_json_at *params,
                      struct bh_workspace_row **ret, struct bh_error *error);
/* Its image, for whoever mounts it. Returns a descriptor, or -1. */
int bh_workspace_open(struct bh_daemon *daemon, const struct bh_workspace_row *row,
                      struct bh_error *error);

/* Removes images that no row has: what a crash between the two left. Called at start. */
int bh_workspaces_sweep(struct bh_daemon *daemon, struct bh_error *error);

#endif
