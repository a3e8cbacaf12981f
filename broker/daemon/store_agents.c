/* Agents and their reviews in the store. */
#include <stdlib.h>

#include "base/alloc.h"
#include "broker/daemon/store_sql.h"

void bh_agent_row_free(struct bh_agent_row *row)
{
        if (!row)
                return;
        free(row->tenant);
        free(row->agent);
        free(row->owner);
        json_decref(row->labels);
        json_decref(row->capabilities);
        free(row);
}

/* A row whose JSON does not parse is damage that must not pass as an empty set. */
static int read_agent(sqlite3_stmt *statement, struct bh_agent_row **ret, struct bh_error *error)
{
        _cleanup_(bh_agent_row_cleanup) struct bh_agent_row *row = bh_alloc(sizeof(*row));
        row->tenant = bh_sql_text(statement, 0);
        row->agent = bh_sql_text(statement, 1);
        row->owner = bh_sql_text(statement, 2);
        row->labels = bh_sql_json(statement, 3);
        row->capabilities = bh_sql_json(statement, 4);
        bh_sql_text_into(statement, 5, row->digest, sizeof(row->digest));
        row->generation = sqlite3_column_int64(statement, 6);
        row->created_ms = sqlite3_column_int64(statement, 7);
        row->updated_ms = sqlite3_column_int64(statement, 8);
        if (!row->tenant || !row->agent || !row->owner || !row->labels || !row->capabilities) {
                bh_error_refused(error, "store_failed", "", "store: a damaged agent");
                return -1;
        }
        *ret = bh_steal_ptr(&row);
        return 0;
}

int bh_store_agent_get(struct bh_store *store, const char *tenant, const char *agent,
                       struct bh_agent_row **ret, struct bh_error *error)
{
        _cleanup_(bh_sql_reset_cleanup) sqlite3_stmt *statement =
                bh_sql_bind(store, BH_SQL_AGENT_GET, "tt", tenant, agent);
        int r = bh_sql_step(store, statement, error);
        if (r <= 0)
                return r;
        return read_agent(statement, ret, error) < 0 ? -1 : 1;
}

int bh_store_agent_put(struct bh_store *store, const struct bh_agent_row *row,
                       struct bh_error *error)
{
        return bh_sql_write(store,
                            bh_sql_bind(store, BH_SQL_AGENT_PUT, "tttjjtiii", row->tenant,
                                        row->agent, row->owner, row->labels, row->capabilities,
                                        row->digest, row->generation, row->created_ms,
                                        row->updated_ms),
                            error);
}

int bh_store_agent_delete(struct bh_store *store, const char *tenant, const char *agent,
                          struct bh_error *error)
{
        return bh_sql_write(store, bh_sql_bind(store, BH_SQL_AGENT_DELETE, "tt", tenant, agent),
                            error);
}

int bh_store_agent_list(struct bh_store *store, const char *tenant, const char *after_tenant,
                        const char *after_agent, bh_agent_visit visit, void *data,
                        struct bh_error *error)
{
        _cleanup_(bh_sql_reset_cleanup) sqlite3_stmt *statement =
                bh_sql_bind(store, BH_SQL_AGENT_LIST, "ttt", tenant, after_tenant, after_agent);
        for (;;) {
                _cleanup_(bh_agent_row_cleanup) struct bh_agent_row *row = NULL;
                int r = bh_sql_step(store, statement, error);
                if (r <= 0)
                        return r;
                if (read_agent(statement, &row, error) < 0)
                        return -1;
                r = visit(row, data, error);
                if (r != 0)
                        return r < 0 ? -1 : 0;
        }
}

void bh_review_row_free(struct bh_review_row *row)
{
        if (!row)
                return;
        free(row->tenant);
        free(row->agent);
        free(row->reviewer);
        free(row->note);
        json_decref(row->capabilities);
        free(row);
}

static int read_review(sqlite3_stmt *statement, struct bh_review_row **ret, struct bh_error *error)
{
        _cleanup_(bh_review_row_cleanup) struct bh_review_row *row = bh_alloc(sizeof(*row));
        row->number = sqlite3_column_int64(statement, 0);
        row->tenant = bh_sql_text(statement, 1);
        row->agent = bh_sql_text(statement, 2);
        row->reviewer = bh_sql_text(statement, 3);
        row->note = bh_sql_text(statement, 4);
        row->capabilities = bh_sql_json(statement, 5);
        bh_sql_text_into(statement, 6, row->digest, sizeof(row->digest));
        row->generation = sqlite3_column_int64(statement, 7);
        row->reviewed_ms = sqlite3_column_int64(statement, 8);
        row->expires_ms = sqlite3_column_int64(statement, 9);
        if (!row->reviewer || !row->note || !row->capabilities) {
                bh_error_refused(error, "store_failed", "", "store: a damaged review");
                return -1;
        }
        *ret = bh_steal_ptr(&row);
        return 0;
}

int bh_store_review_add(struct bh_store *store, struct bh_review_row *row, struct bh_error *error)
{
        if (bh_sql_write(store,
                         bh_sql_bind(store, BH_SQL_REVIEW_ADD, "ttttjtiii", row->tenant, row->agent,
                                     row->reviewer, row->note, row->capabilities, row->digest,
                                     row->generation, row->reviewed_ms, row->expires_ms),
                         error) < 0)
                return -1;
        row->number = sqlite3_last_insert_rowid(store->database);
        return 0;
}

static int take_first(const struct bh_review_row *row, void *data, struct bh_error *error)
{
        (void)error;
        struct bh_review_row *copy = bh_alloc(sizeof(*copy));
        *copy = *row;
        copy->tenant = bh_strdup(row->tenant);
        copy->agent = bh_strdup(row->agent);
        copy->reviewer = bh_strdup(row->reviewer);
        copy->note = bh_strdup(row->note);
        json_incref(copy->capabilities);
        *(struct bh_review_row **)data = copy;
        return 1;
}

int bh_store_review_latest(struct bh_store *store, const char *tenant, const char *agent,
                           struct bh_review_row **ret, struct bh_error *error)
{
        struct bh_review_row *row = NULL;
        if (bh_store_review_list(store, tenant, agent, 0, take_first, &row, error) < 0)
                return -1;
        if (!row)
                return 0;
        *ret = row;
        return 1;
}

int bh_store_review_list(struct bh_store *store, const char *tenant, const char *agent,
                         int64_t before, bh_review_visit visit, void *data, struct bh_error *error)
{
        _cleanup_(bh_sql_reset_cleanup) sqlite3_stmt *statement =
                bh_sql_bind(store, BH_SQL_REVIEW_LIST, "tti", tenant, agent, before);
        for (;;) {
                _cleanup_(bh_review_row_cleanup) struct bh_review_row *row = NULL;
                int r = bh_sql_step(store, statement, error);
                if (r <= 0)
                        return r;
                if (read_review(statement, &row, error) < 0)
                        return -1;
                r = visit(row, data, error);
                if (r != 0)
                        return r < 0 ? -1 : 0;
        }
}
