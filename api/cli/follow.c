/* See follow.h. */
#include "api/cli/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "api/cli/member.h"
#include "api/cli/sse.h"
#include "base/alloc.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/json.h"

#define TRIES_MAX      10  /* connections in a row that bring nothing */
#define PAUSE_FIRST_MS 50L /* before the second; doubles each time */
#define PAUSE_MAX_MS   2000L
#define STALL_SECONDS  60 /* the broker sends a heartbeat every 15 */
#define WAIT_SECONDS   60 /* one ?wait= of the quiet way */

BH_DEFINE_CLEANUP(struct bh_sse *, bh_sse, bh_sse_free);

struct stream {
        const char *event;
        int fd;
        int64_t written; /* bytes of the stream so far: what comes again is not written again */
};

struct follow {
        struct stream streams[2];
        struct bh_sse *parser;
        json_t *ended; /* the execution, once it did */
        bool progressed;
};

static int take_output(struct stream *stream, const struct bh_sse_event *event,
                       struct bh_error *error)
{
        _cleanup_json_ json_t *json = NULL;
        _cleanup_free_ unsigned char *bytes = NULL;
        const char *data;
        size_t size = 0;
        int64_t offset;

        if (bh_json_parse(event->data, event->data_size, &json, error) < 0)
                return bh_error_prefix(error, "event %s", event->name);
        offset = bh_member_integer(json, "offset", -1);
        data = bh_member_text(json, "data");
        if (offset < 0 || data == NULL || bh_base64_decode(data, strlen(data), &bytes, &size) < 0)
                return bh_error_set(error, BH_ERROR_PROTOCOL,
                                    "the broker sent an event %s without offset or data",
                                    event->name);
        if (offset > stream->written)
                return bh_error_set(error, BH_ERROR_PROTOCOL,
                                    "bytes %" PRId64 " to %" PRId64 " of %s are missing",
                                    stream->written, offset, event->name);

        int64_t end = offset + (int64_t)size, fresh = end - stream->written;
        if (fresh <= 0)
                return 0;
        if (stream->fd >= 0 &&
            bh_write_full(stream->fd, bytes + (size - (size_t)fresh), (size_t)fresh) < 0)
                return bh_error_errno(error, errno, "write %s", event->name);
        stream->written = end;
        return 0;
}

static int take_end(struct follow *follow, const struct bh_sse_event *event, struct bh_error *error)
{
        _cleanup_json_ json_t *execution = NULL;

        if (bh_json_parse(event->data, event->data_size, &execution, error) < 0)
                return bh_error_prefix(error, "event ended");
        if (bh_member_text(execution, "outcome") == NULL)
                return bh_error_set(error, BH_ERROR_PROTOCOL,
                                    "the broker sent an event ended without an outcome");
        json_decref(follow->ended);
        follow->ended = bh_steal_ptr(&execution);
        return 0;
}

static int take_event(void *context, const struct bh_sse_event *event, struct bh_error *error)
{
        struct follow *follow = context;

        if (strcmp(event->name, "ended") == 0)
                return take_end(follow, event, error);
        for (size_t index = 0; index < 2; index++)
                if (strcmp(event->name, follow->streams[index].event) == 0)
                        return take_output(&follow->streams[index], event, error);
        return 0; /* "state", and what a newer broker may tell */
}

static int take_bytes(void *context, const char *bytes, size_t size, struct bh_error *error)
{
        struct follow *follow = context;

        follow->progressed = true; /* a heartbeat is a sign of life too */
        return bh_sse_feed(follow->parser, bytes, size, error);
}

static void pause_before(int try)
{
        long milliseconds = PAUSE_FIRST_MS << (try < 8 ? try - 1 : 7);
        struct timespec span;

        if (milliseconds > PAUSE_MAX_MS)
                milliseconds = PAUSE_MAX_MS;
        span = (struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000};
        nanosleep(&span, NULL);
}

/* One connection to the event stream. 0: it is over, in whatever way; -1: give up. */
static int follow_once(struct bh_cli *cli, const char *path, struct follow *follow,
                       struct bh_error *error)
{
        _cleanup_response_ struct bh_http_response response = {0};
        const char *last = bh_sse_last_id(follow->parser);
        struct bh_http_request request = {
                .method = "GET",
                .path = path,
                .accept = "text/event-stream, application/problem+json",
                .last_event_id = last[0] != '\0' ? last : NULL,
                .stall_seconds = STALL_SECONDS,
                .sink = take_bytes,
                .sink_context = follow,
        };

        bh_sse_restart(follow->parser);
        if (bh_cli_connect(cli, error) < 0)
                return -1;
        if (bh_http_call(cli->http, &request, &response, error) < 0)
                return error->code == BH_ERROR_CLOSED || error->code == BH_ERROR_UNAVAILABLE ? 0
                                                                                             : -1;
        bh_error_set(error, BH_ERROR_CLOSED, "the broker closed the event stream early");
        if (response.status / 100 == 2 || response.status == 502 || response.status == 503)
                return 0;
        return bh_cli_problem(cli, &response, error);
}

static int follow_to_end(struct bh_cli *cli, const char *execution, struct follow *follow,
                         struct bh_error *error)
{
        _cleanup_free_ char *path = NULL;

        if (bh_cli_path("executions", execution, "/events", &path, error) < 0)
                return -1;
        for (int try = 1;; try++) {
                follow->progressed = false;
                if (follow_once(cli, path, follow, error) < 0)
                        return -1;
                if (follow->ended != NULL)
                        return 0;
                if (follow->progressed)
                        try = 1;
                if (try >= TRIES_MAX)
                        return bh_error_prefix(error, "lost sight of %s, which may still run",
                                               execution);
                pause_before(try);
        }
}

int bh_follow(struct bh_cli *cli, const char *execution, int stdout_fd, int stderr_fd, json_t **ret,
              struct bh_error *error)
{
        struct follow follow = {.streams = {{"stdout", stdout_fd, 0}, {"stderr", stderr_fd, 0}}};
        _cleanup_(bh_sse_cleanup) struct bh_sse *parser = bh_sse_new(take_event, &follow);

        follow.parser = parser;
        if (follow_to_end(cli, execution, &follow, error) < 0) {
                json_decref(follow.ended);
                return -1;
        }
        *ret = follow.ended;
        return 0;
}

int bh_follow_quietly(struct bh_cli *cli, const char *execution, json_t **ret,
                      struct bh_error *error)
{
        _cleanup_free_ char *tail = bh_format("?wait=%d", WAIT_SECONDS);
        _cleanup_free_ char *path = NULL;

        if (bh_cli_path("executions", execution, tail, &path, error) < 0)
                return -1;
        for (int try = 1;; try++) {
                _cleanup_response_ struct bh_http_response response = {0};
                struct bh_http_request request = {.method = "GET", .path = path};

                if (bh_cli_connect(cli, error) < 0)
                        return -1;
                if (bh_http_call(cli->http, &request, &response, error) == 0) {
                        if (response.status / 100 != 2)
                                return bh_cli_problem(cli, &response, error);
                        try = 1;
                        if (bh_member_text(response.json, "outcome") != NULL) {
                                *ret = bh_steal_ptr(&response.json);
                                return 0;
                        }
                        continue;
                }
                if ((error->code != BH_ERROR_CLOSED && error->code != BH_ERROR_UNAVAILABLE) ||
                    try >= TRIES_MAX)
                        return bh_error_prefix(error, "lost sight of %s, which may still run",
                                               execution);
                pause_before(try);
        }
}
