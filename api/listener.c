/* See listener.h. libmicrohttpd runs on its own epoll descriptor, which our loop watches; after
 * each turn it says whether it wants another at once or at a time. */
#include "api/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "api/exchange.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"

/* A connection's pool: head (24 KiB), its parsed entries, and a piece of a body or an answer. */
#define CONNECTION_MEMORY ((size_t)64 << 10)
#define IDLE_SECONDS      120U /* without a byte in either direction */
#define PEM_MAX           ((size_t)1 << 20)
#define FDS_PER_CLIENT    4    /* its socket, a payload or two output files, a lingering copy */
#define CONNECTIONS_MAX   4096 /* of one listener */
#define FDS_OWN           64
#define TURNS_MAX         8 /* of libmicrohttpd before others get the loop */
/* TLS 1.2 and 1.3 only. */
static char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

struct bh_listener {
        struct bh_server *server;
        struct bh_listener *next;
        struct MHD_Daemon *daemon;
        struct event *ready, *timer;
        int socket;
        char *certificate, *key, *client_ca; /* owned PEM texts; NULL without TLS */
};

/* ---- Callbacks of libmicrohttpd ---- */

static struct bh_client *client_of(struct MHD_Connection *connection)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

        return info ? info->socket_context : NULL;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **slot,
                          enum MHD_ConnectionNotificationCode code)
{
        struct bh_listener *listener = context;
        const union MHD_ConnectionInfo *fd, *tls;

        if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
                bh_client_close(*slot);
                *slot = NULL;
                return;
        }
        fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        tls = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        *slot = bh_client_open(listener->server->clients, fd->connect_fd,
                               tls ? tls->tls_session : NULL, listener->client_ca != NULL);
}

static void *on_request_line(void *context, const char *target, struct MHD_Connection *connection)
{
        struct bh_listener *listener = context;

        return bh_exchange_new(listener->server, client_of(connection), connection,
                               target ? target : "");
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **slot)
{
        (void)context;
        (void)connection;
        (void)url;
        (void)version;
        return *slot ? bh_exchange_handle(*slot, method, data, size) : MHD_NO;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **slot,
                         enum MHD_RequestTerminationCode code)
{
        (void)context;
        (void)code;
        if (!*slot)
                return;
        bh_exchange_free(*slot);
        *slot = NULL;
        bh_client_answered(client_of(connection));
}

/* Targets are decoded by target.c, after routing. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
        (void)context;
        (void)connection;
        return strlen(text);
}

__attribute__((format(printf, 2, 0))) static void on_log(void *context, const char *format,
                                                         va_list arguments)
{
        char text[256];

        (void)context;
        (void)vsnprintf(text, sizeof(text), format, arguments);
        bh_log_take(BH_LOG_DEBUG, "http", json_pack("{s:s}", "message", text));
}

/* ---- The loop ---- */

static void schedule(struct bh_listener *listener)
{
        MHD_UNSIGNED_LONG_LONG milliseconds;
        struct timeval wait;

        if (MHD_get_timeout(listener->daemon, &milliseconds) != MHD_YES) {
                event_del(listener->timer);
                return;
        }
        wait.tv_sec = (time_t)(milliseconds / 1000);
        wait.tv_usec = (suseconds_t)(milliseconds % 1000 * 1000);
        event_add(listener->timer, &wait);
}

void bh_listener_pump(struct bh_listener *listener)
{
        MHD_UNSIGNED_LONG_LONG milliseconds;

        for (int turn = 0; turn < TURNS_MAX; turn++) {
                MHD_run(listener->daemon);
                if (MHD_get_timeout(listener->daemon, &milliseconds) != MHD_YES || milliseconds > 0)
                        break;
        }
        schedule(listener);
}

static void on_ready(evutil_socket_t fd, short what, void *context)
{
        (void)fd;
        (void)what;
        bh_listener_pump(context);
}

struct bh_listener *bh_listener_next(struct bh_listener *listener)
{
        return listener->next;
}

void bh_listener_quiesce(struct bh_listener *listener)
{
        int fd = MHD_quiesce_daemon(listener->daemon);

        listener->socket = bh_close(fd);
}

/* ---- Start and end ---- */

static void listener_free(struct bh_listener *listener)
{
        if (listener->ready)
                event_free(listener->ready);
        if (listener->timer)
                event_free(listener->timer);
        free(listener->certificate);
        free(listener->key);
        free(listener->client_ca);
        bh_close(listener->socket);
        free(listener);
}

/* Connections may be suspended, with which MHD_stop_daemon must not be called: the process is
 * about to end and the kernel closes them. */
void bh_listener_free_all(struct bh_server *server)
{
        while (server->listeners) {
                struct bh_listener *next = server->listeners->next;

                listener_free(server->listeners);
                server->listeners = next;
        }
}

static int read_pem(int fd, char **ret, struct bh_error *error)
{
        struct stat status;
        _cleanup_free_ char *text = NULL;

        if (fstat(fd, &status) < 0)
                return bh_error_errno(error, errno, "look at a certificate");
        if (status.st_size > (off_t)PEM_MAX)
                return bh_error_set(error, BH_ERROR_INVALID, "a certificate is too large");
        if (status.st_size == 0)
                return 0;
        text = bh_alloc((size_t)status.st_size + 1);
        if (bh_pread_full(fd, text, (size_t)status.st_size, 0) != status.st_size)
                return bh_error_errno(error, errno, "read a certificate");
        *ret = bh_steal_ptr(&text);
        return 0;
}

static int read_tls(struct bh_listener *listener, const struct bh_frame *frame,
                    struct bh_error *error)
{
        if (!json_is_true(json_object_get(frame->message, "tls")))
                return 0;
        if (frame->fd_count < 3)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "a TLS listener without certificate");
        if (read_pem(frame->fds[1], &listener->certificate, error) < 0 ||
            read_pem(frame->fds[2], &listener->key, error) < 0)
                return -1;
        if (!listener->certificate || !listener->key)
                return bh_error_set(error, BH_ERROR_INVALID, "the certificate or its key is empty");
        return frame->fd_count > 3 ? read_pem(frame->fds[3], &listener->client_ca, error) : 0;
}

static unsigned int connection_limit(void)
{
        struct rlimit files;
        rlim_t count;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur < FDS_OWN + FDS_PER_CLIENT)
                return 16;
        count = (files.rlim_cur - FDS_OWN) / FDS_PER_CLIENT;
        return count < CONNECTIONS_MAX ? (unsigned int)count : CONNECTIONS_MAX;
}

static struct MHD_Daemon *start_daemon(struct bh_listener *listener)
{
        unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
        struct MHD_OptionItem tls[] = {
                {MHD_OPTION_HTTPS_MEM_CERT, 0, listener->certificate},
                {MHD_OPTION_HTTPS_MEM_KEY, 0, listener->key},
                {MHD_OPTION_HTTPS_PRIORITIES, 0, tls_priorities},
                {listener->client_ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
                 listener->client_ca},
                {MHD_OPTION_END, 0, NULL},
        };
        struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};

        if (listener->certificate)
                flags |= MHD_USE_TLS;
        return MHD_start_daemon(
                flags, 0, NULL, NULL, on_request, listener, MHD_OPTION_EXTERNAL_LOGGER, on_log,
                NULL, MHD_OPTION_LISTEN_SOCKET, listener->socket, MHD_OPTION_NOTIFY_CONNECTION,
                on_connection, listener, MHD_OPTION_NOTIFY_COMPLETED, on_completed, listener,
                MHD_OPTION_URI_LOG_CALLBACK, on_request_line, listener,
                MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
                MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT,
                connection_limit(), MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
                MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
                MHD_OPTION_ARRAY, listener->certificate ? tls : none, MHD_OPTION_END);
}

int bh_listener_add(struct bh_server *server, struct bh_frame *frame, struct bh_error *error)
{
        struct bh_listener *listener;
        const union MHD_DaemonInfo *epoll;

        if (frame->fd_count < 1)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "a listener without a socket");
        listener = bh_alloc(sizeof(*listener));
        listener->server = server;
        listener->socket = bh_steal_fd(&frame->fds[0]);
        if (read_tls(listener, frame, error) < 0 ||
            fcntl(listener->socket, F_SETFL, O_NONBLOCK) < 0) {
                listener_free(listener);
                return -1;
        }
        listener->daemon = start_daemon(listener);
        epoll = listener->daemon ? MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD)
                                 : NULL;
        if (!epoll) {
                listener_free(listener);
                return bh_error_set(error, BH_ERROR_SYSTEM, "libmicrohttpd does not start");
        }
        listener->ready =
                event_new(server->base, epoll->epoll_fd, EV_READ | EV_PERSIST, on_ready, listener);
        listener->timer = event_new(server->base, -1, 0, on_ready, listener);
        if (!listener->ready || !listener->timer)
                bh_alloc_failed();
        event_add(listener->ready, NULL);
        listener->next = server->listeners;
        server->listeners = listener;
        bh_listener_pump(listener);
        return 0;
}
