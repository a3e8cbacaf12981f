/* An agent's own mounts, made in the shim before anything of the boundary runs: each a detached
 * copy of what the source's descriptor holds, with its options set, and the root tree that has
 * places for them. init.c attaches both. Called by prepare.c. */
#ifndef BULKHEAD_DRIVERS_SUBPROCESS_AGENT_MOUNTS_H
#define BULKHEAD_DRIVERS_SUBPROCESS_AGENT_MOUNTS_H

#include <stddef.h>

#include "drivers/driver.h"

struct bh_agent_mounts {
        int fds[BH_MOUNT_RULES_MAX]; /* detached mounts, in the plan's order */
        size_t count;
        int root;      /* detached tmpfs to be the root, read-only; -1: the plan has no mounts */
        char **copies; /* what of the template has to be copied into it; ended by NULL */
        size_t copy_count;
};

#define BH_AGENT_MOUNTS_NONE \
        {                    \
                .root = -1   \
        } /* to begin with */

/* Fills *ret, which is the caller's to clear also on failure. Nothing to do without mounts. */
int bh_agent_mounts_make(const struct bh_plan *plan, const struct bh_instance *instance,
                         const char *template, struct bh_agent_mounts *ret, struct bh_error *error);
void bh_agent_mounts_clear(struct bh_agent_mounts *mounts);

/* agent_root.c: the root and copies of ret. The template is shared by all executions and never
 * written to, so that targets need a root of this execution's own: directories as the template
 * has them, empty or on the way to a target made anew, others copied. */
int bh_agent_root_make(const struct bh_mount_rules *rules, const int *sources, const char *template,
                       struct bh_agent_mounts *ret, struct bh_error *error);

#endif
