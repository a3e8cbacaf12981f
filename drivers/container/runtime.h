/* The OCI runtimes that this driver knows: which serve a tier, where they are, what of their
 * versions is unsafe, and how each is called. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_RUNTIME_H
#define BULKHEAD_DRIVERS_CONTAINER_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/tier.h"

#define BH_RUNTIME_WORDS_MAX 16

/* One way to run a container; `name` is what the choice of a host is stored as. */
struct bh_runtime {
        const char *name;
        const char *program;
        const char *platform; /* runsc's; NULL for others */
        enum bh_tier tier;
        int patience_s; /* until the workload's process is ready; then it hangs */
};

/* In order of preference; ends with a NULL name. */
extern const struct bh_runtime bh_runtimes[];

const struct bh_runtime *bh_runtime_by_name(const char *name);

/* Absolute path of a program in one of directories (NULL: the host's usual ones), or NULL. Caller
 * frees. */
char *bh_runtime_find(const char *program, const char *const directories[]);

/* What `program --version` prints, within a second. Caller frees. */
int bh_runtime_ask_version(const char *path, char **ret, struct bh_error *error);

/* The version as people write it, from that text: "1.1.5+ds1-1+deb12u1" where the program says
 * what package it is, else upstream's. Caller frees; NULL when there is none in it. */
char *bh_runtime_version(const char *text);

/* Judges a program by that text: BH_ERROR_UNAVAILABLE with the reason when known to be unsafe.
 * docs/drivers-container.md has the reasoning. */
int bh_runtime_judge(const char *program, const char *text, struct bh_error *error);

/* What does not work in a version that is safe, for people; NULL when nothing is known. */
const char *bh_runtime_flaw(const char *program, const char *version);

/* Fills argv (NULL-terminated) for running container `id` from the places of places.h. The words
 * are the runtime's or id itself. */
void bh_runtime_words(const struct bh_runtime *runtime, const char *path, const char *id,
                      const char *ret[BH_RUNTIME_WORDS_MAX]);

#endif
