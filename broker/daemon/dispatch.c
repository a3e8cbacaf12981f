/* From a frame of bulkhead-api to the handler of its operation. */
#include "broker/daemon/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/problem.h"

static const bh_handler handlers[BH_OP_COUNT] = {
        [BH_OP_HEALTH] = bh_handle_health,
        [BH_OP_READY] = bh_handle_ready,
        [BH_OP_HOST] = bh_handle_host,
        [BH_OP_POLICY] = bh_handle_policy,
        [BH_OP_AUDIT_LIST] = bh_handle_audit_list,
        [BH_OP_AGENT_PUT] = bh_handle_agent_put,
        [BH_OP_AGENT_GET] = bh_handle_agent_get,
        [BH_OP_AGENT_LIST] = bh_handle_agent_list,
        [BH_OP_AGENT_DELETE] = bh_handle_agent_delete,
        [BH_OP_CAPABILITIES_PUT] = bh_handle_capabilities_put,
        [BH_OP_REVIEW_CREATE] = bh_handle_review_create,
        [BH_OP_REVIEW_LIST] = bh_handle_review_list,
        [BH_OP_DECISION] = bh_handle_decision,
        [BH_OP_EXECUTION_CREATE] = bh_handle_execution_create,
        [BH_OP_EXECUTION_GET] = bh_handle_execution_get,
        [BH_OP_EXECUTION_LIST] = bh_handle_execution_list,
        [BH_OP_EXECUTION_DELETE] = bh_handle_execution_delete,
        [BH_OP_EXECUTION_WATCH] = bh_handle_execution_watch,
        [BH_OP_WORKSPACE_PUT] = bh_handle_workspace_put,
        [BH_OP_WORKSPACE_GET] = bh_handle_workspace_get,
        [BH_OP_WORKSPACE_LIST] = bh_handle_workspace_list,
        [BH_OP_WORKSPACE_DELETE] = bh_handle_workspace_delete,
        [BH_OP_FILE_GET] = bh_handle_files,
        [BH_OP_FILE_PUT] = bh_handle_files,
        [BH_OP_FILE_DELETE] = bh_handle_files,
        [BH_OP_TREE_GET] = bh_handle_files,
        [BH_OP_ARCHIVE_GET] = bh_handle_files,
        [BH_OP_ARCHIVE_PUT] = bh_handle_files,
};

struct request {
        int64_t id;
        const char *op, *token, *request_id;
        struct bh_json_at params;
};

static int decode(const struct bh_frame *frame, struct request *ret, struct bh_error *error)
{
        static const char *const members[] = {"id", "op", "token", "request_id", "params", NULL};
        struct bh_json_at root = BH_JSON_ROOT(frame->message), at;
        if (bh_json_object(&root, members, error) < 0 ||
            bh_json_require(&root, "id", &at, error) < 0 ||
            bh_json_integer(&at, 0, INT64_MAX, &ret->id, error) < 0 ||
            bh_json_require(&root, "op", &at, error) < 0 ||
            bh_json_string(&at, 1, 64, &ret->op, error) < 0)
                return -1;
        ret->token = ret->request_id = "";
        if (bh_json_member(&root, "token", &at) && !json_is_null(at.value) &&
            bh_json_string(&at, 0, BH_SHA256_HEX_SIZE - 1, &ret->token, error) < 0)
                return -1;
        if (bh_json_member(&root, "request_id", &at) &&
            bh_json_string(&at, 1, 256, &ret->request_id, error) < 0)
                return -1;
        if (!bh_json_member(&root, "params", &ret->params))
                ret->params = (struct bh_json_at){0};
        else if (!json_is_object(ret->params.value))
                return bh_json_fail(&ret->params, error, "must be an object");
        return 0;
}

static struct bh_call *find_call(struct bh_daemon *daemon, int64_t id)
{
        struct bh_call *call = NULL;
        LIST_FOREACH (call, &daemon->calls, entry)
                if (call->id == id)
                        return call;
        return NULL;
}

static struct bh_call *new_call(struct bh_daemon *daemon, const struct request *request,
                                struct bh_frame *frame)
{
        struct bh_call *call = bh_alloc(sizeof(*call));
        call->daemon = daemon;
        call->id = request->id;
        call->references = 1;
        call->params = request->params.value ? json_incref((json_t *)request->params.value)
                                             : json_object();
        call->payload_fd = -1;
        if (frame->fd_count > 0) {
                call->payload_fd = frame->fds[0];
                frame->fds[0] = -1;
        }
        LIST_INSERT_HEAD(&daemon->calls, call, entry);
        return call;
}

/* The broker's own check; the API's was only to be quick. */
static int authorize(struct bh_call *call, const char *token, struct bh_error *error)
{
        struct bh_daemon *daemon = call->daemon;
        const struct bh_principal *principal = NULL;
        if (token[0])
                principal = bh_tokens_find(&daemon->tokens, token, bh_realtime_ms());
        call->principal.role = principal ? principal->role : BH_ROLE_ANONYMOUS;
        if (principal)
                call->principal = *principal;
        snprintf(call->actor, sizeof(call->actor), "%s:%s/%s", bh_role_name(call->principal.role),
                 call->principal.tenant, call->principal.name);
        if (bh_op_allows(call->op, BH_ROLE_ANONYMOUS) ||
            bh_op_allows(call->op, call->principal.role))
                return 0;
        if (!principal)
                return bh_error_refused(error, "unauthorized", "", "a valid token is needed");
        return bh_error_refused(error, "forbidden", "", "the role %s may not call %s",
                                bh_role_name(principal->role), bh_op_name(call->op));
}

int bh_dispatch(struct bh_daemon *daemon, struct bh_frame *frame, struct bh_error *error)
{
        struct request request = {0};
        if (decode(frame, &request, error) < 0)
                return -1;
        struct bh_call *known = find_call(daemon, request.id);
        if (strcmp(request.op, "cancel") == 0) {
                if (known)
                        bh_call_drop(known);
                return 0;
        }
        if (known)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "request %lld is under way already",
                                    (long long)request.id);
        enum bh_op op = bh_op_by_name(request.op);
        if (op == BH_OP_COUNT)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "unknown operation \"%s\"",
                                    request.op);
        struct bh_call *call = new_call(daemon, &request, frame);
        struct bh_error failure = {0};
        call->op = op;
        if (authorize(call, request.token, &failure) < 0) {
                bh_call_fail(call, &failure);
                return 0;
        }
        if (!bh_op_allows(op, BH_ROLE_AUDITOR)) /* who changes nothing */
                daemon->turn_changes = true;
        if (handlers[op](call, &failure) < 0)
                bh_call_fail(call, &failure);
        return 0;
}
