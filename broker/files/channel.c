/* See channel.h. */
#include "broker/files/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "broker/protocol.h"

static const struct {
        const char *code;
        int status;
} statuses[] = {
        {"archive_not_allowed", 400}, {"path_not_allowed", 400}, {"invalid_request", 400},
        {"file_denied", 403},         {"not_found", 404},        {"not_a_file", 409},
        {"not_empty", 409},           {"body_too_large", 413},   {"workspace_full", 507},
        {"unavailable", 503},
};

void bh_files_progress(void)
{
        alarm(BH_FILES_STALL_SECONDS);
}

static int send_message(int channel, char type, const void *data, size_t size, int passed,
                        struct bh_error *error)
{
        struct iovec parts[] = {{&type, 1}, {(void *)data, size}};
        union {
                char space[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control = {.space = ""};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t sent;

        if (passed >= 0) {
                struct cmsghdr *header = &control.align;

                message.msg_control = control.space;
                message.msg_controllen = sizeof(control.space);
                header->cmsg_level = SOL_SOCKET;
                header->cmsg_type = SCM_RIGHTS;
                header->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(header), &passed, sizeof(int));
        }
        bh_files_progress();
        do
                sent = sendmsg(channel, &message, MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        if (sent < 0)
                return bh_error_set(error, BH_ERROR_CLOSED, "the client is gone");
        return 0;
}

static int send_head(int channel, const json_t *head, int passed, struct bh_error *error)
{
        _cleanup_free_ char *text = bh_json_text(head);

        return send_message(channel, BH_TRANSFER_HEAD, text, strlen(text), passed, error);
}

int bh_files_send_head_take(int channel, int status, json_t *body, int passed,
                            struct bh_error *error)
{
        _cleanup_json_ json_t *head =
                json_pack("{siso}", "status", status, "body", body ? body : json_null());

        return send_head(channel, head, passed, error);
}

int bh_files_send_stream(int channel, const char *content_type, struct bh_error *error)
{
        _cleanup_json_ json_t *head =
                json_pack("{siss}", "status", 200, "content_type", content_type);

        return send_head(channel, head, -1, error);
}

void bh_files_send_problem(int channel, const struct bh_error *problem)
{
        const char *code = problem->reason[0] ? problem->reason : "internal_error";
        int status = 500;
        _cleanup_json_ json_t *head = NULL;

        for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
                if (strcmp(statuses[i].code, code) == 0)
                        status = statuses[i].status;
        /* What went wrong inside is for the log. */
        if (status == 500)
                bh_log_error("files.failed", NULL, problem);
        head = json_pack("{sis{ssss}}", "status", status, "problem", "code", code, "detail",
                         status == 500 ? "the broker failed; its log says how" : problem->message);
        /* A detail that is not UTF-8 cannot be told. */
        if (!head)
                head = json_pack("{sis{ssss}}", "status", status, "problem", "code", code, "detail",
                                 "");
        (void)send_head(channel, head, -1, NULL);
}

int bh_files_send_data(int channel, const void *data, size_t size, struct bh_error *error)
{
        const char *at = data;

        while (size > 0) {
                size_t piece = size < BH_TRANSFER_PIECE_MAX ? size : BH_TRANSFER_PIECE_MAX;

                if (send_message(channel, BH_TRANSFER_DATA, at, piece, -1, error) < 0)
                        return -1;
                at += piece;
                size -= piece;
        }
        return 0;
}

int bh_files_send_end(int channel, struct bh_error *error)
{
        return send_message(channel, BH_TRANSFER_END, NULL, 0, -1, error);
}

int bh_files_receive(int channel, void *buffer, size_t *ret_size, struct bh_error *error)
{
        char type = 0;
        struct iovec parts[] = {{&type, 1}, {buffer, BH_TRANSFER_PIECE_MAX}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t got;

        bh_files_progress();
        do
                got = recvmsg(channel, &message, 0);
        while (got < 0 && errno == EINTR);
        if (got < 0)
                return bh_error_errno(error, errno, "receive");
        if (got == 0)
                return bh_error_set(error, BH_ERROR_CLOSED, "the client is gone");
        if (type == BH_TRANSFER_END && got == 1)
                return 0;
        if (type != BH_TRANSFER_DATA || (message.msg_flags & MSG_TRUNC))
                return bh_error_set(error, BH_ERROR_PROTOCOL, "an unknown message");
        *ret_size = (size_t)got - 1;
        return 1;
}
