/* Cursors of lists: the key of the last item shown, opaque to clients. Pure. */
#ifndef BULKHEAD_BROKER_DAEMON_CURSOR_H
#define BULKHEAD_BROKER_DAEMON_CURSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

#define BH_CURSOR_PARTS        2
#define BH_LIMIT_DEFAULT_ITEMS 50
#define BH_LIMIT_MAX_ITEMS     200

/* The key as one text of `count` parts. Caller frees. */
char *bh_cursor_encode(const char *const parts[], size_t count);

/* The parts of a cursor (caller frees each); BH_ERROR_INVALID "/cursor" for anything that
 * bh_cursor_encode with the same count did not make. */
int bh_cursor_decode(const char *text, char *ret_parts[], size_t count, struct bh_error *error);

/* A page under way: params' `limit` and `cursor`, then the items. */
struct bh_page {
        size_t limit;
        char *after[BH_CURSOR_PARTS]; /* all NULL: from the start */
        size_t part_count;
        json_t *data;
        char *last; /* cursor of the last item of a full page */
        bool more;
};

int bh_page_begin(struct bh_page *page, const struct bh_json_at *params, size_t part_count,
                  struct bh_error *error);
/* Adds an item that has this key. 1 when the page was full already: there is more. */
int bh_page_add_take(struct bh_page *page, json_t *item, const char *const key[]);
/* {"data", "next_cursor"}; clears the page. */
json_t *bh_page_finish(struct bh_page *page);
void bh_page_clear(struct bh_page *page);

#endif
