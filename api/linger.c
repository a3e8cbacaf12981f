/* See linger.h. */
#include "api/linger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"

#define LINGER_SECONDS 3 /* from the beginning, however busy the client is */
#define LINGER_BYTES   ((size_t)64 << 20)
#define LINGER_COUNT   128

struct lingerer {
        struct bh_lingerers *owner;
        struct lingerer *previous, *next;
        struct event *event;
        int fd;
        size_t seen;
        int64_t until_us;
};

struct bh_lingerers {
        struct event_base *base;
        struct lingerer *first;
        size_t count;
};

struct bh_lingerers *bh_lingerers_new(struct event_base *base)
{
        struct bh_lingerers *lingerers = bh_alloc(sizeof(*lingerers));

        lingerers->base = base;
        return lingerers;
}

static void release(struct lingerer *lingerer)
{
        event_free(lingerer->event);
        bh_close(lingerer->fd);
        free(lingerer);
}

static void end(struct lingerer *lingerer)
{
        struct bh_lingerers *owner = lingerer->owner;

        if (lingerer->previous)
                lingerer->previous->next = lingerer->next;
        else
                owner->first = lingerer->next;
        if (lingerer->next)
                lingerer->next->previous = lingerer->previous;
        owner->count--;
        release(lingerer);
}

void bh_lingerers_free(struct bh_lingerers *lingerers)
{
        if (!lingerers)
                return;
        for (struct lingerer *lingerer = lingerers->first, *next; lingerer; lingerer = next) {
                next = lingerer->next;
                release(lingerer);
        }
        free(lingerers);
}

static void on_bytes(evutil_socket_t fd, short what, void *context)
{
        static char dropped[64 << 10];
        struct lingerer *lingerer = context;
        ssize_t got = -1;

        if (what & EV_READ)
                /* Not recv(2), which is receive.c's. */
                got = recvfrom(fd, dropped, sizeof(dropped), MSG_DONTWAIT, NULL, NULL);
        if (got < 0 && (what & EV_READ) && (errno == EAGAIN || errno == EINTR))
                return;
        if (got > 0)
                lingerer->seen += (size_t)got;
        if (got <= 0 || lingerer->seen > LINGER_BYTES || bh_monotonic_us() > lingerer->until_us)
                end(lingerer);
}

void bh_linger(struct bh_lingerers *lingerers, int fd)
{
        static const struct timeval patience = {.tv_sec = LINGER_SECONDS};
        struct lingerer *lingerer;
        int copy;

        if (lingerers->count >= LINGER_COUNT)
                return;
        copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (copy < 0)
                return;
        (void)shutdown(copy, SHUT_WR);
        lingerer = bh_alloc(sizeof(*lingerer));
        lingerer->owner = lingerers;
        lingerer->fd = copy;
        lingerer->until_us = bh_monotonic_us() + LINGER_SECONDS * INT64_C(1000000);
        lingerer->event =
                event_new(lingerers->base, copy, EV_READ | EV_PERSIST, on_bytes, lingerer);
        if (!lingerer->event)
                bh_alloc_failed();
        lingerer->next = lingerers->first;
        if (lingerer->next)
                lingerer->next->previous = lingerer;
        lingerers->first = lingerer;
        lingerers->count++;
        event_add(lingerer->event, &patience);
}
