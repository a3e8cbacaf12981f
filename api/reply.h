/* Answers: every header that all of them have, bodies of all kinds. Called by exchange.c and by
 * the routes' answer functions; each takes the exchange to BH_EXCHANGE_READY and resumes it. */
#ifndef BULKHEAD_API_REPLY_H
#define BULKHEAD_API_REPLY_H

#include "api/exchange.h"
#include "api/stream_text.h"

/* headers: an object of strings from the broker, or NULL. */
void bh_reply_text_take(struct bh_exchange *exchange, int status, const char *content_type,
                        const json_t *headers, char *text);
void bh_reply_stream_text_take(struct bh_exchange *exchange, int status, const json_t *headers,
                               struct bh_stream_text *text);
void bh_reply_problem(struct bh_exchange *exchange, const struct bh_http_problem *problem);
/* A response that was made elsewhere; headers as above are added. */
void bh_reply_response_take(struct bh_exchange *exchange, int status, const json_t *headers,
                            struct MHD_Response *response);

void bh_reply_header(struct MHD_Response *response, const char *name, const char *value);

#endif
