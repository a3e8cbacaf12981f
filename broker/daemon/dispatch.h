/* From a frame of bulkhead-api to the handler of its operation: shape, token, role, then the
 * handler. Nothing of the API's own checks is trusted. */
#ifndef BULKHEAD_BROKER_DAEMON_DISPATCH_H
#define BULKHEAD_BROKER_DAEMON_DISPATCH_H

#include "base/wire.h"
#include "broker/daemon/call.h"

struct bh_daemon;

/* BH_ERROR_PROTOCOL when the frame is none that a bulkhead-api may send: it is then ended. */
int bh_dispatch(struct bh_daemon *daemon, struct bh_frame *frame, struct bh_error *error);

/* One operation. Returns -1 and an error that becomes the reply, or 0 when it replied or holds
 * the call. */
typedef int (*bh_handler)(struct bh_call *call, struct bh_error *error);

int bh_handle_health(struct bh_call *call, struct bh_error *error);
int bh_handle_ready(struct bh_call *call, struct bh_error *error);
int bh_handle_host(struct bh_call *call, struct bh_error *error);
int bh_handle_policy(struct bh_call *call, struct bh_error *error);
int bh_handle_audit_list(struct bh_call *call, struct bh_error *error);
int bh_handle_agent_put(struct bh_call *call, struct bh_error *error);
int bh_handle_agent_get(struct bh_call *call, struct bh_error *error);
int bh_handle_agent_list(struct bh_call *call, struct bh_error *error);
int bh_handle_agent_delete(struct bh_call *call, struct bh_error *error);
int bh_handle_capabilities_put(struct bh_call *call, struct bh_error *error);
int bh_handle_review_create(struct bh_call *call, struct bh_error *error);
int bh_handle_review_list(struct bh_call *call, struct bh_error *error);
int bh_handle_decision(struct bh_call *call, struct bh_error *error);
int bh_handle_execution_create(struct bh_call *call, struct bh_error *error);
int bh_handle_execution_get(struct bh_call *call, struct bh_error *error);
int bh_handle_execution_list(struct bh_call *call, struct bh_error *error);
int bh_handle_execution_delete(struct bh_call *call, struct bh_error *error);
int bh_handle_execution_watch(struct bh_call *call, struct bh_error *error);
int bh_handle_workspace_put(struct bh_call *call, struct bh_error *error);
int bh_handle_workspace_get(struct bh_call *call, struct bh_error *error);
int bh_handle_files(struct bh_call *call, struct bh_error *error); /* of files, tree, archive */
int bh_handle_workspace_list(struct bh_call *call, struct bh_error *error);
int bh_handle_workspace_delete(struct bh_call *call, struct bh_error *error);

#endif
