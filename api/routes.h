/* The one table of what this API answers: method and path → operation of the broker (whose roles
 * stand in broker/protocol.h), query parameters, body, and how the reply becomes an answer. */
#ifndef BULKHEAD_API_ROUTES_H
#define BULKHEAD_API_ROUTES_H

#include <stddef.h>

#include "api/exchange.h"
#include "base/wire.h"

enum bh_route_flag {
        BH_ROUTE_BODY = 1 << 0,       /* takes a JSON body of at most 1 MiB */
        BH_ROUTE_EXECUTION = 1 << 1,  /* takes one that carries an execution: 8 MiB more */
        BH_ROUTE_IF_MATCH = 1 << 2,   /* honours If-Match */
        BH_ROUTE_IDEMPOTENT = 1 << 3, /* honours Idempotency-Key */
        BH_ROUTE_WATCH = 1 << 4,      /* asks for executions.watch, but for HEAD */
        BH_ROUTE_FOLLOW = 1 << 5,     /* the same with ?follow=true */
        BH_ROUTE_UPLOAD = 1 << 7,     /* passes a body of any size and type on */
        BH_ROUTE_LOCAL = 1 << 6,      /* answered here, without the broker; frame is NULL */
};

struct bh_route {
        const char *method;
        const char *path; /* segments; {agent} and {workspace} match names, {execution} an id,
                             {path} at the end all that is left */
        enum bh_op op;
        int parameters; /* enum bh_parameter */
        int flags;
        void (*answer)(struct bh_exchange *exchange, struct bh_frame *frame); /* a reply < 400 */
};

enum bh_route_verdict {
        BH_ROUTE_FOUND,
        BH_ROUTE_NO_PATH,
        BH_ROUTE_NO_METHOD, /* ret_allow says which there are */
        BH_ROUTE_BAD_NAME,  /* the path fits but for a malformed name or id */
};

#define BH_ALLOW_SIZE 64

/* Finds the route; captures go into params. HEAD finds GET. */
enum bh_route_verdict bh_route_find(const char *method, const struct bh_target *target,
                                    const struct bh_route **ret, json_t *params,
                                    char ret_allow[BH_ALLOW_SIZE]);

/* For the tests. */
const struct bh_route *bh_routes(size_t *ret_count);

#endif
