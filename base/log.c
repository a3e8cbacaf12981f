/* Structured logging; see log.h. */
#include "base/log.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"

/* Where lines go; replaced as a whole by bh_log_open. */
static struct {
        const char *program;
        enum bh_log_level least;
        int fd;
} sink = {.program = "bulkhead", .least = BH_LOG_INFO, .fd = STDERR_FILENO};

static const char *const LEVELS[] = {"debug", "info", "warning", "error"};

void bh_log_open(const char *program, enum bh_log_level least, int fd)
{
        sink.program = program;
        sink.least = least;
        sink.fd = fd;
}

/* Words that mark a credential anywhere in a member's name ("proxy_authorization"), and such
 * as only do when they are the name: "value" is what a secret's body is called, while
 * "values" or "envelope" are not. */
static bool is_credential_name(const char *name)
{
        static const char *const inside[] = {"token", "authorization", "cookie", "secret",
                                             "password"};
        static const char *const whole[] = {"value", "stdin", "env"};

        for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
                if (strcasestr(name, inside[i]))
                        return true;
        }
        for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
                if (strcasecmp(name, whole[i]) == 0)
                        return true;
        }
        return false;
}

/* A new string value, masked and made UTF-8. */
static json_t *clean_string(const char *text)
{
        _cleanup_free_ char *masked = bh_redact(text);

        bh_utf8_repair(masked);
        return json_string(masked);
}

static json_t *clean_value(const json_t *value, size_t depth);

static void clean_members(json_t *into, const json_t *from, size_t depth)
{
        const char *key;
        json_t *value;

        json_object_foreach ((json_t *)from, key, value) {
                _cleanup_free_ char *name = bh_redact(key);

                /* "time" and the like are the log's own. */
                if (json_object_get(into, name))
                        continue;
                if (is_credential_name(key) && !json_is_null(value))
                        json_object_set_new(into, name, json_string("[redacted]"));
                else
                        json_object_set_new(into, name, clean_value(value, depth));
        }
}

/* A masked copy. Recursion ends where the line would be deeper than bh_json_parse reads: its
 * own object is one level, a container at depth is depth + 1. */
static json_t *clean_value(const json_t *value, size_t depth)
{
        json_t *copy;

        if (depth >= BH_JSON_DEPTH_MAX)
                return json_string("[nested]");
        switch (json_typeof(value)) {
        case JSON_STRING:
                return clean_string(json_string_value(value));
        case JSON_OBJECT:
                copy = json_object();
                clean_members(copy, value, depth + 1);
                return copy;
        case JSON_ARRAY:
                copy = json_array();
                for (size_t i = 0; i < json_array_size(value); i++)
                        json_array_append_new(copy,
                                              clean_value(json_array_get(value, i), depth + 1));
                return copy;
        default:
                return json_deep_copy(value);
        }
}

void bh_log_take(enum bh_log_level level, const char *event, json_t *fields)
{
        _cleanup_json_ json_t *owned = fields;
        _cleanup_json_ json_t *line = NULL;
        _cleanup_free_ char *text = NULL;
        char time[BH_TIME_TEXT_SIZE];
        size_t length;

        if (level < sink.least)
                return;
        bh_time_format(bh_realtime_ms(), time);
        line = json_object();
        json_object_set_new(line, "time", json_string(time));
        json_object_set_new(line, "level", json_string(LEVELS[level]));
        json_object_set_new(line, "program", json_string(sink.program));
        json_object_set_new(line, "event", clean_string(event));
        if (owned)
                clean_members(line, owned, 1);
        text = bh_json_text(line);
        /* The newline takes the NUL's place: line and end must be one write, or lines of
         * several programs on one pipe get mixed. A log that cannot be written has nowhere
         * to say so. */
        length = strlen(text);
        text[length] = '\n';
        (void)bh_write_full(sink.fd, text, length + 1);
}

static const char *code_name(enum bh_error_code code)
{
        switch (code) {
        case BH_ERROR_NONE:
                return "none";
        case BH_ERROR_INVALID:
                return "invalid";
        case BH_ERROR_REFUSED:
                return "refused";
        case BH_ERROR_NOT_FOUND:
                return "not_found";
        case BH_ERROR_CONFLICT:
                return "conflict";
        case BH_ERROR_UNAVAILABLE:
                return "unavailable";
        case BH_ERROR_CONTROL:
                return "control";
        case BH_ERROR_SYSTEM:
                return "system";
        case BH_ERROR_PROTOCOL:
                return "protocol";
        case BH_ERROR_CLOSED:
                return "closed";
        case BH_ERROR_INTERNAL:
                return "internal";
        }
        return "unknown";
}

/* Adds a text member that is not empty. */
static void add_text(json_t *fields, const char *key, const char *text)
{
        if (text && text[0])
                json_object_set_new(fields, key, clean_string(text));
}

void bh_log_error(const char *event, const char *context, const struct bh_error *error)
{
        json_t *fields = json_object();

        add_text(fields, "context", context);
        json_object_set_new(fields, "code", json_string(code_name(error->code)));
        if (error->errnum != 0)
                json_object_set_new(fields, "errno", json_integer(error->errnum));
        add_text(fields, "reason", error->reason);
        add_text(fields, "subject", error->subject);
        add_text(fields, "message", error->message);
        bh_log_take(BH_LOG_ERROR, event, fields);
}
