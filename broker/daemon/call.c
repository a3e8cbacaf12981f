/* One request on its way through the broker. */
#include "broker/daemon/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/problem.h"

/* A frame that waits for the end of the turn. */
struct outgoing {
        struct bh_call *call;
        json_t *frame;
        bool ends_call;
};

static void unreference(struct bh_call *call)
{
        if (--call->references > 0)
                return;
        for (size_t i = 0; i < call->reply_fd_count; i++)
                bh_close(call->reply_fds[i]);
        bh_close(call->payload_fd);
        json_decref(call->params);
        json_decref(call->headers);
        free(call);
}

/* The call leaves the list of those that a cancel can name. */
static void forget(struct bh_call *call)
{
        if (call->gone)
                return;
        call->gone = true;
        call->on_gone = NULL;
        LIST_REMOVE(call, entry);
        unreference(call);
}

/* Whether a reply stays true when the turn is not stored: that of whoever only read, in a turn
 * that changed nothing. So reading goes on while the store cannot be written. */
static bool holds(const struct bh_call *call)
{
        if (bh_op_allows(call->op, BH_ROLE_ANONYMOUS))
                return true;
        return bh_op_allows(call->op, BH_ROLE_AUDITOR) && !call->daemon->turn_changes;
}

static void send_outgoing(void *data, bool committed)
{
        struct outgoing *outgoing = data;
        struct bh_call *call = outgoing->call;
        if (!call->gone) {
                if (!committed && !holds(call) && json_object_get(outgoing->frame, "status")) {
                        json_decref(outgoing->frame);
                        outgoing->frame =
                                json_pack("{sIsisoso}", "id", (json_int_t)call->id, "status", 500,
                                          "headers", json_object(), "problem",
                                          bh_problem_new_take("store_failed",
                                                              "the store cannot be written", NULL));
                }
                bh_daemon_send_api(call->daemon, outgoing->frame, call->reply_fds,
                                   call->reply_fd_count);
                for (size_t i = 0; i < call->reply_fd_count; i++)
                        bh_close(call->reply_fds[i]);
                call->reply_fd_count = 0;
                if (outgoing->ends_call)
                        forget(call);
        }
        json_decref(outgoing->frame);
        unreference(call);
        free(outgoing);
}

static void queue_take(struct bh_call *call, json_t *frame, bool ends_call)
{
        struct outgoing *outgoing = bh_alloc(sizeof(*outgoing));
        *outgoing = (struct outgoing){call, frame, ends_call};
        if (!frame)
                bh_alloc_failed();
        call->references++;
        bh_turn_after(&call->daemon->turn, BH_TURN_REPLY, send_outgoing, outgoing);
}

void bh_call_hold(struct bh_call *call, bh_call_gone on_gone, void *holder)
{
        call->on_gone = on_gone;
        call->holder = holder;
}

void bh_call_header(struct bh_call *call, const char *name, const char *value)
{
        if (!call->headers)
                call->headers = json_object();
        json_object_set_new(call->headers, name, json_string(value));
}

void bh_call_attach_take(struct bh_call *call, int fd)
{
        call->reply_fds[call->reply_fd_count++] = fd;
}

static void reply(struct bh_call *call, int status, const char *kind, json_t *content)
{
        if (call->answered || call->gone) {
                json_decref(content);
                return;
        }
        call->answered = true;
        if (!call->streaming)
                call->on_gone = NULL;
        json_t *headers = call->headers ? json_incref(call->headers) : json_object();
        json_t *frame = json_pack("{sIsisoso}", "id", (json_int_t)call->id, "status", status,
                                  "headers", headers, kind, content ? content : json_null());
        queue_take(call, frame, !call->streaming);
}

void bh_call_reply_take(struct bh_call *call, int status, json_t *body)
{
        reply(call, status, "body", body);
}

void bh_call_problem_take(struct bh_call *call, int status, json_t *problem)
{
        call->streaming = false;
        reply(call, status, "problem", problem);
}

void bh_call_fail(struct bh_call *call, const struct bh_error *error)
{
        int status = 0;
        json_t *problem = bh_problem_from_error(error, &status);
        if (bh_error_is_fault(error))
                bh_log_error("request.failed", bh_op_name(call->op), error);
        bh_call_problem_take(call, status, problem);
}

void bh_call_event_take(struct bh_call *call, json_t *event, bool last)
{
        if (call->gone) {
                json_decref(event);
                return;
        }
        json_object_set_new(event, "id", json_integer(call->id));
        queue_take(call, event, last);
}

void bh_call_drop(struct bh_call *call)
{
        bh_call_gone on_gone = call->on_gone;
        call->on_gone = NULL;
        if (on_gone)
                on_gone(call, call->holder);
        forget(call);
}

int bh_call_tenant(const struct bh_call *call, bool any, const char **ret, struct bh_error *error)
{
        struct bh_json_at root = BH_JSON_ROOT(call->params), at;
        const char *asked = NULL;
        if (bh_json_member(&root, "tenant", &at) && bh_name_decode(&at, &asked, error) < 0)
                return -1;
        if (call->principal.role == BH_ROLE_ORCHESTRATOR) {
                if (asked && strcmp(asked, call->principal.tenant) != 0)
                        return bh_error_refused(error, "forbidden", "",
                                                "this token belongs to another tenant");
                *ret = call->principal.tenant;
                return 0;
        }
        *ret = asked ? asked : any ? NULL : BH_DEFAULT_TENANT;
        return 0;
}
