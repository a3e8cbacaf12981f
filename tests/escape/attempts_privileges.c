/* Attempts at being someone else, at capabilities, and at what only the host's root may set. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acct.h>
#include <sys/io.h>
#include <sys/klog.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "attempt.h"

#define NOBODY          65534
#define OUTPUT_BYTES    65536
#define IO_PRIORITY_RT  (1 << 13) /* ioprio_set(2): class realtime, level 0 */
#define LAST_CAPABILITY 40

static struct __user_cap_header_struct capability_header = {_LINUX_CAPABILITY_VERSION_3, 0};

/* ---- identity ---- */

static void become_root(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, setuid(0));
}

static void become_root_group(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, setgid(0));
}

static void become_other(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, setresuid(1, 1, 1));
}

static void set_groups(const struct canaries *canaries, struct outcome *outcome)
{
        gid_t group = 0;

        (void)canaries;
        judge(outcome, setgroups(1, &group));
}

static void own_by_root(const struct canaries *canaries, struct outcome *outcome)
{
        int fd = open("owned", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        (void)canaries;
        if (fd < 0)
                unknown(outcome, "no file made: %s", strerror(errno));
        else
                judge(outcome, fchown(fd, 0, 0));
}

/* Copies this program to name. Returns 0, or -1. */
static int copy_self(const char *name)
{
        int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        int to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
        int result = -1;
        static char block[65536];
        ssize_t got = 0;

        while (from >= 0 && to >= 0 && (got = read(from, block, sizeof(block))) > 0) {
                if (write(to, block, (size_t)got) != got)
                        break;
        }
        if (from >= 0 && to >= 0 && got == 0)
                result = 0;
        close(from);
        close(to);
        return result;
}

/* A program that belongs to root, or failing that to the caller, with the set-user-id bit, run
 * by someone who is not root: its euid must be the caller's. */
static void set_user_id_file(const struct canaries *canaries, struct outcome *outcome)
{
        char name[] = "./set-user-id";
        int owned, status = 0;
        pid_t pid;

        (void)canaries;
        if (copy_self(name) < 0) {
                unknown(outcome, "no program made: %s", strerror(errno));
                return;
        }
        owned = chown(name, 0, 0);
        if (chmod(name, 04755) < 0 || chmod(".", 0755) < 0) {
                unknown(outcome, "no set-user-id bit: %s", strerror(errno));
                return;
        }
        pid = fork();
        if (pid == 0) {
                char *argv[] = {name, "report-euid", NULL};

                if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
                        _exit(2);
                execv(name, argv);
                _exit(3);
        }
        if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) ||
            WEXITSTATUS(status) > 1)
                unknown(outcome, "it did not run: status %d", status);
        else if (WEXITSTATUS(status) == 1)
                succeeded(outcome, "it ran as root");
        else
                refused(outcome, "it ran as the caller, %s",
                        owned < 0 ? "who owns it" : "not root");
}

/* Where on a Debian system a set-user-id program is. */
static const char *find_set_user_id(void)
{
        static const char *const programs[] = {"/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount",
                                               "/usr/bin/newgrp", "/usr/bin/chsh"};

        for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
                struct stat file;

                if (stat(programs[i], &file) == 0 && (file.st_mode & S_ISUID))
                        return programs[i];
        }
        return NULL;
}

/* Runs it with LD_DEBUG, which the loader obeys for all but programs that gained something
 * from being run (ld.so(8), secure-execution mode). Returns the output. */
static const char *run_with_loader_debug(const char *program)
{
        static char output[OUTPUT_BYTES];
        char *argv[] = {(char *)program, "--version", NULL}, *envp[] = {"LD_DEBUG=libs", NULL};
        int ends[2];
        size_t size = 0;
        ssize_t got;
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0)
                return NULL;
        if (pid == 0) {
                if (dup2(ends[1], 1) < 0 || dup2(ends[1], 2) < 0 ||
                    (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0))
                        _exit(2);
                execve(program, argv, envp);
                dprintf(2, "not run: %s\n", strerror(errno));
                _exit(3);
        }
        close(ends[1]);
        while (size < sizeof(output) - 1 &&
               (got = read(ends[0], output + size, sizeof(output) - 1 - size)) > 0)
                size += (size_t)got;
        close(ends[0]);
        waitpid(pid, NULL, 0);
        output[size] = '\0';
        return output;
}

static void set_user_id_program(const struct canaries *canaries, struct outcome *outcome)
{
        const char *program = find_set_user_id();
        const char *output;

        (void)canaries;
        if (!program) {
                refused(outcome, "there is none inside");
                return;
        }
        output = run_with_loader_debug(program);
        if (!output || strncmp(output, "not run", 7) == 0)
                unknown(outcome, "%s was not run", program);
        else if (strstr(output, "find library="))
                refused(outcome, "%s gained nothing", program);
        else
                succeeded(outcome, "%s ran with more rights", program);
}

/* ---- capabilities ---- */

static void have_capabilities(const struct canaries *canaries, struct outcome *outcome)
{
        struct __user_cap_data_struct sets[2] = {0};

        (void)canaries;
        if (syscall(SYS_capget, &capability_header, sets) < 0)
                unknown(outcome, "capget: %s", strerror(errno));
        else if (sets[0].effective | sets[0].permitted | sets[0].inheritable | sets[1].effective |
                 sets[1].permitted | sets[1].inheritable)
                succeeded(outcome, "effective %08x%08x", sets[1].effective, sets[0].effective);
        else
                refused(outcome, "all sets are empty");
}

static void raise_capabilities(const struct canaries *canaries, struct outcome *outcome)
{
        struct __user_cap_data_struct sets[2] = {
                {.effective = 1U << CAP_SYS_ADMIN, .permitted = 1U << CAP_SYS_ADMIN}};

        (void)canaries;
        judge(outcome, syscall(SYS_capset, &capability_header, sets));
}

static void bounding_set(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        for (int capability = 0; capability <= LAST_CAPABILITY; capability++) {
                if (prctl(PR_CAPBSET_READ, capability) == 1) {
                        succeeded(outcome, "capability %d is in the bounding set", capability);
                        return;
                }
        }
        refused(outcome, "the bounding set is empty");
}

static void ambient_capability(const struct canaries *canaries, struct outcome *outcome)
{
        struct __user_cap_data_struct sets[2] = {0};

        (void)canaries;
        /* What is ambient must be inheritable first. */
        if (syscall(SYS_capget, &capability_header, sets) == 0) {
                sets[0].inheritable |= 1U << CAP_SYS_ADMIN;
                syscall(SYS_capset, &capability_header, sets);
        }
        judge(outcome, prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
}

static void secure_bits(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0));
}

static void file_capability(const struct canaries *canaries, struct outcome *outcome)
{
        struct vfs_cap_data data = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE};
        int fd = open("with-capability", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

        (void)canaries;
        data.data[0].permitted = 1U << CAP_SYS_ADMIN;
        if (fd < 0)
                unknown(outcome, "no file made: %s", strerror(errno));
        else
                judge(outcome, fsetxattr(fd, "security.capability", &data, sizeof(data), 0));
}

static void new_privileges(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
                refused(outcome, "no_new_privs is set, and cannot be unset");
        else
                succeeded(outcome, "no_new_privs is not set");
}

/* ---- priorities and limits ---- */

static void lower_nice(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, setpriority(PRIO_PROCESS, 0, -5));
}

static void real_time(const struct canaries *canaries, struct outcome *outcome)
{
        struct sched_param parameter = {.sched_priority = 1};

        (void)canaries;
        judge(outcome, sched_setscheduler(0, SCHED_FIFO, &parameter));
}

static void io_real_time(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, syscall(SYS_ioprio_set, 1, 0, IO_PRIORITY_RT));
}

static void raise_limit(const struct canaries *canaries, struct outcome *outcome)
{
        struct rlimit limit;

        (void)canaries;
        /* Never unlimited, so there is always something above. */
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
                unknown(outcome, "getrlimit: %s", strerror(errno));
                return;
        }
        limit.rlim_max += 1;
        judge(outcome, setrlimit(RLIMIT_NOFILE, &limit));
}

/* Lower than the least it ever had: the killer should take someone else. */
static void spare_from_oom(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, try_write("/proc/self/oom_score_adj", "-1000"));
}

/* ---- the host's own matters ---- */

static void set_host_name(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, sethostname("escaped", 7));
}

static void set_domain_name(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, setdomainname("escaped", 7));
}

static void set_clock(const struct canaries *canaries, struct outcome *outcome)
{
        struct timespec now;

        (void)canaries;
        clock_gettime(CLOCK_REALTIME, &now); /* to what it is already */
        judge(outcome, clock_settime(CLOCK_REALTIME, &now));
}

static void set_time_of_day(const struct canaries *canaries, struct outcome *outcome)
{
        struct timeval now;

        (void)canaries;
        gettimeofday(&now, NULL);
        judge(outcome, settimeofday(&now, NULL));
}

static void adjust_clock(const struct canaries *canaries, struct outcome *outcome)
{
        struct timex now = {0}, same = {.modes = ADJ_TICK};

        (void)canaries;
        if (adjtimex(&now) < 0)
                same.tick = 10000; /* the usual one, when it cannot be asked */
        else
                same.tick = now.tick;
        judge(outcome, adjtimex(&same));
}

/* EINVAL: no swap header in the file, but the right is there. */
static void swap_on(const struct canaries *canaries, struct outcome *outcome)
{
        int fd = open("swap", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        (void)canaries;
        if (fd < 0 || ftruncate(fd, 1 << 20) < 0)
                unknown(outcome, "no file made: %s", strerror(errno));
        else
                judge_gate(outcome, swapon("swap", 0), (const int[]){EINVAL, 0});
}

/* A wrong magic number: EINVAL comes after the check for the right (kernel/reboot.c). */
static void restart_host(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge_gate(outcome, syscall(SYS_reboot, 0, 0, 0, NULL), (const int[]){EINVAL, 0});
}

static void accounting(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, acct(NULL));
}

static void quota(const struct canaries *canaries, struct outcome *outcome)
{
        int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        (void)canaries;
        judge_gate(outcome, syscall(SYS_quotactl_fd, fd, QCMD(Q_QUOTAOFF, USRQUOTA), 0, NULL),
                   (const int[]){ESRCH, EINVAL, 0});
}

static void kernel_log(const struct canaries *canaries, struct outcome *outcome)
{
        char line[256];

        (void)canaries;
        judge(outcome, klogctl(3 /* SYSLOG_ACTION_READ_ALL */, line, sizeof(line)));
}

static void io_ports(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, ioperm(0x80, 1, 1));
}

static void io_level(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, iopl(3));
}

const struct attempt privilege_attempts[] = {
        {"become-root", "setuid(0)", become_root},
        {"become-root-group", "setgid(0)", become_root_group},
        {"become-other", "setresuid to another user", become_other},
        {"set-groups", "setgroups with group 0", set_groups},
        {"own-by-root", "give a file to root", own_by_root},
        {"set-user-id-file", "make a 4755 program and run it", set_user_id_file},
        {"set-user-id-program", "run a set-user-id program of the system", set_user_id_program},
        {"have-capabilities", "find a capability in one of the sets", have_capabilities},
        {"raise-capabilities", "raise CAP_SYS_ADMIN by capset", raise_capabilities},
        {"bounding-set", "find a capability in the bounding set", bounding_set},
        {"ambient-capability", "raise an ambient capability", ambient_capability},
        {"secure-bits", "change the secure bits", secure_bits},
        {"file-capability", "give a file a capability", file_capability},
        {"new-privileges", "find no_new_privs unset", new_privileges},
        {"lower-nice", "take a negative nice value", lower_nice},
        {"real-time", "become a real-time process", real_time},
        {"io-real-time", "take real-time I/O priority", io_real_time},
        {"raise-limit", "raise a hard resource limit", raise_limit},
        {"spare-from-oom", "lower oom_score_adj", spare_from_oom},
        {"set-host-name", "sethostname", set_host_name},
        {"set-domain-name", "setdomainname", set_domain_name},
        {"set-clock", "clock_settime", set_clock},
        {"set-time-of-day", "settimeofday", set_time_of_day},
        {"adjust-clock", "adjtimex", adjust_clock},
        {"swap-on", "swapon", swap_on},
        {"reboot", "reboot", restart_host},
        {"accounting", "switch process accounting off", accounting},
        {"quota", "switch quotas off", quota},
        {"kernel-log", "read the kernel's log by syslog(2)", kernel_log},
        {"io-ports", "ioperm", io_ports},
        {"io-level", "iopl", io_level},
        {NULL, NULL, NULL},
};
