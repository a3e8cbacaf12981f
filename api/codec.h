/* Bodies of requests: JSON in, params of a frame out. For requests that carry an execution
 * (POST /v1/executions, /v1/decisions) the bytes of files and stdin are moved from the document
 * into one sealed memfd (docs/architecture.md, "Payload"). Called by exchange.c. */
#ifndef BULKHEAD_API_CODEC_H
#define BULKHEAD_API_CODEC_H

#include <stddef.h>

#include "api/problem.h"
#include "base/json.h"

#define BH_DOCUMENT_MAX ((size_t)1 << 20) /* a body without files' and stdin's data */

struct bh_body {
        json_t *json;                     /* owned: the wire form */
        char digest[BH_DIGEST_TEXT_SIZE]; /* of the body as the client sent it; execution form */
        int payload;                      /* owned; -1: none */
};

/* On failure *problem says what to answer. carries_execution: see above. */
int bh_body_decode(const char *text, size_t size, int carries_execution, struct bh_body *ret,
                   struct bh_http_problem *problem);
void bh_body_clear(struct bh_body *body);

#endif
