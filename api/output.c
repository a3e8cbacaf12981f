/* GET /v1/executions/{id}/stdout and …/stderr, and files of workspaces: the raw bytes. What is
 * there now is sent from the file itself, with Range; ?follow=true is a stream that goes on until
 * the execution ends. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "api/executions.h"
#include "api/range.h"
#include "api/reply.h"
#include "api/stream.h"
#include "base/alloc.h"
#include "base/fd.h"

static const char octets[] = "application/octet-stream";

/* ---- Following ---- */

struct follow {
        struct bh_stream stream;
        int which; /* BH_STDOUT, BH_STDERR */
        uint64_t offset, end;
};

static ssize_t read_follow(struct bh_stream *stream, char *buffer, size_t size)
{
        struct follow *follow = (struct follow *)stream;
        uint64_t there = stream->kept[follow->which];
        ssize_t got;

        if (there > follow->end)
                there = follow->end;
        if (follow->offset >= there) {
                stream->finished = stream->ended || follow->offset >= follow->end;
                return 0;
        }
        if (there - follow->offset < size)
                size = (size_t)(there - follow->offset);
        got = bh_pread_full(stream->fds[follow->which], buffer, size, (off_t)follow->offset);
        if (got <= 0)
                return -1;
        follow->offset += (uint64_t)got;
        return got;
}

static void free_follow(struct bh_stream *stream)
{
        free(stream);
}

static const struct bh_stream_kind follow_kind = {
        .content_type = octets,
        .read = read_follow,
        .free = free_follow,
};

/* The end is not known, so there can be no Content-Range: 200, and a header of ours says where
 * the bytes begin. A range that counts from the end means nothing here. */
static void answer_follow(struct bh_exchange *exchange, struct bh_frame *frame, int which)
{
        struct follow *follow = bh_alloc(sizeof(*follow));
        json_t *headers = json_object();
        uint64_t first = 0, length = 0;
        char text[24];

        bh_stream_init(&follow->stream, &follow_kind, exchange, frame);
        follow->which = which;
        follow->end = UINT64_MAX;
        if (bh_range_parse(bh_exchange_header(exchange, "Range"), UINT64_MAX, &first, &length) ==
            BH_RANGE_PART) {
                follow->offset = first;
                follow->end = first + length;
        }
        (void)snprintf(text, sizeof(text), "%" PRIu64, follow->offset);
        json_object_set_new(headers, "Bulkhead-Offset", json_string(text));
        bh_stream_start_take(&follow->stream, headers);
        json_decref(headers);
}

/* ---- What is there now ---- */

static void answer_part_take(struct bh_exchange *exchange, int fd, uint64_t size)
{
        enum bh_range_verdict verdict;
        json_t *headers = json_object();
        struct MHD_Response *response;
        uint64_t first, length;
        char text[80];

        /* If-Range needs a validator, and there is none: the whole then (RFC 9110, 13.1.5). */
        verdict = bh_range_parse(bh_exchange_header(exchange, "If-Range")
                                         ? NULL
                                         : bh_exchange_header(exchange, "Range"),
                                 size, &first, &length);
        if (verdict == BH_RANGE_PART)
                (void)snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, first,
                               first + length - 1, size);
        else
                (void)snprintf(text, sizeof(text), "bytes */%" PRIu64, size);
        json_object_set_new(headers, "Accept-Ranges", json_string("bytes"));
        if (verdict != BH_RANGE_WHOLE)
                json_object_set_new(headers, "Content-Range", json_string(text));
        if (verdict == BH_RANGE_UNSATISFIABLE) {
                struct bh_http_problem problem = {.status = 0};

                bh_http_problem_set(&problem, 416, "range_not_satisfiable",
                                    "there are %" PRIu64 " bytes", size);
                bh_reply_problem(exchange, &problem);
                bh_reply_header(exchange->response, "Content-Range", text);
                json_decref(headers);
                bh_close(fd);
                return;
        }
        response = length > 0 ? MHD_create_response_from_fd_at_offset64(length, fd, first)
                              : MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
        if (length == 0)
                bh_close(fd);
        if (response)
                bh_reply_header(response, "Content-Type", octets);
        bh_reply_response_take(exchange, verdict == BH_RANGE_PART ? 206 : 200, headers, response);
        json_decref(headers);
}

static void answer_output(struct bh_exchange *exchange, struct bh_frame *frame, int which)
{
        int fd = -1;

        if (bh_exchange_watches(exchange)) {
                answer_follow(exchange, frame, which);
                return;
        }
        if (frame->fd_count == 2) {
                fd = frame->fds[which];
                frame->fds[which] = -1;
        }
        answer_part_take(exchange, fd, bh_output_size(fd));
}

void bh_answer_file_take(struct bh_exchange *exchange, int fd)
{
        answer_part_take(exchange, fd, bh_output_size(fd));
}

void bh_answer_stdout(struct bh_exchange *exchange, struct bh_frame *frame)
{
        answer_output(exchange, frame, BH_STDOUT);
}

void bh_answer_stderr(struct bh_exchange *exchange, struct bh_frame *frame)
{
        answer_output(exchange, frame, BH_STDERR);
}
