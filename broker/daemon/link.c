/* A frame channel in the event loop. */
#include "broker/daemon/link.h"

#include <fcntl.h>

#include "base/alloc.h"

/* Frames of one peer handled in a row, so that a busy one does not starve the rest. */
#define FRAMES_A_TURN 64

struct bh_link {
        struct bh_channel *channel;
        struct event *readable;
        struct event *writable;
        struct bh_link_events events;
        void *data;
        struct bh_error failure; /* of a send; told from the loop */
        bool *freed;             /* set while a callback runs */
};

static void finish(struct bh_link *link, const struct bh_error *error)
{
        event_del(link->readable);
        event_del(link->writable);
        link->events.closed(link->data, error);
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        struct bh_link *link = data;
        if (link->failure.code != BH_ERROR_NONE) {
                struct bh_error failure = link->failure;
                finish(link, &failure);
                return;
        }
        bool freed = false;
        link->freed = &freed;
        for (int i = 0; i < FRAMES_A_TURN; i++) {
                struct bh_error error = {0};
                struct bh_frame frame = {0};
                int r = bh_channel_receive(link->channel, &frame, &error);
                if (r == 0)
                        break;
                if (r < 0) {
                        link->freed = NULL;
                        finish(link, &error);
                        return;
                }
                link->events.frame(link->data, &frame);
                bh_frame_clear(&frame);
                if (freed)
                        return;
                if (i == FRAMES_A_TURN - 1)
                        event_active(link->readable, EV_READ, 0);
        }
        link->freed = NULL;
}

static void note_failure(struct bh_link *link, const struct bh_error *error)
{
        if (link->failure.code == BH_ERROR_NONE)
                link->failure = *error;
        event_active(link->readable, EV_READ, 0);
}

static void on_writable(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        struct bh_link *link = data;
        struct bh_error error = {0};
        int r = bh_channel_flush(link->channel, &error);
        if (r < 0)
                note_failure(link, &error);
        else if (r == 0)
                event_add(link->writable, NULL);
}

struct bh_link *bh_link_new_take(struct event_base *base, int fd,
                                 const struct bh_link_events *events, void *data)
{
        struct bh_link *link = bh_alloc(sizeof(*link));
        evutil_make_socket_nonblocking(fd);
        link->channel = bh_channel_new_take(fd);
        link->events = *events;
        link->data = data;
        link->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, link);
        link->writable = event_new(base, fd, EV_WRITE, on_writable, link);
        if (!link->readable || !link->writable)
                bh_alloc_failed();
        event_add(link->readable, NULL);
        return link;
}

void bh_link_send(struct bh_link *link, const json_t *message, const int *fds, size_t fd_count)
{
        struct bh_error error = {0};
        if (link->failure.code != BH_ERROR_NONE)
                return;
        if (bh_channel_send(link->channel, message, fds, fd_count, &error) < 0)
                note_failure(link, &error);
        else if (bh_channel_wants_write(link->channel))
                event_add(link->writable, NULL);
}

void bh_link_free(struct bh_link *link)
{
        if (!link)
                return;
        if (link->freed)
                *link->freed = true;
        event_free(link->readable);
        event_free(link->writable);
        bh_channel_free(link->channel);
        free(link);
}
