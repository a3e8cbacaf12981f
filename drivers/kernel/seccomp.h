/* The seccomp filter: compiled once by the broker (libseccomp, from seccomp_list.h) into a
 * file, read by each shim, loaded by the workload's own process. */
#ifndef BULKHEAD_DRIVERS_KERNEL_SECCOMP_H
#define BULKHEAD_DRIVERS_KERNEL_SECCOMP_H

#include <linux/filter.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"

struct bh_seccomp_program {
        struct sock_filter *instructions; /* owned */
        unsigned short count;
        char digest[BH_DIGEST_TEXT_SIZE]; /* "sha256:…" of the instructions: names it in evidence */
};

/* Compiles the list for this machine. */
int bh_seccomp_compile(struct bh_seccomp_program *ret, struct bh_error *error);

/* Compiles the list into the file at an absolute path, its directory (0700) made when missing. */
int bh_seccomp_install(const char *path, struct bh_error *error);

/* Writes and reads a program's file: its digest, a newline, and the instructions as the kernel
 * takes them. Reading does not hash: a shim's first digest would cost more than its boundary. */
int bh_seccomp_save(const struct bh_seccomp_program *program, const char *path,
                    struct bh_error *error);
int bh_seccomp_read(const char *path, struct bh_seccomp_program *ret, struct bh_error *error);

/* Puts the filter on the calling thread, for ever. Needs no_new_privs. Async-signal-safe;
 * 0 or -errno. */
int bh_seccomp_load(const struct bh_seccomp_program *program);

/* How many calls the list lets through on this machine. */
size_t bh_seccomp_rule_count(void);

void bh_seccomp_clear(struct bh_seccomp_program *program);

#endif
