/* See member.h. */
#include "api/cli/member.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

const json_t *bh_member(const json_t *json, const char *path)
{
        while (json != NULL && path[0] != '\0') {
                size_t length = strcspn(path, ".");

                json = json_object_getn(json, path, length);
                path += length + (path[length] == '.' ? 1 : 0);
        }
        return json_is_null(json) ? NULL : json;
}

const char *bh_member_text(const json_t *json, const char *path)
{
        return json_string_value(bh_member(json, path));
}

int64_t bh_member_integer(const json_t *json, const char *path, int64_t fallback)
{
        const json_t *value = bh_member(json, path);

        return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool bh_member_true(const json_t *json, const char *path)
{
        return json_is_true(bh_member(json, path));
}

static void add(char **text, const char *piece)
{
        _cleanup_free_ char *before = *text;

        *text = before[0] == '\0' ? bh_strdup(piece) : bh_format("%s, %s", before, piece);
}

char *bh_member_join(const json_t *array)
{
        char *text = bh_strdup("");
        size_t index;
        const json_t *item;

        json_array_foreach (array, index, item) {
                if (json_is_string(item))
                        add(&text, json_string_value(item));
        }
        return text;
}

char *bh_member_pairs(const json_t *object)
{
        char *text = bh_strdup("");
        const char *key;
        json_t *value;

        json_object_foreach ((json_t *)object, key, value) {
                _cleanup_free_ char *pair = bh_format(
                        "%s=%s", key, json_is_string(value) ? json_string_value(value) : "?");

                add(&text, pair);
        }
        return text;
}
