/* Processes by pidfd and start time; see pidref.h. */
#include "base/pidref.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* Longer than any /proc/pid/stat: 52 numbers and a name of at most 64 bytes. */
#define STAT_MAX 4096

/* Field 22 of a stat line. The name in field 2 may hold spaces and parentheses, so fields are
 * counted from the last ')' (proc(5)). */
static int parse_start_time(const char *stat, uint64_t *ret)
{
        const char *field = strrchr(stat, ')');
        char *end;
        uint64_t value;

        if (!field)
                return -1;
        for (int number = 2; number < 22; number++) {
                field = strchr(field, ' ');
                if (!field)
                        return -1;
                field++;
        }
        if (*field < '0' || *field > '9')
                return -1;
        errno = 0;
        value = strtoull(field, &end, 10);
        if (errno != 0 || (*end != ' ' && *end != '\n' && *end != '\0'))
                return -1;
        *ret = value;
        return 0;
}

static int gone(struct bh_error *error, pid_t pid)
{
        return bh_error_set(error, BH_ERROR_NOT_FOUND, "process %d is gone", (int)pid);
}

static int read_start_time(pid_t pid, uint64_t *ret, struct bh_error *error)
{
        _cleanup_free_ char *stat = NULL;
        char path[64];
        struct bh_error failure;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (bh_read_file(AT_FDCWD, path, STAT_MAX, &stat, NULL, &failure) < 0) {
                if (failure.errnum == ENOENT || failure.errnum == ESRCH)
                        return gone(error, pid);
                if (error)
                        *error = failure;
                return -1;
        }
        if (parse_start_time(stat, ret) < 0)
                return bh_error_set(error, BH_ERROR_INTERNAL, "%s has no start time", path);
        return 0;
}

int bh_pidref_from_pidfd_take(int pidfd, pid_t pid, struct bh_pidref *ret, struct bh_error *error)
{
        _cleanup_close_ int owned = pidfd;
        uint64_t start_time;

        if (read_start_time(pid, &start_time, error) < 0)
                return -1;
        /* While the pidfd's process is not reaped its number is not given away, so what was
         * read before this check was read from it. EPERM says that it is there, too. */
        if (pidfd_send_signal(owned, 0, NULL, 0) < 0 && errno != EPERM) {
                if (errno == ESRCH)
                        return gone(error, pid);
                return bh_error_errno(error, errno, "check pidfd of process %d", (int)pid);
        }
        *ret = (struct bh_pidref){
                .pid = pid, .pidfd = bh_steal_fd(&owned), .start_time = start_time};
        return 0;
}

int bh_pidref_open(pid_t pid, struct bh_pidref *ret, struct bh_error *error)
{
        int pidfd = pidfd_open(pid, 0); /* close-on-exec by definition, pidfd_open(2) */

        if (pidfd < 0) {
                if (errno == ESRCH)
                        return gone(error, pid);
                return bh_error_errno(error, errno, "open process %d", (int)pid);
        }
        return bh_pidref_from_pidfd_take(pidfd, pid, ret, error);
}

int bh_pidref_reopen(pid_t pid, uint64_t start_time, struct bh_pidref *ret, struct bh_error *error)
{
        struct bh_pidref found = BH_PIDREF_NONE;

        if (bh_pidref_open(pid, &found, error) < 0)
                return -1;
        if (found.start_time != start_time) {
                bh_pidref_clear(&found);
                return bh_error_set(error, BH_ERROR_NOT_FOUND,
                                    "process %d is gone and its number in use again", (int)pid);
        }
        *ret = found;
        return 0;
}

int bh_pidref_signal(const struct bh_pidref *ref, int signal, struct bh_error *error)
{
        if (pidfd_send_signal(ref->pidfd, signal, NULL, 0) == 0 || errno == ESRCH)
                return 0;
        return bh_error_errno(error, errno, "send signal %d to process %d", signal, (int)ref->pid);
}

int bh_pidref_wait(const struct bh_pidref *ref, bool block, int *ret_code, int *ret_status,
                   struct bh_error *error)
{
        siginfo_t info = {.si_pid = 0};
        int result;

        do {
                result = waitid(P_PIDFD, (id_t)ref->pidfd, &info, WEXITED | (block ? 0 : WNOHANG));
        } while (result < 0 && errno == EINTR);
        if (result < 0)
                return bh_error_errno(error, errno, "wait for process %d", (int)ref->pid);
        if (info.si_pid == 0)
                return 0;
        if (ret_code)
                *ret_code = info.si_code;
        if (ret_status)
                *ret_status = info.si_status;
        return 1;
}

void bh_pidref_clear(struct bh_pidref *ref)
{
        bh_close(ref->pidfd);
        *ref = BH_PIDREF_NONE;
}
