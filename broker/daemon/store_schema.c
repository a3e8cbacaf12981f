/* The schema, and the steps from each of its versions to the next. */
#include "broker/daemon/store_sql.h"

/* Entry n brings a database from version n to n + 1. Entries are never changed, only added. */
static const char *const upgrades[] = {
        "CREATE TABLE agents ("
        " tenant TEXT NOT NULL, agent TEXT NOT NULL, owner TEXT NOT NULL, labels TEXT NOT NULL,"
        " capabilities TEXT NOT NULL, digest TEXT NOT NULL, generation INTEGER NOT NULL,"
        " created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
        " PRIMARY KEY (tenant, agent)) WITHOUT ROWID;"

        "CREATE TABLE reviews ("
        " number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, agent TEXT NOT NULL,"
        " reviewer TEXT NOT NULL, note TEXT NOT NULL, capabilities TEXT NOT NULL,"
        " digest TEXT NOT NULL, generation INTEGER NOT NULL, reviewed_ms INTEGER NOT NULL,"
        " expires_ms INTEGER NOT NULL,"
        " FOREIGN KEY (tenant, agent) REFERENCES agents (tenant, agent) ON DELETE CASCADE);"
        "CREATE INDEX reviews_by_agent ON reviews (tenant, agent, number);"

        "CREATE TABLE plans (digest TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;"

        "CREATE TABLE executions ("
        " id TEXT PRIMARY KEY, tenant TEXT NOT NULL, agent TEXT NOT NULL, state INTEGER NOT NULL,"
        " generation INTEGER NOT NULL, required_tier INTEGER NOT NULL,"
        " effective_tier INTEGER NOT NULL, driver TEXT NOT NULL, technology TEXT NOT NULL,"
        " policy_digest TEXT NOT NULL, plan_digest TEXT NOT NULL, workspace TEXT,"
        " workspace_writable INTEGER NOT NULL, labels TEXT NOT NULL, slot INTEGER NOT NULL,"
        " shim_pid INTEGER NOT NULL, shim_start_time INTEGER NOT NULL,"
        " created_ms INTEGER NOT NULL, provisioning_ms INTEGER NOT NULL,"
        " started_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL, outcome TEXT,"
        " exit_code INTEGER, signal TEXT, detail TEXT, stdout_bytes INTEGER NOT NULL,"
        " stdout_dropped INTEGER NOT NULL, stderr_bytes INTEGER NOT NULL,"
        " stderr_dropped INTEGER NOT NULL, usage TEXT, timing TEXT, evidence TEXT);"
        "CREATE INDEX executions_by_agent ON executions (tenant, agent, id);"
        "CREATE INDEX executions_live ON executions (state) WHERE state < 3;"
        "CREATE INDEX executions_by_end ON executions (ended_ms) WHERE ended_ms > 0;"
        "CREATE INDEX executions_by_plan ON executions (plan_digest);"

        "CREATE TABLE idempotency_keys ("
        " tenant TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL,"
        " execution TEXT NOT NULL, expires_ms INTEGER NOT NULL,"
        " PRIMARY KEY (tenant, key)) WITHOUT ROWID;"
        "CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_ms);"

        "CREATE TABLE workspaces ("
        " tenant TEXT NOT NULL, name TEXT NOT NULL, disk_bytes INTEGER NOT NULL,"
        " created_ms INTEGER NOT NULL, PRIMARY KEY (tenant, name)) WITHOUT ROWID;"

        "CREATE TABLE tokens ("
        " sha256 TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL,"
        " tenant TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"
        " PRIMARY KEY (name)) WITHOUT ROWID;",

        "CREATE TABLE audit_staged (sequence INTEGER PRIMARY KEY, line TEXT NOT NULL);",
};

#define VERSION ((int)(sizeof(upgrades) / sizeof(upgrades[0])))

static int read_version(struct bh_store *store, int *ret, struct bh_error *error)
{
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(store->database, "PRAGMA user_version", -1, &statement, NULL) !=
            SQLITE_OK)
                return bh_store_failed(store, error);
        int r = sqlite3_step(statement);
        if (r == SQLITE_ROW)
                *ret = sqlite3_column_int(statement, 0);
        sqlite3_finalize(statement);
        return r == SQLITE_ROW ? 0 : bh_store_failed(store, error);
}

int bh_store_upgrade(struct bh_store *store, struct bh_error *error)
{
        int version = 0;
        if (read_version(store, &version, error) < 0)
                return -1;
        if (version > VERSION)
                return bh_error_set(error, BH_ERROR_INTERNAL,
                                    "the database has version %d, this program knows %d", version,
                                    VERSION);
        for (; version < VERSION; version++) {
                char finish[64];
                snprintf(finish, sizeof(finish), "PRAGMA user_version = %d; COMMIT", version + 1);
                const char *steps[] = {"BEGIN IMMEDIATE", upgrades[version], finish};
                for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
                        if (sqlite3_exec(store->database, steps[i], NULL, NULL, NULL) !=
                            SQLITE_OK) {
                                bh_store_failed(store, error);
                                sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
                                return bh_error_prefix(error, "upgrade to version %d", version + 1);
                        }
        }
        return 0;
}
