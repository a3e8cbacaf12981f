/* The system call list for isolate.h: what the event loop, libmicrohttpd, GnuTLS and malloc use
 * once everything is open. Nothing opens a file, makes a process or a socket, or connects.
 * Opening a file, which libraries try when they look for configuration, is refused with EACCES as
 * Landlock would; anything else ends the process: the kernel logs the number, and the broker
 * starts a new API. */
#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>

#include "api/isolate.h"

static const int allowed[] = {
        /* Sockets that are open or accepted, and the channel. */
        SCMP_SYS(accept4),
        SCMP_SYS(recvfrom),
        SCMP_SYS(recvmsg),
        SCMP_SYS(sendto),
        SCMP_SYS(sendmsg),
        SCMP_SYS(shutdown),
        SCMP_SYS(getsockopt),
        SCMP_SYS(setsockopt),
        SCMP_SYS(getsockname),
        SCMP_SYS(getpeername),
        /* Descriptors. */
        SCMP_SYS(read),
        SCMP_SYS(write),
        SCMP_SYS(readv),
        SCMP_SYS(writev),
        SCMP_SYS(pread64),
        SCMP_SYS(sendfile),
        SCMP_SYS(close),
        SCMP_SYS(fcntl),
        SCMP_SYS(fstat),
        SCMP_SYS(newfstatat),
        SCMP_SYS(lseek),
        SCMP_SYS(memfd_create),
        SCMP_SYS(ftruncate),
        /* The loop. */
        SCMP_SYS(epoll_ctl),
        SCMP_SYS(epoll_wait),
        SCMP_SYS(epoll_pwait),
        SCMP_SYS(poll),
        SCMP_SYS(clock_gettime),
        SCMP_SYS(gettimeofday),
        SCMP_SYS(time),
        SCMP_SYS(nanosleep),
        SCMP_SYS(clock_nanosleep),
        SCMP_SYS(restart_syscall),
        /* Memory; see below for mmap and mprotect. qsort(3) asks sysinfo how much there is. */
        SCMP_SYS(sysinfo),
        SCMP_SYS(brk),
        SCMP_SYS(munmap),
        SCMP_SYS(mremap),
        SCMP_SYS(madvise),
        SCMP_SYS(futex),
        SCMP_SYS(getrandom),
        /* The end, also by abort(3). */
        SCMP_SYS(exit),
        SCMP_SYS(exit_group),
        SCMP_SYS(rt_sigreturn),
        SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(rt_sigaction),
        SCMP_SYS(getpid),
        SCMP_SYS(gettid),
        SCMP_SYS(tgkill),
#ifdef BULKHEAD_SANITIZED /* the runtime's own needs, in test builds only */
        SCMP_SYS(sigaltstack),
        SCMP_SYS(sched_yield),

        SCMP_SYS(readlink),
        SCMP_SYS(getuid),
        SCMP_SYS(prctl),
        SCMP_SYS(clone),
        SCMP_SYS(ioctl),
#endif
};

static int add_rules(scmp_filter_ctx filter)
{
        int result = 0;

        for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]) && result == 0; i++)
                result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
        /* Memory that can be executed is never asked for. */
        if (result == 0)
                result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                                          SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
        if (result == 0)
                result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                          SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
        if (result == 0)
                result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), 0);
        return result;
}

int bh_isolate_seccomp(struct bh_error *error)
{
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
        int result = filter ? 0 : -ENOMEM;

        if (result == 0)
                result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
        if (result == 0)
                result = add_rules(filter);
        if (result == 0)
                result = seccomp_load(filter);
        seccomp_release(filter);
        if (result == 0)
                return 0;
        (void)bh_error_errno(error, -result, "seccomp");
        return bh_error_control(error, "seccomp");
}
