/* The shim's half of report.h. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "drivers/kernel/report.h"

/* Our end tells who sent each report (unix(7), SO_PASSCRED), in our own pid namespace. */
int bh_report_channel(int ret_pair[2], int timeout_s, struct bh_error *error)
{
        struct timeval timeout = {.tv_sec = timeout_s};
        int pair[2], on = 1;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return bh_error_errno(error, errno, "make the boundary's channel");
        if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
            setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0) {
                bh_error_errno(error, errno, "make the boundary's channel");
                bh_close(pair[0]);
                bh_close(pair[1]);
                return -1;
        }
        memcpy(ret_pair, pair, sizeof(pair));
        return 0;
}

int bh_report_receive(int channel, struct bh_report *ret, pid_t *ret_pid, struct bh_error *error)
{
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(struct ucred))];
        } control = {.space = {0}};
        struct iovec data = {.iov_base = ret, .iov_len = sizeof(*ret)};
        struct msghdr message = {.msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        struct cmsghdr *header;
        struct ucred sender;
        ssize_t size;

        /* An end that closed with something unread resets once, before what it had sent. */
        do {
                size = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
        } while (size < 0 && (errno == EINTR || errno == ECONNRESET));
        if (size == 0)
                return 0;
        if (size < 0)
                return bh_error_errno(error, errno, "no report from the boundary");
        header = CMSG_FIRSTHDR(&message);
        if (size != (ssize_t)sizeof(*ret) || !header || header->cmsg_type != SCM_CREDENTIALS)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "malformed report");
        ret->control[sizeof(ret->control) - 1] = '\0';
        ret->step[sizeof(ret->step) - 1] = '\0';
        memcpy(&sender, CMSG_DATA(header), sizeof(sender));
        if (ret_pid)
                *ret_pid = sender.pid;
        return 1;
}

int bh_report_error(const struct bh_report *report, struct bh_error *error)
{
        bh_error_errno(error, report->errnum, "%s", report->step);
        return bh_error_control(error, report->control);
}
