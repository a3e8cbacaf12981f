/* drivers/kernel/seccomp*.c: the table against its golden copy, and the compiled filter against
 * calls, by running it in a small interpreter of classic BPF; no privilege is needed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/seccomp.h"
#include "drivers/kernel/seccomp_list.h"

#define GOLDEN     BH_SOURCE_DIR "/tests/golden/drivers/seccomp.txt"
#define GOLDEN_MAX ((size_t)64 << 10)

static struct bh_seccomp_program program;

/* ---- the table ---- */

static int by_name(const void *a, const void *b)
{
        return strcmp((*(const struct bh_seccomp_entry *const *)a)->name,
                      (*(const struct bh_seccomp_entry *const *)b)->name);
}

static char *render_table(void)
{
        const struct bh_seccomp_entry *sorted[1024];
        size_t count = 0, used = 0;
        char *text = bh_alloc(GOLDEN_MAX);

        for (const struct bh_seccomp_entry *entry = bh_seccomp_list; entry->name; entry++)
                sorted[count++] = entry;
        qsort(sorted, count, sizeof(sorted[0]), by_name);
        for (size_t i = 0; i < count; i++) {
                if (i > 0)
                        assert_string_not_equal(sorted[i]->name, sorted[i - 1]->name);
                used += (size_t)snprintf(text + used, GOLDEN_MAX - used, "%s: %s\n",
                                         sorted[i]->name,
                                         bh_seccomp_condition_text(sorted[i]->condition));
        }
        return text;
}

static void test_table_is_the_reviewed_one(void **state)
{
        _cleanup_free_ char *golden = NULL, *seen = render_table();
        struct bh_error error;

        (void)state;
        if (getenv("BULKHEAD_GOLDEN_UPDATE"))
                assert_int_equal(
                        bh_write_file_atomic(AT_FDCWD, GOLDEN, seen, strlen(seen), 0644, &error),
                        0);
        assert_int_equal(bh_read_file(AT_FDCWD, GOLDEN, GOLDEN_MAX, &golden, NULL, &error), 0);
        assert_string_equal(seen, golden);
}

static void test_numbers_agree_with_libseccomp(void **state)
{
        (void)state;
        for (const struct bh_seccomp_entry *entry = bh_seccomp_list; entry->name; entry++) {
                int number = seccomp_syscall_resolve_name(entry->name);

                if (entry->number > 0 && number != __NR_SCMP_ERROR)
                        assert_int_equal(number, entry->number);
                if (entry->number == 0 && number == __NR_SCMP_ERROR)
                        fail_msg("%s is unknown to libseccomp and has no number", entry->name);
                assert_true(number <= BH_SECCOMP_NEWEST);
        }
}

/* ---- the filter ---- */

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
        uint32_t word;

        assert_true(offset + sizeof(word) <= sizeof(*data));
        memcpy(&word, (const char *)data + offset, sizeof(word));
        return word;
}

/* The instructions that libseccomp and our head use (bpf(4)); another one fails the test. */
static uint32_t run_filter(const struct seccomp_data *data)
{
        uint32_t accumulator = 0;

        for (size_t i = 0; i < program.count; i++) {
                const struct sock_filter *step = &program.instructions[i];
                bool jump = false;

                switch (step->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        accumulator = load(data, step->k);
                        continue;
                case BPF_ALU | BPF_AND | BPF_K:
                        accumulator &= step->k;
                        continue;
                case BPF_RET | BPF_K:
                        return step->k;
                case BPF_JMP | BPF_JA:
                        i += step->k;
                        continue;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        jump = accumulator == step->k;
                        break;
                case BPF_JMP | BPF_JGT | BPF_K:
                        jump = accumulator > step->k;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        jump = accumulator >= step->k;
                        break;
                case BPF_JMP | BPF_JSET | BPF_K:
                        jump = (accumulator & step->k) != 0;
                        break;
                default:
                        fail_msg("instruction %zu has code %x", i, step->code);
                }
                i += jump ? step->jt : step->jf;
        }
        fail_msg("the filter does not return");
        return 0;
}

static uint32_t ask(long number, uint64_t a, uint64_t b, uint64_t c)
{
        struct seccomp_data data = {
                .nr = (int)number, .arch = seccomp_arch_native(), .args = {a, b, c, 0, 0, 0}};

        return run_filter(&data);
}

#define ALLOWED     SECCOMP_RET_ALLOW
#define REFUSED     (SECCOMP_RET_ERRNO | EPERM)
#define UNSUPPORTED (SECCOMP_RET_ERRNO | ENOSYS)
#define JUNK        0xdead000000000000ULL /* in the half that the kernel does not look at */

static void test_plain_calls(void **state)
{
        static const long allowed[] = {SYS_read,    SYS_write,   SYS_execve,  SYS_exit_group,
                                       SYS_openat,  SYS_mmap,    SYS_futex,   SYS_wait4,
                                       SYS_setsid,  SYS_connect, SYS_recvmsg, SYS_sendto,
                                       SYS_seccomp, SYS_statx,   452};
        static const long refused[] = {SYS_mount,
                                       SYS_umount2,
                                       SYS_pivot_root,
                                       SYS_chroot,
                                       SYS_unshare,
                                       SYS_setns,
                                       SYS_fsopen,
                                       SYS_fsconfig,
                                       SYS_fsmount,
                                       SYS_fspick,
                                       SYS_open_tree,
                                       SYS_move_mount,
                                       SYS_mount_setattr,
                                       SYS_ptrace,
                                       SYS_process_vm_readv,
                                       SYS_process_vm_writev,
                                       SYS_kcmp,
                                       SYS_pidfd_getfd,
                                       SYS_bpf,
                                       SYS_perf_event_open,
                                       SYS_userfaultfd,
                                       SYS_io_uring_setup,
                                       SYS_io_uring_enter,
                                       SYS_io_uring_register,
                                       SYS_keyctl,
                                       SYS_add_key,
                                       SYS_request_key,
                                       SYS_open_by_handle_at,
                                       SYS_name_to_handle_at,
                                       SYS_fanotify_init,
                                       SYS_syslog,
                                       SYS_kexec_load,
                                       SYS_init_module,
                                       SYS_finit_module,
                                       SYS_delete_module,
                                       SYS_reboot,
                                       SYS_swapon,
                                       SYS_acct,
                                       SYS_quotactl,
                                       SYS_sethostname,
                                       SYS_setdomainname,
                                       SYS_clock_settime,
                                       SYS_settimeofday,
                                       SYS_adjtimex,
                                       SYS_sync,
                                       SYS_syncfs,
                                       SYS_io_setup,
                                       SYS_io_submit,
                                       SYS_move_pages,
                                       SYS_migrate_pages,
                                       SYS_vhangup,
                                       467 /* open_tree_attr */};

        (void)state;
        for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
                if (ask(allowed[i], 0, 0, 0) != ALLOWED)
                        fail_msg("call %ld is not allowed", allowed[i]);
        }
        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
                if (ask(refused[i], 0, 0, 0) != REFUSED)
                        fail_msg("call %ld is not refused", refused[i]);
        }
}

static void test_unknown_calls_are_unsupported(void **state)
{
        (void)state;
        assert_int_equal(ask(SYS_clone3, 0, 0, 0), UNSUPPORTED);
        assert_int_equal(ask(BH_SECCOMP_NEWEST + 1, 0, 0, 0), UNSUPPORTED);
        assert_int_equal(ask(100000, 0, 0, 0), UNSUPPORTED);
}

static void test_other_architectures_die(void **state)
{
        struct seccomp_data data = {.nr = SYS_read, .arch = AUDIT_ARCH_I386};

        (void)state;
        assert_int_equal(run_filter(&data), SECCOMP_RET_KILL_PROCESS);
#ifdef __x86_64__
        data = (struct seccomp_data){.nr = 0x40000000 | SYS_read, .arch = AUDIT_ARCH_X86_64};
        assert_int_equal(run_filter(&data), SECCOMP_RET_KILL_PROCESS);
        data.nr = 0x40000000 | SYS_ioctl;
        assert_int_equal(run_filter(&data), SECCOMP_RET_KILL_PROCESS);
#endif
}

static void test_clone_makes_no_namespace(void **state)
{
        static const uint64_t namespaces[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
                                              CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
                                              CLONE_NEWNET};

        (void)state;
        assert_int_equal(ask(SYS_clone, CLONE_VM | CLONE_FILES | CLONE_THREAD, 0, 0), ALLOWED);
        assert_int_equal(ask(SYS_clone, 17, 0, 0), ALLOWED);
        for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
                assert_int_equal(ask(SYS_clone, namespaces[i] | 17, 0, 0), REFUSED);
                assert_int_equal(ask(SYS_clone, JUNK | namespaces[i], 0, 0), REFUSED);
        }
}

static void test_sockets(void **state)
{
        static const struct {
                uint64_t family, type, protocol;
                uint32_t answer;
        } cases[] = {
                {AF_UNIX, SOCK_STREAM, 0, ALLOWED},
                {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ALLOWED},
                {AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ALLOWED},
                {AF_INET, SOCK_STREAM, 6, ALLOWED},
                {AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, ALLOWED},
                {AF_INET6, SOCK_STREAM, 6, ALLOWED},
                {AF_INET, SOCK_DGRAM, 0, ALLOWED},
                {AF_INET, SOCK_STREAM, 132, REFUSED},  /* SCTP */
                {AF_INET6, SOCK_STREAM, 256, REFUSED}, /* SMC */
                {AF_INET, SOCK_STREAM, 262, REFUSED},  /* MPTCP */
                {AF_INET, SOCK_DGRAM, 136, REFUSED},   /* UDP-Lite */
                {AF_INET, SOCK_DGRAM, 115, REFUSED},   /* L2TP */
                {AF_INET, SOCK_DGRAM, 1, REFUSED},     /* ICMP */
                {AF_INET6, SOCK_DGRAM, 17, ALLOWED},
                {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE, REFUSED},
                {AF_INET, SOCK_RAW, 1, REFUSED},
                {AF_INET6, SOCK_RAW, 58, REFUSED},
                {AF_INET, SOCK_PACKET, 0, REFUSED},
                {AF_INET, SOCK_SEQPACKET, 132, REFUSED},
                {AF_UNIX, SOCK_RAW, 0, REFUSED},
                {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER, REFUSED},
                {AF_NETLINK, SOCK_RAW, NETLINK_AUDIT, REFUSED},
                {AF_PACKET, SOCK_DGRAM, 0, REFUSED},
                {AF_ALG, SOCK_SEQPACKET, 0, REFUSED},
                {AF_VSOCK, SOCK_STREAM, 0, REFUSED},
                {JUNK | AF_VSOCK, SOCK_STREAM, 0, REFUSED},
                {JUNK | AF_INET, JUNK | SOCK_RAW, 0, REFUSED},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                uint32_t answer =
                        ask(SYS_socket, cases[i].family, cases[i].type, cases[i].protocol);

                if (answer != cases[i].answer)
                        fail_msg("case %zu: %x", i, answer);
        }
        assert_int_equal(ask(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0), ALLOWED);
        assert_int_equal(ask(SYS_socketpair, AF_TIPC, SOCK_STREAM, 0), REFUSED);
}

static void test_ioctl_requests(void **state)
{
        (void)state;
        assert_int_equal(ask(SYS_ioctl, 0, TCGETS, 0), ALLOWED);
        assert_int_equal(ask(SYS_ioctl, 0, FIONREAD, 0), ALLOWED);
        assert_int_equal(ask(SYS_ioctl, 0, TIOCSTI, 0), REFUSED);
        assert_int_equal(ask(SYS_ioctl, 0, TIOCLINUX, 0), REFUSED);
        assert_int_equal(ask(SYS_ioctl, 0, SIOCGIFCONF, 0), ALLOWED);
        assert_int_equal(ask(SYS_ioctl, 0, SIOCBRADDBR, 0), REFUSED);
        assert_int_equal(ask(SYS_ioctl, 0, SIOCSIFVLAN, 0), REFUSED);
        /* The high half is where comparisons of 64 bits are fooled. */
        assert_int_equal(ask(SYS_ioctl, 0, JUNK | TIOCSTI, 0), REFUSED);
        assert_int_equal(ask(SYS_ioctl, 0, JUNK | TIOCLINUX, 0), REFUSED);
}

static void test_socket_options(void **state)
{
        (void)state;
        assert_int_equal(ask(SYS_setsockopt, 3, SOL_SOCKET, SO_REUSEADDR), ALLOWED);
        assert_int_equal(ask(SYS_setsockopt, 3, IPPROTO_IPV6, 26 /* IPV6_V6ONLY */), ALLOWED);
        assert_int_equal(ask(SYS_setsockopt, 3, SOL_SOCKET, SO_ATTACH_FILTER), REFUSED);
        assert_int_equal(ask(SYS_setsockopt, 3, SOL_SOCKET, SO_ATTACH_BPF), REFUSED);
        assert_int_equal(ask(SYS_setsockopt, 3, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF), REFUSED);
        assert_int_equal(ask(SYS_setsockopt, 3, IPPROTO_TCP, TCP_NODELAY), ALLOWED);
        assert_int_equal(ask(SYS_setsockopt, 3, IPPROTO_TCP, TCP_MD5SIG), REFUSED);
        assert_int_equal(ask(SYS_setsockopt, 3, IPPROTO_IP, IP_TOS), ALLOWED);
        assert_int_equal(ask(SYS_setsockopt, 3, IPPROTO_IP, IP_ADD_MEMBERSHIP), REFUSED);
        assert_int_equal(ask(SYS_setsockopt, 3, IPPROTO_IPV6, IPV6_JOIN_GROUP), REFUSED);
        assert_int_equal(ask(SYS_setsockopt, 3, JUNK | SOL_SOCKET, JUNK | SO_ATTACH_FILTER),
                         REFUSED);
}

static void test_no_more_filters(void **state)
{
        const uint32_t not_built_in = SECCOMP_RET_ERRNO | EINVAL;

        (void)state;
        assert_int_equal(ask(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0), not_built_in);
        assert_int_equal(ask(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, 0), ALLOWED);
        assert_int_equal(ask(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0), not_built_in);
        assert_int_equal(ask(SYS_prctl, JUNK | PR_SET_SECCOMP, JUNK | SECCOMP_MODE_FILTER, 0),
                         not_built_in);
        assert_int_equal(ask(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0), ALLOWED);
        assert_int_equal(ask(SYS_prctl, PR_SET_NAME, SECCOMP_MODE_FILTER, 0), ALLOWED);
}

static void test_huge_pages(void **state)
{
        struct seccomp_data data = {.nr = SYS_mmap, .arch = seccomp_arch_native()};

        (void)state;
        data.args[3] = MAP_PRIVATE | MAP_ANONYMOUS;
        assert_int_equal(run_filter(&data), ALLOWED);
        data.args[3] = JUNK | MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
        assert_int_equal(run_filter(&data), REFUSED);
        assert_int_equal(ask(SYS_memfd_create, 0, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0), ALLOWED);
        assert_int_equal(ask(SYS_memfd_create, 0, MFD_HUGETLB, 0), REFUSED);
        assert_int_equal(ask(SYS_shmget, 0, 4096, IPC_CREAT | 0600), ALLOWED);
        assert_int_equal(ask(SYS_shmget, 0, 4096, IPC_CREAT | SHM_HUGETLB), REFUSED);
}

/* Where core dumps are piped to a program of the host, 1 is what keeps it from being started. */
static void test_core_limit_stays(void **state)
{
        struct seccomp_data data = {.nr = SYS_prlimit64, .arch = seccomp_arch_native()};
        const uint32_t unchanged = SECCOMP_RET_ERRNO;

        (void)state;
        assert_int_equal(ask(SYS_setrlimit, RLIMIT_CORE, 1, 0), unchanged);
        assert_int_equal(ask(SYS_setrlimit, JUNK | RLIMIT_CORE, 1, 0), unchanged);
        assert_int_equal(ask(SYS_setrlimit, RLIMIT_NOFILE, 1, 0), ALLOWED);
        assert_int_equal(ask(SYS_getrlimit, RLIMIT_CORE, 1, 0), ALLOWED);
        assert_int_equal(ask(SYS_prlimit64, 0, RLIMIT_CORE, 0), ALLOWED);
        assert_int_equal(ask(SYS_prlimit64, 0, RLIMIT_CORE, 0x100000000), unchanged);
        assert_int_equal(ask(SYS_prlimit64, 0, JUNK | RLIMIT_CORE, 1), unchanged);
        assert_int_equal(ask(SYS_prlimit64, 0, RLIMIT_NOFILE, 1), ALLOWED);
        data.args[1] = RLIMIT_CORE;
        data.args[2] = data.args[3] = 1;
        assert_int_equal(run_filter(&data), REFUSED);
}

static void test_personality_and_nodes(void **state)
{
        (void)state;
        assert_int_equal(ask(SYS_personality, 0, 0, 0), ALLOWED);
        assert_int_equal(ask(SYS_personality, 0xffffffff, 0, 0), ALLOWED);
        assert_int_equal(ask(SYS_personality, 0x0040000, 0, 0), REFUSED); /* no ASLR */
        assert_int_equal(ask(SYS_personality, 0x0000008, 0, 0), REFUSED); /* 32 bits */
        assert_int_equal(ask(SYS_mknodat, 0, 0, S_IFIFO | 0600), ALLOWED);
        assert_int_equal(ask(SYS_mknodat, 0, 0, S_IFSOCK | 0600), ALLOWED);
        assert_int_equal(ask(SYS_mknodat, 0, 0, 0600), ALLOWED);
        assert_int_equal(ask(SYS_mknodat, 0, 0, S_IFCHR | 0600), REFUSED);
        assert_int_equal(ask(SYS_mknodat, 0, 0, JUNK | S_IFBLK | 0600), REFUSED);
}

static void test_file_keeps_the_program(void **state)
{
        char path[] = "/tmp/bulkhead-seccomp-XXXXXX";
        _cleanup_close_ int fd = mkstemp(path);
        struct bh_seccomp_program read_back;
        struct bh_error error;

        (void)state;
        assert_true(fd >= 0);
        assert_int_equal(bh_seccomp_read(path, &read_back, &error), -1); /* empty */
        assert_int_equal(bh_seccomp_save(&program, path, &error), 0);
        assert_int_equal(bh_seccomp_read(path, &read_back, &error), 0);
        assert_string_equal(read_back.digest, program.digest);
        assert_int_equal(strncmp(read_back.digest, "sha256:", 7), 0);
        assert_int_equal(read_back.count, program.count);
        assert_memory_equal(read_back.instructions, program.instructions,
                            program.count * sizeof(struct sock_filter));
        bh_seccomp_clear(&read_back);
        unlink(path);
}

static int compile(void **state)
{
        struct bh_error error;

        (void)state;
        if (bh_seccomp_compile(&program, &error) == 0)
                return 0;
        print_error("%s\n", error.message);
        return -1;
}

static int clear(void **state)
{
        (void)state;
        bh_seccomp_clear(&program);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table_is_the_reviewed_one),
                cmocka_unit_test(test_numbers_agree_with_libseccomp),
                cmocka_unit_test(test_plain_calls),
                cmocka_unit_test(test_unknown_calls_are_unsupported),
                cmocka_unit_test(test_other_architectures_die),
                cmocka_unit_test(test_clone_makes_no_namespace),
                cmocka_unit_test(test_sockets),
                cmocka_unit_test(test_ioctl_requests),
                cmocka_unit_test(test_socket_options),
                cmocka_unit_test(test_no_more_filters),
                cmocka_unit_test(test_huge_pages),
                cmocka_unit_test(test_core_limit_stays),
                cmocka_unit_test(test_personality_and_nodes),
                cmocka_unit_test(test_file_keeps_the_program),
        };

        return cmocka_run_group_tests(tests, compile, clear);
}
