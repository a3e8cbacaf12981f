/* The bulkhead-api process. */
#include "broker/daemon/api_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/spawn.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/dispatch.h"
#include "broker/daemon/timeval.h"

#define RESTART_DELAY_MS     20 /* after the first end; doubled with each quick one after it */
#define RESTART_DELAY_MAX_MS 5000
#define QUICK_END_US         ((int64_t)10 * 1000 * 1000)

#define TLS_FILE_MAX         ((size_t)1 << 20) /* bytes */

static void drop_calls(struct bh_daemon *daemon)
{
        while (!LIST_EMPTY(&daemon->calls))
                bh_call_drop(LIST_FIRST(&daemon->calls));
}

static void end_link(struct bh_daemon *daemon)
{
        struct bh_api *api = &daemon->api;
        drop_calls(daemon);
        bh_link_free(api->link);
        api->link = NULL;
        api->ready = false;
        bh_pidref_signal(&api->process, SIGKILL, NULL);
        bh_pidref_clear(&api->process);
}

static void restart_later(struct bh_daemon *daemon)
{
        struct bh_api *api = &daemon->api;
        if (bh_monotonic_us() - api->started_us > QUICK_END_US)
                api->failures = 0;
        int delay_ms = RESTART_DELAY_MS << (api->failures < 8 ? api->failures : 8);
        if (delay_ms > RESTART_DELAY_MAX_MS)
                delay_ms = RESTART_DELAY_MAX_MS;
        struct timeval delay = bh_timeval_ms(delay_ms);
        api->failures++;
        event_add(api->restart, &delay);
}

static void on_closed(void *data, const struct bh_error *error)
{
        struct bh_daemon *daemon = data;
        end_link(daemon);
        if (daemon->draining) {
                daemon->stopping = true;
                return;
        }
        bh_log_error("api.ended", NULL, error);
        restart_later(daemon);
}

static void announce(struct bh_daemon *daemon)
{
        struct bh_api *api = &daemon->api;
        api->ready = true;
        if (api->announced)
                return;
        api->announced = true;
        _cleanup_json_ json_t *line = json_pack("{ssso}", "event", "ready", "listen",
                                                bh_listeners_encode(&daemon->listeners));
        _cleanup_free_ char *text = bh_json_text(line);
        dprintf(STDERR_FILENO, "%s\n", text);
}

static void on_frame(void *data, struct bh_frame *frame)
{
        struct bh_daemon *daemon = data;
        struct bh_error error = {0};
        const char *event = json_string_value(json_object_get(frame->message, "event"));
        if (event && strcmp(event, "ready") == 0) {
                announce(daemon);
                return;
        }
        if (bh_dispatch(daemon, frame, &error) == 0)
                return;
        bh_error_prefix(&error, "bulkhead-api broke the protocol");
        on_closed(daemon, &error);
}

void bh_api_attach_take(struct bh_daemon *daemon, int channel)
{
        static const struct bh_link_events events = {.frame = on_frame, .closed = on_closed};
        daemon->api.link = bh_link_new_take(daemon->base, channel, &events, daemon);
}

void bh_daemon_send_api(struct bh_daemon *daemon, const json_t *frame, const int *fds,
                        size_t fd_count)
{
        if (daemon->api.link)
                bh_link_send(daemon->api.link, frame, fds, fd_count);
}

/* An empty memfd stands for a file that is not configured. */
static int file_memfd(const char *path, struct bh_error *error)
{
        _cleanup_free_ char *data = NULL;
        size_t size = 0;
        if (path && bh_read_file(AT_FDCWD, path, TLS_FILE_MAX, &data, &size, error) < 0)
                return -1;
        int fd = bh_memfd_sealed("tls", data ? data : "", size, error);
        if (data)
                explicit_bzero(data, size);
        return fd;
}

static int send_listener(struct bh_daemon *daemon, const struct bh_listener *listener,
                         struct bh_error *error)
{
        const struct bh_config *config = daemon->config;
        bool tls = config->tls_certificate && !listener->is_unix;
        _cleanup_json_ json_t *frame = json_pack("{sssssssb}", "event", "listen", "kind",
                                                 listener->is_unix ? "unix" : "tcp", "address",
                                                 listener->text, "tls", tls);
        int fds[4] = {listener->fd, -1, -1, -1};
        if (!tls) {
                bh_daemon_send_api(daemon, frame, fds, 1);
                return 0;
        }
        _cleanup_close_ int certificate = file_memfd(config->tls_certificate, error);
        _cleanup_close_ int key = certificate < 0 ? -1 : file_memfd(config->tls_key, error);
        _cleanup_close_ int client_ca = key < 0 ? -1 : file_memfd(config->tls_client_ca, error);
        if (client_ca < 0)
                return bh_error_prefix(error, "tls");
        fds[1] = certificate;
        fds[2] = key;
        fds[3] = client_ca;
        bh_daemon_send_api(daemon, frame, fds, 4);
        return 0;
}

void bh_api_send_principals(struct bh_daemon *daemon)
{
        _cleanup_json_ json_t *frame =
                json_pack("{ssso}", "event", "principals", "tokens",
                          bh_tokens_encode(&daemon->tokens, bh_realtime_ms()));
        bh_daemon_send_api(daemon, frame, NULL, 0);
}

static int introduce(struct bh_daemon *daemon, struct bh_error *error)
{
        bh_api_send_principals(daemon);
        for (size_t i = 0; i < daemon->listeners.count; i++)
                if (send_listener(daemon, &daemon->listeners.items[i], error) < 0)
                        return -1;
        _cleanup_json_ json_t *serve = json_pack("{ss}", "event", "serve");
        bh_daemon_send_api(daemon, serve, NULL, 0);
        return 0;
}

/* Slot 0 of the uid range is the API's own; it drops to it itself, after it has opened what only
 * root may. */
static int spawn(struct bh_daemon *daemon, int *ret_channel, struct bh_error *error)
{
        int pair[2];
        _cleanup_free_ char *path = NULL;
        if (bh_helper_path("bulkhead-api", &path, error) < 0)
                return -1;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return bh_error_errno(error, errno, "make a channel");
        _cleanup_close_ int ours = pair[0];
        _cleanup_close_ int theirs = pair[1];
        _cleanup_free_ char *uid = bh_format("%u", (unsigned)daemon->paths.uid_base);
        char *argv[] = {(char[]){"bulkhead-api"}, (char[]){"--uid"}, uid, NULL};
        struct bh_spawn_fd fds[] = {{theirs, BH_API_CHANNEL_FD}};
        struct bh_spawn request = {
                .path = path, .argv = argv, .fds = fds, .fd_count = 1, .new_session = 1};
        bh_pidref_clear(&daemon->api.process);
        if (bh_spawn(&request, &daemon->api.process, error) < 0)
                return -1;
        *ret_channel = bh_steal_fd(&ours);
        return 0;
}

int bh_api_start(struct bh_daemon *daemon, struct bh_error *error)
{
        int channel = -1;
        daemon->api.started_us = bh_monotonic_us();
        if (spawn(daemon, &channel, error) < 0)
                return bh_error_prefix(error, "start bulkhead-api");
        bh_api_attach_take(daemon, channel);
        if (introduce(daemon, error) < 0) {
                end_link(daemon);
                return -1;
        }
        return 0;
}

static void on_restart(evutil_socket_t fd, short what, void *data)
{
        struct bh_daemon *daemon = data;
        struct bh_error error = {0};
        (void)fd;
        (void)what;
        if (daemon->draining || bh_api_start(daemon, &error) == 0)
                return;
        bh_log_error("api.start_failed", NULL, &error);
        restart_later(daemon);
}

int bh_api_init(struct bh_daemon *daemon, struct bh_error *error)
{
        daemon->api.process = BH_PIDREF_NONE;
        daemon->api.restart = event_new(daemon->base, -1, 0, on_restart, daemon);
        if (!daemon->api.restart)
                return bh_error_set(error, BH_ERROR_INTERNAL, "make a timer");
        return 0;
}

void bh_api_drain(struct bh_daemon *daemon)
{
        _cleanup_json_ json_t *frame = json_pack("{ss}", "event", "drain");
        bh_daemon_send_api(daemon, frame, NULL, 0);
}

void bh_api_clear(struct bh_daemon *daemon)
{
        end_link(daemon);
        if (daemon->api.restart)
                event_free(daemon->api.restart);
        daemon->api.restart = NULL;
}
