/* The sending half of report.h: libc only, async-signal-safe. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/kernel/report.h"

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
