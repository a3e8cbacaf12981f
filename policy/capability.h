/* The closed vocabulary of capabilities (api/openapi.json) and sets of them. */
#ifndef BULKHEAD_POLICY_CAPABILITY_H
#define BULKHEAD_POLICY_CAPABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

enum bh_capability {
        BH_CAP_COMMAND_RUN,
        BH_CAP_CODE_EXECUTE,
        BH_CAP_PACKAGE_INSTALL,
        BH_CAP_FS_WORKSPACE_READ,
        BH_CAP_FS_WORKSPACE_WRITE,
        BH_CAP_FS_MOUNT_READ,
        BH_CAP_FS_MOUNT_WRITE,
        BH_CAP_NET_EGRESS,
        BH_CAP_SECRETS_USE,
        BH_CAP_INPUT_UNTRUSTED,
        BH_CAP_PROCESS_DEBUG,
        BH_CAP_ROOT_INSIDE,
        BH_CAP_COUNT,
};

typedef uint32_t bh_capability_set; /* bit i: enum bh_capability i */

#define BH_CAP_BIT(capability) ((bh_capability_set)1 << (capability))

const char *bh_capability_name(enum bh_capability capability);

/* An array of distinct known names; an unknown or repeated one is BH_ERROR_INVALID. */
int bh_capability_set_decode(const struct bh_json_at *at, bh_capability_set *ret,
                             struct bh_error *error);
json_t *bh_capability_set_encode(bh_capability_set set); /* vocabulary order */

#endif
