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
};

/* Compiles the list for this machine. */
int bh_seccomp_compile(struct bh_seccomp_program *ret, struct bh_error *error);

/* Writes and reads a program's file: its instructions as the kernel takes them, no header. */
int bh_seccomp_save(const struct bh_seccomp_program *program, const char *path,
                    struct bh_error *error);
int bh_seccomp_read(const char *path, struct bh_seccomp_program *ret, struct bh_error *error);

/* Puts the filter on the calling thread, for ever. Needs no_new_privs. Async-signal-safe;
 * 0 or -errno. */
int bh_seccomp_load(const struct bh_seccomp_program *program);

/* "sha256:…" of the instructions: what evidence names the filter by. */
void bh_seccomp_digest(const struct bh_seccomp_program *program, char ret[BH_DIGEST_TEXT_SIZE]);

/* How many calls the list lets through on this machine. */
size_t bh_seccomp_rule_count(void);

void bh_seccomp_clear(struct bh_seccomp_program *program);

#endif
