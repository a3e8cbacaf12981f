/* The limits' part for what the host shares with its boundaries: per-user counts, memory that is
 * nobody's pages, locks that whoever ends an execution would wait for. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attempt.h"

#define MIB            (1LL << 20)
#define FILE_BYTES     (128 * MIB)
#define WRITERS        4
#define DATAGRAM_BYTES 60000
#define DATAGRAMS      8 /* that a receiver may keep */

/* ---- the lock of an output pipe ---- */

/* Copies pages of a file that is not in memory into stdout: the copy sleeps for the disk with
 * the pipe's lock held, and then for a processor that is never idle. */
static void write_from_file(const char *file, int fd)
{
        const struct sched_param none = {0};

        sched_setscheduler(0, SCHED_IDLE, &none);
        for (;;) {
                for (long long at = 0; at < FILE_BYTES; at += MIB) {
                        if (write(1, file + at, MIB) < 0)
                                _exit(1);
                        posix_fadvise(fd, at, MIB, POSIX_FADV_DONTNEED);
                }
        }
}

static void fork_into(long long count, void (*run)(const char *, int), const char *file, int fd)
{
        for (; count > 0; count--) {
                if (fork() == 0)
                        run(file, fd);
        }
}

static void spin(const char *file, int fd)
{
        (void)file;
        (void)fd;
        usleep(200000); /* the writers must have begun */
        for (;;)
                continue;
}

int hold_output(long long limit)
{
        static char block[MIB];
        int fd = open("big", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        char *file;

        memset(block, 'x', sizeof(block));
        for (long long at = 0; at < FILE_BYTES; at += MIB) {
                if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
                        return 1;
        }
        file = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
        if (file == MAP_FAILED || fsync(fd) < 0)
                return 1;
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        madvise(file, FILE_BYTES, MADV_RANDOM);
        fcntl(1, F_SETPIPE_SZ, MIB);
        fork_into(WRITERS, write_from_file, file, fd);
        fork_into(limit, spin, file, fd);
        for (;;)
                pause();
}

/* ---- counts of a user ---- */

static void __attribute__((noreturn)) hold(long long instances, long long signals)
{
        printf("%lld instances, %lld signals\n", instances, signals);
        fflush(stdout);
        for (;;)
                pause();
}

int hold_user_counts(void)
{
        const union sigval nothing = {0};
        long long instances = 0, queued = 0;
        sigset_t all;

        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        while (inotify_init1(IN_CLOEXEC) >= 0)
                instances++;
        while (sigqueue(getpid(), SIGRTMIN, nothing) == 0)
                queued++;
        hold(instances, queued);
}

/* ---- memory of sockets ---- */

static int open_receiver(struct sockaddr_in *address)
{
        const int room = 1 << 30;
        socklen_t size = sizeof(*address);
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        *address =
                (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) < 0 ||
            bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ||
            getsockname(fd, (struct sockaddr *)address, &size) < 0)
                return -1;
        return fd;
}

/* What a receiver's queue takes of the kernel's memory. */
static long long queued(int fd)
{
        uint32_t memory[SK_MEMINFO_VARS] = {0};
        socklen_t size = sizeof(memory);

        return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &size) < 0
                       ? 0
                       : (long long)memory[SK_MEMINFO_RMEM_ALLOC];
}

void sockets(long long limit, struct outcome *outcome)
{
        static char datagram[DATAGRAM_BYTES];
        int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), fd;
        struct rlimit descriptors;
        struct sockaddr_in address;
        long long kept = 0;

        getrlimit(RLIMIT_NOFILE, &descriptors);
        descriptors.rlim_cur = descriptors.rlim_max;
        setrlimit(RLIMIT_NOFILE, &descriptors);
        while (kept <= limit && (fd = open_receiver(&address)) >= 0) {
                for (int i = 0; i < DATAGRAMS; i++)
                        sendto(sender, datagram, sizeof(datagram), MSG_DONTWAIT,
                               (const struct sockaddr *)&address, sizeof(address));
                kept += queued(fd);
        }
        if (sender < 0 || kept == 0)
                unknown(outcome, "no socket that keeps anything: %s", strerror(errno));
        else if (kept > limit)
                succeeded(outcome, "%lld bytes in queues", kept);
        else
                refused(outcome, "%lld bytes in queues", kept);
}
