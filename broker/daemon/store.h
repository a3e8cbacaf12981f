/* What must survive a restart, in SQLite. The only module that knows SQL; everything else sees
 * these functions and the records.
 *
 * Writes go into one transaction a turn, opened by the first write; commit.c ends it. Every
 * function here returns -1 with BH_ERROR_REFUSED "store_failed" when the database fails, and
 * 1 or 0 for found or not where it looks something up. */
#ifndef BULKHEAD_BROKER_DAEMON_STORE_H
#define BULKHEAD_BROKER_DAEMON_STORE_H

#include "base/cleanup.h"
#include "base/digest.h"
#include "broker/daemon/execution.h"
#include "broker/protocol.h"

struct bh_store;

/* Opens or makes the database, checks it, and brings its schema to this program's version. A
 * database of a newer program is refused. */
int bh_store_open(const char *path, struct bh_store **ret, struct bh_error *error);
void bh_store_free(struct bh_store *store);
BH_DEFINE_CLEANUP(struct bh_store *, bh_store, bh_store_free);

int bh_store_begin(struct bh_store *store, struct bh_error *error); /* opens the turn's, if none */
bool bh_store_is_dirty(const struct bh_store *store);
int bh_store_commit(struct bh_store *store, struct bh_error *error);
void bh_store_rollback(struct bh_store *store);

/* ---- agents ---- */

struct bh_agent_row {
        char *tenant, *agent, *owner;
        json_t *labels;
        json_t *capabilities; /* canonical set */
        char digest[BH_DIGEST_TEXT_SIZE];
        int64_t generation;
        int64_t created_ms, updated_ms;
};

void bh_agent_row_free(struct bh_agent_row *row);
BH_DEFINE_CLEANUP(struct bh_agent_row *, bh_agent_row, bh_agent_row_free);

int bh_store_agent_get(struct bh_store *store, const char *tenant, const char *agent,
                       struct bh_agent_row **ret, struct bh_error *error);
int bh_store_agent_put(struct bh_store *store, const struct bh_agent_row *row,
                       struct bh_error *error);
int bh_store_agent_delete(struct bh_store *store, const char *tenant, const char *agent,
                          struct bh_error *error); /* and its reviews */

/* Called for each row; a return other than 0 ends the walk (1) or fails it (-1). */
typedef int (*bh_agent_visit)(const struct bh_agent_row *row, void *data, struct bh_error *error);
/* By (tenant, agent), after the given pair; tenant NULL: of all tenants. */
int bh_store_agent_list(struct bh_store *store, const char *tenant, const char *after_tenant,
                        const char *after_agent, bh_agent_visit visit, void *data,
                        struct bh_error *error);

/* ---- reviews ---- */

struct bh_review_row {
        int64_t number; /* ascending over all reviews */
        char *tenant, *agent, *reviewer, *note;
        json_t *capabilities; /* as they were */
        char digest[BH_DIGEST_TEXT_SIZE];
        int64_t generation;
        int64_t reviewed_ms, expires_ms;
};

void bh_review_row_free(struct bh_review_row *row);
BH_DEFINE_CLEANUP(struct bh_review_row *, bh_review_row, bh_review_row_free);

int bh_store_review_add(struct bh_store *store, struct bh_review_row *row, struct bh_error *error);
int bh_store_review_latest(struct bh_store *store, const char *tenant, const char *agent,
                           struct bh_review_row **ret, struct bh_error *error);
typedef int (*bh_review_visit)(const struct bh_review_row *row, void *data, struct bh_error *error);
/* Newest first, before the given number (0: from the newest). */
int bh_store_review_list(struct bh_store *store, const char *tenant, const char *agent,
                         int64_t before, bh_review_visit visit, void *data, struct bh_error *error);

/* ---- executions ---- */

int bh_store_execution_add(struct bh_store *store, const struct bh_execution *execution,
                           const json_t *plan, struct bh_error *error);
/* Everything that can change: state, shim, times, end, plan's digest and tier. */
int bh_store_execution_update(struct bh_store *store, const struct bh_execution *execution,
                              struct bh_error *error);
int bh_store_plan_add(struct bh_store *store, const char *digest, const json_t *plan,
                      struct bh_error *error);
int bh_store_execution_get(struct bh_store *store, const char *id, struct bh_execution **ret,
                           struct bh_error *error);
typedef int (*bh_execution_visit)(struct bh_execution *execution, void *data,
                                  struct bh_error *error);
struct bh_execution_filter {
        const char *tenant, *agent; /* NULL: any */
        int ended;                  /* 1: only ended, 0: only not ended, -1: both */
        const char *before;         /* id; NULL: from the newest */
};
/* Newest first. */
int bh_store_execution_list(struct bh_store *store, const struct bh_execution_filter *filter,
                            bh_execution_visit visit, void *data, struct bh_error *error);
/* The oldest ended ones that are past age or beyond count, none that ended after `spare_ms`.
 * At most max at a time. */
int bh_store_execution_prunable(struct bh_store *store, int64_t ended_before_ms, int64_t keep,
                                int64_t spare_ms, int64_t max, bh_execution_visit visit, void *data,
                                struct bh_error *error);
/* The row, and its plan when no other execution has the same. */
int bh_store_execution_delete(struct bh_store *store, const char *id, struct bh_error *error);

/* ---- idempotency keys ---- */

int bh_store_key_get(struct bh_store *store, const char *tenant, const char *key, int64_t now_ms,
                     char ret_digest[BH_DIGEST_TEXT_SIZE], char ret_execution[BH_ID_SIZE],
                     struct bh_error *error);
int bh_store_key_put(struct bh_store *store, const char *tenant, const char *key,
                     const char *digest, const char *execution, int64_t expires_ms,
                     struct bh_error *error);
int bh_store_key_expire(struct bh_store *store, int64_t now_ms, struct bh_error *error);

/* ---- workspaces ---- */

struct bh_workspace_row {
        char *tenant, *name;
        int64_t disk_bytes;
        int64_t created_ms;
};

void bh_workspace_row_free(struct bh_workspace_row *row);
BH_DEFINE_CLEANUP(struct bh_workspace_row *, bh_workspace_row, bh_workspace_row_free);

int bh_store_workspace_get(struct bh_store *store, const char *tenant, const char *name,
                           struct bh_workspace_row **ret, struct bh_error *error);
int bh_store_workspace_add(struct bh_store *store, const struct bh_workspace_row *row,
                           struct bh_error *error);
int bh_store_workspace_delete(struct bh_store *store, const char *tenant, const char *name,
                              struct bh_error *error);
typedef int (*bh_workspace_visit)(const struct bh_workspace_row *row, void *data,
                                  struct bh_error *error);
int bh_store_workspace_list(struct bh_store *store, const char *tenant, const char *after_tenant,
                            const char *after_name, bh_workspace_visit visit, void *data,
                            struct bh_error *error);

/* ---- audit entries on their way into the log ---- */

int bh_store_audit_stage(struct bh_store *store, int64_t sequence, const char *line,
                         struct bh_error *error);
int bh_store_audit_unstage(struct bh_store *store, int64_t upto, struct bh_error *error);
typedef int (*bh_staged_visit)(int64_t sequence, const char *line, void *data,
                               struct bh_error *error);
int bh_store_audit_staged(struct bh_store *store, bh_staged_visit visit, void *data,
                          struct bh_error *error);

/* ---- tokens ---- */

struct bh_token_row {
        char sha256[BH_SHA256_HEX_SIZE];
        char *name;
        enum bh_role role;
        char *tenant;
        int64_t created_ms, expires_ms; /* 0: never */
};

typedef int (*bh_token_visit)(const struct bh_token_row *row, void *data, struct bh_error *error);
int bh_store_token_list(struct bh_store *store, bh_token_visit visit, void *data,
                        struct bh_error *error);
int bh_store_token_put(struct bh_store *store, const struct bh_token_row *row,
                       struct bh_error *error);

#endif
