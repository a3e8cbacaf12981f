/* Agents as their rows and as the API shows them. */
#ifndef BULKHEAD_BROKER_DAEMON_AGENTS_H
#define BULKHEAD_BROKER_DAEMON_AGENTS_H

#include "broker/daemon/store.h"
#include "policy/agent.h"
#include "policy/policy.h"

struct bh_daemon;

struct bh_agent {
        struct bh_agent_row *row;
        struct bh_capabilities capabilities; /* decoded */
};

/* 1, or 0 when there is none, or -1. Clear it when 1. */
int bh_agent_find(struct bh_daemon *daemon, const char *tenant, const char *name,
                  struct bh_agent *ret, struct bh_error *error);
/* The same with BH_ERROR_NOT_FOUND for none. */
int bh_agent_load(struct bh_daemon *daemon, const char *tenant, const char *name,
                  struct bh_agent *ret, struct bh_error *error);
int bh_agent_from_row_take(struct bh_agent_row *row, struct bh_agent *ret, struct bh_error *error);
void bh_agent_clear(struct bh_agent *agent);

#define BH_ETAG_SIZE 40
void bh_agent_etag(const struct bh_agent_row *row, char ret[BH_ETAG_SIZE]);

/* As api/openapi.json has it, with currency. */
int bh_agent_encode(struct bh_daemon *daemon, const struct bh_agent *agent, json_t **ret,
                    struct bh_error *error);

/* bh_decide_tier without its reasons. */
enum bh_tier bh_required_tier(const struct bh_policy *policy, bh_capability_set set);

/* params' "agent". */
int bh_agent_name(const struct bh_json_at *params, const char **ret, struct bh_error *error);

/* mount_sources.c: every source lies beneath an allowed root and off the broker's own
 * directories, is reached through no link, is no socket or device, and belongs to nobody who must
 * not own what a workload makes. Else BH_ERROR_REFUSED "mount_not_allowed". */
int bh_mount_sources_check(const struct bh_daemon *daemon, const struct bh_mount_rules *mounts,
                           struct bh_error *error);
/* Opens the sources of an encoded plan by the same rules, in the plan's order. ret_fds has room for
 * BH_MOUNT_RULES_MAX; those that *ret_count (0 before) counts are the caller's, also on failure,
 * which is BH_ERROR_REFUSED "mount_not_allowed". */
int bh_mount_sources_open(const struct bh_daemon *daemon, const json_t *plan, int *ret_fds,
                          size_t *ret_count, struct bh_error *error);

#endif
