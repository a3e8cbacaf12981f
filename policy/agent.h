/* What an agent declares (api/openapi.json): decoding, scope checks, canonical form, digest, and
 * the difference between two sets. */
#ifndef BULKHEAD_POLICY_AGENT_H
#define BULKHEAD_POLICY_AGENT_H

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/json.h"
#include "policy/capability.h"
#include "policy/egress.h"
#include "policy/mount.h"
#include "policy/secret_binding.h"

struct bh_capabilities { /* the declared capability set, with its scopes */
        bh_capability_set set;
        struct bh_egress_rules egress;
        struct bh_mount_rules mounts;
        struct bh_secret_bindings secrets;
};

struct bh_agent_spec {
        char *owner; /* "": none was named, the policy's owners answer */
        struct bh_capabilities capabilities;
        json_t *labels; /* object */
};

/* The body of PUT /v1/agents/{agent}. Wrong shapes are BH_ERROR_INVALID; a scope without its
 * capability is BH_ERROR_REFUSED "capability_scope_mismatch". */
int bh_agent_spec_decode(const struct bh_json_at *at, struct bh_agent_spec **ret,
                         struct bh_error *error);
void bh_agent_spec_free(struct bh_agent_spec *spec);
BH_DEFINE_CLEANUP(struct bh_agent_spec *, bh_agent_spec, bh_agent_spec_free);

/* The body of PUT /v1/agents/{agent}/capabilities. *ret is filled only on success; clear it
 * with bh_capabilities_clear. */
int bh_capabilities_decode(const struct bh_json_at *at, struct bh_capabilities *ret,
                           struct bh_error *error);
/* The canonical set: `capabilities`, `egress`, `mounts`, `secrets`, always all four. */
json_t *bh_capabilities_encode(const struct bh_capabilities *capabilities);
void bh_capabilities_clear(struct bh_capabilities *capabilities);
void bh_capabilities_digest(const struct bh_capabilities *capabilities,
                            char ret[BH_DIGEST_TEXT_SIZE]);

/* Names of what `next` holds and `previous` does not: capabilities by name, scopes as
 * "egress:<canonical rule>", "mount:<target>:<mode>", "secret:<name>@<host>". Array of
 * strings; used for added/removed (swap the arguments) and for grown_since_review. */
json_t *bh_capabilities_added(const struct bh_capabilities *previous,
                              const struct bh_capabilities *next);

#endif
