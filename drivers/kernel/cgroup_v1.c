/* The v1 controllers of one cgroup (Documentation/admin-guide/cgroup-v1/memory.rst,
 * cpuacct.rst, freezer-subsystem.rst); see cgroup_files.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/pidref.h"
#include "drivers/kernel/cgroup_files.h"

#define PROCS_BYTES_MAX   ((size_t)8 << 20)
#define BATCH             64     /* pidfds open at a time */
#define FREEZE_WAIT_US    500000 /* a task in a disk wait freezes late */
#define FREEZE_POLL_US    200
#define FREEZE_ROUNDS_MAX 4
#define STATE_BYTES_MAX   64
#define SOCKETS_PART      8 /* of the memory limit, on top of it */

int bh_cgroup_v1_set_memory(int directory, int64_t bytes, struct bh_error *error)
{
        static const char memory_and_swap[] = "memory.memsw.limit_in_bytes";
        int64_t page = sysconf(_SC_PAGESIZE);
        int64_t held = bytes / page * page;
        int64_t kill_disabled;

        /* In this order: memory may never exceed memory plus swap. */
        if (bh_cgroup_set_number(directory, "memory.limit_in_bytes", bytes, held, error) < 0)
                return -1;
        if (faccessat(directory, memory_and_swap, F_OK, 0) == 0) {
                if (bh_cgroup_set_number(directory, memory_and_swap, bytes, held, error) < 0)
                        return -1;
        } else if (bh_cgroup_check_no_swap("/proc/swaps", error) < 0) {
                return -1;
        }
        /* Buffers of sockets are counted apart, and only once they have a limit: without one they
         * are the way around the other. */
        if (bh_cgroup_set_number(directory, "memory.kmem.tcp.limit_in_bytes", bytes / SOCKETS_PART,
                                 bytes / SOCKETS_PART / page * page, error) < 0)
                return -1;
        /* Inherited from the parent: with it on, a full cgroup would hang instead of end. */
        if (bh_cgroup_read_keyed(directory, "memory.oom_control", "oom_kill_disable",
                                 &kill_disabled, error) < 0)
                return -1;
        if (kill_disabled != 0)
                return bh_error_set(error, BH_ERROR_SYSTEM, "memory.oom_control: kills are off");
        return 0;
}

int bh_cgroup_v1_cpu(int directory, int64_t *ret_us, struct bh_error *error)
{
        int64_t cpu_ns = 0;

        if (bh_cgroup_read_number(directory, "cpuacct.usage", &cpu_ns, error) < 0)
                return -1;
        *ret_us = cpu_ns / 1000;
        return 0;
}

int bh_cgroup_v1_memory(int directory, struct bh_usage *ret, struct bh_error *error)
{
        int64_t peak = 0;

        if (bh_cgroup_read_number(directory, "memory.max_usage_in_bytes", &peak, error) < 0 ||
            bh_cgroup_read_keyed(directory, "memory.oom_control", "oom_kill", &ret->oom_kills,
                                 error) < 0)
                return -1;
        ret->memory_peak_bytes = peak;
        return 0;
}

/* cgroup.procs as an array; caller frees. */
static int read_members(int directory, pid_t **ret, size_t *ret_count, struct bh_error *error)
{
        _cleanup_free_ char *text = NULL;
        _cleanup_free_ pid_t *pids = NULL;
        char *save = NULL;
        size_t size, count = 0;

        if (bh_read_file(directory, "cgroup.procs", PROCS_BYTES_MAX, &text, &size, error) < 0)
                return -1;
        pids = bh_alloc_array(size / 2 + 1, sizeof(*pids)); /* a digit and a newline each */
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                long pid = strtol(line, NULL, 10);

                if (pid > 0) /* 0: in a pid namespace that we cannot see into */
                        pids[count++] = (pid_t)pid;
        }
        *ret = bh_steal_ptr(&pids);
        *ret_count = count;
        return 0;
}

static bool is_member(const pid_t *members, size_t count, pid_t pid)
{
        for (size_t i = 0; i < count; i++) {
                if (members[i] == pid)
                        return true;
        }
        return false;
}

/* A number may have passed to another process between the list and the pidfd; what a second
 * list, read with the pidfd open, still names is a member. */
static int signal_batch(int directory, const pid_t *pids, size_t count, struct bh_error *error)
{
        struct bh_pidref references[BATCH];
        _cleanup_free_ pid_t *members = NULL;
        size_t member_count;
        int result;

        for (size_t i = 0; i < count; i++) {
                references[i] = BH_PIDREF_NONE;
                bh_pidref_open(pids[i], &references[i], NULL); /* gone already is fine */
        }
        result = read_members(directory, &members, &member_count, error);
        for (size_t i = 0; i < count; i++) {
                if (result == 0 && references[i].pid > 0 &&
                    is_member(members, member_count, references[i].pid))
                        result = bh_pidref_signal(&references[i], SIGKILL, error);
                bh_pidref_clear(&references[i]);
        }
        return result;
}

int bh_cgroup_v1_signal_members(int directory, struct bh_error *error)
{
        _cleanup_free_ pid_t *pids = NULL;
        size_t count;

        if (read_members(directory, &pids, &count, error) < 0)
                return -1;
        for (size_t done = 0; done < count; done += BATCH) {
                size_t batch = count - done < BATCH ? count - done : BATCH;

                if (signal_batch(directory, pids + done, batch, error) < 0)
                        return -1;
        }
        return 0;
}

/* 1 when every task is frozen, 0 when some are not yet after a bounded wait. */
static int freeze(int directory, struct bh_error *error)
{
        const struct timespec pause = {.tv_nsec = FREEZE_POLL_US * 1000L};
        int64_t deadline = bh_monotonic_us() + FREEZE_WAIT_US;

        if (bh_write_attribute(directory, "freezer.state", "FROZEN", error) < 0)
                return -1;
        for (;;) {
                _cleanup_free_ char *state = NULL;

                if (bh_read_file(directory, "freezer.state", STATE_BYTES_MAX, &state, NULL, error) <
                    0)
                        return -1;
                if (strcmp(state, "FROZEN\n") == 0)
                        return 1;
                if (bh_monotonic_us() >= deadline)
                        return 0;
                nanosleep(&pause, NULL);
        }
}

int bh_cgroup_v1_freeze_and_kill(int directory, struct bh_error *error)
{
        for (int round = 0; round < FREEZE_ROUNDS_MAX; round++) {
                int frozen = freeze(directory, error);
                int killed = frozen < 0 ? -1 : bh_cgroup_v1_signal_members(directory, error);

                /* Thawed whatever happened: a frozen task does not die. */
                if (bh_write_attribute(directory, "freezer.state", "THAWED",
                                       killed < 0 ? NULL : error) < 0 ||
                    killed < 0)
                        return -1;
                if (frozen)
                        return 0;
        }
        return bh_error_set(error, BH_ERROR_SYSTEM, "the cgroup does not freeze");
}
