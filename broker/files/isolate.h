/* How the helper gives up what it does not need. Called by main.c, once each, in this order. */
#ifndef BULKHEAD_BROKER_FILES_ISOLATE_H
#define BULKHEAD_BROKER_FILES_ISOLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Other descriptors, dumps, core files. Still needed: root, to mount. */
int bh_files_isolate_early(struct bh_error *error);

/* Everything but the tree behind `mount` and what is open: uid and gid of the workload without
 * groups or capabilities, no_new_privs, limits, Landlock, seccomp. file_bytes: the largest file
 * that may come into being. */
int bh_files_isolate_final(int mount, bool writes, int64_t file_bytes, struct bh_error *error);

#endif
