/* The sockets that clients connect to. */
#include "broker/daemon/listeners.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"

#define BACKLOG 1024

/* A socket file whose broker is gone may be replaced; one that still answers may not. */
static int clear_stale(const struct bh_address *address, const char *path, struct bh_error *error)
{
        struct stat st;
        if (lstat(path, &st) < 0)
                return errno == ENOENT ? 0 : bh_error_errno(error, errno, "%s", path);
        if (!S_ISSOCK(st.st_mode))
                return bh_error_set(error, BH_ERROR_CONFLICT, "%s is there and is no socket", path);
        _cleanup_close_ int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (probe < 0)
                return bh_error_errno(error, errno, "make a socket");
        if (connect(probe, (const struct sockaddr *)&address->socket, address->size) == 0)
                return bh_error_set(error, BH_ERROR_CONFLICT, "%s is in use", path);
        if (errno != ECONNREFUSED)
                return bh_error_errno(error, errno, "%s", path);
        if (unlink(path) < 0)
                return bh_error_errno(error, errno, "remove the stale %s", path);
        return 0;
}

static int open_unix(const struct bh_address *address, struct bh_listener *ret,
                     struct bh_error *error)
{
        const char *path = ((const struct sockaddr_un *)&address->socket)->sun_path;
        _cleanup_free_ char *parent = bh_strdup(path);
        char *slash = strrchr(parent, '/');
        *slash = 0;
        if (slash != parent) {
                _cleanup_close_ int directory = bh_make_directory(parent, 0755, error);
                if (directory < 0)
                        return -1;
        }
        if (clear_stale(address, path, error) < 0)
                return -1;
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || bind(fd, (const struct sockaddr *)&address->socket, address->size) < 0)
                return bh_error_errno(error, errno, "listen on %s", address->text);
        /* Group access is for whoever the operator gives the group; a token is needed anyway. */
        if (chmod(path, 0660) < 0 || listen(fd, BACKLOG) < 0)
                return bh_error_errno(error, errno, "listen on %s", address->text);
        *ret = (struct bh_listener){.fd = bh_steal_fd(&fd),
                                    .is_unix = true,
                                    .text = bh_strdup(address->text),
                                    .path = bh_strdup(path)};
        return 0;
}

/* Numbers only, so nothing is looked up. */
static char *address_text(const struct sockaddr_storage *socket, socklen_t size)
{
        char host[INET6_ADDRSTRLEN] = "", port[8] = "";
        if (getnameinfo((const struct sockaddr *)socket, size, host, sizeof(host), port,
                        sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
                return bh_strdup("");
        if (strchr(host, ':'))
                return bh_format("[%s]:%s", host, port);
        return bh_format("%s:%s", host, port);
}

static int open_tcp(const struct bh_address *address, struct bh_listener *ret,
                    struct bh_error *error)
{
        int on = 1;
        struct sockaddr_storage bound = {0};
        socklen_t size = sizeof(bound);
        _cleanup_close_ int fd =
                socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
                return bh_error_errno(error, errno, "make a socket");
        if (address->socket.ss_family == AF_INET6 &&
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
                return bh_error_errno(error, errno, "make a socket");
        if (bind(fd, (const struct sockaddr *)&address->socket, address->size) < 0 ||
            listen(fd, BACKLOG) < 0) {
                if (errno == EADDRINUSE)
                        return bh_error_set(error, BH_ERROR_CONFLICT, "%s is in use",
                                            address->text);
                return bh_error_errno(error, errno, "listen on %s", address->text);
        }
        if (getsockname(fd, (struct sockaddr *)&bound, &size) < 0)
                return bh_error_errno(error, errno, "listen on %s", address->text);
        *ret = (struct bh_listener){.fd = bh_steal_fd(&fd), .text = address_text(&bound, size)};
        return 0;
}

int bh_listeners_open(const struct bh_config *config, struct bh_listeners *ret,
                      struct bh_error *error)
{
        struct bh_listeners listeners = {
                .items = bh_alloc_array(config->listen_count, sizeof(*listeners.items))};
        for (size_t i = 0; i < config->listen_count; i++) {
                const struct bh_address *address = &config->listen[i];
                int r = address->is_unix
                                ? open_unix(address, &listeners.items[listeners.count], error)
                                : open_tcp(address, &listeners.items[listeners.count], error);
                if (r < 0) {
                        bh_listeners_close(&listeners);
                        return -1;
                }
                listeners.count++;
        }
        *ret = listeners;
        return 0;
}

void bh_listeners_close(struct bh_listeners *listeners)
{
        for (size_t i = 0; i < listeners->count; i++) {
                struct bh_listener *listener = &listeners->items[i];
                if (listener->path)
                        unlink(listener->path);
                bh_close(listener->fd);
                free(listener->text);
                free(listener->path);
        }
        free(listeners->items);
        *listeners = (struct bh_listeners){0};
}

json_t *bh_listeners_encode(const struct bh_listeners *listeners)
{
        json_t *array = json_array();
        for (size_t i = 0; i < listeners->count; i++)
                json_array_append_new(array, json_string(listeners->items[i].text));
        return array;
}
