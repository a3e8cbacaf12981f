/* See server.h: the broker's notices ("listen", "principals", "serve", "drain") and the loop. */
#include "api/server.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "api/exchange.h"
#include "api/listener.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#define DRAIN_US       (INT64_C(10) * 1000000) /* what is under way may take this long */
#define DRAIN_CHECK_US 20000

static void stop(struct bh_server *server)
{
        event_base_loopbreak(server->base);
}

static void fail(struct bh_server *server, const struct bh_error *error)
{
        server->failed = *error;
        stop(server);
}

static void on_drain_check(evutil_socket_t fd, short what, void *context)
{
        struct bh_server *server = context;

        (void)fd;
        (void)what;
        if (LIST_EMPTY(&server->exchanges) || bh_monotonic_us() > server->drain_until_us)
                stop(server);
}

static void drain(struct bh_server *server)
{
        static const struct timeval period = {.tv_usec = DRAIN_CHECK_US};

        if (server->drain_until_us)
                return;
        for (struct bh_listener *listener = server->listeners; listener;
             listener = bh_listener_next(listener))
                bh_listener_quiesce(listener);
        server->drain_until_us = bh_monotonic_us() + DRAIN_US;
        event_add(server->drain_check, &period);
        bh_exchanges_cut(server);
}

bool bh_server_drains(const struct bh_server *server)
{
        return server->drain_until_us != 0;
}

static int serve(struct bh_server *server, struct bh_error *error)
{
        if (server->harden && server->harden(server->harden_context, error) < 0)
                return -1;
        return bh_broker_notify(server->broker, "ready", error);
}

static void on_notice(void *context, struct bh_frame *frame)
{
        struct bh_server *server = context;
        const char *event = json_string_value(json_object_get(frame->message, "event"));
        struct bh_error error = {.code = BH_ERROR_NONE};
        int result = 0;

        if (!event)
                event = "";
        if (strcmp(event, "listen") == 0)
                result = bh_listener_add(server, frame, &error);
        else if (strcmp(event, "principals") == 0)
                result = bh_callers_replace(&server->callers, frame->message, &error);
        else if (strcmp(event, "serve") == 0)
                result = serve(server, &error);
        else if (strcmp(event, "drain") == 0)
                drain(server);
        else
                result = bh_error_set(&error, BH_ERROR_PROTOCOL, "unknown notice \"%s\"", event);
        if (result < 0)
                fail(server, &error);
}

void bh_server_pump(struct bh_server *server)
{
        for (struct bh_listener *listener = server->listeners; listener;
             listener = bh_listener_next(listener))
                bh_listener_pump(listener);
}

static void on_drained(void *context)
{
        bh_server_pump(context);
}

/* The broker is gone; its successor starts an API of its own. */
static void on_closed(void *context, const struct bh_error *error)
{
        struct bh_server *server = context;

        if (error->code == BH_ERROR_CLOSED)
                stop(server);
        else
                fail(server, error);
}

int bh_server_new_take(int channel_fd, struct bh_client_limits limits, struct bh_server **ret,
                       struct bh_error *error)
{
        struct bh_server *server = bh_alloc(sizeof(*server));
        struct bh_broker_handlers handlers = {
                .context = server,
                .notice = on_notice,
                .drained = on_drained,
                .closed = on_closed,
        };

        server->base = event_base_new();
        if (!server->base)
                bh_alloc_failed();
        server->drain_check = event_new(server->base, -1, EV_PERSIST, on_drain_check, server);
        if (!server->drain_check)
                bh_alloc_failed();
        server->clients = bh_clients_new(server->base, limits);
        if (bh_broker_new_take(server->base, channel_fd, &handlers, &server->broker, error) < 0) {
                bh_server_free(server);
                return -1;
        }
        *ret = server;
        return 0;
}

void bh_server_free(struct bh_server *server)
{
        if (!server)
                return;
        bh_listener_free_all(server);
        bh_broker_free(server->broker);
        bh_clients_free(server->clients);
        bh_callers_clear(&server->callers);
        event_free(server->drain_check);
        event_base_free(server->base);
        free(server);
}

int bh_server_run(struct bh_server *server)
{
        if (event_base_dispatch(server->base) < 0)
                return bh_error_set(&server->failed, BH_ERROR_SYSTEM, "the event loop failed");
        return server->failed.code ? -1 : 0;
}
