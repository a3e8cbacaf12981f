/* See executions.h. */
#include "api/executions.h"

#include <string.h>

#include "api/reply.h"
#include "api/stream_text.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"

#define INLINE_MAX ((size_t)64 << 10) /* output up to here is encoded at once, with a length */

static const char *const stream_names[] = {[BH_STDOUT] = "stdout", [BH_STDERR] = "stderr"};

static int frame_status(const struct bh_frame *frame)
{
        return (int)json_integer_value(json_object_get(frame->message, "status"));
}

void bh_answer_document(struct bh_exchange *exchange, struct bh_frame *frame)
{
        const json_t *body = json_object_get(frame->message, "body");
        const json_t *headers = json_object_get(frame->message, "headers");

        if (body && !json_is_null(body))
                bh_reply_text_take(exchange, frame_status(frame), "application/json", headers,
                                   bh_json_text(body));
        else
                bh_reply_text_take(exchange, frame_status(frame), NULL, headers, bh_strdup(""));
}

void bh_execution_strip_data(json_t *execution)
{
        for (size_t i = 0; i < 2; i++) {
                json_t *stream = json_object_get(execution, stream_names[i]);

                if (!stream)
                        continue;
                json_object_del(stream, "data");
                json_object_del(stream, "encoding");
        }
}

void bh_answer_execution_list(struct bh_exchange *exchange, struct bh_frame *frame)
{
        json_t *list = json_object_get(json_object_get(frame->message, "body"), "data");

        for (size_t i = 0; i < json_array_size(list); i++)
                bh_execution_strip_data(json_array_get(list, i));
        bh_answer_document(exchange, frame);
}

static void add_value(struct bh_stream_text *text, const json_t *value)
{
        _cleanup_free_ char *piece = bh_json_text(value);

        bh_stream_text_add(text, piece);
}

/* "stdout": the broker's counts with data and encoding put before them. */
static int add_output(struct bh_stream_text *text, const json_t *counts, int fd, uint64_t size,
                      struct bh_error *error)
{
        _cleanup_free_ char *rest = bh_json_text(counts);
        int utf8 = bh_file_is_utf8(fd, size, error);

        if (utf8 < 0)
                return -1;
        bh_stream_text_add(text, "{\"data\":\"");
        if (size > 0 && bh_stream_text_add_file(text, fd, size, !utf8, error) < 0)
                return -1;
        bh_stream_text_add(text, utf8 ? "\",\"encoding\":\"utf-8\"" : "\",\"encoding\":\"base64\"");
        if (json_object_size(counts) > 0)
                bh_stream_text_add(text, ",");
        bh_stream_text_add(text, rest + 1); /* without its "{" */
        return 0;
}

static int add_member(struct bh_stream_text *text, const char *key, const json_t *value,
                      const struct bh_frame *frame, const uint64_t sizes[2], struct bh_error *error)
{
        _cleanup_json_ json_t *name = json_string(key);

        add_value(text, name);
        bh_stream_text_add(text, ":");
        for (size_t i = 0; i < 2; i++)
                if (strcmp(key, stream_names[i]) == 0 && json_is_object(value))
                        return add_output(text, value, frame->fd_count == 2 ? frame->fds[i] : -1,
                                          sizes[i], error);
        add_value(text, value);
        return 0;
}

static int compose(struct bh_stream_text *text, json_t *execution, const struct bh_frame *frame,
                   const uint64_t sizes[2], struct bh_error *error)
{
        const char *separator = "{", *key;
        json_t *value;

        bh_execution_strip_data(execution);
        json_object_foreach (execution, key, value) {
                bh_stream_text_add(text, separator);
                if (add_member(text, key, value, frame, sizes, error) < 0)
                        return -1;
                separator = ",";
        }
        bh_stream_text_add(text, "}");
        return 0;
}

/* The whole text of a small document. */
static char *read_all(struct bh_stream_text *text, struct bh_error *error)
{
        size_t capacity = 8 << 10, have = 0;
        _cleanup_free_ char *all = bh_alloc(capacity);
        ssize_t got;

        while ((got = bh_stream_text_read(text, all + have, capacity - have - 1, error)) > 0) {
                have += (size_t)got;
                if (capacity - have < capacity / 4) {
                        capacity *= 2;
                        all = bh_realloc_array(all, capacity, 1);
                }
        }
        all[have] = '\0';
        return got < 0 ? NULL : bh_steal_ptr(&all);
}

static void answer_failed(struct bh_exchange *exchange, const struct bh_error *error)
{
        struct bh_http_problem problem = {.status = 0};

        bh_log_error("answer", "an execution's output", error);
        bh_http_problem_set(&problem, 500, "internal_error",
                            "the execution's output cannot be read");
        bh_reply_problem(exchange, &problem);
}

void bh_answer_execution(struct bh_exchange *exchange, struct bh_frame *frame)
{
        _cleanup_(bh_stream_text_cleanup) struct bh_stream_text *text = bh_stream_text_new();
        json_t *execution = json_object_get(frame->message, "body");
        const json_t *headers = json_object_get(frame->message, "headers");
        uint64_t sizes[2] = {0, 0};
        struct bh_error error;
        char *all;

        if (!json_is_object(execution)) {
                bh_answer_document(exchange, frame);
                return;
        }
        for (size_t i = 0; i < 2 && frame->fd_count == 2; i++)
                sizes[i] = bh_output_size(frame->fds[i]);
        if (compose(text, execution, frame, sizes, &error) < 0) {
                answer_failed(exchange, &error);
                return;
        }
        if (sizes[0] + sizes[1] > INLINE_MAX) {
                bh_reply_stream_text_take(exchange, frame_status(frame), headers,
                                          bh_steal_ptr(&text));
                return;
        }
        all = read_all(text, &error);
        if (all)
                bh_reply_text_take(exchange, frame_status(frame), "application/json", headers, all);
        else
                answer_failed(exchange, &error);
}
