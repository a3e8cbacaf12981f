/* HTTP to the broker, by libcurl: over a unix socket, loopback TCP, or TLS. Knows nothing of
 * what is asked. Called by cli.c and follow.c.
 *
 * No proxy is ever used and no redirect followed, so the token goes to the broker that was
 * named and to nobody else; it is not sent in the clear to a host that is not loopback. */
#ifndef BULKHEAD_API_CLI_HTTP_H
#define BULKHEAD_API_CLI_HTTP_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct bh_http;

struct bh_http_endpoint {
        const char *url;         /* http://…, https://…, unix:/path */
        const char *token;       /* NULL: none is sent */
        const char *ca_file;     /* NULL: the system's roots */
        const char *certificate; /* NULL: none is shown */
        const char *key;         /* NULL: in the certificate's file */
};

/* Takes 2xx bodies as they come; -1 ends the transfer with error. */
typedef int (*bh_http_sink)(void *context, const char *bytes, size_t size, struct bh_error *error);

/* Fills buffer with bytes to send. Returns how many, 0 at the end, -1 and error. */
typedef ssize_t (*bh_http_source)(void *context, char *buffer, size_t size, struct bh_error *error);

struct bh_http_request {
        const char *method;
        const char *path;      /* with query, percent-encoded, starting with '/' */
        const json_t *body;    /* NULL: none */
        bh_http_source source; /* of a body that is no JSON; NULL: none */
        void *source_context;
        const char *idempotency_key; /* the following: NULL leaves the header out */
        const char *if_match;
        const char *last_event_id;
        const char *accept;
        int64_t timeout_ms; /* 0: none */
        long stall_seconds; /* without a byte it is broken; 0: never */
        bh_http_sink sink;  /* NULL: the body is collected */
        void *sink_context;
};

struct bh_http_response {
        long status;
        char *body; /* NUL-terminated; "" when a sink took it */
        size_t body_size;
        json_t *json;            /* the body, when it is JSON; else NULL */
        char *etag, *request_id; /* NULL when absent */
};

/* BH_ERROR_INVALID when the URL cannot be used. Does not connect. */
int bh_http_open(const struct bh_http_endpoint *endpoint, struct bh_http **ret,
                 struct bh_error *error);
void bh_http_free(struct bh_http *http);
BH_DEFINE_CLEANUP(struct bh_http *, bh_http, bh_http_free);

/* From now on a transfer ends with reason "interrupted" when fd becomes readable. -1: never. */
void bh_http_interrupt_by(struct bh_http *http, int fd);

/* Any answer is success. BH_ERROR_UNAVAILABLE: no connection came about, so nothing was asked.
 * BH_ERROR_CLOSED: it broke, or the time was over, and what was asked may have been done. */
int bh_http_call(struct bh_http *http, const struct bh_http_request *request,
                 struct bh_http_response *ret, struct bh_error *error);

void bh_http_response_clear(struct bh_http_response *response);

#define _cleanup_response_ _cleanup_(bh_http_response_clear)

/* text as one component of a path or value of a query. Caller frees. */
char *bh_http_escape(const char *text);

#endif
