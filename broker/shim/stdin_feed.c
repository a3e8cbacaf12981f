/* Feeding stdin; see stdin_feed.h. */
#include "broker/shim/stdin_feed.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

int bh_stdin_feed_open(struct bh_stdin_feed *feed, int payload_fd, uint64_t offset, uint64_t length,
                       int *ret_reader, struct bh_error *error)
{
        _cleanup_close_ int reader = -1, writer = -1;
        int pipe_fds[2];

        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                return bh_error_errno(error, errno, "make the pipe of stdin");
        reader = pipe_fds[0];
        writer = pipe_fds[1];
        if (fcntl(writer, F_SETFL, O_NONBLOCK) < 0)
                return bh_error_errno(error, errno, "set up the pipe of stdin");
        if (length == 0)
                writer = bh_close(writer);
        *feed = (struct bh_stdin_feed){.pipe_fd = bh_steal_fd(&writer),
                                       .payload_fd = payload_fd,
                                       .offset = offset,
                                       .left = length};
        *ret_reader = bh_steal_fd(&reader);
        return 0;
}

void bh_stdin_feed_pump(struct bh_stdin_feed *feed, void *buffer, size_t size)
{
        while (feed->left > 0 && feed->pipe_fd >= 0) {
                size_t want = feed->left < size ? (size_t)feed->left : size;
                /* The payload is sealed: its bytes are there and do not change. */
                ssize_t got = bh_pread_full(feed->payload_fd, buffer, want, (off_t)feed->offset);
                ssize_t put = got > 0 ? write(feed->pipe_fd, buffer, (size_t)got) : -1;

                if (got > 0 && put < 0 && errno == EINTR)
                        continue;
                if (got > 0 && put < 0 && errno == EAGAIN)
                        return;
                if (put <= 0) {
                        bh_stdin_feed_close(feed); /* EPIPE: nobody reads */
                        return;
                }
                feed->offset += (uint64_t)put;
                feed->left -= (uint64_t)put;
        }
        bh_stdin_feed_close(feed);
}

void bh_stdin_feed_close(struct bh_stdin_feed *feed)
{
        feed->pipe_fd = bh_close(feed->pipe_fd);
}
