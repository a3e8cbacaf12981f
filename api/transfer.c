/* See transfer.h. */
#include "api/transfer.h"

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "api/exchange.h"
#include "api/executions.h"
#include "api/reply.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "broker/protocol.h"

struct bh_transfer {
        struct bh_exchange *exchange; /* NULL: it is gone */
        int fd;
        struct event *readable, *writable; /* pending while something is waited for */
        bool answered;                     /* the head has come, or never will */
        bool owned_by_response;
        char piece[BH_TRANSFER_PIECE_MAX]; /* the last message's payload */
        size_t have, taken;
};

static void transfer_free(struct bh_transfer *transfer)
{
        if (transfer->exchange)
                transfer->exchange->transfer = NULL;
        event_free(transfer->readable);
        event_free(transfer->writable);
        bh_close(transfer->fd);
        free(transfer);
}

void bh_transfer_leave(struct bh_transfer *transfer)
{
        if (!transfer)
                return;
        transfer->exchange->transfer = NULL;
        transfer->exchange = NULL;
        event_del(transfer->readable);
        event_del(transfer->writable);
        if (!transfer->owned_by_response)
                transfer_free(transfer);
}

/* ---- Messages ---- */

/* 1: sent, 0: no room now, -1: the helper is gone. */
static int send_message(struct bh_transfer *transfer, char kind, const char *data, size_t size)
{
        struct iovec parts[] = {{&kind, 1}, {(void *)data, size}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t sent;

        do
                sent = sendmsg(transfer->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        while (sent < 0 && errno == EINTR);
        if (sent >= 0)
                return 1;
        return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
}

/* A helper that ended with bytes of ours unread leaves ECONNRESET before its last words. */
static ssize_t receive(int fd, struct msghdr *message)
{
        ssize_t got;
        bool reset = false;

        for (;;) {
                got = recvmsg(fd, message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
                if (got >= 0 || (errno != EINTR && (errno != ECONNRESET || reset)))
                        return got;
                reset = reset || errno == ECONNRESET;
        }
}

/* Fills transfer->piece. Returns the kind of the message, 0: none now, -1: no more come, or it is
 * none. *ret_fd: the descriptor that came along, or -1. */
static int receive_message(struct bh_transfer *transfer, int *ret_fd)
{
        char kind = 0;
        struct iovec parts[] = {{&kind, 1}, {transfer->piece, sizeof(transfer->piece)}};
        union {
                char space[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control;
        struct msghdr message = {.msg_iov = parts,
                                 .msg_iovlen = 2,
                                 .msg_control = control.space,
                                 .msg_controllen = sizeof(control.space)};
        ssize_t got = receive(transfer->fd, &message);
        const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

        *ret_fd = -1;
        if (got < 0)
                return errno == EAGAIN ? 0 : -1;
        if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
                memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
        if (got == 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
                return -1;
        transfer->have = (size_t)got - 1;
        transfer->taken = 0;
        return kind;
}

/* ---- The answer ---- */

/* An answer that is a problem, also in the midst of a body. */
static void refuse(struct bh_transfer *transfer, int status, const json_t *document)
{
        struct bh_exchange *exchange = transfer->exchange;
        bool in_body = exchange->state == BH_EXCHANGE_UPLOAD;

        bh_http_problem_from_reply(&exchange->refusal, status, document);
        bh_reply_problem(exchange, &exchange->refusal);
        if (in_body)
                exchange->state = BH_EXCHANGE_DISCARD;
}

static void refuse_broken(struct bh_transfer *transfer)
{
        bh_log_take(BH_LOG_ERROR, "transfer",
                    json_pack("{s:s}", "message", "the helper ended without an answer"));
        refuse(transfer, 500, NULL);
}

static ssize_t read_pieces(void *context, uint64_t position, char *buffer, size_t size)
{
        struct bh_transfer *transfer = context;
        size_t left;

        (void)position;
        if (!transfer->exchange)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        if (transfer->taken == transfer->have) {
                int passed, kind = receive_message(transfer, &passed);

                bh_close(passed);
                if (kind == BH_TRANSFER_END)
                        return MHD_CONTENT_READER_END_OF_STREAM;
                if (kind == 0) {
                        event_add(transfer->readable, NULL);
                        bh_exchange_suspend(transfer->exchange);
                        return 0;
                }
                if (kind != BH_TRANSFER_DATA)
                        return MHD_CONTENT_READER_END_WITH_ERROR;
        }
        left = transfer->have - transfer->taken;
        size = size < left ? size : left;
        memcpy(buffer, transfer->piece + transfer->taken, size);
        transfer->taken += size;
        return (ssize_t)size;
}

static void free_response(void *context)
{
        transfer_free(context);
}

static void start_stream(struct bh_transfer *transfer, const char *content_type)
{
        struct MHD_Response *response = MHD_create_response_from_callback(
                MHD_SIZE_UNKNOWN, BH_TRANSFER_PIECE_MAX, read_pieces, transfer, free_response);

        transfer->owned_by_response = true;
        transfer->have = transfer->taken = 0;
        if (response)
                bh_reply_header(response, "Content-Type", content_type);
        bh_reply_response_take(transfer->exchange, 200, NULL, response);
}

static void answer_take(struct bh_transfer *transfer, const json_t *head, int fd)
{
        struct bh_exchange *exchange = transfer->exchange;
        int status = (int)json_integer_value(json_object_get(head, "status"));
        const json_t *body = json_object_get(head, "body");
        const char *type = json_string_value(json_object_get(head, "content_type"));
        bool good = status >= 200 && status < 300;

        if (!good || exchange->state != BH_EXCHANGE_WAIT) {
                refuse(transfer, status >= 400 && status < 600 ? status : 500,
                       json_object_get(head, "problem"));
        } else if (fd >= 0) {
                bh_answer_file_take(exchange, bh_steal_fd(&fd));
        } else if (type) {
                start_stream(transfer, type);
        } else {
                bool empty = !json_is_object(body);

                bh_reply_text_take(exchange, status, empty ? NULL : "application/json", NULL,
                                   empty ? bh_strdup("") : bh_json_text(body));
        }
        bh_close(fd);
}

static void take_head(struct bh_transfer *transfer)
{
        _cleanup_json_ json_t *head = NULL;
        int passed, kind = receive_message(transfer, &passed);

        if (kind == 0)
                return;
        transfer->answered = true;
        event_del(transfer->readable);
        if (kind == BH_TRANSFER_HEAD &&
            bh_json_parse(transfer->piece, transfer->have, &head, NULL) == 0) {
                answer_take(transfer, head, passed);
                return;
        }
        bh_close(passed);
        refuse_broken(transfer);
}

/* ---- Events ---- */

static void on_readable(evutil_socket_t fd, short what, void *context)
{
        struct bh_transfer *transfer = context;
        struct bh_server *server = transfer->exchange->server;

        (void)fd;
        (void)what;
        if (!transfer->answered) {
                take_head(transfer);
        } else {
                event_del(transfer->readable);
                bh_exchange_resume(transfer->exchange);
        }
        bh_server_pump(server);
}

static void on_writable(evutil_socket_t fd, short what, void *context)
{
        struct bh_transfer *transfer = context;
        struct bh_server *server = transfer->exchange->server;

        (void)fd;
        (void)what;
        bh_exchange_resume(transfer->exchange);
        bh_server_pump(server);
}

void bh_answer_transfer(struct bh_exchange *exchange, struct bh_frame *frame)
{
        struct bh_transfer *transfer;
        struct bh_http_problem problem = {.status = 0};

        if (frame->fd_count != 1) {
                bh_http_problem_set(&problem, 500, "internal_error", "the broker gave no transfer");
                bh_reply_problem(exchange, &problem);
                return;
        }
        transfer = bh_alloc(sizeof(*transfer));
        transfer->exchange = exchange;
        transfer->fd = bh_steal_fd(&frame->fds[0]);
        transfer->readable = event_new(exchange->server->base, transfer->fd, EV_READ | EV_PERSIST,
                                       on_readable, transfer);
        transfer->writable =
                event_new(exchange->server->base, transfer->fd, EV_WRITE, on_writable, transfer);
        if (!transfer->readable || !transfer->writable || event_add(transfer->readable, NULL) < 0)
                bh_alloc_failed();
        exchange->transfer = transfer;
        if (exchange->state == BH_EXCHANGE_UPLOAD)
                bh_exchange_resume(exchange);
}

/* ---- The body ---- */

/* Keeps the connection until there is room or a reply. */
static enum MHD_Result wait_for(struct bh_exchange *exchange, struct event *event)
{
        if (event)
                event_add(event, NULL);
        bh_exchange_suspend(exchange);
        return MHD_YES;
}

/* Sends what there is, or END for a body that has ended. As send_message. */
static int send_body(struct bh_transfer *transfer, const char *data, size_t *size)
{
        int sent = 1;

        if (*size == 0)
                return send_message(transfer, BH_TRANSFER_END, NULL, 0);
        /* All of it: libmicrohttpd gives what is left over again only when more has come. */
        while (*size > 0 && sent > 0) {
                size_t piece = *size < BH_TRANSFER_PIECE_MAX ? *size : BH_TRANSFER_PIECE_MAX;

                sent = send_message(transfer, BH_TRANSFER_DATA, data, piece);
                if (sent > 0) {
                        data += piece;
                        *size -= piece;
                }
        }
        return sent;
}

enum MHD_Result bh_transfer_upload(struct bh_exchange *exchange, const char *data, size_t *size)
{
        struct bh_transfer *transfer = exchange->transfer;
        bool ends = *size == 0;
        int sent;

        if (!transfer)
                return wait_for(exchange, NULL);
        sent = send_body(transfer, data, size);
        if (sent == 0)
                return wait_for(exchange, transfer->writable);
        if (sent > 0 && !ends)
                return MHD_YES;
        /* All was sent, or no more is taken: the helper's word counts. */
        if (sent > 0)
                exchange->state = BH_EXCHANGE_WAIT;
        return wait_for(exchange, NULL);
}
