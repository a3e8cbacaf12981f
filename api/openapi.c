/* See openapi.h. */
#include "api/openapi.h"

#include "api/openapi_text.h" /* generated from openapi.json */
#include "api/reply.h"
#include "base/alloc.h"

const char *bh_openapi_text(void)
{
        return bh_openapi_document;
}

void bh_answer_openapi(struct bh_exchange *exchange, struct bh_frame *frame)
{
        (void)frame;
        bh_reply_text_take(exchange, 200, "application/json", NULL, bh_strdup(bh_openapi_text()));
}
