/* The request target taken apart: path segments, each percent-decoded *after* the split so that
 * "%2F" can never become a separator, and the query as it came. Pure; called by exchange.c. */
#ifndef BULKHEAD_API_TARGET_H
#define BULKHEAD_API_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct bh_target {
        char *text;            /* owned; the segments and query point into it */
        const char **segments; /* owned; NULL for "/" */
        size_t segment_count;
        const char *query; /* "" without one */
};

/* Takes origin-form ("/v1/agents?limit=2") and absolute-form. Refuses bad escapes, "%00", "%2F",
 * empty, "." and ".." segments, control characters, bytes that are not UTF-8, and a fragment:
 * BH_ERROR_INVALID. In the path of a workspace's file the reason is "path_not_allowed"; elsewhere
 * a backslash is refused too. */
int bh_target_parse(const char *text, struct bh_target *ret, struct bh_error *error);
void bh_target_clear(struct bh_target *target);

/* Decodes percent escapes in place; plus_is_space as in query strings. Refuses "%00", bad
 * escapes and what is not UTF-8 without control characters. */
int bh_percent_decode(char *text, bool plus_is_space, struct bh_error *error);

#endif
