/* Attempts at other processes and at namespaces, theirs and new ones. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

/* linux/time_namespaces(7); not in every libc's header */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* ---- looking into others ---- */

static void trace(pid_t pid, struct outcome *outcome)
{
        judge(outcome, ptrace(PTRACE_SEIZE, pid, NULL, NULL));
}

static void trace_init(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        trace(1, outcome);
}

/* A process of the same user that only waits. */
static pid_t start_neighbour(struct outcome *outcome)
{
        pid_t pid = fork();

        if (pid == 0) {
                alarm(20);
                pause();
                _exit(0);
        }
        if (pid < 0)
                unknown(outcome, "no process: %s", strerror(errno));
        return pid;
}

static void end_neighbour(pid_t pid)
{
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

static void trace_neighbour(const struct canaries *canaries, struct outcome *outcome)
{
        pid_t neighbour = start_neighbour(outcome);

        (void)canaries;
        if (neighbour > 0) {
                trace(neighbour, outcome);
                end_neighbour(neighbour);
        }
}

/* EFAULT: the right is there, the address is not. */
static void read_memory(pid_t pid, struct outcome *outcome)
{
        char byte;
        struct iovec local = {&byte, 1}, remote = {(void *)read_memory, 1};

        judge_gate(outcome, process_vm_readv(pid, &local, 1, &remote, 1, 0),
                   (const int[]){EFAULT, 0});
}

static void read_memory_of_init(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        read_memory(1, outcome);
}

static void read_memory_of_neighbour(const struct canaries *canaries, struct outcome *outcome)
{
        pid_t neighbour = start_neighbour(outcome);

        (void)canaries;
        if (neighbour > 0) {
                read_memory(neighbour, outcome);
                end_neighbour(neighbour);
        }
}

#define READ_OF_INIT(function, path)                                                   \
        static void function(const struct canaries *canaries, struct outcome *outcome) \
        {                                                                              \
                (void)canaries;                                                        \
                judge(outcome, try_read(path));                                        \
        }

READ_OF_INIT(init_environment, "/proc/1/environ")
READ_OF_INIT(init_maps, "/proc/1/maps")
READ_OF_INIT(init_auxv, "/proc/1/auxv")
READ_OF_INIT(init_stack, "/proc/1/stack")

static void init_memory(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, open("/proc/1/mem", O_RDWR | O_CLOEXEC));
}

static void init_program(const struct canaries *canaries, struct outcome *outcome)
{
        char target[256];

        (void)canaries;
        judge(outcome, readlink("/proc/1/exe", target, sizeof(target)));
}

static void init_descriptors(const struct canaries *canaries, struct outcome *outcome)
{
        DIR *directory = opendir("/proc/1/fd");

        (void)canaries;
        judge(outcome, directory ? 0 : -1);
        if (directory)
                closedir(directory);
}

static void init_descriptor_copy(const struct canaries *canaries, struct outcome *outcome)
{
        int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

        (void)canaries;
        judge(outcome, pidfd);
        if (outcome->verdict == SUCCEEDED)
                judge_gate(outcome, syscall(SYS_pidfd_getfd, pidfd, 0, 0), (const int[]){EBADF, 0});
}

static void compare_with_init(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, syscall(SYS_kcmp, getpid(), 1, KCMP_VM, 0, 0));
}

static void limits_of_init(const struct canaries *canaries, struct outcome *outcome)
{
        struct rlimit limit;

        (void)canaries;
        judge(outcome, prlimit(1, RLIMIT_NOFILE, NULL, &limit));
}

/* ---- the host's processes ---- */

static void see_host_process(const struct canaries *canaries, struct outcome *outcome)
{
        char path[64];

        if (canaries->pid == 0) {
                unknown(outcome, "no canary process given");
                return;
        }
        snprintf(path, sizeof(path), "/proc/%d", (int)canaries->pid);
        judge(outcome, access(path, F_OK));
}

static void signal_host_process(const struct canaries *canaries, struct outcome *outcome)
{
        if (canaries->pid == 0)
                unknown(outcome, "no canary process given");
        else
                judge(outcome, kill(canaries->pid, SIGUSR1));
}

static void signal_host_pidfd(const struct canaries *canaries, struct outcome *outcome)
{
        int pidfd;

        if (canaries->pid == 0) {
                unknown(outcome, "no canary process given");
                return;
        }
        pidfd = (int)syscall(SYS_pidfd_open, canaries->pid, 0);
        judge(outcome, pidfd);
        if (outcome->verdict == SUCCEEDED)
                judge(outcome, syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL, 0));
}

/* SIGKILL: pid 1 of a namespace ignores every other one from inside. */
static void signal_init(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, kill(1, SIGKILL));
}

/* Own processes may be signalled; the forbidden thing is that the host's was among them. */
static void signal_everyone(const struct canaries *canaries, struct outcome *outcome)
{
        if (canaries->pid == 0) {
                unknown(outcome, "no canary process given");
                return;
        }
        kill(-1, SIGUSR1);
        if (kill(canaries->pid, 0) == 0 || errno == EPERM)
                succeeded(outcome, "the host's process is within reach");
        else
                refused(outcome, "the host's process is out of reach: %s", strerror(errno));
}

static void host_shared_memory(const struct canaries *canaries, struct outcome *outcome)
{
        if (canaries->shm_key == 0)
                unknown(outcome, "no canary segment given");
        else
                judge(outcome, shmget(canaries->shm_key, 0, 0));
}

/* ---- namespaces ---- */

static void unshare_one(int flag, struct outcome *outcome)
{
        judge(outcome, unshare(flag));
}

#define UNSHARE(function, flag)                                                        \
        static void function(const struct canaries *canaries, struct outcome *outcome) \
        {                                                                              \
                (void)canaries;                                                        \
                unshare_one(flag, outcome);                                            \
        }

UNSHARE(unshare_user, CLONE_NEWUSER)
UNSHARE(unshare_mount, CLONE_NEWNS)
UNSHARE(unshare_pid, CLONE_NEWPID)
UNSHARE(unshare_net, CLONE_NEWNET)
UNSHARE(unshare_ipc, CLONE_NEWIPC)
UNSHARE(unshare_uts, CLONE_NEWUTS)
UNSHARE(unshare_cgroup, CLONE_NEWCGROUP)
UNSHARE(unshare_time, CLONE_NEWTIME)

static void clone_user(const struct canaries *canaries, struct outcome *outcome)
{
        long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

        (void)canaries;
        if (pid == 0)
                _exit(0);
        judge(outcome, pid);
}

static void clone3_user(const struct canaries *canaries, struct outcome *outcome)
{
        struct clone_args arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
        long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

        (void)canaries;
        if (pid == 0)
                _exit(0);
        judge(outcome, pid);
}

/* EINVAL: it could be opened, but is the caller's own already. */
static void join(const char *name, struct outcome *outcome)
{
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "/proc/1/ns/%s", name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        judge(outcome, fd);
        if (outcome->verdict == SUCCEEDED)
                judge_gate(outcome, setns(fd, 0), (const int[]){EINVAL, 0});
}

#define JOIN(function, name)                                                           \
        static void function(const struct canaries *canaries, struct outcome *outcome) \
        {                                                                              \
                (void)canaries;                                                        \
                join(name, outcome);                                                   \
        }

JOIN(join_user, "user")
JOIN(join_mount, "mnt")
JOIN(join_pid, "pid")
JOIN(join_net, "net")
JOIN(join_ipc, "ipc")
JOIN(join_uts, "uts")
JOIN(join_cgroup, "cgroup")

static void join_by_pidfd(const struct canaries *canaries, struct outcome *outcome)
{
        int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

        (void)canaries;
        judge(outcome, pidfd);
        if (outcome->verdict == SUCCEEDED)
                judge(outcome, setns(pidfd, CLONE_NEWNET | CLONE_NEWUTS));
}

const struct attempt process_attempts[] = {
        {"trace-init", "ptrace pid 1", trace_init},
        {"trace-neighbour", "ptrace another process of the same user", trace_neighbour},
        {"memory-of-init", "process_vm_readv of pid 1", read_memory_of_init},
        {"memory-of-neighbour", "process_vm_readv of another process", read_memory_of_neighbour},
        {"init-environment", "read /proc/1/environ", init_environment},
        {"init-maps", "read /proc/1/maps", init_maps},
        {"init-auxv", "read /proc/1/auxv", init_auxv},
        {"init-stack", "read /proc/1/stack", init_stack},
        {"init-memory", "open /proc/1/mem", init_memory},
        {"init-program", "find pid 1's program through /proc/1/exe", init_program},
        {"init-descriptors", "list /proc/1/fd", init_descriptors},
        {"init-descriptor-copy", "copy a descriptor of pid 1 by pidfd_getfd", init_descriptor_copy},
        {"init-compare", "kcmp with pid 1", compare_with_init},
        {"init-limits", "prlimit of pid 1", limits_of_init},
        {"see-host-process", "find a process of the host in /proc", see_host_process},
        {"signal-host-process", "signal a process of the host", signal_host_process},
        {"signal-host-pidfd", "signal it through a pidfd", signal_host_pidfd},
        {"signal-init", "kill pid 1", signal_init},
        {"signal-everyone", "kill(-1) and see whether the host was hit", signal_everyone},
        {"host-shared-memory", "find a System V segment of the host", host_shared_memory},
        {"unshare-user", "make a user namespace", unshare_user},
        {"unshare-mount", "make a mount namespace", unshare_mount},
        {"unshare-pid", "make a pid namespace", unshare_pid},
        {"unshare-net", "make a network namespace", unshare_net},
        {"unshare-ipc", "make an IPC namespace", unshare_ipc},
        {"unshare-uts", "make a UTS namespace", unshare_uts},
        {"unshare-cgroup", "make a cgroup namespace", unshare_cgroup},
        {"unshare-time", "make a time namespace", unshare_time},
        {"clone-user", "clone into a user namespace", clone_user},
        {"clone3-user", "clone3 into a user namespace", clone3_user},
        {"join-user", "enter pid 1's user namespace", join_user},
        {"join-mount", "enter pid 1's mount namespace", join_mount},
        {"join-pid", "enter pid 1's pid namespace", join_pid},
        {"join-net", "enter pid 1's network namespace", join_net},
        {"join-ipc", "enter pid 1's IPC namespace", join_ipc},
        {"join-uts", "enter pid 1's UTS namespace", join_uts},
        {"join-cgroup", "enter pid 1's cgroup namespace", join_cgroup},
        {"join-pidfd", "enter pid 1's namespaces through a pidfd", join_by_pidfd},
        {NULL, NULL, NULL},
};
