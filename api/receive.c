/* Where the bytes of clients enter this program. libmicrohttpd reads with recv(2), and over TLS
 * with gnutls_record_recv(3). The dynamic linker finds a program's own functions first, so the two
 * below stand in for those, hand each byte to client.c, and let libmicrohttpd see only what was
 * found sound. Nothing depends on this trick being in effect: exchange.c serves no request whose
 * head did not come through here (bh_client_head_inspected).
 *
 * Linked into the program itself, never into the library. */
#include <dlfcn.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <sys/socket.h>

#include "api/client.h"

/* The symbol is named here and not the function, whose declaration FORTIFY makes inline. */
ssize_t bh_receive(int fd, void *buffer, size_t size, int flags) __asm__("recv");
ssize_t bh_receive_tls(gnutls_session_t session, void *buffer,
                       size_t size) __asm__("gnutls_record_recv");

__attribute__((visibility("default"))) ssize_t bh_receive(int fd, void *buffer, size_t size,
                                                          int flags)
{
        struct bh_client *client = bh_client_by_fd(fd);
        ssize_t got;

        if (client && bh_client_is_closing(client))
                return 0;
        got = recvfrom(fd, buffer, size, flags, NULL, NULL);
        /* Over TLS these are not the client's words yet. */
        if (!client || bh_client_is_tls(client) || got <= 0)
                return got;
        return (ssize_t)bh_client_received(client, buffer, (size_t)got);
}

__attribute__((visibility("default"))) ssize_t bh_receive_tls(gnutls_session_t session,
                                                              void *buffer, size_t size)
{
        static ssize_t (*next)(gnutls_session_t, void *, size_t);
        struct bh_client *client = bh_client_by_fd(gnutls_transport_get_int(session));
        ssize_t got;

        if (!next)
                *(void **)&next = dlsym(RTLD_NEXT, "gnutls_record_recv");
        if (client && bh_client_is_closing(client))
                return 0;
        got = next(session, buffer, size);
        if (!client || got <= 0)
                return got;
        return (ssize_t)bh_client_received(client, buffer, (size_t)got);
}
