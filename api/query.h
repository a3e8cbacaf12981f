/* Strict query parameters: every route says which it takes; unknown, repeated and malformed ones
 * are refused by name. The result is the "params" of a frame. Pure; called by exchange.c. */
#ifndef BULKHEAD_API_QUERY_H
#define BULKHEAD_API_QUERY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum bh_parameter {
        BH_PARAMETER_LIMIT = 1 << 0,  /* limit: 1-200 */
        BH_PARAMETER_CURSOR = 1 << 1, /* cursor: what a list answered */
        BH_PARAMETER_FORCE = 1 << 2,  /* force: true|false */
        BH_PARAMETER_WAIT = 1 << 3,   /* wait: seconds 0-600, up to three decimals → wait_ms */
        BH_PARAMETER_AGENT = 1 << 4,  /* agent: a name */
        BH_PARAMETER_STATE = 1 << 5,  /* state: of an execution */
        BH_PARAMETER_LABEL = 1 << 6,  /* label.K: V → labels {K: V} */
        BH_PARAMETER_FOLLOW = 1 << 7, /* follow: true|false */
        BH_PARAMETER_TENANT = 1 << 8, /* tenant: a name; operators only */
        BH_PARAMETER_PATH = 1 << 9,   /* path: of a directory; the broker judges it */
        BH_PARAMETER_LIST = BH_PARAMETER_LIMIT | BH_PARAMETER_CURSOR,
};

#define BH_WAIT_MAX_MS 600000

/* Parses query into params (an object). allowed is a set of enum bh_parameter. -1:
 * BH_ERROR_INVALID, whose message names the parameter. */
int bh_query_parse(const char *query, int allowed, json_t *params, struct bh_error *error);

#endif
