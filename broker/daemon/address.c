/* Addresses that the broker may listen on. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "broker/daemon/config.h"

static int parse_unix(const char *path, struct bh_address *address, struct bh_error *error)
{
        struct sockaddr_un *un = (struct sockaddr_un *)&address->socket;
        size_t length = strlen(path);
        if (path[0] != '/' || length < 2)
                return bh_error_invalid(error, "", "a unix address needs an absolute path");
        if (length >= sizeof(un->sun_path))
                return bh_error_invalid(error, "", "the path is longer than %zu bytes",
                                        sizeof(un->sun_path) - 1);
        un->sun_family = AF_UNIX;
        memcpy(un->sun_path, path, length + 1);
        address->size = (socklen_t)sizeof(*un);
        address->is_unix = true;
        return 0;
}

static int parse_port(const char *text, in_port_t *ret)
{
        size_t length = strlen(text);
        if (length == 0 || length > 5 || strspn(text, "0123456789") != length)
                return -1;
        long port = strtol(text, NULL, 10);
        if (port > 65535)
                return -1;
        *ret = htons((in_port_t)port);
        return 0;
}

static int parse_ip(const char *text, struct bh_address *address, struct bh_error *error)
{
        const char *colon = strrchr(text, ':');
        if (!colon)
                return bh_error_invalid(error, "", "expected unix:/path or IP:PORT");
        _cleanup_free_ char *host = bh_strndup(text, (size_t)(colon - text));
        size_t length = strlen(host);
        in_port_t port = 0;
        if (parse_port(colon + 1, &port) < 0)
                return bh_error_invalid(error, "", "\"%s\" is no port", colon + 1);

        struct sockaddr_in *v4 = (struct sockaddr_in *)&address->socket;
        if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
                v4->sin_family = AF_INET;
                v4->sin_port = port;
                address->size = (socklen_t)sizeof(*v4);
                return 0;
        }
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address->socket;
        if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
                host[length - 1] = 0;
                if (inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1) {
                        v6->sin6_family = AF_INET6;
                        v6->sin6_port = port;
                        address->size = (socklen_t)sizeof(*v6);
                        return 0;
                }
        }
        return bh_error_invalid(error, "", "\"%s\" is no IP address", text);
}

int bh_address_parse(const char *text, struct bh_address *ret, struct bh_error *error)
{
        struct bh_address address = {0};
        int r = strncmp(text, "unix:", 5) == 0 ? parse_unix(text + 5, &address, error)
                                               : parse_ip(text, &address, error);
        if (r < 0)
                return -1;
        address.text = bh_strdup(text);
        *ret = address;
        return 0;
}

bool bh_address_is_loopback(const struct bh_address *address)
{
        if (address->is_unix)
                return true;
        if (address->socket.ss_family == AF_INET) {
                const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
                return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
        }
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket;
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

void bh_address_clear(struct bh_address *address)
{
        free(address->text);
        *address = (struct bh_address){0};
}
