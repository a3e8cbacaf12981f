/* The names in a directory, in the order of their bytes, a bounded number at a time: a workload
 * may have made any number. Called by tree.c. */
#ifndef BULKHEAD_BROKER_FILES_NAMES_H
#define BULKHEAD_BROKER_FILES_NAMES_H

#include <stddef.h>

struct bh_names {
        char **items; /* owned, each too */
        size_t count;
};

/* The first max names from `from` on (itself included; "": all). Reads directory from its
 * beginning; the caller keeps the descriptor. Returns 0 or -errno. */
int bh_names_read(int directory, const char *from, size_t max, struct bh_names *ret);
void bh_names_clear(struct bh_names *names);

#endif
