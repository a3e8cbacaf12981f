/* The store's statements and the few helpers that its files share. Included by store*.c only. */
#ifndef BULKHEAD_BROKER_DAEMON_STORE_SQL_H
#define BULKHEAD_BROKER_DAEMON_STORE_SQL_H

#include <sqlite3.h>

#include "broker/daemon/store.h"

#define BH_EXECUTION_COLUMNS                                                                      \
        "id, tenant, agent, state, generation, required_tier, effective_tier, driver, "           \
        "technology, policy_digest, plan_digest, workspace, workspace_writable, labels, slot, "   \
        "shim_pid, shim_start_time, created_ms, provisioning_ms, started_ms, ended_ms, outcome, " \
        "exit_code, signal, detail, stdout_bytes, stdout_dropped, stderr_bytes, stderr_dropped, " \
        "usage, timing, evidence"

#define BH_AGENT_COLUMNS \
        "tenant, agent, owner, labels, capabilities, digest, generation, created_ms, updated_ms"

#define BH_REVIEW_COLUMNS                                                                        \
        "number, tenant, agent, reviewer, note, capabilities, digest, generation, reviewed_ms, " \
        "expires_ms"

#define BH_STATEMENTS(X)                                                                           \
        X(BEGIN, "BEGIN IMMEDIATE")                                                                \
        X(COMMIT, "COMMIT")                                                                        \
        X(ROLLBACK, "ROLLBACK")                                                                    \
        X(AGENT_GET, "SELECT " BH_AGENT_COLUMNS " FROM agents WHERE tenant = ?1 AND agent = ?2")   \
        X(AGENT_PUT, "INSERT INTO agents (" BH_AGENT_COLUMNS ") VALUES "                           \
                     "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (tenant, agent) DO "        \
                     "UPDATE SET owner = ?3, labels = ?4, capabilities = ?5, digest = ?6, "        \
                     "generation = ?7, updated_ms = ?9")                                           \
        X(AGENT_DELETE, "DELETE FROM agents WHERE tenant = ?1 AND agent = ?2")                     \
        X(AGENT_LIST, "SELECT " BH_AGENT_COLUMNS " FROM agents WHERE (?1 IS NULL OR tenant = ?1) " \
                      "AND (tenant, agent) > (?2, ?3) ORDER BY tenant, agent")                     \
        X(REVIEW_ADD, "INSERT INTO reviews (tenant, agent, reviewer, note, capabilities, digest, " \
                      "generation, reviewed_ms, expires_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, "  \
                      "?8, ?9)")                                                                   \
        X(REVIEW_LIST, "SELECT " BH_REVIEW_COLUMNS " FROM reviews WHERE tenant = ?1 AND "          \
                       "agent = ?2 AND (?3 = 0 OR number < ?3) ORDER BY number DESC")              \
        X(PLAN_ADD, "INSERT OR IGNORE INTO plans (digest, body) VALUES (?1, ?2)")                  \
        X(PLAN_PRUNE, "DELETE FROM plans WHERE digest = (SELECT plan_digest FROM executions "      \
                      "WHERE id = ?1) AND 1 = (SELECT count(*) FROM (SELECT 1 FROM executions "    \
                      "WHERE plan_digest = plans.digest LIMIT 2))")                                \
        X(EXECUTION_ADD, "INSERT INTO executions (" BH_EXECUTION_COLUMNS ") VALUES (?1, ?2, ?3, "  \
                         "?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "   \
                         "?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32)")  \
        X(EXECUTION_UPDATE,                                                                        \
          "UPDATE executions SET state = ?2, generation = ?3, required_tier = ?4, "                \
          "effective_tier = ?5, driver = ?6, technology = ?7, policy_digest = ?8, "                \
          "plan_digest = ?9, slot = ?10, shim_pid = ?11, shim_start_time = ?12, "                  \
          "provisioning_ms = ?13, started_ms = ?14, ended_ms = ?15, outcome = ?16, "               \
          "exit_code = ?17, signal = ?18, detail = ?19, stdout_bytes = ?20, "                      \
          "stdout_dropped = ?21, stderr_bytes = ?22, stderr_dropped = ?23, usage = ?24, "          \
          "timing = ?25, evidence = ?26, workspace_writable = ?27 WHERE id = ?1")                  \
        X(EXECUTION_GET, "SELECT " BH_EXECUTION_COLUMNS " FROM executions WHERE id = ?1")          \
        X(EXECUTION_LIST, "SELECT " BH_EXECUTION_COLUMNS " FROM executions WHERE "                 \
                          "(?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR agent = ?2) AND "        \
                          "(?3 = -1 OR (state = 3) = ?3) AND (?4 IS NULL OR id < ?4) "             \
                          "ORDER BY id DESC")                                                      \
        X(EXECUTION_LIVE, "SELECT " BH_EXECUTION_COLUMNS " FROM executions WHERE state < 3 AND "   \
                          "(?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR agent = ?2) AND "        \
                          "(?4 IS NULL OR id < ?4) ORDER BY id DESC")                              \
        X(EXECUTION_PRUNABLE,                                                                      \
          "SELECT " BH_EXECUTION_COLUMNS " FROM executions WHERE ended_ms > 0 AND ended_ms < ?3 "  \
          "AND (ended_ms < ?1 OR ended_ms <= coalesce((SELECT ended_ms FROM executions WHERE "     \
          "ended_ms > 0 ORDER BY ended_ms DESC LIMIT 1 OFFSET ?2), 0)) "                           \
          "ORDER BY ended_ms LIMIT ?4")                                                            \
        X(EXECUTION_DELETE, "DELETE FROM executions WHERE id = ?1")                                \
        X(KEY_GET, "SELECT digest, execution FROM idempotency_keys WHERE tenant = ?1 AND "         \
                   "key = ?2 AND expires_ms > ?3")                                                 \
        X(KEY_PUT, "INSERT OR REPLACE INTO idempotency_keys (tenant, key, digest, execution, "     \
                   "expires_ms) VALUES (?1, ?2, ?3, ?4, ?5)")                                      \
        X(KEY_EXPIRE, "DELETE FROM idempotency_keys WHERE expires_ms <= ?1")                       \
        X(WORKSPACE_GET, "SELECT tenant, name, disk_bytes, created_ms FROM workspaces WHERE "      \
                         "tenant = ?1 AND name = ?2")                                              \
        X(WORKSPACE_ADD, "INSERT INTO workspaces (tenant, name, disk_bytes, created_ms) VALUES "   \
                         "(?1, ?2, ?3, ?4)")                                                       \
        X(WORKSPACE_DELETE, "DELETE FROM workspaces WHERE tenant = ?1 AND name = ?2")              \
        X(WORKSPACE_LIST, "SELECT tenant, name, disk_bytes, created_ms FROM workspaces WHERE "     \
                          "(?1 IS NULL OR tenant = ?1) AND (tenant, name) > (?2, ?3) "             \
                          "ORDER BY tenant, name")                                                 \
        X(AUDIT_STAGE, "INSERT INTO audit_staged (sequence, line) VALUES (?1, ?2)")                \
        X(AUDIT_UNSTAGE, "DELETE FROM audit_staged WHERE sequence <= ?1")                          \
        X(AUDIT_STAGED, "SELECT sequence, line FROM audit_staged ORDER BY sequence")               \
        X(TOKEN_LIST, "SELECT sha256, name, role, tenant, created_ms, expires_ms FROM tokens "     \
                      "ORDER BY tenant, name")                                                     \
        X(TOKEN_PUT, "INSERT OR REPLACE INTO tokens (sha256, name, role, tenant, created_ms, "     \
                     "expires_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")

enum bh_statement {
#define BH_STATEMENT_ENUM(name, sql) BH_SQL_##name,
        BH_STATEMENTS(BH_STATEMENT_ENUM)
#undef BH_STATEMENT_ENUM
                BH_SQL_COUNT,
};

struct bh_store {
        sqlite3 *database;
        sqlite3_stmt *statements[BH_SQL_COUNT];
        bool in_transaction;
};

/* Binds values[0..] in order: 't' const char * (NULL is SQL's), 'i' int64_t, 'j' json_t * as
 * canonical text (NULL is SQL's). A statement still stepping belongs to an outer walk, so walks
 * of the same kind do not nest. */
sqlite3_stmt *bh_sql_bind(struct bh_store *store, enum bh_statement statement, const char *types,
                          ...);
/* SQLITE_ROW → 1, SQLITE_DONE → 0 (and reset), else -1 (and reset). */
int bh_sql_step(struct bh_store *store, sqlite3_stmt *statement, struct bh_error *error);
/* Opens the turn's transaction, runs a statement without rows. */
int bh_sql_write(struct bh_store *store, sqlite3_stmt *statement, struct bh_error *error);

char *bh_sql_text(sqlite3_stmt *statement, int column); /* owned copy; NULL for SQL's */
void bh_sql_text_into(sqlite3_stmt *statement, int column, char *buffer, size_t size);
json_t *bh_sql_json(sqlite3_stmt *statement, int column); /* NULL for SQL's or damaged text */

int bh_store_failed(struct bh_store *store, struct bh_error *error);
int bh_store_upgrade(struct bh_store *store, struct bh_error *error); /* store_schema.c */

static inline void bh_sql_reset_cleanup(sqlite3_stmt **statement)
{
        sqlite3_reset(*statement);
        sqlite3_clear_bindings(*statement);
}

#endif
