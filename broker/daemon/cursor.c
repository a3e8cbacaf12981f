/* Cursors of lists, and the page that they lead through. */
#include "broker/daemon/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/digest.h"

/* Stands in no name, id or number. */
#define SEPARATOR '\n'

char *bh_cursor_encode(const char *const parts[], size_t count)
{
        char text[512] = "";
        size_t used = 0;
        for (size_t i = 0; i < count; i++)
                used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%c", parts[i],
                                         SEPARATOR);
        return bh_base64_encode(text, used);
}

int bh_cursor_decode(const char *text, char *ret_parts[], size_t count, struct bh_error *error)
{
        unsigned char *data = NULL;
        size_t size = 0;
        char *parts[BH_CURSOR_PARTS] = {NULL};
        size_t found = 0;
        if (bh_base64_decode(text, strlen(text), &data, &size) < 0)
                return bh_error_invalid(error, "/cursor", "is no cursor of this list");
        const char *at = (const char *)data, *end = at + size;
        while (at < end && found < count) {
                const char *separator = memchr(at, SEPARATOR, (size_t)(end - at));
                if (!separator || memchr(at, 0, (size_t)(separator - at)))
                        break;
                parts[found++] = bh_strndup(at, (size_t)(separator - at));
                at = separator + 1;
        }
        bool good = found == count && at == end;
        free(data);
        for (size_t i = 0; i < count; i++) {
                if (good)
                        ret_parts[i] = parts[i];
                else
                        free(parts[i]);
        }
        return good ? 0 : bh_error_invalid(error, "/cursor", "is no cursor of this list");
}

int bh_page_begin(struct bh_page *page, const struct bh_json_at *params, size_t part_count,
                  struct bh_error *error)
{
        struct bh_json_at at;
        int64_t limit = BH_LIMIT_DEFAULT_ITEMS;
        const char *cursor = NULL;
        *page = (struct bh_page){.part_count = part_count};
        if (bh_json_member(params, "limit", &at) &&
            bh_json_integer(&at, 1, BH_LIMIT_MAX_ITEMS, &limit, error) < 0)
                return -1;
        if (bh_json_member(params, "cursor", &at) &&
            (bh_json_string(&at, 1, 1024, &cursor, error) < 0 ||
             bh_cursor_decode(cursor, page->after, part_count, error) < 0))
                return -1;
        page->limit = (size_t)limit;
        page->data = json_array();
        return 0;
}

int bh_page_add_take(struct bh_page *page, json_t *item, const char *const key[])
{
        if (json_array_size(page->data) == page->limit) {
                json_decref(item);
                page->more = true;
                return 1;
        }
        json_array_append_new(page->data, item);
        if (json_array_size(page->data) == page->limit)
                page->last = bh_cursor_encode(key, page->part_count);
        return 0;
}

json_t *bh_page_finish(struct bh_page *page)
{
        json_t *body = json_pack("{sOss?}", "data", page->data, "next_cursor",
                                 page->more ? page->last : NULL);
        bh_page_clear(page);
        return body;
}

void bh_page_clear(struct bh_page *page)
{
        json_decref(page->data);
        free(page->last);
        for (size_t i = 0; i < BH_CURSOR_PARTS; i++)
                free(page->after[i]);
        *page = (struct bh_page){0};
}
