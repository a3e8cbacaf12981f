/* The plan: the immutable, digested answer of policy to one request. Everything after the
 * decision reads the plan and nothing else; the shim gets it as JSON and decodes it with the
 * same code. docs/architecture.md shows one. */
#ifndef BULKHEAD_POLICY_PLAN_H
#define BULKHEAD_POLICY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/json.h"
#include "policy/agent.h"
#include "policy/limits.h"
#include "policy/tier.h"

#define BH_PLAN_VERSION 1

enum bh_workspace_kind { BH_WORKSPACE_EPHEMERAL, BH_WORKSPACE_NAMED };

/* Where the execution's scratch (ephemeral workspace, /tmp) lives. tmpfs pages count against
 * memory_bytes, so tmpfs is chosen only while disk_bytes is at most half of it; else a
 * loop-mounted image of disk_bytes. */
enum bh_scratch_backing { BH_SCRATCH_TMPFS, BH_SCRATCH_IMAGE };

struct bh_plan {
        enum bh_tier required_tier, tier;
        char *driver;
        char *technology;
        bh_capability_set capabilities;
        int64_t capability_generation;
        char capability_digest[BH_DIGEST_TEXT_SIZE];
        char policy_digest[BH_DIGEST_TEXT_SIZE];
        char *image;
        char **argv; /* NULL-terminated */
        char *cwd;
        char **environment; /* "NAME=value", NULL-terminated, complete: nothing is added later */
        unsigned inside_uid, inside_gid; /* 1000, or 0 with root.inside */
        struct bh_limits limits;
        enum bh_workspace_kind workspace_kind;
        char *workspace_name; /* NULL when ephemeral */
        bool workspace_writable;
        enum bh_scratch_backing scratch_backing;
        int64_t scratch_bytes; /* = disk_bytes */
        int64_t scratch_inodes;
        int64_t shm_bytes; /* /dev/shm, a tmpfs, part of memory_bytes */
        struct bh_mount_rules mounts;
        struct bh_egress_rules egress; /* empty: deny-all, a gateway without any socket */
        struct bh_secret_bindings secrets;
        char **controls; /* every control that must be set up and read back, by name */
        size_t control_count;
        json_t *reasons; /* [{"rule", "capabilities", "tier", "text"}] */
};

json_t *bh_plan_encode(const struct bh_plan *plan);
int bh_plan_decode(const struct bh_json_at *at, struct bh_plan **ret, struct bh_error *error);
/* Digest of the canonical encoding. */
void bh_plan_digest(const struct bh_plan *plan, char ret[BH_DIGEST_TEXT_SIZE]);
void bh_plan_free(struct bh_plan *plan);
BH_DEFINE_CLEANUP(struct bh_plan *, bh_plan, bh_plan_free);

#endif
