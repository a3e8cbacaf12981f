/* The limits' part of the suite: uses up what a limit should keep, and says how far it came.
 * `limit` is what the execution was given; a little more is measured as too much. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

#define BLOCK_BYTES     (1 << 20)
#define PAGE_BYTES      4096
#define FILES_MAX       300000
#define TOLERANCE       105 /* percent */
#define DESCRIPTORS_MAX 2000000

static char block[BLOCK_BYTES];

/* ---- processes ---- */

/* Children that only wait, until the kernel makes no more. */
static void processes(long long limit, struct outcome *outcome)
{
        long long made = 0;

        while (made <= limit + 1) {
                pid_t pid = fork();

                if (pid == 0) {
                        pause();
                        _exit(0);
                }
                if (pid < 0)
                        break;
                made++;
        }
        if (made >= limit)
                succeeded(outcome, "%lld processes beside this one", made);
        else
                refused(outcome, "%lld processes beside this one, then: %s", made, strerror(errno));
        /* The end of the first process ends them all; that is part of what is tried. */
}

/* ---- memory ---- */

/* A child touches twice the limit. What the kernel does with it is the answer. */
static void memory(long long limit, struct outcome *outcome)
{
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                size_t size = (size_t)limit * 2;
                volatile char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

                if (pages == MAP_FAILED)
                        _exit(2);
                for (size_t i = 0; i < size; i += PAGE_BYTES)
                        pages[i] = 1;
                _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
                unknown(outcome, "no process: %s", strerror(errno));
        else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
                refused(outcome, "killed");
        else if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
                refused(outcome, "not mapped");
        else
                succeeded(outcome, "touched twice the limit");
}

/* ---- files ---- */

/* Fills a file below directory. Returns the bytes that fitted, or -1. */
static long long fill(const char *directory, long long stop)
{
        char path[512];
        long long written = 0;
        ssize_t put;
        int fd;

        snprintf(path, sizeof(path), "%s/filler", directory);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
                return -1;
        while (written <= stop && (put = write(fd, block, sizeof(block))) > 0)
                written += put;
        close(fd);
        return written;
}

static void bytes_in(const char *directory, long long limit, struct outcome *outcome)
{
        long long most = limit / 100 * TOLERANCE;
        long long written = fill(directory, most);
        int full = errno;

        if (written < 0)
                refused(outcome, "nothing can be written there: %s", strerror(full));
        else if (written > most)
                succeeded(outcome, "%lld bytes were written", written);
        else
                refused(outcome, "%lld bytes, then: %s", written, strerror(full));
}

static void bytes_in_workspace(long long limit, struct outcome *outcome)
{
        bytes_in(".", limit, outcome);
}

static void bytes_in_tmp(long long limit, struct outcome *outcome)
{
        bytes_in("/tmp", limit, outcome);
}

static void bytes_in_shm(long long limit, struct outcome *outcome)
{
        bytes_in("/dev/shm", limit, outcome);
}

/* Everywhere together: two file systems must not give twice the limit. */
static void bytes_everywhere(long long limit, struct outcome *outcome)
{
        FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
        long long total = 0, most = limit / 100 * TOLERANCE;
        char line[4096], point[256];
        int places = 0;

        while (mountinfo && fgets(line, sizeof(line), mountinfo)) {
                long long written;

                if (sscanf(line, "%*s %*s %*s %*s %255s", point) != 1)
                        continue;
                written = fill(point, most);
                if (written >= 0) {
                        places++;
                        total += written;
                }
        }
        if (mountinfo)
                fclose(mountinfo);
        if (total > most)
                succeeded(outcome, "%lld bytes in %d mounts", total, places);
        else
                refused(outcome, "%lld bytes in %d mounts, then: %s", total, places,
                        strerror(ENOSPC));
}

static void files(long long limit, struct outcome *outcome)
{
        long long made = 0;
        char name[32];

        (void)limit;
        for (; made < FILES_MAX; made++) {
                int fd;

                snprintf(name, sizeof(name), "file-%lld", made);
                fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
                if (fd < 0)
                        break;
                close(fd);
        }
        if (made == FILES_MAX)
                succeeded(outcome, "%lld files were made", made);
        else
                refused(outcome, "%lld files, then: %s", made, strerror(errno));
}

/* ---- descriptors and output ---- */

static void descriptors(long long limit, struct outcome *outcome)
{
        struct rlimit held;
        int opened = 0;

        (void)limit;
        if (getrlimit(RLIMIT_NOFILE, &held) == 0) {
                held.rlim_cur = held.rlim_max;
                setrlimit(RLIMIT_NOFILE, &held);
        }
        while (opened < DESCRIPTORS_MAX && dup(0) >= 0)
                opened++;
        if (opened == DESCRIPTORS_MAX)
                succeeded(outcome, "%d descriptors", opened);
        else
                refused(outcome, "%d descriptors, then: %s", opened, strerror(errno));
}

/* limit bytes to each of stdout and stderr; the outside sees how much was kept. */
static int flood(long long limit)
{
        memset(block, 'x', sizeof(block));
        for (long long done = 0; done < limit;) {
                size_t part = limit - done < BLOCK_BYTES ? (size_t)(limit - done) : BLOCK_BYTES;
                ssize_t put = write(1, block, part);

                if (put < 0 || write(2, block, (size_t)put) < 0)
                        return 1;
                done += put;
        }
        return 0;
}

static const struct {
        const char *name;
        const char *tried;
        void (*run)(long long limit, struct outcome *outcome);
} exhaustions[] = {
        {"processes", "make more processes than the limit", processes},
        {"memory", "touch twice the memory", memory},
        {"workspace", "fill the workspace", bytes_in_workspace},
        {"tmp", "fill /tmp", bytes_in_tmp},
        {"shm", "fill /dev/shm", bytes_in_shm},
        {"everywhere", "fill every writable mount", bytes_everywhere},
        {"files", "make 300000 files", files},
        {"descriptors", "open descriptors without end", descriptors},
        {"sockets", "keep more in sockets than in memory", sockets},
};

int exhaust(const char *what, long long limit)
{
        struct outcome outcome = {.verdict = UNKNOWN};

        if (strcmp(what, "output") == 0)
                return flood(limit);
        if (strcmp(what, "output-lock") == 0)
                return hold_output(limit);
        if (strcmp(what, "user-counts") == 0)
                return hold_user_counts();
        for (size_t i = 0; i < sizeof(exhaustions) / sizeof(exhaustions[0]); i++) {
                if (strcmp(exhaustions[i].name, what) != 0)
                        continue;
                exhaustions[i].run(limit, &outcome);
                print_result(exhaustions[i].name, exhaustions[i].tried, &outcome);
                return outcome.verdict == REFUSED ? 0 : 1;
        }
        fprintf(stderr, "nothing called %s to exhaust\n", what);
        return 2;
}
