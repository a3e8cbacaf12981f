/* See stream.h. */
#include "api/stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/reply.h"
#include "base/alloc.h"
#include "base/fd.h"

#define STREAM_BLOCK ((size_t)32 << 10) /* libmicrohttpd asks for this much at a time */

uint64_t bh_output_size(int fd)
{
        struct stat status;

        return fd >= 0 && fstat(fd, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static void take_files(struct bh_stream *stream, struct bh_frame *frame)
{
        if (frame->fd_count < 2 || stream->fds[0] >= 0)
                return;
        for (size_t i = 0; i < 2; i++) {
                stream->fds[i] = frame->fds[i];
                frame->fds[i] = -1;
        }
}

static void take_sizes(struct bh_stream *stream)
{
        for (size_t i = 0; i < 2; i++)
                stream->kept[i] = bh_output_size(stream->fds[i]);
}

void bh_stream_init(struct bh_stream *stream, const struct bh_stream_kind *kind,
                    struct bh_exchange *exchange, struct bh_frame *frame)
{
        stream->kind = kind;
        stream->exchange = exchange;
        stream->fds[0] = stream->fds[1] = -1;
        take_files(stream, frame);
        take_sizes(stream);
}

static ssize_t read_stream(void *context, uint64_t position, char *buffer, size_t size)
{
        struct bh_stream *stream = context;
        ssize_t got;

        (void)position;
        if (stream->exchange->state == BH_EXCHANGE_GONE)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        got = stream->kind->read(stream, buffer, size);
        if (got > 0)
                return got;
        if (got < 0)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        if (stream->finished)
                return MHD_CONTENT_READER_END_OF_STREAM;
        if (bh_server_drains(stream->exchange->server))
                return stream->kind->tells_end ? MHD_CONTENT_READER_END_OF_STREAM
                                               : MHD_CONTENT_READER_END_WITH_ERROR;
        bh_exchange_suspend(stream->exchange);
        return 0;
}

/* The exchange may be gone already; what it held of this stream is a plain pointer. */
static void free_stream(void *context)
{
        struct bh_stream *stream = context;

        bh_close(stream->fds[0]);
        bh_close(stream->fds[1]);
        stream->kind->free(stream);
}

void bh_stream_start_take(struct bh_stream *stream, const json_t *headers)
{
        struct MHD_Response *response = MHD_create_response_from_callback(
                MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, stream, free_stream);

        if (response)
                bh_reply_header(response, "Content-Type", stream->kind->content_type);
        stream->exchange->stream = stream;
        bh_reply_response_take(stream->exchange, 200, headers, response);
}

void bh_stream_event(struct bh_stream *stream, struct bh_frame *frame)
{
        const char *event = json_string_value(json_object_get(frame->message, "event"));

        if (!event)
                return;
        take_files(stream, frame);
        if (strcmp(event, "output") == 0 || strcmp(event, "ended") == 0)
                take_sizes(stream);
        if (strcmp(event, "ended") == 0) {
                stream->ended = true;
                stream->exchange->call = 0;
        }
        if (stream->kind->event)
                stream->kind->event(stream, frame->message);
        bh_exchange_resume(stream->exchange);
}
