/* What else is kept: idempotency keys, workspaces, tokens, staged audit entries. */
#include <stdlib.h>

#include "base/alloc.h"
#include "broker/daemon/store_sql.h"

int bh_store_key_get(struct bh_store *store, const char *tenant, const char *key, int64_t now_ms,
                     char ret_digest[BH_DIGEST_TEXT_SIZE], char ret_execution[BH_ID_SIZE],
                     struct bh_error *error)
{
        _cleanup_(bh_sql_reset_cleanup) sqlite3_stmt *statement =
                bh_sql_bind(store, BH_SQL_KEY_GET, "tti", tenant, key, now_ms);
        int r = bh_sql_step(store, statement, error);
        if (r <= 0)
                return r;
        bh_sql_text_into(statement, 0, ret_digest, BH_DIGEST_TEXT_SIZE);
        bh_sql_text_into(statement, 1, ret_execution, BH_ID_SIZE);
        return 1;
}

int bh_store_key_put(struct bh_store *store, const char *tenant, const char *key,
                     const char *digest, const char *execution, int64_t expires_ms,
                     struct bh_error *error)
{
        return bh_sql_write(store,
                            bh_sql_bind(store, BH_SQL_KEY_PUT, "tttti", tenant, key, digest,
                                        execution, expires_ms),
                            error);
}

int bh_store_key_expire(struct bh_store *store, int64_t now_ms, struct bh_error *error)
{
        return bh_sql_write(store, bh_sql_bind(store, BH_SQL_KEY_EXPIRE, "i", now_ms), error);
}

void bh_workspace_row_free(struct bh_workspace_row *row)
{
        if (!row)
                return;
        free(row->tenant);
        free(row->name);
        free(row);
}

static struct bh_workspace_row *read_workspace(sqlite3_stmt *statement)
{
        struct bh_workspace_row *row = bh_alloc(sizeof(*row));
        row->tenant = bh_sql_text(statement, 0);
        row->name = bh_sql_text(statement, 1);
        row->disk_bytes = sqlite3_column_int64(statement, 2);
        row->created_ms = sqlite3_column_int64(statement, 3);
        return row;
}

int bh_store_workspace_get(struct bh_store *store, const char *tenant, const char *name,
                           struct bh_workspace_row **ret, struct bh_error *error)
{
        _cleanup_(bh_sql_reset_cleanup) sqlite3_stmt *statement =
                bh_sql_bind(store, BH_SQL_WORKSPACE_GET, "tt", tenant, name);
        int r = bh_sql_step(store, statement, error);
        if (r > 0)
                *ret = read_workspace(statement);
        return r;
}

int bh_store_workspace_add(struct bh_store *store, const struct bh_workspace_row *row,
                           struct bh_error *error)
{
        return bh_sql_write(store,
                            bh_sql_bind(store, BH_SQL_WORKSPACE_ADD, "ttii", row->tenant, row->name,
                                        row->disk_bytes, row->created_ms),
                            error);
}

int bh_store_workspace_delete(struct bh_store *store, const char *tenant, const char *name,
                              struct bh_error *error)
{
        return bh_sql_write(store, bh_sql_bind(store, BH_SQL_WORKSPACE_DELETE, "tt", tenant, name),
                            error);
}

int bh_store_workspace_list(struct bh_store *store, const char *tenant, const char *after_tenant,
                            const char *after_name, bh_workspace_visit visit, void *data,
                            struct bh_error *error)
{
        _cleanup_(bh_sql_reset_cleanup) sqlite3_stmt *statement =
                bh_sql_bind(store, BH_SQL_WORKSPACE_LIST, "ttt", tenant, after_tenant, after_name);
        for (;;) {
                int r = bh_sql_step(store, statement, error);
                if (r <= 0)
                        return r;
                _cleanup_(bh_workspace_row_cleanup) struct bh_workspace_row *row =
                        read_workspace(statement);
                r = visit(row, data, error);
                if (r != 0)
                        return r < 0 ? -1 : 0;
        }
}

int bh_store_token_list(struct bh_store *store, bh_token_visit visit, void *data,
                        struct bh_error *error)
{
        _cleanup_(bh_sql_reset_cleanup) sqlite3_stmt *statement =
                bh_sql_bind(store, BH_SQL_TOKEN_LIST, "");
        for (;;) {
                int r = bh_sql_step(store, statement, error);
                if (r <= 0)
                        return r;
                struct bh_token_row row = {0};
                _cleanup_free_ char *role = bh_sql_text(statement, 2);
                _cleanup_free_ char *name = bh_sql_text(statement, 1);
                _cleanup_free_ char *tenant = bh_sql_text(statement, 3);
                bh_sql_text_into(statement, 0, row.sha256, sizeof(row.sha256));
                row.name = name;
                row.tenant = tenant;
                row.role = bh_role_by_name(role ? role : "");
                row.created_ms = sqlite3_column_int64(statement, 4);
                row.expires_ms = sqlite3_column_int64(statement, 5);
                if (!row.role || !name || !tenant)
                        return bh_error_refused(error, "store_failed", "",
                                                "store: a damaged token");
                r = visit(&row, data, error);
                if (r != 0)
                        return r < 0 ? -1 : 0;
        }
}

int bh_store_token_put(struct bh_store *store, const struct bh_token_row *row,
                       struct bh_error *error)
{
        return bh_sql_write(store,
                            bh_sql_bind(store, BH_SQL_TOKEN_PUT,
                                        "tttt"
                                        "ii",
                                        row->sha256, row->name, bh_role_name(row->role),
                                        row->tenant, row->created_ms, row->expires_ms),
                            error);
}

int bh_store_audit_stage(struct bh_store *store, int64_t sequence, const char *line,
                         struct bh_error *error)
{
        return bh_sql_write(store, bh_sql_bind(store, BH_SQL_AUDIT_STAGE, "it", sequence, line),
                            error);
}

int bh_store_audit_unstage(struct bh_store *store, int64_t upto, struct bh_error *error)
{
        return bh_sql_write(store, bh_sql_bind(store, BH_SQL_AUDIT_UNSTAGE, "i", upto), error);
}

int bh_store_audit_staged(struct bh_store *store, bh_staged_visit visit, void *data,
                          struct bh_error *error)
{
        _cleanup_(bh_sql_reset_cleanup) sqlite3_stmt *statement =
                bh_sql_bind(store, BH_SQL_AUDIT_STAGED, "");
        for (;;) {
                int r = bh_sql_step(store, statement, error);
                if (r <= 0)
                        return r;
                _cleanup_free_ char *line = bh_sql_text(statement, 1);
                r = visit(sqlite3_column_int64(statement, 0), line ? line : "", data, error);
                if (r != 0)
                        return r < 0 ? -1 : 0;
        }
}
