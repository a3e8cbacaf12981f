/* An answer that goes on while an execution runs: raw output with ?follow=true (output.c) and
 * Server-Sent Events (events.c). Pulled by libmicrohttpd when the client has room, woken by the
 * broker's events; bytes are read from the execution's files and never kept. */
#ifndef BULKHEAD_API_STREAM_H
#define BULKHEAD_API_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/wire.h"

struct bh_exchange;
struct bh_stream;

struct bh_stream_kind {
        const char *content_type;
        bool tells_end; /* by what it carries; else an answer that is whole says that all is there
                         */
        /* Bytes for the client; 0: none now, or none ever again when stream->finished; -1. */
        ssize_t (*read)(struct bh_stream *stream, char *buffer, size_t size);
        void (*event)(struct bh_stream *stream, const json_t *message); /* may be NULL */
        void (*free)(struct bh_stream *stream);
};

/* First member of what a kind allocates. */
struct bh_stream {
        const struct bh_stream_kind *kind;
        struct bh_exchange *exchange;
        int fds[2];       /* stdout, stderr; owned; -1: not there yet */
        uint64_t kept[2]; /* bytes that may be read */
        bool ended;       /* the execution has: kept is final */
        bool finished;    /* all was delivered */
};

/* Fills the common part of a new stream from the watch's reply, whose descriptors it takes. */
void bh_stream_init(struct bh_stream *stream, const struct bh_stream_kind *kind,
                    struct bh_exchange *exchange, struct bh_frame *frame);
/* Answers 200 with it; headers as in bh_reply_response_take. The answer owns the stream. */
void bh_stream_start_take(struct bh_stream *stream, const json_t *headers);
/* An event of the watch. */
void bh_stream_event(struct bh_stream *stream, struct bh_frame *frame);

/* Size of the file, 0 when there is none. */
uint64_t bh_output_size(int fd);

#endif
