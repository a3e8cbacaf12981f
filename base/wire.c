/* Framed messages with descriptors; see wire.h.
 *
 * Reading asks for exactly the header and then for exactly the payload. The kernel hands out
 * the descriptors of a write with its first byte (unix(7)), so those that belong to a frame
 * can only come while its header is read, and never with another frame's bytes. */
#include "base/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"

#define HEADER_SIZE 8

/* A frame waiting to be sent. */
struct outgoing {
        struct outgoing *next;
        int fds[BH_WIRE_FDS_MAX];
        size_t fd_count;
        size_t size, sent;
        unsigned char bytes[]; /* header and payload */
};

struct bh_channel {
        int fd;

        struct outgoing *first, **last;
        size_t queued; /* bytes in the queue not yet sent */

        unsigned char header[HEADER_SIZE];
        size_t header_have;
        char *payload; /* once the header is whole */
        size_t payload_size, payload_have;
        int fds[BH_WIRE_FDS_MAX]; /* came with this frame's header */
        size_t fd_count;

        struct bh_error receive_failed, send_failed; /* for ever, once code is set */
};

static void close_all(int *fds, size_t *count)
{
        for (size_t i = 0; i < *count; i++)
                bh_close(fds[i]);
        *count = 0;
}

static void outgoing_free(struct outgoing *outgoing)
{
        close_all(outgoing->fds, &outgoing->fd_count);
        free(outgoing);
}

static void drop_queue(struct bh_channel *channel)
{
        while (channel->first) {
                struct outgoing *outgoing = channel->first;

                channel->first = outgoing->next;
                outgoing_free(outgoing);
        }
        channel->last = &channel->first;
        channel->queued = 0;
}

static void reset_incoming(struct bh_channel *channel)
{
        free(channel->payload);
        channel->payload = NULL;
        channel->header_have = channel->payload_size = channel->payload_have = 0;
        close_all(channel->fds, &channel->fd_count);
}

struct bh_channel *bh_channel_new_take(int fd)
{
        struct bh_channel *channel = bh_alloc(sizeof(*channel));

        channel->fd = fd;
        channel->last = &channel->first;
        return channel;
}

void bh_channel_free(struct bh_channel *channel)
{
        if (!channel)
                return;
        drop_queue(channel);
        reset_incoming(channel);
        bh_close(channel->fd);
        free(channel);
}

int bh_channel_fd(const struct bh_channel *channel)
{
        return channel->fd;
}

bool bh_channel_wants_write(const struct bh_channel *channel)
{
        return channel->first != NULL;
}

static int repeat(struct bh_error *error, const struct bh_error *failed)
{
        if (error)
                *error = *failed;
        return -1;
}

static void put_u32(unsigned char *bytes, size_t value)
{
        for (size_t i = 0; i < 4; i++)
                bytes[i] = (unsigned char)(value >> (8 * i));
}

static uint32_t get_u32(const unsigned char *bytes)
{
        return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
               (uint32_t)bytes[3] << 24;
}

/* ---- Sending ---- */

static int send_error(struct bh_channel *channel, int errnum, struct bh_error *error)
{
        if (errnum == EPIPE || errnum == ECONNRESET || errnum == ENOTCONN)
                bh_error_set(&channel->send_failed, BH_ERROR_CLOSED, "the peer is gone");
        else
                bh_error_errno(&channel->send_failed, errnum, "send a frame");
        drop_queue(channel);
        return repeat(error, &channel->send_failed);
}

/* One sendmsg(2) of what is left of outgoing; its descriptors go with the first byte. */
static ssize_t send_some(int fd, struct outgoing *outgoing)
{
        union {
                struct cmsghdr align;
                char space[CMSG_SPACE(sizeof(int) * BH_WIRE_FDS_MAX)];
        } control = {.space = {0}};
        struct iovec part = {.iov_base = outgoing->bytes + outgoing->sent,
                             .iov_len = outgoing->size - outgoing->sent};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t sent;

        if (outgoing->fd_count > 0) {
                size_t size = sizeof(int) * outgoing->fd_count;
                struct cmsghdr *header = &control.align;

                message.msg_control = control.space;
                message.msg_controllen = CMSG_SPACE(size);
                header->cmsg_level = SOL_SOCKET;
                header->cmsg_type = SCM_RIGHTS;
                header->cmsg_len = CMSG_LEN(size);
                memcpy(CMSG_DATA(header), outgoing->fds, size);
        }
        do {
                sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        } while (sent < 0 && errno == EINTR);
        if (sent > 0)
                close_all(outgoing->fds, &outgoing->fd_count);
        return sent;
}

int bh_channel_flush(struct bh_channel *channel, struct bh_error *error)
{
        if (channel->send_failed.code)
                return repeat(error, &channel->send_failed);
        while (channel->first) {
                struct outgoing *outgoing = channel->first;
                ssize_t sent = send_some(channel->fd, outgoing);

                if (sent < 0 && errno == EAGAIN)
                        return 0;
                if (sent < 0)
                        return send_error(channel, errno, error);
                outgoing->sent += (size_t)sent;
                channel->queued -= (size_t)sent;
                if (outgoing->sent < outgoing->size)
                        continue;
                channel->first = outgoing->next;
                if (!channel->first)
                        channel->last = &channel->first;
                outgoing_free(outgoing);
        }
        return 1;
}

/* Duplicates fds into outgoing. */
static int copy_fds(struct outgoing *outgoing, const int *fds, size_t fd_count,
                    struct bh_error *error)
{
        for (size_t i = 0; i < fd_count; i++) {
                int copy = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

                if (copy < 0)
                        return bh_error_errno(error, errno, "copy descriptor %d", fds[i]);
                outgoing->fds[outgoing->fd_count++] = copy;
        }
        return 0;
}

int bh_channel_send(struct bh_channel *channel, const json_t *message, const int *fds,
                    size_t fd_count, struct bh_error *error)
{
        _cleanup_free_ char *text = NULL;
        struct outgoing *outgoing;
        size_t length;

        if (channel->send_failed.code)
                return repeat(error, &channel->send_failed);
        if (!json_is_object(message) || fd_count > BH_WIRE_FDS_MAX)
                return bh_error_set(error, BH_ERROR_INTERNAL, "not a message that can be sent");
        text = bh_json_text(message);
        length = strlen(text);
        if (length > BH_WIRE_FRAME_MAX)
                return bh_error_set(error, BH_ERROR_INTERNAL, "the message has %zu bytes, over %zu",
                                    length, BH_WIRE_FRAME_MAX);
        if (HEADER_SIZE + length > BH_WIRE_QUEUE_MAX - channel->queued)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                    "the peer is slow: over %zu bytes wait", BH_WIRE_QUEUE_MAX);

        outgoing = bh_alloc(sizeof(*outgoing) + HEADER_SIZE + length);
        outgoing->size = HEADER_SIZE + length;
        put_u32(outgoing->bytes, length);
        put_u32(outgoing->bytes + 4, fd_count);
        memcpy(outgoing->bytes + HEADER_SIZE, text, length);
        if (copy_fds(outgoing, fds, fd_count, error) < 0) {
                outgoing_free(outgoing);
                return -1;
        }
        *channel->last = outgoing;
        channel->last = &outgoing->next;
        channel->queued += outgoing->size;
        return bh_channel_flush(channel, error) < 0 ? -1 : 0;
}

/* ---- Receiving ---- */

/* The peer broke the protocol: nothing more is read from it or sent to it. */
static int protocol_error(struct bh_channel *channel, const char *problem, struct bh_error *error)
{
        reset_incoming(channel);
        drop_queue(channel);
        bh_error_set(&channel->receive_failed, BH_ERROR_PROTOCOL, "%s", problem);
        channel->send_failed = channel->receive_failed;
        return repeat(error, &channel->receive_failed);
}

static int receive_error(struct bh_channel *channel, int errnum, struct bh_error *error)
{
        reset_incoming(channel);
        if (errnum == ECONNRESET)
                bh_error_set(&channel->receive_failed, BH_ERROR_CLOSED, "the peer is gone");
        else
                bh_error_errno(&channel->receive_failed, errnum, "receive a frame");
        return repeat(error, &channel->receive_failed);
}

static int end_of_stream(struct bh_channel *channel, struct bh_error *error)
{
        if (channel->header_have > 0)
                return protocol_error(channel, "the peer ended inside a frame", error);
        bh_error_set(&channel->receive_failed, BH_ERROR_CLOSED, "the peer has closed");
        return repeat(error, &channel->receive_failed);
}

/* Keeps the descriptors that came with a message; false when there are more than a frame may
 * have. The kernel has put all of them into this process, so all are kept or closed. */
static bool keep_fds(struct bh_channel *channel, struct msghdr *message)
{
        bool fits = true;

        for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
             header = CMSG_NXTHDR(message, header)) {
                size_t count;

                if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
                        continue;
                count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (size_t i = 0; i < count; i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
                        if (channel->fd_count < BH_WIRE_FDS_MAX) {
                                channel->fds[channel->fd_count++] = fd;
                        } else {
                                bh_close(fd);
                                fits = false;
                        }
                }
        }
        return fits && !(message->msg_flags & MSG_CTRUNC);
}

/* Reads at most size bytes, and descriptors only while the header comes. 1: *ret_got bytes,
 * 0: none now, -1. */
static int receive_some(struct bh_channel *channel, void *buffer, size_t size, bool with_fds,
                        size_t *ret_got, struct bh_error *error)
{
        union {
                struct cmsghdr align;
                char space[CMSG_SPACE(sizeof(int) * BH_WIRE_FDS_MAX)];
        } control;
        struct iovec part = {.iov_base = buffer, .iov_len = size};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t got;

        if (with_fds) {
                message.msg_control = control.space;
                message.msg_controllen = sizeof(control.space);
        }
        do {
                got = recvmsg(channel->fd, &message, MSG_CMSG_CLOEXEC);
        } while (got < 0 && errno == EINTR);
        if (got < 0 && errno == EAGAIN)
                return 0;
        if (got < 0)
                return receive_error(channel, errno, error);
        /* Without room the kernel drops descriptors and says MSG_CTRUNC. */
        if (!keep_fds(channel, &message))
                return protocol_error(
                        channel, with_fds ? "too many descriptors" : "descriptors inside a frame",
                        error);
        if (got == 0)
                return end_of_stream(channel, error);
        *ret_got = (size_t)got;
        return 1;
}

/* Completes the header and checks it before anything is allocated by its word. */
static int receive_header(struct bh_channel *channel, struct bh_error *error)
{
        size_t length, got;

        while (channel->header_have < HEADER_SIZE) {
                int result = receive_some(channel, channel->header + channel->header_have,
                                          HEADER_SIZE - channel->header_have, true, &got, error);

                if (result <= 0)
                        return result;
                channel->header_have += got;
        }
        if (channel->payload)
                return 1;
        length = get_u32(channel->header);
        if (length > BH_WIRE_FRAME_MAX)
                return protocol_error(channel, "the frame is too long", error);
        if (length == 0)
                return protocol_error(channel, "the frame is empty", error);
        if (get_u32(channel->header + 4) != channel->fd_count)
                return protocol_error(channel, "the descriptor count does not match", error);
        channel->payload = bh_alloc(length);
        channel->payload_size = length;
        return 1;
}

static int receive_payload(struct bh_channel *channel, struct bh_error *error)
{
        size_t got;

        while (channel->payload_have < channel->payload_size) {
                int result = receive_some(channel, channel->payload + channel->payload_have,
                                          channel->payload_size - channel->payload_have, false,
                                          &got, error);

                if (result <= 0)
                        return result;
                channel->payload_have += got;
        }
        return 1;
}

int bh_channel_receive(struct bh_channel *channel, struct bh_frame *ret, struct bh_error *error)
{
        _cleanup_json_ json_t *message = NULL;
        int result;

        if (channel->receive_failed.code)
                return repeat(error, &channel->receive_failed);
        result = receive_header(channel, error);
        if (result == 1)
                result = receive_payload(channel, error);
        if (result <= 0)
                return result;
        if (bh_json_parse(channel->payload, channel->payload_size, &message, NULL) < 0)
                return protocol_error(channel, "the frame is not valid JSON", error);
        if (!json_is_object(message))
                return protocol_error(channel, "the frame is not a JSON object", error);

        *ret = (struct bh_frame){.message = bh_steal_ptr(&message), .fd_count = channel->fd_count};
        memcpy(ret->fds, channel->fds, channel->fd_count * sizeof(int));
        channel->fd_count = 0;
        reset_incoming(channel);
        return 1;
}

void bh_frame_clear(struct bh_frame *frame)
{
        json_decref(frame->message);
        frame->message = NULL;
        close_all(frame->fds, &frame->fd_count);
}
