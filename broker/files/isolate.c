/* See isolate.h. */
#include "broker/files/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <locale.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/files_protocol.h"
#include "drivers/kernel/landlock.h"
#include "drivers/kernel/privileges.h"

#define MEMORY_MAX ((rlim_t)1 << 30)
#define FILES_MAX  8192 /* one for each directory on the way down to the deepest path, and more */

static int failed(struct bh_error *error, int errnum, const char *control)
{
        (void)bh_error_errno(error, errnum, "%s", control);
        return bh_error_control(error, control);
}

static int limit(__rlimit_resource_t resource, rlim_t most, struct bh_error *error)
{
        struct rlimit value;

        if (getrlimit(resource, &value) < 0)
                return failed(error, errno, "limits");
        value.rlim_max = value.rlim_max < most ? value.rlim_max : most;
        value.rlim_cur = value.rlim_max;
        return setrlimit(resource, &value) < 0 ? failed(error, errno, "limits") : 0;
}

int bh_files_isolate_early(struct bh_error *error)
{
        tzset(); /* reads its file once */
        umask(0);
        if (!setlocale(LC_CTYPE, "C.UTF-8"))
                return bh_error_set(error, BH_ERROR_SYSTEM, "there is no locale C.UTF-8");
        if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
            close_range(BH_FILES_SPOOL_FD + 1, ~0U, 0) < 0 || chdir("/") < 0 ||
            prctl(PR_SET_DUMPABLE, 0) < 0)
                return bh_error_errno(error, errno, "isolate");
        return limit(RLIMIT_CORE, 0, error);
}

static int check_identity(struct bh_error *error)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct seen[_LINUX_CAPABILITY_U32S_3];
        uid_t real, effective, saved;

        if (getresuid(&real, &effective, &saved) < 0 || real != BH_FILES_ID ||
            effective != BH_FILES_ID || saved != BH_FILES_ID || getgroups(0, NULL) != 0)
                return failed(error, EPERM, "identity");
        if (syscall(SYS_capget, &header, seen) < 0)
                return failed(error, errno, "capabilities.empty");
        for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
                if (seen[i].effective || seen[i].permitted || seen[i].inheritable)
                        return failed(error, EPERM, "capabilities.empty");
        return 0;
}

static int restrict_files(int mount, bool writes, struct bh_error *error)
{
        char path[32];
        const struct bh_landlock_rule rules[] = {
                {path, writes ? BH_LANDLOCK_WRITE : BH_LANDLOCK_EXECUTE},
                {NULL, BH_LANDLOCK_EXECUTE},
        };
        int abi = bh_landlock_abi(error), result;
        _cleanup_close_ int outside = -1;

        if (abi < 0)
                return bh_error_control(error, "landlock");
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", mount);
        result = bh_landlock_restrict(abi, rules);
        if (result < 0)
                return failed(error, -result, "landlock");
        outside = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (outside >= 0 || errno != EACCES)
                return failed(error, EPERM, "landlock");
        return 0;
}

static const int allowed[] = {
        /* The transfer, and the log. */
        SCMP_SYS(recvmsg),
        SCMP_SYS(sendmsg),
        SCMP_SYS(write),
        SCMP_SYS(writev),
        /* The tree. */
        SCMP_SYS(openat2),
        SCMP_SYS(read),
        SCMP_SYS(pwrite64),
        SCMP_SYS(lseek),
        SCMP_SYS(close),
        SCMP_SYS(fstat),
        SCMP_SYS(newfstatat),
        SCMP_SYS(statx),
        SCMP_SYS(fstatfs),
        SCMP_SYS(getdents64),
        SCMP_SYS(readlinkat),
        SCMP_SYS(mkdirat),
        SCMP_SYS(linkat),
        SCMP_SYS(symlinkat),
        SCMP_SYS(renameat),
        SCMP_SYS(renameat2),
        SCMP_SYS(unlinkat),
        SCMP_SYS(ftruncate),
        SCMP_SYS(fchmod),
        SCMP_SYS(utimensat),
        SCMP_SYS(fcntl),
        /* Time and memory; see below for mmap and mprotect. qsort(3) asks how much there is. */
        SCMP_SYS(alarm),
        SCMP_SYS(setitimer),
        SCMP_SYS(clock_gettime),
        SCMP_SYS(gettimeofday),
        SCMP_SYS(time),
        SCMP_SYS(sysinfo),
        SCMP_SYS(brk),
        SCMP_SYS(munmap),
        SCMP_SYS(mremap),
        SCMP_SYS(madvise),
        SCMP_SYS(futex),
        SCMP_SYS(getrandom),
        /* The end, also by abort(3). */
        SCMP_SYS(restart_syscall),
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
        if (result == 0)
                result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                                          SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
        if (result == 0)
                result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                          SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
        /* Libraries that look for configuration: as Landlock would say. */
        if (result == 0)
                result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), 0);
        return result;
}

static int restrict_calls(struct bh_error *error)
{
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
        int result = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1) : -ENOMEM;

        if (result == 0)
                result = add_rules(filter);
        if (result == 0)
                result = seccomp_load(filter);
        seccomp_release(filter);
        return result == 0 ? 0 : failed(error, -result, "seccomp");
}

int bh_files_isolate_final(int mount, bool writes, int64_t file_bytes, struct bh_error *error)
{
        int result;

        if (limit(RLIMIT_NOFILE, FILES_MAX, error) < 0 || limit(RLIMIT_NPROC, 0, error) < 0 ||
            limit(RLIMIT_FSIZE, (rlim_t)file_bytes, error) < 0)
                return -1;
#ifndef BULKHEAD_SANITIZED /* whose runtime reserves terabytes */
        if (limit(RLIMIT_AS, MEMORY_MAX, error) < 0)
                return -1;
#endif
        if (setgroups(0, NULL) < 0)
                return failed(error, errno, "identity");
        result = bh_privileges_bound();
        if (result == 0)
                result = bh_privileges_drop(BH_FILES_ID, BH_FILES_ID);
        if (result < 0)
                return failed(error, -result, "capabilities.empty");
        if (check_identity(error) < 0)
                return -1;
        /* The change of ids has cleared both (prctl(2)). The broker's end is this one's too. */
        if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return failed(error, errno, "no_dump");
        result = bh_privileges_no_new();
        if (result < 0)
                return failed(error, -result, "no_new_privs");
        return restrict_files(mount, writes, error) < 0 ? -1 : restrict_calls(error);
}
