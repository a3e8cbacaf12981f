/* Decoding a JSON document with places; see json.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/json_scan.h"

void bh_json_pointer(const struct bh_json_at *at, char *buffer, size_t size)
{
        struct bh_json_pointer pointer;
        size_t depth = 0;

        if (size == 0)
                return;
        bh_json_pointer_start(&pointer, buffer, size);
        for (const struct bh_json_at *step = at; step->parent; step = step->parent)
                depth++;
        /* Places know their parents only: find each step from the root anew. */
        for (; depth > 0; depth--) {
                const struct bh_json_at *step = at;

                for (size_t i = 1; i < depth; i++)
                        step = step->parent;
                if (step->key)
                        bh_json_pointer_key(&pointer, step->key);
                else
                        bh_json_pointer_index(&pointer, step->index);
        }
}

int bh_json_fail(const struct bh_json_at *at, struct bh_error *error, const char *format, ...)
{
        char pointer[BH_ERROR_SUBJECT_SIZE];
        _cleanup_free_ char *message = NULL;
        va_list arguments;

        va_start(arguments, format);
        message = bh_vformat(format, arguments);
        va_end(arguments);
        bh_json_pointer(at, pointer, sizeof(pointer));
        return bh_error_invalid(error, pointer, "%s", message);
}

static bool is_listed(const char *name, const char *const names[])
{
        for (; *names; names++) {
                if (strcmp(name, *names) == 0)
                        return true;
        }
        return false;
}

int bh_json_object(const struct bh_json_at *at, const char *const members[], struct bh_error *error)
{
        const char *key;
        json_t *value;

        if (!json_is_object(at->value))
                return bh_json_fail(at, error, "must be an object");
        /* The iteration reads only; jansson's signature is not const. */
        json_object_foreach ((json_t *)at->value, key, value) {
                struct bh_json_at member = {.value = value, .parent = at, .key = key};

                if (!is_listed(key, members))
                        return bh_json_fail(&member, error, "unknown member");
        }
        return 0;
}

bool bh_json_member(const struct bh_json_at *at, const char *key, struct bh_json_at *ret)
{
        const json_t *value = json_object_get(at->value, key);

        if (!value)
                return false;
        *ret = (struct bh_json_at){.value = value, .parent = at, .key = key};
        return true;
}

int bh_json_require(const struct bh_json_at *at, const char *key, struct bh_json_at *ret,
                    struct bh_error *error)
{
        struct bh_json_at missing = {.parent = at, .key = key};

        if (bh_json_member(at, key, ret))
                return 0;
        return bh_json_fail(&missing, error, "is required");
}

/* "1 to 64", "at least 1", "at most 64" or "4". */
static void describe_range(size_t min, size_t max, char *buffer, size_t size)
{
        if (min == max)
                snprintf(buffer, size, "%zu", min);
        else if (max == SIZE_MAX)
                snprintf(buffer, size, "at least %zu", min);
        else if (min == 0)
                snprintf(buffer, size, "at most %zu", max);
        else
                snprintf(buffer, size, "%zu to %zu", min, max);
}

int bh_json_array(const struct bh_json_at *at, size_t min, size_t max, size_t *ret_count,
                  struct bh_error *error)
{
        size_t count = json_array_size(at->value);
        char range[64];

        if (!json_is_array(at->value))
                return bh_json_fail(at, error, "must be an array");
        if (count < min || count > max) {
                describe_range(min, max, range, sizeof(range));
                return bh_json_fail(at, error, "must have %s elements", range);
        }
        *ret_count = count;
        return 0;
}

struct bh_json_at bh_json_element(const struct bh_json_at *at, size_t index)
{
        return (struct bh_json_at){
                .value = json_array_get(at->value, index), .parent = at, .index = index};
}

int bh_json_string(const struct bh_json_at *at, size_t min, size_t max, const char **ret_text,
                   struct bh_error *error)
{
        size_t length = json_string_length(at->value);
        char range[64];

        if (!json_is_string(at->value))
                return bh_json_fail(at, error, "must be a string");
        if (length < min || length > max) {
                describe_range(min, max, range, sizeof(range));
                return bh_json_fail(at, error, "must be %s bytes long", range);
        }
        *ret_text = json_string_value(at->value);
        return 0;
}

int bh_json_integer(const struct bh_json_at *at, int64_t min, int64_t max, int64_t *ret,
                    struct bh_error *error)
{
        json_int_t value = json_integer_value(at->value);

        if (!json_is_integer(at->value) || value < min || value > max)
                return bh_json_fail(at, error, "must be an integer from %" PRId64 " to %" PRId64,
                                    min, max);
        *ret = value;
        return 0;
}

int bh_json_boolean(const struct bh_json_at *at, bool *ret, struct bh_error *error)
{
        if (!json_is_boolean(at->value))
                return bh_json_fail(at, error, "must be true or false");
        *ret = json_is_true(at->value);
        return 0;
}

int bh_json_choice(const struct bh_json_at *at, const char *const names[], int *ret,
                   struct bh_error *error)
{
        const char *text = json_string_value(at->value);
        _cleanup_free_ char *list = bh_strdup("");

        for (int i = 0; names[i]; i++) {
                char *longer;

                if (text && strcmp(text, names[i]) == 0) {
                        *ret = i;
                        return 0;
                }
                longer = bh_format("%s%s%s", list, i ? ", " : "", names[i]);
                free(list);
                list = longer;
        }
        return bh_json_fail(at, error, "must be one of %s", list);
}
