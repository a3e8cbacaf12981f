/* Fuzzes base/wire: a peer that writes whatever it likes, in pieces and with descriptors
 * wherever it likes. Frames that come out are whole; at the end no descriptor is left.
 *
 * Input: pieces of one byte "low 6 bits: bytes to write, high 2 bits: descriptors with them
 * (none, one, the most, one too many)", then those bytes. */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/wire.h"

#define PIECE_MAX 63

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
        if (!holds)
                abort();
}

static void send_piece(int fd, const uint8_t *bytes, size_t size, size_t fd_count)
{
        int fds[BH_WIRE_FDS_MAX + 1] = {0};
        union {
                struct cmsghdr align;
                char space[CMSG_SPACE(sizeof(fds))];
        } control = {.space = {0}};
        struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

        if (fd_count > 0) {
                size_t length = sizeof(int) * fd_count;

                for (size_t i = 0; i < fd_count; i++)
                        fds[i] = STDERR_FILENO; /* not fd: it would keep itself open */
                message.msg_control = control.space;
                message.msg_controllen = CMSG_SPACE(length);
                control.align.cmsg_level = SOL_SOCKET;
                control.align.cmsg_type = SCM_RIGHTS;
                control.align.cmsg_len = CMSG_LEN(length);
                memcpy(CMSG_DATA(&control.align), fds, length);
        }
        require(sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)size);
}

/* Takes what is there; false when the channel is done. */
static bool receive_all(struct bh_channel *channel)
{
        for (;;) {
                struct bh_frame frame;
                struct bh_error error = {0};
                int result = bh_channel_receive(channel, &frame, &error);

                if (result == 0)
                        return true;
                if (result < 0) {
                        require(error.code == BH_ERROR_PROTOCOL || error.code == BH_ERROR_CLOSED);
                        require(error.message[0] != '\0');
                        return false;
                }
                require(json_is_object(frame.message));
                require(frame.fd_count <= BH_WIRE_FDS_MAX);
                for (size_t i = 0; i < frame.fd_count; i++)
                        require(fcntl(frame.fds[i], F_GETFD) == FD_CLOEXEC);
                bh_frame_clear(&frame);
        }
}

static int lowest_free(void)
{
        int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

        require(fd >= 0);
        bh_close(fd);
        return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const size_t counts[] = {0, 1, BH_WIRE_FDS_MAX, BH_WIRE_FDS_MAX + 1};
        int before = lowest_free();
        struct bh_channel *channel;
        bool alive = true;
        int ends[2];

        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
        channel = bh_channel_new_take(ends[0]);
        while (size > 1 && alive) {
                size_t piece = data[0] & PIECE_MAX, fd_count = counts[data[0] >> 6];

                data++;
                size--;
                if (piece > size)
                        piece = size;
                if (piece > 0)
                        send_piece(ends[1], data, piece, fd_count);
                data += piece;
                size -= piece;
                alive = receive_all(channel);
        }
        bh_close(ends[1]);
        if (alive)
                require(!receive_all(channel));
        require(!receive_all(channel));
        bh_channel_free(channel);
        require(lowest_free() == before);
        return 0;
}
