/* See reply.h. */
#include "api/reply.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"

#define STREAM_BLOCK ((size_t)32 << 10) /* libmicrohttpd asks for this much at a time */

void bh_reply_header(struct MHD_Response *response, const char *name, const char *value)
{
        /* Refuses a value with CR or LF; such a header is then left out. */
        (void)MHD_add_response_header(response, name, value);
}

void bh_reply_response_take(struct bh_exchange *exchange, int status, const json_t *headers,
                            struct MHD_Response *response)
{
        const char *name;
        json_t *value;

        if (!response)
                bh_alloc_failed();
        bh_reply_header(response, "Cache-Control", "no-store");
        bh_reply_header(response, "X-Content-Type-Options", "nosniff");
        bh_reply_header(response, "X-Request-ID", exchange->request_id);
        json_object_foreach ((json_t *)headers, name, value)
                if (json_is_string(value))
                        bh_reply_header(response, name, json_string_value(value));
        exchange->response = response;
        exchange->status = status;
        if (exchange->state == BH_EXCHANGE_WAIT)
                exchange->state = BH_EXCHANGE_READY;
        bh_exchange_resume(exchange);
}

void bh_reply_text_take(struct bh_exchange *exchange, int status, const char *content_type,
                        const json_t *headers, char *text)
{
        struct MHD_Response *response =
                MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);

        if (response && content_type)
                bh_reply_header(response, "Content-Type", content_type);
        bh_reply_response_take(exchange, status, headers, response);
}

void bh_reply_problem(struct bh_exchange *exchange, const struct bh_http_problem *problem)
{
        bh_reply_text_take(exchange, problem->status, "application/problem+json", NULL,
                           bh_http_problem_text(problem, exchange->request_id));
        if (problem->status == 401)
                bh_reply_header(exchange->response, "WWW-Authenticate", "Bearer");
}

static ssize_t read_stream_text(void *context, uint64_t position, char *buffer, size_t size)
{
        struct bh_error error;
        ssize_t got = bh_stream_text_read(context, buffer, size, &error);

        (void)position;
        if (got < 0) {
                bh_log_error("answer", "the answer was cut short", &error);
                return MHD_CONTENT_READER_END_WITH_ERROR;
        }
        return got > 0 ? got : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_stream_text(void *context)
{
        bh_stream_text_free(context);
}

void bh_reply_stream_text_take(struct bh_exchange *exchange, int status, const json_t *headers,
                               struct bh_stream_text *text)
{
        struct MHD_Response *response = MHD_create_response_from_callback(
                MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream_text, text, free_stream_text);

        if (response)
                bh_reply_header(response, "Content-Type", "application/json");
        bh_reply_response_take(exchange, status, headers, response);
}
