/* Attempts at what all of one kernel share: counts and memory that no limit of an execution
 * reaches, programs that the kernel starts as root, modules that it loads when asked. */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempt.h"

#define HUGE_BYTES ((size_t)2 << 20)

/* /proc/sys/fs/aio-max-nr is one count for all. */
static void kernel_io(const struct canaries *canaries, struct outcome *outcome)
{
        aio_context_t context = 0;

        (void)canaries;
        judge(outcome, syscall(SYS_io_setup, 1, &context));
}

/* Flushes the file system that the system's programs are on: the host's root, most often. */
static void flush_host(const struct canaries *canaries, struct outcome *outcome)
{
        int fd = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        (void)canaries;
        judge(outcome, fd < 0 ? -1 : syncfs(fd));
}

/* ENOMEM: the pool is empty just now. */
static void huge_pages(const struct canaries *canaries, struct outcome *outcome)
{
        static const int past_the_gate[] = {ENOMEM, 0};
        void *page = mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

        (void)canaries;
        judge_gate(outcome, page == MAP_FAILED ? -1 : 0, past_the_gate);
}

static void huge_file(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, memfd_create("escape", MFD_CLOEXEC | MFD_HUGETLB));
}

static void huge_segment(const struct canaries *canaries, struct outcome *outcome)
{
        static const int past_the_gate[] = {ENOMEM, 0};
        int segment = shmget(IPC_PRIVATE, HUGE_BYTES, IPC_CREAT | SHM_HUGETLB | 0600);

        (void)canaries;
        judge_gate(outcome, segment, past_the_gate);
        if (segment >= 0)
                shmctl(segment, IPC_RMID, NULL);
}

/* The memory of compiled filters counts against one limit of the host's only. */
static void socket_filter(const struct canaries *canaries, struct outcome *outcome)
{
        struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffff);
        const struct sock_fprog program = {.len = 1, .filter = &all};
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        (void)canaries;
        if (fd < 0)
                unknown(outcome, "no socket: %s", strerror(errno));
        else
                judge(outcome,
                      setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
}

static void more_filters(const struct canaries *canaries, struct outcome *outcome)
{
        struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        const struct sock_fprog program = {.len = 1, .filter = &all};

        (void)canaries;
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
                judge(outcome, prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
        else
                judge(outcome, 0);
}

/* Memberships are the kernel's memory, and count nowhere. */
static void multicast_group(const struct canaries *canaries, struct outcome *outcome)
{
        struct ip_mreqn request = {.imr_multiaddr.s_addr = htonl(0xe00000fb), .imr_ifindex = 1};
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        (void)canaries;
        if (fd < 0)
                unknown(outcome, "no socket: %s", strerror(errno));
        else
                judge(outcome,
                      setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)));
}

/* Each is a module of the host on most of them: SCTP, UDP-Lite, MPTCP, SMC, L2TP, ping. */
static void socket_protocols(const struct canaries *canaries, struct outcome *outcome)
{
        static const struct {
                int type, protocol;
        } tries[] = {{SOCK_STREAM, 132}, {SOCK_DGRAM, 136}, {SOCK_STREAM, 262},
                     {SOCK_STREAM, 256}, {SOCK_DGRAM, 115}, {SOCK_DGRAM, IPPROTO_ICMP}};

        (void)canaries;
        for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
                if (socket(AF_INET, tries[i].type | SOCK_CLOEXEC, tries[i].protocol) >= 0 ||
                    errno != EPERM) {
                        succeeded(outcome, "protocol %d reached the kernel", tries[i].protocol);
                        return;
                }
        }
        judge(outcome, -1);
}

/* Both load a module for whoever asks, before they look at who it is. */
static void bridge_and_vlan(const struct canaries *canaries, struct outcome *outcome)
{
        static const unsigned long requests[] = {SIOCGIFBR, SIOCBRADDBR, SIOCGIFVLAN};
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        (void)canaries;
        for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
                if (ioctl(fd, requests[i], NULL) >= 0 || errno != EPERM) {
                        succeeded(outcome, "request %lx reached the kernel", requests[i]);
                        return;
                }
        }
        judge(outcome, -1);
}

/* Where core dumps are piped to a program, the kernel starts it as root and outside, unless the
 * limit is exactly 1. */
static void core_limit(const struct canaries *canaries, struct outcome *outcome)
{
        const struct rlimit none = {0, 0};
        struct rlimit seen = {0, 0};

        (void)canaries;
        setrlimit(RLIMIT_CORE, &none);
        if (getrlimit(RLIMIT_CORE, &seen) < 0)
                unknown(outcome, "getrlimit: %s", strerror(errno));
        else if (seen.rlim_cur != 1 || seen.rlim_max != 1)
                succeeded(outcome, "it is %lld", (long long)seen.rlim_cur);
        else
                refused(outcome, "it stays 1");
}

const struct attempt shared_attempts[] = {
        {"kernel-io", "take from the host's count of io_setup", kernel_io},
        {"flush-host", "flush the host's file system by syncfs", flush_host},
        {"huge-pages", "map pages of the host's huge page pool", huge_pages},
        {"huge-file", "make a file of huge pages", huge_file},
        {"huge-segment", "make a System V segment of huge pages", huge_segment},
        {"socket-filter", "attach a filter program to a socket", socket_filter},
        {"multicast-group", "join a multicast group", multicast_group},
        {"more-filters", "load another seccomp filter", more_filters},
        {"socket-protocols", "a socket of a protocol that is a module", socket_protocols},
        {"bridge-and-vlan", "requests that load the bridge and VLAN modules", bridge_and_vlan},
        {"core-limit", "set RLIMIT_CORE to what starts the host's core handler", core_limit},
        {NULL, NULL, NULL},
};
