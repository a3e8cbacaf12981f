/* Compiling, keeping and loading the seccomp filter; see seccomp.h. */
#include "drivers/kernel/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "drivers/kernel/seccomp_list.h"

#define DIRECTORY_MODE      0700
#define X32_BIT             0x40000000U
#define LOW_32_BITS         0xffffffffU
#define TCP_MD5SIG_EXTENDED 32U /* linux/tcp.h */
#define TCP_KEYS            38U /* TCP_AO_ADD_KEY, linux/tcp.h of Linux 6.7 */
#define PROGRAM_MAX         BPF_MAXINSNS
#define FILE_MAX            (BH_DIGEST_TEXT_SIZE + PROGRAM_MAX * sizeof(struct sock_filter))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_WORD(argument) offsetof(struct seccomp_data, args[argument])
#else
#define LOW_WORD(argument) (offsetof(struct seccomp_data, args[argument]) + 4)
#endif

#define REFUSE                        (SECCOMP_RET_ERRNO | EPERM)
#define UNKNOWN                       (SECCOMP_RET_ERRNO | ENOSYS)
/* "Done", with nothing done: programs that switch core dumps off must not fail. */
#define UNCHANGED                     (SECCOMP_RET_ERRNO | 0)
/* What a kernel without filters says: programs that want one go on without. */
#define NOT_BUILT_IN                  (SECCOMP_RET_ERRNO | EINVAL)

#define MASKED(argument, mask, value) SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, mask, value)
#define IS(argument, value)           MASKED(argument, LOW_32_BITS, value)

static void release_filter(scmp_filter_ctx *filter)
{
        if (*filter)
                seccomp_release(*filter);
}

/* The number of an entry's call on this machine, or a negative one. */
static int resolve(const struct bh_seccomp_entry *entry)
{
        int number = seccomp_syscall_resolve_name(entry->name);

        return number == __NR_SCMP_ERROR && entry->number > 0 ? entry->number : number;
}

size_t bh_seccomp_rule_count(void)
{
        size_t count = 0;

        for (const struct bh_seccomp_entry *entry = bh_seccomp_list; entry->name; entry++)
                count += resolve(entry) >= 0;
        return count;
}

static int add_conditional(scmp_filter_ctx filter, const char *name, int number)
{
        const struct bh_seccomp_alternative *alternative = bh_seccomp_alternatives;
        int result = -EINVAL; /* a condition without an alternative is a fault of the table */

        for (; alternative->name; alternative++) {
                struct scmp_arg_cmp compare[BH_SECCOMP_COMPARES];

                if (strcmp(alternative->name, name) != 0)
                        continue;
                for (unsigned i = 0; i < alternative->count; i++)
                        compare[i] =
                                MASKED(alternative->compare[i].argument,
                                       alternative->compare[i].mask, alternative->compare[i].value);
                result = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, alternative->count,
                                                compare);
                if (result < 0)
                        break;
        }
        return result;
}

/* RLIMIT_CORE may be asked for, and told: see UNCHANGED. Told and asked for at once is refused,
 * for then there would be something to fill in. */
static int add_prlimit(scmp_filter_ctx filter, int number)
{
        int result = 0;

        for (unsigned resource = 0; resource < RLIM_NLIMITS && result == 0; resource++) {
                if (resource != RLIMIT_CORE)
                        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1,
                                                  IS(1, resource));
        }
        if (result == 0)
                result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 2, IS(1, RLIMIT_CORE),
                                          SCMP_CMP(2, SCMP_CMP_EQ, 0, 0));
        if (result == 0)
                result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), number, 3, IS(1, RLIMIT_CORE),
                                          SCMP_CMP(2, SCMP_CMP_NE, 0, 0),
                                          SCMP_CMP(3, SCMP_CMP_EQ, 0, 0));
        return result;
}

/* Those whose exceptions are in the head, below. */
static bool is_plain(enum bh_seccomp_condition condition)
{
        return condition == BH_SECCOMP_ALWAYS || condition == BH_SECCOMP_IOCTL ||
               condition == BH_SECCOMP_SETSOCKOPT || condition == BH_SECCOMP_SETRLIMIT ||
               condition == BH_SECCOMP_FILTER;
}

static int add_rules(scmp_filter_ctx filter, struct bh_error *error)
{
        int clone3 = seccomp_syscall_resolve_name("clone3");

        for (const struct bh_seccomp_entry *entry = bh_seccomp_list; entry->name; entry++) {
                int number = resolve(entry), result;

                if (number < 0)
                        continue;
                if (is_plain(entry->condition))
                        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
                else if (entry->condition == BH_SECCOMP_PRLIMIT)
                        result = add_prlimit(filter, number);
                else
                        result = add_conditional(filter, entry->name, number);
                if (result < 0)
                        return bh_error_errno(error, -result, "seccomp rule for %s", entry->name);
        }
        /* Its flags are in memory, where a filter cannot look: let libc fall back to clone. */
        if (clone3 >= 0 && seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), clone3, 0) < 0)
                return bh_error_set(error, BH_ERROR_INTERNAL, "seccomp rule for clone3");
        return 0;
}

/* Calls that are let through but for some values of an argument. Compared by low half only:
 * libseccomp's SCMP_CMP_NE looks at 64 bits, so that a stray high bit would pass. */
static const struct exception {
        unsigned number;
        int condition; /* an argument that must have `value` for this to count, or -1 */
        unsigned value;
        unsigned argument;
        unsigned refused[8]; /* of that argument; up to a 0 */
        unsigned answer;
} exceptions[] = {
        {SYS_ioctl,
         -1,
         0,
         1,
         {TIOCSTI, TIOCLINUX, SIOCGIFBR, SIOCSIFBR, SIOCBRADDBR, SIOCBRDELBR, SIOCGIFVLAN,
          SIOCSIFVLAN},
         REFUSE},
        {SYS_setsockopt,
         1,
         SOL_SOCKET,
         2,
         {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF},
         REFUSE},
        {SYS_setsockopt,
         1,
         IPPROTO_IP,
         2,
         {IP_ADD_MEMBERSHIP, IP_ADD_SOURCE_MEMBERSHIP, IP_BLOCK_SOURCE, IP_MSFILTER,
          MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP, MCAST_BLOCK_SOURCE, MCAST_MSFILTER},
         REFUSE},
        {SYS_setsockopt,
         1,
         IPPROTO_IPV6,
         2,
         {IPV6_JOIN_GROUP, IPV6_JOIN_ANYCAST, MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP,
          MCAST_BLOCK_SOURCE, MCAST_MSFILTER},
         REFUSE},
        {SYS_setsockopt, 1, IPPROTO_TCP, 2, {TCP_MD5SIG, TCP_MD5SIG_EXTENDED, TCP_KEYS}, REFUSE},
        {SYS_setrlimit, -1, 0, 0, {RLIMIT_CORE}, UNCHANGED},
        {SYS_seccomp, -1, 0, 0, {SECCOMP_SET_MODE_FILTER}, NOT_BUILT_IN},
        {SYS_prctl, 0, PR_SET_SECCOMP, 1, {SECCOMP_MODE_FILTER}, NOT_BUILT_IN},
};

#define EXCEPTIONS      (sizeof(exceptions) / sizeof(exceptions[0]))
#define REFUSED_MAX     (sizeof(exceptions[0].refused) / sizeof(exceptions[0].refused[0]))
#define PREFIX_LENGTH   6U
#define EXCEPTION_FIXED 4U /* is it this call, load, go on, answer */

static unsigned refused_count(const struct exception *exception)
{
        unsigned count = 0;

        while (count < REFUSED_MAX && exception->refused[count] != 0)
                count++;
        return count;
}

/* Whether an exception is of the same call as the one before it. */
static bool is_another(size_t index)
{
        return index > 0 && index < EXCEPTIONS &&
               exceptions[index].number == exceptions[index - 1].number;
}

static unsigned exception_length(size_t index)
{
        const struct exception *exception = &exceptions[index];

        return EXCEPTION_FIXED + (is_another(index) ? 1 : 0) + (exception->condition >= 0 ? 2 : 0) +
               refused_count(exception);
}

/* Writes one exception. The accumulator holds the call's number, also after it when the call is
 * another one; `rest` is how many instructions of the head follow it. */
static void write_exception(struct sock_filter *to, size_t index, unsigned rest)
{
        const struct exception *exception = &exceptions[index];
        unsigned count = refused_count(exception);
        unsigned after = EXCEPTION_FIXED - 1 + (exception->condition >= 0 ? 2 : 0) + count;

        if (is_another(index))
                *to++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                     offsetof(struct seccomp_data, nr));
        *to++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, exception->number, 0,
                                             (unsigned char)after);
        if (exception->condition >= 0) {
                *to++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                     (unsigned)LOW_WORD(exception->condition));
                /* To the way on. */
                *to++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, exception->value, 0,
                                                     (unsigned char)(1 + count));
        }
        *to++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             (unsigned)LOW_WORD(exception->argument));
        for (unsigned i = 0; i < count; i++)
                *to++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                     exception->refused[i],
                                                     (unsigned char)(count - i), 0);
        /* On to the next exception of this call, or to the body. */
        *to++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA,
                                             1 + (is_another(index + 1) ? 0 : rest), 0, 0);
        *to++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, exception->answer);
}

/* What libseccomp cannot say, put before what it made: the exceptions, and "newer than N".
 * Whatever is not answered here falls into the body, whose first act is to refuse every other
 * architecture. Returns the head's length. */
static unsigned short write_head(struct sock_filter *head)
{
        unsigned length = PREFIX_LENGTH, done = PREFIX_LENGTH;

        for (size_t i = 0; i < EXCEPTIONS; i++)
                length += exception_length(i);
        {
                const struct sock_filter prefix[PREFIX_LENGTH] = {
                        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 0,
                                 (unsigned char)(length - 2)),
                        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, (unsigned char)(length - 4),
                                 0),
                        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, BH_SECCOMP_NEWEST, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, UNKNOWN),
                };

                memcpy(head, prefix, sizeof(prefix));
        }
        for (size_t i = 0; i < EXCEPTIONS; i++) {
                done += exception_length(i);
                write_exception(head + done - exception_length(i), i, length - done);
        }
        return (unsigned short)length;
}

static void set_digest(struct bh_seccomp_program *program)
{
        char hex[BH_SHA256_HEX_SIZE];

        bh_sha256_hex(program->instructions, program->count * sizeof(struct sock_filter), hex);
        snprintf(program->digest, sizeof(program->digest), "sha256:%s", hex);
}

int bh_seccomp_compile(struct bh_seccomp_program *ret, struct bh_error *error)
{
        _cleanup_(release_filter) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
        _cleanup_close_ int memory = -1;
        _cleanup_free_ struct sock_filter *program = bh_alloc_array(PROGRAM_MAX, sizeof(*program));
        unsigned short head = write_head(program);
        ssize_t size;
        int result;

        if (!filter)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE, "libseccomp: no filter");
        /* A tree by number: a workload's usual call then costs about ten steps, not 300. */
        if (seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) < 0 ||
            seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2) < 0)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE, "libseccomp 2.5 is needed");
        if (add_rules(filter, error) < 0)
                return -1;
        memory = memfd_create("seccomp", MFD_CLOEXEC);
        if (memory < 0)
                return bh_error_errno(error, errno, "memory for the seccomp filter");
        result = seccomp_export_bpf(filter, memory);
        if (result < 0)
                return bh_error_errno(error, -result, "compile the seccomp filter");
        size = bh_pread_full(memory, program + head, (PROGRAM_MAX - head) * sizeof(*program), 0);
        if (size <= 0 || (size_t)size % sizeof(*program) != 0)
                return bh_error_set(error, BH_ERROR_INTERNAL, "seccomp filter of %zd bytes", size);
        ret->count = (unsigned short)(head + (size_t)size / sizeof(*program));
        ret->instructions = bh_steal_ptr(&program);
        set_digest(ret);
        return 0;
}

int bh_seccomp_save(const struct bh_seccomp_program *program, const char *path,
                    struct bh_error *error)
{
        size_t digest = strlen(program->digest), size = program->count * sizeof(struct sock_filter);
        _cleanup_free_ char *data = bh_alloc(digest + 1 + size);

        memcpy(data, program->digest, digest);
        data[digest] = '\n';
        memcpy(data + digest + 1, program->instructions, size);
        return bh_write_file_atomic(AT_FDCWD, path, data, digest + 1 + size, 0600, error);
}

int bh_seccomp_install(const char *path, struct bh_error *error)
{
        _cleanup_free_ char *directory = bh_strndup(path, (size_t)(strrchr(path, '/') - path));
        _cleanup_close_ int made = bh_make_directory(directory, DIRECTORY_MODE, error);
        struct bh_seccomp_program program = {0};
        int result = -1;

        if (made >= 0 && bh_seccomp_compile(&program, error) == 0 && program.instructions)
                result = bh_seccomp_save(&program, path, error);
        bh_seccomp_clear(&program);
        return result;
}

int bh_seccomp_read(const char *path, struct bh_seccomp_program *ret, struct bh_error *error)
{
        _cleanup_free_ char *data = NULL;
        size_t size, digest;

        if (bh_read_file(AT_FDCWD, path, FILE_MAX, &data, &size, error) < 0)
                return -1;
        digest = strcspn(data, "\n");
        if (digest >= sizeof(ret->digest) || size <= digest + 1 ||
            (size - digest - 1) % sizeof(struct sock_filter) != 0)
                return bh_error_set(error, BH_ERROR_INVALID, "%s is not a seccomp filter", path);
        size -= digest + 1;
        memcpy(ret->digest, data, digest);
        ret->digest[digest] = '\0';
        ret->instructions = bh_alloc(size);
        memcpy(ret->instructions, data + digest + 1, size);
        ret->count = (unsigned short)(size / sizeof(struct sock_filter));
        return 0;
}

int bh_seccomp_load(const struct bh_seccomp_program *program)
{
        struct sock_fprog filter = {.len = program->count, .filter = program->instructions};

        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0 ? -errno : 0;
}

void bh_seccomp_clear(struct bh_seccomp_program *program)
{
        free(program->instructions);
        *program = (struct bh_seccomp_program){0};
}
