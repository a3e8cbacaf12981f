/* See sse.h. */
#include "api/cli/sse.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf";

struct buffer {
        char *bytes;
        size_t used, size;
};

struct bh_sse {
        bh_sse_handler handler;
        void *context;
        struct buffer line, data;
        char *name;
        char *id;      /* of what was dispatched */
        char *next_id; /* becomes id with the next dispatch: an unfinished event has no say */
        bool has_data;
        bool after_cr;   /* a LF that comes next belongs to that CR */
        bool first_line; /* may start with a byte order mark */
};

static void append(struct buffer *buffer, const char *bytes, size_t size)
{
        if (buffer->used + size + 1 > buffer->size) {
                buffer->size = (buffer->used + size + 1) * 2;
                buffer->bytes = bh_realloc_array(buffer->bytes, buffer->size, 1);
        }
        if (size != 0)
                memcpy(buffer->bytes + buffer->used, bytes, size);
        buffer->used += size;
        buffer->bytes[buffer->used] = '\0';
}

struct bh_sse *bh_sse_new(bh_sse_handler handler, void *context)
{
        struct bh_sse *parser = bh_alloc(sizeof(*parser));

        parser->handler = handler;
        parser->context = context;
        parser->id = bh_strdup("");
        parser->next_id = bh_strdup("");
        bh_sse_restart(parser);
        return parser;
}

void bh_sse_free(struct bh_sse *parser)
{
        if (parser == NULL)
                return;
        free(parser->line.bytes);
        free(parser->data.bytes);
        free(parser->name);
        free(parser->id);
        free(parser->next_id);
        free(parser);
}

const char *bh_sse_last_id(const struct bh_sse *parser)
{
        return parser->id;
}

static void forget_event(struct bh_sse *parser)
{
        parser->data.used = 0;
        parser->has_data = false;
        free(parser->name);
        parser->name = NULL;
}

void bh_sse_restart(struct bh_sse *parser)
{
        forget_event(parser);
        free(parser->next_id);
        parser->next_id = bh_strdup(parser->id);
        parser->line.used = 0;
        parser->after_cr = false;
        parser->first_line = true;
}

static int dispatch(struct bh_sse *parser, struct bh_error *error)
{
        int result = 0;

        free(parser->id);
        parser->id = bh_strdup(parser->next_id);
        if (parser->has_data) {
                struct bh_sse_event event = {
                        .name = parser->name != NULL && parser->name[0] != '\0' ? parser->name
                                                                                : "message",
                        .data = parser->data.bytes,
                        .data_size = parser->data.used,
                        .id = parser->id,
                };
                result = parser->handler(parser->context, &event, error);
        }
        forget_event(parser);
        return result;
}

static int add_data(struct bh_sse *parser, const char *value, size_t size, struct bh_error *error)
{
        if (parser->data.used + size > BH_SSE_EVENT_MAX)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "event of more than %zu bytes",
                                    BH_SSE_EVENT_MAX);
        if (parser->has_data)
                append(&parser->data, "\n", 1);
        append(&parser->data, value, size);
        parser->has_data = true;
        return 0;
}

static bool is(const char *field, size_t length, const char *name)
{
        return length == strlen(name) && memcmp(field, name, length) == 0;
}

/* One line without its end. */
static int take_line(struct bh_sse *parser, const char *line, size_t size, struct bh_error *error)
{
        if (size == 0)
                return dispatch(parser, error);

        const char *colon = memchr(line, ':', size);
        size_t length = colon == NULL ? size : (size_t)(colon - line);
        const char *value = colon == NULL ? line + size : colon + 1;
        size_t value_size = (size_t)(line + size - value);

        if (value_size > 0 && value[0] == ' ') {
                value++;
                value_size--;
        }
        if (is(line, length, "data"))
                return add_data(parser, value, value_size, error);
        if (is(line, length, "event")) {
                free(parser->name);
                parser->name = bh_strndup(value, value_size);
        } else if (is(line, length, "id") && memchr(value, '\0', value_size) == NULL) {
                free(parser->next_id);
                parser->next_id = bh_strndup(value, value_size);
        }
        /* Comments (an empty field name), "retry" and what is unknown are passed over. */
        return 0;
}

static int end_line(struct bh_sse *parser, struct bh_error *error)
{
        const char *line = parser->line.used == 0 ? "" : parser->line.bytes;
        size_t size = parser->line.used;

        if (parser->first_line && size >= 3 && memcmp(line, BYTE_ORDER_MARK, 3) == 0) {
                line += 3;
                size -= 3;
        }
        parser->first_line = false;

        int result = take_line(parser, line, size, error);
        parser->line.used = 0;
        return result;
}

int bh_sse_feed(struct bh_sse *parser, const char *bytes, size_t size, struct bh_error *error)
{
        size_t at = 0;

        if (parser->after_cr && size > 0) {
                at = bytes[0] == '\n' ? 1 : 0;
                parser->after_cr = false;
        }
        while (at < size) {
                size_t end = at;

                while (end < size && bytes[end] != '\n' && bytes[end] != '\r')
                        end++;
                if (parser->line.used + (end - at) > BH_SSE_LINE_MAX)
                        return bh_error_set(error, BH_ERROR_PROTOCOL, "line of more than %zu bytes",
                                            BH_SSE_LINE_MAX);
                append(&parser->line, bytes + at, end - at);
                if (end == size)
                        return 0;
                if (bytes[end] == '\r' && end + 1 == size)
                        parser->after_cr = true;
                at = end + (bytes[end] == '\r' && end + 1 < size && bytes[end + 1] == '\n' ? 2 : 1);
                if (end_line(parser, error) < 0)
                        return -1;
        }
        return 0;
}
