/* A process that cannot be mistaken for another: pidfd plus start time. No module signals a
 * bare pid. (pidfd_open(2); /proc/pid/stat field 22.) */
#ifndef BULKHEAD_BASE_PIDREF_H
#define BULKHEAD_BASE_PIDREF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct bh_pidref {
        pid_t pid;           /* 0: nothing */
        int pidfd;           /* owned; -1: nothing */
        uint64_t start_time; /* clock ticks after boot */
};

#define BH_PIDREF_NONE ((struct bh_pidref){.pid = 0, .pidfd = -1})

/* Opens a running process. */
int bh_pidref_open(pid_t pid, struct bh_pidref *ret, struct bh_error *error);

/* Opens the process that was stored with this start time; BH_ERROR_NOT_FOUND when it is gone
 * or the pid now belongs to another. */
int bh_pidref_reopen(pid_t pid, uint64_t start_time, struct bh_pidref *ret, struct bh_error *error);

/* Takes a pidfd from clone3(CLONE_PIDFD). */
int bh_pidref_from_pidfd_take(int pidfd, pid_t pid, struct bh_pidref *ret, struct bh_error *error);

/* pidfd_send_signal(2). A process that is gone counts as success. */
int bh_pidref_signal(const struct bh_pidref *ref, int signal, struct bh_error *error);

/* Reaps a child (waitid(P_PIDFD)). Returns 1 and the siginfo's code and status when it had
 * ended, 0 when it still runs and block is false, -1 on error. */
int bh_pidref_wait(const struct bh_pidref *ref, bool block, int *ret_code, int *ret_status,
                   struct bh_error *error);

/* Closes the pidfd and forgets. Accepts an empty reference. */
void bh_pidref_clear(struct bh_pidref *ref);

#endif
