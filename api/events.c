/* GET /v1/executions/{id}/events: Server-Sent Events. States come as the broker tells
 * them; output is read from the files when the client has room, so a slow client costs one
 * event's text and nothing more. Each event's id says all that was delivered up to it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/executions.h"
#include "api/reply.h"
#include "api/sse_id.h"
#include "api/stream.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/json.h"

#define CHUNK_MAX         ((size_t)32 << 10) /* bytes of output in one event */
#define HEARTBEAT_SECONDS 15

struct events {
        struct bh_stream stream;
        struct bh_sse_id at; /* delivered, or in the text below */
        char *text;          /* not yet taken by the client */
        size_t have, taken, capacity;
        json_t *last; /* the execution's document, once it ended */
        uint64_t last_sequence;
        struct event *heartbeat;
};

static void add_text(struct events *events, const char *text)
{
        size_t length = strlen(text);

        if (events->have + length > events->capacity) {
                events->capacity = (events->have + length) * 2;
                events->text = bh_realloc_array(events->text, events->capacity, 1);
        }
        memcpy(events->text + events->have, text, length);
        events->have += length;
}

static void add_event(struct events *events, const char *name, const char *data)
{
        char id[BH_SSE_ID_SIZE];
        _cleanup_free_ char *text = NULL;

        bh_sse_id_format(&events->at, id);
        text = bh_format("id: %s\nevent: %s\ndata: %s\n\n", id, name, data);
        add_text(events, text);
}

static void add_document(struct events *events, const char *name, const json_t *document)
{
        _cleanup_free_ char *data = bh_json_text(document);

        add_event(events, name, data);
}

/* The next chunk of one stream. 1: added, 0: nothing there, -1. */
static int add_output(struct events *events, int which)
{
        static const char *const names[] = {"stdout", "stderr"};
        uint64_t offset = events->at.output[which], there = events->stream.kept[which];
        size_t size = there - offset < CHUNK_MAX ? (size_t)(there - offset) : CHUNK_MAX;
        _cleanup_free_ char *bytes = NULL, *encoded = NULL, *data = NULL;

        if (offset >= there)
                return 0;
        bytes = bh_alloc(size);
        if (bh_pread_full(events->stream.fds[which], bytes, size, (off_t)offset) != (ssize_t)size)
                return -1;
        encoded = bh_base64_encode(bytes, size);
        data = bh_format("{\"offset\":%" PRIu64 ",\"data\":\"%s\"}", offset, encoded);
        events->at.output[which] += size;
        add_event(events, names[which], data);
        return 1;
}

/* What comes next when all earlier text is taken: output, then the end. */
static int add_next(struct events *events)
{
        int added = add_output(events, BH_STDOUT);

        if (added == 0)
                added = add_output(events, BH_STDERR);
        if (added != 0 || !events->stream.ended || events->at.ended)
                return added;
        events->at.ended = true;
        events->at.sequence = events->last_sequence;
        add_document(events, "ended", events->last);
        return 1;
}

static ssize_t read_events(struct bh_stream *stream, char *buffer, size_t size)
{
        struct events *events = (struct events *)stream;
        size_t left;

        if (events->taken == events->have) {
                events->taken = events->have = 0;
                if (add_next(events) < 0)
                        return -1;
        }
        left = events->have - events->taken;
        if (left == 0)
                stream->finished = events->at.ended;
        if (left > size)
                left = size;
        if (left > 0)
                memcpy(buffer, events->text + events->taken, left);
        events->taken += left;
        return (ssize_t)left;
}

static void on_state(struct events *events, const json_t *message)
{
        uint64_t sequence = (uint64_t)json_integer_value(json_object_get(message, "sequence"));
        const char *state = json_string_value(json_object_get(message, "state"));
        _cleanup_json_ json_t *document = NULL;

        /* The end is told by "ended", after all output. */
        if (!state || strcmp(state, "ended") == 0 || sequence <= events->at.sequence)
                return;
        events->at.sequence = sequence;
        document = json_pack("{s:O, s:O}", "state", json_object_get(message, "state"), "at",
                             json_object_get(message, "at"));
        if (document)
                add_document(events, "state", document);
}

static void on_event(struct bh_stream *stream, const json_t *message)
{
        struct events *events = (struct events *)stream;
        const char *event = json_string_value(json_object_get(message, "event"));
        json_t *execution = json_object_get(message, "execution");

        if (strcmp(event, "state") == 0)
                on_state(events, message);
        if (!stream->ended || events->last)
                return;
        events->last = json_is_object(execution) ? json_incref(execution) : json_object();
        events->last_sequence = (uint64_t)json_integer_value(json_object_get(message, "sequence"));
        bh_execution_strip_data(events->last);
}

static void on_heartbeat(evutil_socket_t fd, short what, void *context)
{
        struct events *events = context;

        (void)fd;
        (void)what;
        if (events->taken != events->have)
                return; /* the client is slow, not the execution */
        add_text(events, ":\n\n");
        bh_exchange_resume(events->stream.exchange);
        bh_server_pump(events->stream.exchange->server);
}

static void free_events(struct bh_stream *stream)
{
        struct events *events = (struct events *)stream;

        event_free(events->heartbeat);
        json_decref(events->last);
        free(events->text);
        free(events);
}

static const struct bh_stream_kind events_kind = {
        .content_type = "text/event-stream",
        .tells_end = true,
        .read = read_events,
        .event = on_event,
        .free = free_events,
};

static void start(struct bh_exchange *exchange, struct bh_frame *frame,
                  const struct bh_sse_id *from)
{
        static const struct timeval period = {.tv_sec = HEARTBEAT_SECONDS};
        struct events *events = bh_alloc(sizeof(*events));

        bh_stream_init(&events->stream, &events_kind, exchange, frame);
        /* The broker tells the states of the past first, and then that there is output. */
        events->stream.kept[BH_STDOUT] = events->stream.kept[BH_STDERR] = 0;
        events->at = *from;
        events->heartbeat = event_new(exchange->server->base, -1, EV_PERSIST, on_heartbeat, events);
        if (!events->heartbeat)
                bh_alloc_failed();
        event_add(events->heartbeat, &period);
        bh_stream_start_take(&events->stream, NULL);
}

void bh_answer_events(struct bh_exchange *exchange, struct bh_frame *frame)
{
        const char *last = bh_exchange_header(exchange, "Last-Event-ID");
        struct bh_sse_id from = {.ended = false};
        struct bh_http_problem problem = {.status = 0};
        struct bh_error error;

        if (last && bh_sse_id_parse(last, &from, &error) < 0) {
                bh_http_problem_from_error(&problem, &error, "invalid_request", 0);
                bh_reply_problem(exchange, &problem);
                return;
        }
        /* 204 tells an EventSource to stop asking: it has seen the end. */
        if (from.ended)
                bh_reply_text_take(exchange, 204, NULL, NULL, bh_strdup(""));
        else if (exchange->head)
                bh_reply_text_take(exchange, 200, events_kind.content_type, NULL, bh_strdup(""));
        else
                start(exchange, frame, &from);
}
