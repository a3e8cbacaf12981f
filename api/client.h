/* One connection of a client, beside the one that libmicrohttpd keeps: what was inspected of its
 * bytes, its deadlines, whether it is still there, and the refusals that are written past the
 * library (408, 431, malformed framing) because it would answer them with pages of its own.
 * Made and ended by listener.c; bytes come in from receive.c. */
#ifndef BULKHEAD_API_CLIENT_H
#define BULKHEAD_API_CLIENT_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/inspect.h"
#include "api/problem.h"

struct bh_clients;
struct bh_client;

/* A client's deadlines; the tests shorten them. */
struct bh_client_limits {
        int64_t head_us; /* for a whole head, from its first byte or the connection */
        int64_t body_us; /* for a body, plus: */
        int64_t body_bytes_per_second;
};

#define BH_CLIENT_LIMITS            \
        ((struct bh_client_limits){ \
                .head_us = 10000000, .body_us = 30000000, .body_bytes_per_second = 64 << 10})

/* At most one set at a time is reachable by bh_client_by_fd. */
struct bh_clients *bh_clients_new(struct event_base *base, struct bh_client_limits limits);
void bh_clients_free(struct bh_clients *clients);

typedef void (*bh_client_gone)(void *context);

/* tls is a gnutls_session_t, or NULL; must_certify: its client has to show a certificate. */
struct bh_client *bh_client_open(struct bh_clients *clients, int fd, void *tls, bool must_certify);
/* Called while fd is still open. When the client was refused and may still be sending, a copy of
 * fd is drained for a while: closing with unread bytes would reset the connection and take the
 * answer from the client. */
void bh_client_close(struct bh_client *client);

/* NULL when fd is no client's. */
struct bh_client *bh_client_by_fd(int fd);
bool bh_client_is_tls(const struct bh_client *client);
bool bh_client_must_certify(const struct bh_client *client);
bool bh_client_is_closing(const struct bh_client *client);

/* size plain bytes were received into buffer. Returns how many of them the library may see; 0:
 * tell it that the connection has ended. */
size_t bh_client_received(struct bh_client *client, const char *buffer, size_t size);

/* Whether the head of the request that comes next to be answered was inspected whole. False
 * means that bytes came past receive.c: such a request must not be served. */
bool bh_client_head_inspected(const struct bh_client *client);

/* An answer to the present request is about to be written: no deadline, no refusal any more. */
void bh_client_answering(struct bh_client *client);

/* A request was answered or given up. */
void bh_client_answered(struct bh_client *client);

/* Writes problem to the client as the answer to the request that it is sending, and ends the
 * connection. Only while nothing of an answer was written. */
void bh_client_refuse(struct bh_client *client, const struct bh_http_problem *problem);

/* The library will close after an answer though bytes of the client are unread. */
void bh_client_linger(struct bh_client *client);

/* on_gone is called once when the client has closed its end; NULL: nobody wants to know. */
void bh_client_watch(struct bh_client *client, bh_client_gone on_gone, void *context);

#endif
