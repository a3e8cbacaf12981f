/* Attempts at kernel interfaces that a workload has no use for, and at the kernel's own files
 * in /proc and /sys. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempt.h"

#define X32_BIT 0x40000000L /* asm/unistd.h: __X32_SYSCALL_BIT */

/* ---- system calls ---- */

static void key_add(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, syscall(SYS_add_key, "user", "escape", "x", 1, KEY_SPEC_PROCESS_KEYRING));
}

static void key_control(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
}

/* ENOKEY: it looked, and there is none of that name. */
static void key_request(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge_gate(outcome, syscall(SYS_request_key, "user", "escape-none", NULL, 0),
                   (const int[]){ENOKEY, 0});
}

static void bpf_map(const struct canaries *canaries, struct outcome *outcome)
{
        union bpf_attr attributes = {
                .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

        (void)canaries;
        judge(outcome, syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes)));
}

static void bpf_program(const struct canaries *canaries, struct outcome *outcome)
{
        /* r0 = 0; exit */
        static const struct bpf_insn program[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
                                                  {.code = BPF_JMP | BPF_EXIT}};
        union bpf_attr attributes = {
                .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
                .insns = (uint64_t)(uintptr_t)program,
                .insn_cnt = 2,
                .license = (uint64_t)(uintptr_t) "GPL",
        };

        (void)canaries;
        judge(outcome, syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes)));
}

static void user_fault(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
}

static void io_ring(const struct canaries *canaries, struct outcome *outcome)
{
        struct io_uring_params parameters = {0};

        (void)canaries;
        judge(outcome, syscall(SYS_io_uring_setup, 1, &parameters));
}

static void performance(const struct canaries *canaries, struct outcome *outcome)
{
        struct perf_event_attr attributes = {
                .type = PERF_TYPE_SOFTWARE,
                .size = sizeof(attributes),
                .config = PERF_COUNT_SW_CPU_CLOCK,
                .exclude_kernel = 1,
        };

        (void)canaries;
        judge(outcome, syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

static void fanotify(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY));
}

/* No segments: unloads what was never loaded. */
static void kexec(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, syscall(SYS_kexec_load, 0, 0, NULL, 0));
}

static void kexec_file(const struct canaries *canaries, struct outcome *outcome)
{
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        (void)canaries;
        judge_gate(outcome, syscall(SYS_kexec_file_load, fd, -1, 1, "", 4 /* no initramfs */),
                   (const int[]){ENOEXEC, EINVAL, 0});
}

/* ENOEXEC and its like: the right is there, the module is none. */
static void module_load(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge_gate(outcome, syscall(SYS_init_module, "no module", 9, ""),
                   (const int[]){ENOEXEC, 0});
}

static void module_load_file(const struct canaries *canaries, struct outcome *outcome)
{
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        (void)canaries;
        judge_gate(outcome, syscall(SYS_finit_module, fd, "", 0), (const int[]){ENOEXEC, 0});
}

static void module_remove(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge_gate(outcome, syscall(SYS_delete_module, "escape_none", O_NONBLOCK),
                   (const int[]){ENOENT, 0});
}

static void randomization(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, personality(ADDR_NO_RANDOMIZE));
}

static void local_descriptor_table(const struct canaries *canaries, struct outcome *outcome)
{
        char table[16];

        (void)canaries;
        judge(outcome, syscall(SYS_modify_ldt, 0, table, sizeof(table)));
}

/* getpid by the 32-bit entry, past a filter that knows only 64-bit numbers. */
static void entry_ia32(const struct canaries *canaries, struct outcome *outcome)
{
        long result = 20; /* asm/unistd_32.h: __NR_getpid */

        (void)canaries;
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
        if (result < 0)
                errno = (int)-result;
        judge(outcome, result);
}

static void entry_x32(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, syscall(X32_BIT | SYS_getpid));
}

/* ---- terminals ---- */

/* A terminal to put a byte into: the caller's own, or a new pseudo-terminal. */
static int find_terminal(void)
{
        int master, number, unlock = 0;

        for (int fd = 0; fd <= 2; fd++) {
                if (isatty(fd))
                        return fd;
        }
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0)
                return 0;
        if (ioctl(master, TIOCSPTLCK, &unlock) < 0 || ioctl(master, TIOCGPTN, &number) < 0)
                return 0;
        setsid();
        return ioctl(master, TIOCGPTPEER, O_RDWR | O_CLOEXEC);
}

static void terminal_input(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, ioctl(find_terminal(), TIOCSTI, "x"));
}

/* ---- the kernel's files ---- */

#define READ(function, path)                                                           \
        static void function(const struct canaries *canaries, struct outcome *outcome) \
        {                                                                              \
                (void)canaries;                                                        \
                judge(outcome, try_read(path));                                        \
        }

#define OPEN_WRITE(function, path)                                                     \
        static void function(const struct canaries *canaries, struct outcome *outcome) \
        {                                                                              \
                (void)canaries;                                                        \
                judge(outcome, try_open_write(path));                                  \
        }

READ(read_kcore, "/proc/kcore")
READ(read_command_line, "/proc/cmdline")
READ(read_kmsg, "/proc/kmsg")
READ(read_pagemap_counts, "/proc/kpagecount")
READ(read_host_keys, "/proc/keys")
READ(read_timers, "/proc/timer_list")
OPEN_WRITE(write_core_pattern, "/proc/sys/kernel/core_pattern")
OPEN_WRITE(write_modprobe, "/proc/sys/kernel/modprobe")
OPEN_WRITE(write_sysrq, "/proc/sysrq-trigger")
OPEN_WRITE(write_host_name, "/proc/sys/kernel/hostname")
OPEN_WRITE(write_forwarding, "/proc/sys/net/ipv4/ip_forward")
OPEN_WRITE(write_overcommit, "/proc/sys/vm/overcommit_memory")
OPEN_WRITE(write_uevent_helper, "/sys/kernel/uevent_helper")
OPEN_WRITE(write_power_state, "/sys/power/state")

/* Addresses are zero for those who may not see them. */
static void read_kernel_addresses(const struct canaries *canaries, struct outcome *outcome)
{
        const char *text = slurp("/proc/kallsyms");

        (void)canaries;
        if (!text)
                judge(outcome, -1);
        else if (strtoull(text, NULL, 16) != 0)
                succeeded(outcome, "/proc/kallsyms tells addresses");
        else
                refused(outcome, "/proc/kallsyms tells no addresses");
}

/* ---- cgroups ---- */

#define CGROUP_FILES(function, file, text)                                             \
        static void function(const struct canaries *canaries, struct outcome *outcome) \
        {                                                                              \
                (void)canaries;                                                        \
                write_cgroup_file(file, text, outcome);                                \
        }

/* In the root of each hierarchy, wherever one may be. */
static void write_cgroup_file(const char *file, const char *text, struct outcome *outcome)
{
        static const char *const roots[] = {
                "/sys/fs/cgroup",         "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory",
                "/sys/fs/cgroup/pids",    "/sys/fs/cgroup/cpu",     "/sys/fs/cgroup/freezer",
                "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/devices", "/sys/fs/cgroup/cpuacct"};

        for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
                char path[256];

                snprintf(path, sizeof(path), "%s/%s", roots[i], file);
                if ((text ? try_write(path, text) : try_open_write(path)) == 0) {
                        succeeded(outcome, "wrote %s", path);
                        return;
                }
        }
        judge(outcome, -1);
}

CGROUP_FILES(cgroup_leave, "cgroup.procs", "0")
CGROUP_FILES(cgroup_leave_task, "tasks", "0")
CGROUP_FILES(cgroup_release_agent, "release_agent", NULL)
CGROUP_FILES(cgroup_limit, "memory.limit_in_bytes", NULL)

const struct attempt kernel_attempts[] = {
        {"key-add", "add_key", key_add},
        {"key-control", "keyctl", key_control},
        {"key-request", "request_key", key_request},
        {"bpf-map", "make a BPF map", bpf_map},
        {"bpf-program", "load a BPF program", bpf_program},
        {"userfaultfd", "userfaultfd", user_fault},
        {"io-uring", "io_uring_setup", io_ring},
        {"perf-event", "perf_event_open", performance},
        {"fanotify", "fanotify_init", fanotify},
        {"kexec", "kexec_load", kexec},
        {"kexec-file", "kexec_file_load", kexec_file},
        {"module-load", "init_module", module_load},
        {"module-load-file", "finit_module", module_load_file},
        {"module-remove", "delete_module", module_remove},
        {"randomization", "personality(ADDR_NO_RANDOMIZE)", randomization},
        {"modify-ldt", "modify_ldt", local_descriptor_table},
        {"entry-ia32", "a system call by int 0x80", entry_ia32},
        {"entry-x32", "a system call by an x32 number", entry_x32},
        {"terminal-input", "put a byte into a terminal's input (TIOCSTI)", terminal_input},
        {"read-kcore", "read /proc/kcore", read_kcore},
        {"read-command-line", "read the kernel's /proc/cmdline", read_command_line},
        {"read-kmsg", "read /proc/kmsg", read_kmsg},
        {"read-kpagecount", "read /proc/kpagecount", read_pagemap_counts},
        {"read-keys", "read /proc/keys", read_host_keys},
        {"read-timer-list", "read /proc/timer_list", read_timers},
        {"read-kallsyms", "read kernel addresses from /proc/kallsyms", read_kernel_addresses},
        {"write-core-pattern", "open core_pattern for writing", write_core_pattern},
        {"write-modprobe", "open kernel.modprobe for writing", write_modprobe},
        {"write-sysrq", "open sysrq-trigger for writing", write_sysrq},
        {"write-host-name", "open kernel.hostname for writing", write_host_name},
        {"write-forwarding", "open net.ipv4.ip_forward for writing", write_forwarding},
        {"write-overcommit", "open vm.overcommit_memory for writing", write_overcommit},
        {"write-uevent-helper", "open uevent_helper for writing", write_uevent_helper},
        {"write-power-state", "open /sys/power/state for writing", write_power_state},
        {"cgroup-leave", "move to the root cgroup by cgroup.procs", cgroup_leave},
        {"cgroup-leave-task", "move to the root cgroup by tasks", cgroup_leave_task},
        {"cgroup-release-agent", "open a release_agent for writing", cgroup_release_agent},
        {"cgroup-limit", "open a memory limit for writing", cgroup_limit},
        {NULL, NULL, NULL},
};
