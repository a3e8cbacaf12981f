/* See client.h. */
#include "api/client.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/linger.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/ulid.h"

#define TICK_US 250000 /* how late a deadline may be noticed */

struct bh_client {
        struct bh_clients *clients;
        struct bh_client *previous, *next; /* among those that are being waited for */
        bool waited_for;
        int64_t since_us; /* when the present head or body began */
        enum bh_phase phase;

        int fd;
        gnutls_session_t tls;
        bool must_certify;
        struct bh_inspector inspector;
        uint64_t answered; /* requests */
        bool answering;    /* an answer is being written */
        bool closing;      /* refused: nothing more is read */
        bool linger, gone;

        struct event *hangup;
        bh_client_gone on_gone;
        void *gone_context;
};

struct bh_clients {
        struct event_base *base;
        struct bh_client_limits limits;
        struct bh_client *waiting; /* list of clients that owe us bytes */
        struct event *tick;        /* pending while the list is not empty */
        struct bh_lingerers *lingerers;
};

/* recv(2) has no argument for a context, so receive.c finds clients by descriptor. */
static struct {
        struct bh_client **by_fd;
        size_t size;
} registry;

struct bh_client *bh_client_by_fd(int fd)
{
        return fd >= 0 && (size_t)fd < registry.size ? registry.by_fd[fd] : NULL;
}

static void register_client(int fd, struct bh_client *client)
{
        if ((size_t)fd >= registry.size) {
                size_t size = (size_t)fd * 2 + 64;

                registry.by_fd = bh_realloc_array(registry.by_fd, size, sizeof(struct bh_client *));
                memset(registry.by_fd + registry.size, 0,
                       (size - registry.size) * sizeof(struct bh_client *));
                registry.size = size;
        }
        registry.by_fd[fd] = client;
}

bool bh_client_is_tls(const struct bh_client *client)
{
        return client->tls != NULL;
}

bool bh_client_must_certify(const struct bh_client *client)
{
        return client->must_certify;
}

bool bh_client_is_closing(const struct bh_client *client)
{
        return client->closing;
}

/* ---- Deadlines ---- */

static void wait_for(struct bh_client *client)
{
        static const struct timeval tick = {.tv_usec = TICK_US};
        struct bh_clients *clients = client->clients;

        client->since_us = bh_monotonic_us();
        if (client->waited_for)
                return;
        if (!clients->waiting)
                event_add(clients->tick, &tick);
        client->previous = NULL;
        client->next = clients->waiting;
        if (client->next)
                client->next->previous = client;
        clients->waiting = client;
        client->waited_for = true;
}

static void stop_waiting(struct bh_client *client)
{
        struct bh_clients *clients = client->clients;

        if (!client->waited_for)
                return;
        if (client->previous)
                client->previous->next = client->next;
        else
                clients->waiting = client->next;
        if (client->next)
                client->next->previous = client->previous;
        client->waited_for = false;
        if (!clients->waiting)
                event_del(clients->tick);
}

static int64_t allowed_us(const struct bh_client *client)
{
        const struct bh_client_limits *limits = &client->clients->limits;

        if (client->phase != BH_PHASE_BODY)
                return limits->head_us;
        return limits->body_us +
               (int64_t)client->inspector.body_seen * 1000000 / limits->body_bytes_per_second;
}

static void too_slow(struct bh_client *client)
{
        struct bh_http_problem problem = {.status = 0};

        if (client->inspector.started > client->answered) { /* else it never sent a byte */
                bh_http_problem_set(&problem, 408, "request_timeout",
                                    "the request's %s took too long",
                                    client->phase == BH_PHASE_BODY ? "body" : "head");
                bh_client_refuse(client, &problem);
        }
        client->closing = true;
        stop_waiting(client);
        /* Wakes the library, which then reads the end from receive.c. */
        (void)shutdown(client->fd, SHUT_RD);
}

static void on_tick(evutil_socket_t fd, short what, void *context)
{
        struct bh_clients *clients = context;
        int64_t now = bh_monotonic_us();
        struct bh_client *next;

        (void)fd;
        (void)what;
        for (struct bh_client *client = clients->waiting; client; client = next) {
                next = client->next;
                if (now - client->since_us > allowed_us(client))
                        too_slow(client);
        }
}

/* Follows the inspector from one phase to the next. While an earlier request waits for its answer
 * the client owes nothing, whatever it has sent beyond. */
static void update_phase(struct bh_client *client)
{
        bool due = client->inspector.started <= client->answered + 1;
        enum bh_phase phase = due ? client->inspector.phase : BH_PHASE_IDLE;

        if (client->answering)
                return;
        if (phase == client->phase && (phase == BH_PHASE_IDLE) == !client->waited_for)
                return;
        client->phase = phase;
        if (phase == BH_PHASE_IDLE)
                stop_waiting(client);
        else
                wait_for(client);
}

/* ---- Life ---- */

struct bh_clients *bh_clients_new(struct event_base *base, struct bh_client_limits limits)
{
        struct bh_clients *clients = bh_alloc(sizeof(*clients));

        clients->base = base;
        clients->limits = limits;
        clients->tick = event_new(base, -1, EV_PERSIST, on_tick, clients);
        if (!clients->tick)
                bh_alloc_failed();
        clients->lingerers = bh_lingerers_new(base);
        return clients;
}

void bh_clients_free(struct bh_clients *clients)
{
        if (!clients)
                return;
        bh_lingerers_free(clients->lingerers);
        event_free(clients->tick);
        free(clients);
}

static void on_hangup(evutil_socket_t fd, short what, void *context)
{
        struct bh_client *client = context;
        bh_client_gone on_gone = client->on_gone;

        (void)fd;
        (void)what;
        client->gone = true;
        client->on_gone = NULL;
        if (on_gone)
                on_gone(client->gone_context);
}

struct bh_client *bh_client_open(struct bh_clients *clients, int fd, void *tls, bool must_certify)
{
        struct bh_client *client = bh_alloc(sizeof(*client));

        client->clients = clients;
        client->fd = fd;
        client->tls = tls;
        client->must_certify = must_certify;
        /* Edge-triggered: told once, and nothing to do per request. */
        client->hangup =
                event_new(clients->base, fd, EV_CLOSED | EV_ET | EV_PERSIST, on_hangup, client);
        if (!client->hangup || event_add(client->hangup, NULL) < 0)
                bh_alloc_failed();
        register_client(fd, client);
        wait_for(client); /* its first request is due */
        return client;
}

void bh_client_close(struct bh_client *client)
{
        stop_waiting(client);
        event_free(client->hangup);
        register_client(client->fd, NULL);
        if (client->linger)
                bh_linger(client->clients->lingerers, client->fd);
        free(client);
}

void bh_client_watch(struct bh_client *client, bh_client_gone on_gone, void *context)
{
        client->on_gone = on_gone;
        client->gone_context = context;
        if (client->gone && on_gone)
                event_active(client->hangup, EV_CLOSED, 0);
}

void bh_client_linger(struct bh_client *client)
{
        client->linger = true;
}

/* ---- Bytes ---- */

static void refuse_violation(struct bh_client *client)
{
        const struct bh_violation *violation = &client->inspector.violation;
        struct bh_http_problem problem = {.status = 0};

        bh_http_problem_set(&problem, violation->status, violation->code, "%s", violation->detail);
        bh_client_refuse(client, &problem);
}

size_t bh_client_received(struct bh_client *client, const char *buffer, size_t size)
{
        size_t good;

        if (client->closing)
                return 0;
        good = bh_inspect(&client->inspector, buffer, size);
        if (!client->inspector.violation.status) {
                update_phase(client);
                return good;
        }
        /* An earlier request of the same piece is answered first; bh_client_answered goes on. */
        stop_waiting(client);
        if (client->inspector.started > client->answered + 1)
                return good;
        refuse_violation(client);
        return 0;
}

bool bh_client_head_inspected(const struct bh_client *client)
{
        return client->inspector.heads > client->answered;
}

void bh_client_answering(struct bh_client *client)
{
        client->answering = true;
        stop_waiting(client);
}

void bh_client_answered(struct bh_client *client)
{
        client->answered++;
        client->answering = false;
        client->on_gone = NULL;
        if (!client->closing)
                update_phase(client);
        if (client->inspector.violation.status && !client->closing &&
            client->inspector.started == client->answered + 1) {
                refuse_violation(client);
                (void)shutdown(client->fd, SHUT_RD);
        }
}

static void write_all(struct bh_client *client, const char *text, size_t size)
{
        /* The socket's buffer is empty, so a short text always fits; if it does not, the client
         * does not read, and is not owed more. */
        if (client->tls)
                (void)gnutls_record_send(client->tls, text, size);
        else
                (void)send(client->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void bh_client_refuse(struct bh_client *client, const struct bh_http_problem *problem)
{
        _cleanup_free_ char *document = NULL, *text = NULL;
        char request_id[BH_ID_SIZE];

        bh_id_make("req_", request_id);
        document = bh_http_problem_text(problem, request_id);
        text = bh_format("HTTP/1.1 %d %s\r\n"
                         "Connection: close\r\n"
                         "Content-Type: application/problem+json\r\n"
                         "Cache-Control: no-store\r\n"
                         "X-Content-Type-Options: nosniff\r\n"
                         "X-Request-ID: %s\r\n"
                         "Content-Length: %zu\r\n\r\n%s",
                         problem->status, bh_status_phrase(problem->status), request_id,
                         strlen(document), document);
        write_all(client, text, strlen(text));
        stop_waiting(client);
        client->closing = client->linger = true;
}
