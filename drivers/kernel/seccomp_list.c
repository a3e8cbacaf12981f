/* The table of seccomp_list.h. What is missing here is missing on purpose; the main absences:
 *   mount, umount2, pivot_root, chroot, fsopen, fsmount, fsconfig, fspick, open_tree, move_mount,
 *   mount_setattr, setns, unshare            building or entering boundaries
 *   ptrace, process_vm_readv/writev, kcmp, pidfd_getfd, process_madvise   other processes
 *   bpf, perf_event_open, userfaultfd, io_uring_*, keyctl, add_key, request_key, memfd_secret,
 *   fanotify_*, name_to_handle_at, open_by_handle_at, modify_ldt, lookup_dcookie, migrate_pages,
 *   move_pages, vhangup, uselib, ustat, sysfs   kernel surface that such work does not need
 *   sync, syncfs (flush file systems of the host), io_setup and its kin (share one count with the
 *   whole host), syslog, acct, quotactl, swapon, reboot, kexec_*, init_module,
 *   sethostname, clock_settime, settimeofday, adjtimex, ioperm, iopl   the host's own matters */
#include "drivers/kernel/seccomp_list.h"

#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define LOW_32_BITS 0xffffffffU
/* linux/sched.h: every namespace; CLONE_NEWTIME lies in the exit signal's bits of clone(2). */
#define CLONE_NEW_ANY                                                                  \
        (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
         CLONE_NEWPID | CLONE_NEWNET)
#define SOCKET_TYPE_MASK 0xfU /* socket(2): below SOCK_NONBLOCK and SOCK_CLOEXEC */
#define PERSONALITY_ASK  0xffffffffU

const struct bh_seccomp_entry bh_seccomp_list[] = {
        /* Reading and writing what is open. */
        {"read", BH_SECCOMP_ALWAYS, 0},
        {"write", BH_SECCOMP_ALWAYS, 0},
        {"readv", BH_SECCOMP_ALWAYS, 0},
        {"writev", BH_SECCOMP_ALWAYS, 0},
        {"pread64", BH_SECCOMP_ALWAYS, 0},
        {"pwrite64", BH_SECCOMP_ALWAYS, 0},
        {"preadv", BH_SECCOMP_ALWAYS, 0},
        {"pwritev", BH_SECCOMP_ALWAYS, 0},
        {"preadv2", BH_SECCOMP_ALWAYS, 0},
        {"pwritev2", BH_SECCOMP_ALWAYS, 0},
        {"sendfile", BH_SECCOMP_ALWAYS, 0},
        {"copy_file_range", BH_SECCOMP_ALWAYS, 0},
        {"splice", BH_SECCOMP_ALWAYS, 0},
        {"tee", BH_SECCOMP_ALWAYS, 0},
        {"vmsplice", BH_SECCOMP_ALWAYS, 0},
        {"lseek", BH_SECCOMP_ALWAYS, 0},
        {"_llseek", BH_SECCOMP_ALWAYS, 0},
        {"fsync", BH_SECCOMP_ALWAYS, 0},
        {"fdatasync", BH_SECCOMP_ALWAYS, 0},
        {"sync_file_range", BH_SECCOMP_ALWAYS, 0},
        {"fadvise64", BH_SECCOMP_ALWAYS, 0},
        {"readahead", BH_SECCOMP_ALWAYS, 0},
        {"fallocate", BH_SECCOMP_ALWAYS, 0},
        {"ftruncate", BH_SECCOMP_ALWAYS, 0},
        {"truncate", BH_SECCOMP_ALWAYS, 0},
        {"close", BH_SECCOMP_ALWAYS, 0},
        {"close_range", BH_SECCOMP_ALWAYS, 0},
        {"dup", BH_SECCOMP_ALWAYS, 0},
        {"dup2", BH_SECCOMP_ALWAYS, 0},
        {"dup3", BH_SECCOMP_ALWAYS, 0},
        {"fcntl", BH_SECCOMP_ALWAYS, 0},
        {"flock", BH_SECCOMP_ALWAYS, 0},
        {"pipe", BH_SECCOMP_ALWAYS, 0},
        {"pipe2", BH_SECCOMP_ALWAYS, 0},
        {"poll", BH_SECCOMP_ALWAYS, 0},
        {"ppoll", BH_SECCOMP_ALWAYS, 0},
        {"select", BH_SECCOMP_ALWAYS, 0},
        {"pselect6", BH_SECCOMP_ALWAYS, 0},
        {"epoll_create", BH_SECCOMP_ALWAYS, 0},
        {"epoll_create1", BH_SECCOMP_ALWAYS, 0},
        {"epoll_ctl", BH_SECCOMP_ALWAYS, 0},
        {"epoll_wait", BH_SECCOMP_ALWAYS, 0},
        {"epoll_pwait", BH_SECCOMP_ALWAYS, 0},
        {"epoll_pwait2", BH_SECCOMP_ALWAYS, 0},
        {"eventfd", BH_SECCOMP_ALWAYS, 0},
        {"eventfd2", BH_SECCOMP_ALWAYS, 0},
        /* Files and directories, as far as the boundary's own mount table and Landlock let. */
        {"open", BH_SECCOMP_ALWAYS, 0},
        {"openat", BH_SECCOMP_ALWAYS, 0},
        {"openat2", BH_SECCOMP_ALWAYS, 0},
        {"creat", BH_SECCOMP_ALWAYS, 0},
        {"access", BH_SECCOMP_ALWAYS, 0},
        {"faccessat", BH_SECCOMP_ALWAYS, 0},
        {"faccessat2", BH_SECCOMP_ALWAYS, 0},
        {"stat", BH_SECCOMP_ALWAYS, 0},
        {"fstat", BH_SECCOMP_ALWAYS, 0},
        {"lstat", BH_SECCOMP_ALWAYS, 0},
        {"newfstatat", BH_SECCOMP_ALWAYS, 0},
        {"statx", BH_SECCOMP_ALWAYS, 0},
        {"statfs", BH_SECCOMP_ALWAYS, 0},
        {"fstatfs", BH_SECCOMP_ALWAYS, 0},
        {"getdents", BH_SECCOMP_ALWAYS, 0},
        {"getdents64", BH_SECCOMP_ALWAYS, 0},
        {"getcwd", BH_SECCOMP_ALWAYS, 0},
        {"chdir", BH_SECCOMP_ALWAYS, 0},
        {"fchdir", BH_SECCOMP_ALWAYS, 0},
        {"mkdir", BH_SECCOMP_ALWAYS, 0},
        {"mkdirat", BH_SECCOMP_ALWAYS, 0},
        {"rmdir", BH_SECCOMP_ALWAYS, 0},
        {"unlink", BH_SECCOMP_ALWAYS, 0},
        {"unlinkat", BH_SECCOMP_ALWAYS, 0},
        {"rename", BH_SECCOMP_ALWAYS, 0},
        {"renameat", BH_SECCOMP_ALWAYS, 0},
        {"renameat2", BH_SECCOMP_ALWAYS, 0},
        {"link", BH_SECCOMP_ALWAYS, 0},
        {"linkat", BH_SECCOMP_ALWAYS, 0},
        {"symlink", BH_SECCOMP_ALWAYS, 0},
        {"symlinkat", BH_SECCOMP_ALWAYS, 0},
        {"readlink", BH_SECCOMP_ALWAYS, 0},
        {"readlinkat", BH_SECCOMP_ALWAYS, 0},
        {"chmod", BH_SECCOMP_ALWAYS, 0},
        {"fchmod", BH_SECCOMP_ALWAYS, 0},
        {"fchmodat", BH_SECCOMP_ALWAYS, 0},
        {"fchmodat2", BH_SECCOMP_ALWAYS, 452},
        {"chown", BH_SECCOMP_ALWAYS, 0},
        {"fchown", BH_SECCOMP_ALWAYS, 0},
        {"lchown", BH_SECCOMP_ALWAYS, 0},
        {"fchownat", BH_SECCOMP_ALWAYS, 0},
        {"umask", BH_SECCOMP_ALWAYS, 0},
        {"utime", BH_SECCOMP_ALWAYS, 0},
        {"utimes", BH_SECCOMP_ALWAYS, 0},
        {"utimensat", BH_SECCOMP_ALWAYS, 0},
        {"futimesat", BH_SECCOMP_ALWAYS, 0},
        {"getxattr", BH_SECCOMP_ALWAYS, 0},
        {"lgetxattr", BH_SECCOMP_ALWAYS, 0},
        {"fgetxattr", BH_SECCOMP_ALWAYS, 0},
        {"listxattr", BH_SECCOMP_ALWAYS, 0},
        {"llistxattr", BH_SECCOMP_ALWAYS, 0},
        {"flistxattr", BH_SECCOMP_ALWAYS, 0},
        {"setxattr", BH_SECCOMP_ALWAYS, 0},
        {"lsetxattr", BH_SECCOMP_ALWAYS, 0},
        {"fsetxattr", BH_SECCOMP_ALWAYS, 0},
        {"removexattr", BH_SECCOMP_ALWAYS, 0},
        {"lremovexattr", BH_SECCOMP_ALWAYS, 0},
        {"fremovexattr", BH_SECCOMP_ALWAYS, 0},
        {"inotify_init", BH_SECCOMP_ALWAYS, 0},
        {"inotify_init1", BH_SECCOMP_ALWAYS, 0},
        {"inotify_add_watch", BH_SECCOMP_ALWAYS, 0},
        {"inotify_rm_watch", BH_SECCOMP_ALWAYS, 0},
        {"cachestat", BH_SECCOMP_ALWAYS, 451},
        /* Memory. */
        {"brk", BH_SECCOMP_ALWAYS, 0},
        {"munmap", BH_SECCOMP_ALWAYS, 0},
        {"mremap", BH_SECCOMP_ALWAYS, 0},
        {"mprotect", BH_SECCOMP_ALWAYS, 0},
        {"madvise", BH_SECCOMP_ALWAYS, 0},
        {"msync", BH_SECCOMP_ALWAYS, 0},
        {"mincore", BH_SECCOMP_ALWAYS, 0},
        {"mlock", BH_SECCOMP_ALWAYS, 0},
        {"mlock2", BH_SECCOMP_ALWAYS, 0},
        {"munlock", BH_SECCOMP_ALWAYS, 0},
        {"mlockall", BH_SECCOMP_ALWAYS, 0},
        {"munlockall", BH_SECCOMP_ALWAYS, 0},
        {"remap_file_pages", BH_SECCOMP_ALWAYS, 0},
        {"mbind", BH_SECCOMP_ALWAYS, 0},
        {"get_mempolicy", BH_SECCOMP_ALWAYS, 0},
        {"set_mempolicy", BH_SECCOMP_ALWAYS, 0},
        {"set_mempolicy_home_node", BH_SECCOMP_ALWAYS, 0},
        {"membarrier", BH_SECCOMP_ALWAYS, 0},
        {"pkey_alloc", BH_SECCOMP_ALWAYS, 0},
        {"pkey_free", BH_SECCOMP_ALWAYS, 0},
        {"pkey_mprotect", BH_SECCOMP_ALWAYS, 0},
        {"mseal", BH_SECCOMP_ALWAYS, 462},
        {"map_shadow_stack", BH_SECCOMP_ALWAYS, 453},
        /* Processes and threads. */
        {"fork", BH_SECCOMP_ALWAYS, 0},
        {"vfork", BH_SECCOMP_ALWAYS, 0},
        {"execve", BH_SECCOMP_ALWAYS, 0},
        {"execveat", BH_SECCOMP_ALWAYS, 0},
        {"exit", BH_SECCOMP_ALWAYS, 0},
        {"exit_group", BH_SECCOMP_ALWAYS, 0},
        {"wait4", BH_SECCOMP_ALWAYS, 0},
        {"waitid", BH_SECCOMP_ALWAYS, 0},
        {"getpid", BH_SECCOMP_ALWAYS, 0},
        {"getppid", BH_SECCOMP_ALWAYS, 0},
        {"gettid", BH_SECCOMP_ALWAYS, 0},
        {"getpgid", BH_SECCOMP_ALWAYS, 0},
        {"getpgrp", BH_SECCOMP_ALWAYS, 0},
        {"setpgid", BH_SECCOMP_ALWAYS, 0},
        {"getsid", BH_SECCOMP_ALWAYS, 0},
        {"setsid", BH_SECCOMP_ALWAYS, 0},
        {"set_tid_address", BH_SECCOMP_ALWAYS, 0},
        {"set_robust_list", BH_SECCOMP_ALWAYS, 0},
        {"get_robust_list", BH_SECCOMP_ALWAYS, 0},
        {"futex", BH_SECCOMP_ALWAYS, 0},
        {"futex_waitv", BH_SECCOMP_ALWAYS, 0},
        {"futex_wake", BH_SECCOMP_ALWAYS, 454},
        {"futex_wait", BH_SECCOMP_ALWAYS, 455},
        {"futex_requeue", BH_SECCOMP_ALWAYS, 456},
        {"rseq", BH_SECCOMP_ALWAYS, 0},
        {"arch_prctl", BH_SECCOMP_ALWAYS, 0},
        {"landlock_create_ruleset", BH_SECCOMP_ALWAYS, 0},
        {"landlock_add_rule", BH_SECCOMP_ALWAYS, 0},
        {"landlock_restrict_self", BH_SECCOMP_ALWAYS, 0},
        {"pidfd_open", BH_SECCOMP_ALWAYS, 0},
        {"pidfd_send_signal", BH_SECCOMP_ALWAYS, 0},
        {"sched_yield", BH_SECCOMP_ALWAYS, 0},
        {"sched_getaffinity", BH_SECCOMP_ALWAYS, 0},
        {"sched_setaffinity", BH_SECCOMP_ALWAYS, 0},
        {"sched_getparam", BH_SECCOMP_ALWAYS, 0},
        {"sched_setparam", BH_SECCOMP_ALWAYS, 0},
        {"sched_getscheduler", BH_SECCOMP_ALWAYS, 0},
        {"sched_setscheduler", BH_SECCOMP_ALWAYS, 0},
        {"sched_getattr", BH_SECCOMP_ALWAYS, 0},
        {"sched_setattr", BH_SECCOMP_ALWAYS, 0},
        {"sched_get_priority_max", BH_SECCOMP_ALWAYS, 0},
        {"sched_get_priority_min", BH_SECCOMP_ALWAYS, 0},
        {"sched_rr_get_interval", BH_SECCOMP_ALWAYS, 0},
        {"getpriority", BH_SECCOMP_ALWAYS, 0},
        {"setpriority", BH_SECCOMP_ALWAYS, 0},
        {"ioprio_get", BH_SECCOMP_ALWAYS, 0},
        {"ioprio_set", BH_SECCOMP_ALWAYS, 0},
        {"getrlimit", BH_SECCOMP_ALWAYS, 0},
        {"getrusage", BH_SECCOMP_ALWAYS, 0},
        {"getcpu", BH_SECCOMP_ALWAYS, 0},
        {"times", BH_SECCOMP_ALWAYS, 0},
        {"uname", BH_SECCOMP_ALWAYS, 0},
        {"sysinfo", BH_SECCOMP_ALWAYS, 0},
        {"getrandom", BH_SECCOMP_ALWAYS, 0},
        {"capget", BH_SECCOMP_ALWAYS, 0},
        {"capset", BH_SECCOMP_ALWAYS, 0},
        /* Identity: inside, only uid and gid 1000 exist. */
        {"getuid", BH_SECCOMP_ALWAYS, 0},
        {"geteuid", BH_SECCOMP_ALWAYS, 0},
        {"getgid", BH_SECCOMP_ALWAYS, 0},
        {"getegid", BH_SECCOMP_ALWAYS, 0},
        {"getresuid", BH_SECCOMP_ALWAYS, 0},
        {"getresgid", BH_SECCOMP_ALWAYS, 0},
        {"getgroups", BH_SECCOMP_ALWAYS, 0},
        {"setuid", BH_SECCOMP_ALWAYS, 0},
        {"setgid", BH_SECCOMP_ALWAYS, 0},
        {"setreuid", BH_SECCOMP_ALWAYS, 0},
        {"setregid", BH_SECCOMP_ALWAYS, 0},
        {"setresuid", BH_SECCOMP_ALWAYS, 0},
        {"setresgid", BH_SECCOMP_ALWAYS, 0},
        {"setfsuid", BH_SECCOMP_ALWAYS, 0},
        {"setfsgid", BH_SECCOMP_ALWAYS, 0},
        {"setgroups", BH_SECCOMP_ALWAYS, 0},
        /* Signals and time. */
        {"kill", BH_SECCOMP_ALWAYS, 0},
        {"tkill", BH_SECCOMP_ALWAYS, 0},
        {"tgkill", BH_SECCOMP_ALWAYS, 0},
        {"rt_sigaction", BH_SECCOMP_ALWAYS, 0},
        {"rt_sigprocmask", BH_SECCOMP_ALWAYS, 0},
        {"rt_sigpending", BH_SECCOMP_ALWAYS, 0},
        {"rt_sigqueueinfo", BH_SECCOMP_ALWAYS, 0},
        {"rt_tgsigqueueinfo", BH_SECCOMP_ALWAYS, 0},
        {"rt_sigreturn", BH_SECCOMP_ALWAYS, 0},
        {"rt_sigsuspend", BH_SECCOMP_ALWAYS, 0},
        {"rt_sigtimedwait", BH_SECCOMP_ALWAYS, 0},
        {"sigaltstack", BH_SECCOMP_ALWAYS, 0},
        {"signalfd", BH_SECCOMP_ALWAYS, 0},
        {"signalfd4", BH_SECCOMP_ALWAYS, 0},
        {"pause", BH_SECCOMP_ALWAYS, 0},
        {"alarm", BH_SECCOMP_ALWAYS, 0},
        {"getitimer", BH_SECCOMP_ALWAYS, 0},
        {"setitimer", BH_SECCOMP_ALWAYS, 0},
        {"restart_syscall", BH_SECCOMP_ALWAYS, 0},
        {"nanosleep", BH_SECCOMP_ALWAYS, 0},
        {"clock_nanosleep", BH_SECCOMP_ALWAYS, 0},
        {"clock_gettime", BH_SECCOMP_ALWAYS, 0},
        {"clock_getres", BH_SECCOMP_ALWAYS, 0},
        {"gettimeofday", BH_SECCOMP_ALWAYS, 0},
        {"time", BH_SECCOMP_ALWAYS, 0},
        {"timer_create", BH_SECCOMP_ALWAYS, 0},
        {"timer_settime", BH_SECCOMP_ALWAYS, 0},
        {"timer_gettime", BH_SECCOMP_ALWAYS, 0},
        {"timer_getoverrun", BH_SECCOMP_ALWAYS, 0},
        {"timer_delete", BH_SECCOMP_ALWAYS, 0},
        {"timerfd_create", BH_SECCOMP_ALWAYS, 0},
        {"timerfd_settime", BH_SECCOMP_ALWAYS, 0},
        {"timerfd_gettime", BH_SECCOMP_ALWAYS, 0},
        /* Sockets, in a network namespace that leads nowhere. */
        {"bind", BH_SECCOMP_ALWAYS, 0},
        {"listen", BH_SECCOMP_ALWAYS, 0},
        {"accept", BH_SECCOMP_ALWAYS, 0},
        {"accept4", BH_SECCOMP_ALWAYS, 0},
        {"connect", BH_SECCOMP_ALWAYS, 0},
        {"shutdown", BH_SECCOMP_ALWAYS, 0},
        {"getsockname", BH_SECCOMP_ALWAYS, 0},
        {"getpeername", BH_SECCOMP_ALWAYS, 0},
        {"getsockopt", BH_SECCOMP_ALWAYS, 0},
        {"sendto", BH_SECCOMP_ALWAYS, 0},
        {"recvfrom", BH_SECCOMP_ALWAYS, 0},
        {"sendmsg", BH_SECCOMP_ALWAYS, 0},
        {"recvmsg", BH_SECCOMP_ALWAYS, 0},
        {"sendmmsg", BH_SECCOMP_ALWAYS, 0},
        {"recvmmsg", BH_SECCOMP_ALWAYS, 0},
        /* System V and POSIX IPC, in an IPC namespace of its own. */
        {"shmat", BH_SECCOMP_ALWAYS, 0},
        {"shmdt", BH_SECCOMP_ALWAYS, 0},
        {"shmctl", BH_SECCOMP_ALWAYS, 0},
        {"semget", BH_SECCOMP_ALWAYS, 0},
        {"semop", BH_SECCOMP_ALWAYS, 0},
        {"semtimedop", BH_SECCOMP_ALWAYS, 0},
        {"semctl", BH_SECCOMP_ALWAYS, 0},
        {"msgget", BH_SECCOMP_ALWAYS, 0},
        {"msgsnd", BH_SECCOMP_ALWAYS, 0},
        {"msgrcv", BH_SECCOMP_ALWAYS, 0},
        {"msgctl", BH_SECCOMP_ALWAYS, 0},
        {"mq_open", BH_SECCOMP_ALWAYS, 0},
        {"mq_unlink", BH_SECCOMP_ALWAYS, 0},
        {"mq_timedsend", BH_SECCOMP_ALWAYS, 0},
        {"mq_timedreceive", BH_SECCOMP_ALWAYS, 0},
        {"mq_notify", BH_SECCOMP_ALWAYS, 0},
        {"mq_getsetattr", BH_SECCOMP_ALWAYS, 0},
        /* With a look at their arguments. */
        {"clone", BH_SECCOMP_CLONE, 0},
        {"socket", BH_SECCOMP_SOCKET, 0},
        {"socketpair", BH_SECCOMP_SOCKETPAIR, 0},
        {"personality", BH_SECCOMP_PERSONALITY, 0},
        {"mknod", BH_SECCOMP_MKNOD, 0},
        {"mknodat", BH_SECCOMP_MKNODAT, 0},
        {"ioctl", BH_SECCOMP_IOCTL, 0},
        {"prctl", BH_SECCOMP_FILTER, 0},
        {"seccomp", BH_SECCOMP_FILTER, 0},
        {"prlimit64", BH_SECCOMP_PRLIMIT, 0},
        {"setrlimit", BH_SECCOMP_SETRLIMIT, 0},
        {"setsockopt", BH_SECCOMP_SETSOCKOPT, 0},
        {"shmget", BH_SECCOMP_SHMGET, 0},
        {"memfd_create", BH_SECCOMP_MEMFD, 0},
        {"mmap", BH_SECCOMP_MMAP, 0},
        {NULL, BH_SECCOMP_ALWAYS, 0},
};

const char *bh_seccomp_condition_text(enum bh_seccomp_condition condition)
{
        switch (condition) {
        case BH_SECCOMP_ALWAYS:
                break;
        case BH_SECCOMP_CLONE:
                return "without CLONE_NEW*";
        case BH_SECCOMP_SOCKET:
                return "unix; inet, inet6 for TCP and UDP";
        case BH_SECCOMP_SOCKETPAIR:
                return "unix";
        case BH_SECCOMP_PERSONALITY:
                return "0 or asking";
        case BH_SECCOMP_MKNOD:
        case BH_SECCOMP_MKNODAT:
                return "regular files, fifos, sockets";
        case BH_SECCOMP_IOCTL:
                return "but TIOCSTI, TIOCLINUX, and requests of bridges and VLANs";
        case BH_SECCOMP_FILTER:
                return "but seccomp filters";
        case BH_SECCOMP_SETSOCKOPT:
                return "but filter programs, multicast groups, keys of TCP";
        case BH_SECCOMP_MMAP:
        case BH_SECCOMP_MEMFD:
        case BH_SECCOMP_SHMGET:
                return "without huge pages of the host's pool";
        case BH_SECCOMP_SETRLIMIT:
        case BH_SECCOMP_PRLIMIT:
                return "RLIMIT_CORE is not changed";
        }
        return "always";
}

#define MASKED(argument, mask, value) \
        {                             \
                argument, mask, value \
        }
#define IS(argument, value) MASKED(argument, LOW_32_BITS, value)
#define TYPE(type)          MASKED(1, SOCKET_TYPE_MASK, type)

/* Integers are compared in their low half only: the kernel takes no more of them. */
const struct bh_seccomp_alternative bh_seccomp_alternatives[] = {
        {"clone", 1, {MASKED(0, CLONE_NEW_ANY, 0)}},
        {"socket", 2, {IS(0, AF_UNIX), TYPE(SOCK_STREAM)}},
        {"socket", 2, {IS(0, AF_UNIX), TYPE(SOCK_DGRAM)}},
        {"socket", 2, {IS(0, AF_UNIX), TYPE(SOCK_SEQPACKET)}},
        /* By protocol, since others load modules of the host or are hardly looked after. */
        {"socket", 3, {IS(0, AF_INET), TYPE(SOCK_STREAM), IS(2, 0)}},
        {"socket", 3, {IS(0, AF_INET), TYPE(SOCK_STREAM), IS(2, IPPROTO_TCP)}},
        {"socket", 3, {IS(0, AF_INET), TYPE(SOCK_DGRAM), IS(2, 0)}},
        {"socket", 3, {IS(0, AF_INET), TYPE(SOCK_DGRAM), IS(2, IPPROTO_UDP)}},
        {"socket", 3, {IS(0, AF_INET6), TYPE(SOCK_STREAM), IS(2, 0)}},
        {"socket", 3, {IS(0, AF_INET6), TYPE(SOCK_STREAM), IS(2, IPPROTO_TCP)}},
        {"socket", 3, {IS(0, AF_INET6), TYPE(SOCK_DGRAM), IS(2, 0)}},
        {"socket", 3, {IS(0, AF_INET6), TYPE(SOCK_DGRAM), IS(2, IPPROTO_UDP)}},
        {"socketpair", 1, {IS(0, AF_UNIX)}},
        {"personality", 1, {IS(0, 0)}},
        {"personality", 1, {IS(0, PERSONALITY_ASK)}},
        {"mknod", 1, {MASKED(1, S_IFMT, 0)}},
        {"mknod", 1, {MASKED(1, S_IFMT, S_IFREG)}},
        {"mknod", 1, {MASKED(1, S_IFMT, S_IFIFO)}},
        {"mknod", 1, {MASKED(1, S_IFMT, S_IFSOCK)}},
        {"mknodat", 1, {MASKED(2, S_IFMT, 0)}},
        {"mknodat", 1, {MASKED(2, S_IFMT, S_IFREG)}},
        {"mknodat", 1, {MASKED(2, S_IFMT, S_IFIFO)}},
        {"mknodat", 1, {MASKED(2, S_IFMT, S_IFSOCK)}},
        {"mmap", 1, {MASKED(3, MAP_HUGETLB, 0)}},
        {"memfd_create", 1, {MASKED(1, MFD_HUGETLB, 0)}},
        {"shmget", 1, {MASKED(2, SHM_HUGETLB, 0)}},
        {NULL, 0, {{0, 0, 0}}},
};
