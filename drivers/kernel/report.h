/* The channel between the shim and the processes of a boundary that is built: what they report,
 * each message whole (SOCK_SEQPACKET). The sending half is async-signal-safe and needs nothing
 * but libc: a boundary's init is a program of its own in some drivers. */
#ifndef BULKHEAD_DRIVERS_KERNEL_REPORT_H
#define BULKHEAD_DRIVERS_KERNEL_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum bh_report_kind {
        BH_REPORT_FAILED = 1,     /* a step failed: control, step, errnum */
        BH_REPORT_INIT_READY,     /* init gave up its privileges */
        BH_REPORT_WORKLOAD_READY, /* the workload's process waits just before execve */
        BH_REPORT_ENDED,          /* code and status as waitid(2) has them */
        BH_REPORT_UNMAPPED,       /* its new user namespace has no ids yet */
        BH_REPORT_TOLD, /* `control` is a field of the process's status, `step` its value */
};

/* One message on the channel (SOCK_SEQPACKET). */
struct bh_report {
        uint32_t kind;
        int32_t errnum;
        int32_t code;
        int32_t status;
        char control[32];
        char step[64];
};

/* Sends a report; with a failed one also ends the process. `result` is -errno. */
void bh_report_send(int channel, const struct bh_report *report);
void bh_report_failure(int channel, const char *control, const char *step, int result)
        __attribute__((noreturn));

/* The shim's end: SO_PASSCRED and a time limit for each report. */
int bh_report_channel(int ret_pair[2], int timeout_s, struct bh_error *error);

/* 1 a report, 0 the other ends are closed, -1. *ret_pid is the sender's pid as the kernel saw
 * it, in the shim's pid namespace. */
int bh_report_receive(int channel, struct bh_report *ret, pid_t *ret_pid, struct bh_error *error);

/* Turns a failed report into the error that it stands for. Returns -1. */
int bh_report_error(const struct bh_report *report, struct bh_error *error);

#endif
