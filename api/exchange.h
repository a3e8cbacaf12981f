/* One HTTP request and its answer: made when libmicrohttpd has read the request line, checked in
 * one order for all routes, turned into one frame to the broker, suspended until the reply, freed
 * when the answer is out or the client gone. */
#ifndef BULKHEAD_API_EXCHANGE_H
#define BULKHEAD_API_EXCHANGE_H

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/auth.h"
#include "api/client.h"
#include "api/codec.h"
#include "api/problem.h"
#include "api/server.h"
#include "api/stream.h"
#include "api/target.h"
#include "api/transfer.h"

struct bh_route;

#define BH_REQUEST_ID_SIZE 129

enum bh_exchange_state {
        BH_EXCHANGE_NEW,     /* the head is not there yet */
        BH_EXCHANGE_BODY,    /* a body is being collected */
        BH_EXCHANGE_UPLOAD,  /* a body is being passed on */
        BH_EXCHANGE_DISCARD, /* refused, but its small body is read so that the connection lives */
        BH_EXCHANGE_WAIT,    /* suspended until the broker replies */
        BH_EXCHANGE_READY,   /* an answer waits to be queued */
        BH_EXCHANGE_SENT,    /* it is queued */
        BH_EXCHANGE_GONE,    /* the client is */
};

struct bh_exchange {
        LIST_ENTRY(bh_exchange) entry; /* of server->exchanges */
        struct bh_server *server;
        struct bh_client *client;
        struct MHD_Connection *connection;
        enum bh_exchange_state state;
        bool suspended;

        char *target_text; /* owned, as it came */
        struct bh_target target;
        const struct bh_route *route;
        bool head; /* HEAD is answered as GET by libmicrohttpd leaving out the body */
        bool follow;
        char request_id[BH_REQUEST_ID_SIZE];
        char token_sha256[BH_SHA256_HEX_SIZE];
        json_t *params; /* owned */

        char *body; /* owned */
        size_t body_size, body_capacity, body_limit;
        size_t discarded;
        struct bh_http_problem refusal; /* while the body is discarded */
        struct bh_body decoded;

        uint64_t call;                 /* of the broker link; 0: none */
        struct bh_stream *stream;      /* owned by the response; NULL: none */
        struct bh_transfer *transfer;  /* NULL: none */
        struct MHD_Response *response; /* until it is queued */
        int status;
};

struct bh_exchange *bh_exchange_new(struct bh_server *server, struct bh_client *client,
                                    struct MHD_Connection *connection, const char *target);
void bh_exchange_free(struct bh_exchange *exchange);

/* libmicrohttpd's access handler, for this exchange. */
enum MHD_Result bh_exchange_handle(struct bh_exchange *exchange, const char *method,
                                   const char *data, size_t *size);

/* A header of the request, or NULL. */
const char *bh_exchange_header(const struct bh_exchange *exchange, const char *name);

/* Whether the call to the broker is a watch. */
bool bh_exchange_watches(const struct bh_exchange *exchange);

void bh_exchange_suspend(struct bh_exchange *exchange);
/* Accepts one that is not suspended. The caller pumps. */
void bh_exchange_resume(struct bh_exchange *exchange);

/* Ends all answers that go on (stream.h) where they are; server drains. The caller pumps. */
void bh_exchanges_cut(struct bh_server *server);

#endif
