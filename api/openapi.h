/* GET /v1/openapi.json: the contract as OpenAPI 3.1, compiled in from openapi.json. A row of
 * routes.c; tests/unit/api/test_routes.c compares the two. */
#ifndef BULKHEAD_API_OPENAPI_H
#define BULKHEAD_API_OPENAPI_H

#include "api/exchange.h"
#include "base/wire.h"

const char *bh_openapi_text(void);
void bh_answer_openapi(struct bh_exchange *exchange, struct bh_frame *frame);

#endif
