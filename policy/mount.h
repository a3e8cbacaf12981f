/* Mount rules of an agent: shape and lexical checks. Whether a source exists and is reached
 * through no link is the broker's to see (drivers/kernel/mounts). */
#ifndef BULKHEAD_POLICY_MOUNT_H
#define BULKHEAD_POLICY_MOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

struct bh_mount_rule {
        char *source; /* absolute, normalised: no "//", "." or ".." component */
        char *target; /* likewise; off /proc /sys /dev /usr /bin /lib /etc /workspace ... */
        bool writable;
        char *justification; /* not empty when writable */
};

struct bh_mount_rules {
        struct bh_mount_rule *items;
        size_t count;
};

#define BH_MOUNT_RULES_MAX 64

/* Shape errors are BH_ERROR_INVALID; a target or source that is never allowed is
 * BH_ERROR_REFUSED "mount_not_allowed"; a writable mount without a justification is
 * BH_ERROR_REFUSED "capability_scope_mismatch". Targets may not lie in one another. */
int bh_mount_rules_decode(const struct bh_json_at *at, struct bh_mount_rules *ret,
                          struct bh_error *error);
json_t *bh_mount_rules_encode(const struct bh_mount_rules *rules);
void bh_mount_rules_copy(const struct bh_mount_rules *rules, struct bh_mount_rules *ret);
void bh_mount_rules_clear(struct bh_mount_rules *rules);

/* Whether path is root itself or below it, by components. */
bool bh_path_is_below(const char *path, const char *root);

#endif
