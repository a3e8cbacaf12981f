/* See broker_link.h. Frames are as in docs/architecture.md, "API ↔ broker". */
#include "api/broker_link.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define BUCKETS 256

struct call {
        struct call *next;
        uint64_t id;
        bool watch; /* goes on after the reply, until "ended" */
        bh_broker_receiver receiver;
        void *context;
};

struct bh_broker {
        struct bh_channel *channel;
        struct event *readable, *writable;
        struct bh_broker_handlers handlers;
        uint64_t last_id;
        struct call *calls[BUCKETS]; /* by id */
};

static struct call **find_call(struct bh_broker *broker, uint64_t id)
{
        struct call **slot = &broker->calls[id % BUCKETS];

        while (*slot && (*slot)->id != id)
                slot = &(*slot)->next;
        return slot;
}

static void drop_call(struct call **slot)
{
        struct call *call = *slot;

        *slot = call->next;
        free(call);
}

/* Whether frame is the last of its call. */
static bool is_last(const struct call *call, const json_t *message)
{
        const char *event = json_string_value(json_object_get(message, "event"));

        if (!call->watch)
                return true;
        if (event)
                return strcmp(event, "ended") == 0;
        return json_integer_value(json_object_get(message, "status")) >= 400;
}

static void hand_out(struct bh_broker *broker, struct bh_frame *frame)
{
        json_t *id = json_object_get(frame->message, "id");
        struct call **slot, call;

        if (!id) {
                broker->handlers.notice(broker->handlers.context, frame);
                return;
        }
        slot = find_call(broker, (uint64_t)json_integer_value(id));
        if (!*slot)
                return; /* cancelled while the broker was answering */
        call = **slot;
        if (is_last(&call, frame->message))
                drop_call(slot);
        call.receiver(call.context, frame);
}

static void watch_writable(struct bh_broker *broker)
{
        if (bh_channel_wants_write(broker->channel))
                event_add(broker->writable, NULL);
}

static void on_writable(evutil_socket_t fd, short what, void *context)
{
        struct bh_broker *broker = context;
        struct bh_error error;

        (void)fd;
        (void)what;
        if (bh_channel_flush(broker->channel, &error) == 0)
                watch_writable(broker);
        /* A failure shows up on the reading side too. */
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
        struct bh_broker *broker = context;
        struct bh_error error;
        struct bh_frame frame;
        int result;

        (void)fd;
        (void)what;
        while ((result = bh_channel_receive(broker->channel, &frame, &error)) > 0) {
                hand_out(broker, &frame);
                bh_frame_clear(&frame);
        }
        broker->handlers.drained(broker->handlers.context);
        if (result < 0) {
                event_del(broker->readable);
                broker->handlers.closed(broker->handlers.context, &error);
        }
}

int bh_broker_new_take(struct event_base *base, int fd, const struct bh_broker_handlers *handlers,
                       struct bh_broker **ret, struct bh_error *error)
{
        struct bh_broker *broker;

        if (evutil_make_socket_nonblocking(fd) < 0) {
                bh_close(fd);
                return bh_error_set(error, BH_ERROR_SYSTEM, "descriptor %d is no channel", fd);
        }
        broker = bh_alloc(sizeof(*broker));
        broker->handlers = *handlers;
        broker->channel = bh_channel_new_take(fd);
        broker->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, broker);
        broker->writable = event_new(base, fd, EV_WRITE, on_writable, broker);
        if (!broker->readable || !broker->writable || event_add(broker->readable, NULL) < 0)
                bh_alloc_failed();
        *ret = broker;
        return 0;
}

void bh_broker_free(struct bh_broker *broker)
{
        if (!broker)
                return;
        event_free(broker->readable);
        event_free(broker->writable);
        for (size_t i = 0; i < BUCKETS; i++)
                while (broker->calls[i])
                        drop_call(&broker->calls[i]);
        bh_channel_free(broker->channel);
        free(broker);
}

static int send_message(struct bh_broker *broker, const json_t *message, int payload,
                        struct bh_error *error)
{
        int result =
                bh_channel_send(broker->channel, message, &payload, payload >= 0 ? 1 : 0, error);

        if (result == 0)
                watch_writable(broker);
        return result;
}

int bh_broker_notify(struct bh_broker *broker, const char *event, struct bh_error *error)
{
        _cleanup_json_ json_t *message = json_object();

        json_object_set_new(message, "event", json_string(event));
        return send_message(broker, message, -1, error);
}

int bh_broker_call(struct bh_broker *broker, const struct bh_broker_request *request,
                   bh_broker_receiver receiver, void *context, uint64_t *ret_id,
                   struct bh_error *error)
{
        _cleanup_json_ json_t *message = json_object();
        struct call *call;
        uint64_t id = ++broker->last_id;

        json_object_set_new(message, "id", json_integer((json_int_t)id));
        json_object_set_new(message, "op", json_string(bh_op_name(request->op)));
        if (request->token_sha256[0])
                json_object_set_new(message, "token", json_string(request->token_sha256));
        json_object_set_new(message, "request_id", json_string(request->request_id));
        json_object_set(message, "params", request->params);
        if (send_message(broker, message, request->payload, error) < 0)
                return -1;

        call = bh_alloc(sizeof(*call));
        call->id = id;
        call->watch = request->op == BH_OP_EXECUTION_WATCH;
        call->receiver = receiver;
        call->context = context;
        call->next = broker->calls[id % BUCKETS];
        broker->calls[id % BUCKETS] = call;
        *ret_id = id;
        return 0;
}

void bh_broker_cancel(struct bh_broker *broker, uint64_t id)
{
        _cleanup_json_ json_t *message = NULL;
        struct call **slot = find_call(broker, id);

        if (!*slot)
                return;
        drop_call(slot);
        message = json_object();
        json_object_set_new(message, "id", json_integer((json_int_t)id));
        json_object_set_new(message, "op", json_string("cancel"));
        /* When this cannot be sent the broker is gone, and with it the call. */
        (void)send_message(broker, message, -1, NULL);
}
