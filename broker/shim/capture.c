/* Output capture; see capture.h. */
#include "broker/shim/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define PUMP_ROUNDS 4 /* buffers read from one stream before the next one's turn */

int bh_capture_open(struct bh_capture *capture, int64_t limit, int *ret_writer,
                    struct bh_error *error)
{
        _cleanup_close_ int reader = -1, writer = -1;
        int pipe_fds[2];

        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                return bh_error_errno(error, errno, "make a pipe");
        reader = pipe_fds[0];
        writer = pipe_fds[1];
        /* Only our end may be non-blocking: the workload's is an ordinary pipe. */
        if (fcntl(reader, F_SETFL, O_NONBLOCK) < 0)
                return bh_error_errno(error, errno, "set up a pipe");
        *capture =
                (struct bh_capture){.pipe_fd = bh_steal_fd(&reader), .file_fd = -1, .limit = limit};
        *ret_writer = bh_steal_fd(&writer);
        return 0;
}

void bh_capture_keep_take(struct bh_capture *capture, int file_fd)
{
        capture->file_fd = file_fd;
}

/* Keeps the head of data as far as the limit and the disk allow. A short write is followed by
 * one that says why. */
static void keep(struct bh_capture *capture, const char *data, int64_t size)
{
        if (size > capture->limit - capture->kept)
                size = capture->limit - capture->kept;
        while (size > 0 && capture->file_fd >= 0) {
                ssize_t put = pwrite(capture->file_fd, data, (size_t)size, capture->kept);

                if (put < 0 && errno == EINTR)
                        continue;
                if (put <= 0) {
                        capture->write_errno = put < 0 ? errno : EIO;
                        capture->file_fd = bh_close(capture->file_fd);
                        return;
                }
                data += put;
                size -= put;
                capture->kept += put;
        }
}

struct pollfd bh_capture_pollfd(const struct bh_capture *capture, int64_t now_us)
{
        return (struct pollfd){.fd = now_us < capture->resume_us ? -1 : capture->pipe_fd,
                               .events = POLLIN};
}

static bool is_dropping(const struct bh_capture *capture)
{
        return capture->file_fd < 0 || capture->kept == capture->limit;
}

void bh_capture_pump(struct bh_capture *capture, void *buffer, size_t size, int64_t now_us)
{
        for (int round = 0; round < PUMP_ROUNDS && capture->pipe_fd >= 0; round++) {
                ssize_t got = read(capture->pipe_fd, buffer, size);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0 && errno == EAGAIN)
                        return;
                if (got <= 0) {
                        capture->pipe_fd = bh_close(capture->pipe_fd);
                        return;
                }
                capture->bytes += got;
                if (is_dropping(capture)) {
                        capture->resume_us = now_us + BH_CAPTURE_PACE_US;
                        return;
                }
                keep(capture, buffer, got);
                if ((size_t)got < size)
                        return; /* most likely empty now; poll(2) tells */
        }
}

bool bh_capture_at_end(const struct bh_capture *capture)
{
        return capture->pipe_fd < 0;
}

void bh_capture_close(struct bh_capture *capture)
{
        capture->pipe_fd = bh_close(capture->pipe_fd);
        capture->file_fd = bh_close(capture->file_fd);
}
