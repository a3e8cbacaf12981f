/* The channel between the shim and the two processes of a boundary; see setup.h. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/subprocess/setup.h"

/* Where a process ends that could not build its part. Nobody reads it: the report says more. */
#define EXIT_FAILED 1

static void copy_text(char *to, size_t size, const char *from)
{
        size_t length = strnlen(from, size - 1);

        memcpy(to, from, length);
        to[length] = '\0';
}

void bh_report_send(int channel, const struct bh_report *report)
{
        /* A shim that is gone must not leave a boundary behind. */
        if (send(channel, report, sizeof(*report), MSG_NOSIGNAL) != (ssize_t)sizeof(*report))
                _exit(EXIT_FAILED);
}

void bh_report_failure(int channel, const char *control, const char *step, int result)
{
        struct bh_report report = {.kind = BH_REPORT_FAILED, .errnum = -result};

        copy_text(report.control, sizeof(report.control), control);
        copy_text(report.step, sizeof(report.step), step);
        bh_report_send(channel, &report);
        _exit(EXIT_FAILED);
}

void bh_setup_expect(const struct bh_setup *setup, const char *control, const char *step,
                     int result)
{
        const char *fault = setup->instance->fault;

        if (fault && strcmp(fault, control) == 0)
                result = -EPERM;
        if (result < 0)
                bh_report_failure(setup->channel, control, step, result);
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

        do {
                size = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
        } while (size < 0 && errno == EINTR);
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
