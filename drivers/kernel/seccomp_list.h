/* The system calls that a workload may make, as one readable table, and the conditions that
 * some of them carry. Read by seccomp.c, which compiles it; shared by the drivers whose
 * workload runs on the host's kernel. tests/golden/drivers/seccomp.txt is its reviewed copy. */
#ifndef BULKHEAD_DRIVERS_KERNEL_SECCOMP_LIST_H
#define BULKHEAD_DRIVERS_KERNEL_SECCOMP_LIST_H

#include <stddef.h>
#include <stdint.h>

/* The last number that this list was checked against (Linux 6.18, file_setattr). Calls after
 * it, and clone3, are answered with ENOSYS so that libraries fall back; all others that the
 * table does not name, with EPERM. */
#define BH_SECCOMP_NEWEST 469

enum bh_seccomp_condition {
        BH_SECCOMP_ALWAYS,
        BH_SECCOMP_CLONE,  /* no CLONE_NEW* flag */
        BH_SECCOMP_SOCKET, /* unix; inet and inet6 for TCP and UDP. Queues of netlink count nowhere
                            */
        BH_SECCOMP_SOCKETPAIR,  /* unix only */
        BH_SECCOMP_PERSONALITY, /* the default one, or asking */
        BH_SECCOMP_MKNOD,       /* regular files, fifos and sockets */
        BH_SECCOMP_MKNODAT,
        BH_SECCOMP_IOCTL,      /* neither into a terminal nor what loads a module of the network */
        BH_SECCOMP_FILTER,     /* no more filters, for the same reason as below */
        BH_SECCOMP_SETSOCKOPT, /* nothing that takes the kernel's memory and counts nowhere */
        BH_SECCOMP_MMAP,       /* no page of the huge page pool, which no memory limit counts */
        BH_SECCOMP_MEMFD,
        BH_SECCOMP_SHMGET,
        BH_SECCOMP_SETRLIMIT, /* RLIMIT_CORE stays; asking for another is answered with success */
        BH_SECCOMP_PRLIMIT,
};

struct bh_seccomp_entry {
        const char *name;
        enum bh_seccomp_condition condition;
        int number; /* where libseccomp may not know the name yet (the same everywhere), or 0 */
};

/* Ends with a NULL name. A name that the machine's architecture has not is left out. */
extern const struct bh_seccomp_entry bh_seccomp_list[];

#define BH_SECCOMP_COMPARES 3

/* One alternative under which a call with such a condition is let through: each argument, masked,
 * has its value. Ends with a NULL name. Where a condition has none here, seccomp.c has it. */
struct bh_seccomp_alternative {
        const char *name;
        unsigned count;
        struct {
                unsigned argument;
                uint64_t mask, value;
        } compare[BH_SECCOMP_COMPARES];
};

extern const struct bh_seccomp_alternative bh_seccomp_alternatives[];

/* For people: the reviewed list (tests/golden/drivers/seccomp.txt) shows it. */
const char *bh_seccomp_condition_text(enum bh_seccomp_condition condition);

#endif
