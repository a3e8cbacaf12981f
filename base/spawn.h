/* Starting a helper program: exec by absolute path, an exact environment, exactly the
 * descriptors asked for. No shell, ever. Uses posix_spawn, so the parent's size does not
 * matter and no code of ours runs between fork and exec. */
#ifndef BULKHEAD_BASE_SPAWN_H
#define BULKHEAD_BASE_SPAWN_H

#include <stddef.h>

#include "base/error.h"
#include "base/pidref.h"

struct bh_spawn_fd {
        int source; /* open in this process, close-on-exec */
        int target; /* number in the child; targets not named here but 0-2 are closed */
};

struct bh_spawn {
        const char *path;
        char *const *argv;
        char *const *envp;             /* NULL: an empty environment */
        const struct bh_spawn_fd *fds; /* 0-2 not named become /dev/null, but 2 is inherited */
        size_t fd_count;
        int new_session; /* setsid: a terminal's ^C must not reach helpers */
};

/* On success *ret refers to the child; the caller reaps it. */
int bh_spawn(const struct bh_spawn *spawn, struct bh_pidref *ret, struct bh_error *error);

/* Runs to the end and collects at most max bytes of stdout+stderr (caller frees). For rare
 * host tools such as mkfs. Returns the exit status, or -1. */
int bh_spawn_capture(const struct bh_spawn *spawn, size_t max, char **ret_output,
                     struct bh_error *error);

#endif
