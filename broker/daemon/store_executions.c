/* Executions and their plans in the store. */
#include <stdlib.h>

#include "base/alloc.h"
#include "broker/daemon/store_sql.h"

static sqlite3_stmt *bind_exit_code(sqlite3_stmt *statement, int index,
                                    const struct bh_execution *execution)
{
        if (execution->has_exit_code)
                sqlite3_bind_int64(statement, index, execution->exit_code);
        else
                sqlite3_bind_null(statement, index);
        return statement;
}

int bh_store_plan_add(struct bh_store *store, const char *digest, const json_t *plan,
                      struct bh_error *error)
{
        return bh_sql_write(store, bh_sql_bind(store, BH_SQL_PLAN_ADD, "tj", digest, plan), error);
}

int bh_store_execution_add(struct bh_store *store, const struct bh_execution *e, const json_t *plan,
                           struct bh_error *error)
{
        if (bh_store_plan_add(store, e->plan_digest, plan, error) < 0)
                return -1;
        sqlite3_stmt *statement = bh_sql_bind(
                store, BH_SQL_EXECUTION_ADD,
                "tttiiiittttti"
                "jiii"
                "iiiitittiiii"
                "jjj",
                e->id, e->tenant, e->agent, (int64_t)e->state, e->generation, (int64_t)e->required,
                (int64_t)e->effective, e->driver, e->technology, e->policy_digest, e->plan_digest,
                e->workspace, (int64_t)e->workspace_writable, e->labels, e->slot,
                (int64_t)e->shim_pid, (int64_t)e->shim_start_time, e->created_ms,
                e->provisioning_ms, e->started_ms, e->ended_ms, e->outcome, e->exit_code, e->signal,
                e->detail, e->out.bytes, e->out.dropped, e->err.bytes, e->err.dropped, e->usage,
                e->timing, e->evidence);
        return bh_sql_write(store, bind_exit_code(statement, 23, e), error);
}

int bh_store_execution_update(struct bh_store *store, const struct bh_execution *e,
                              struct bh_error *error)
{
        sqlite3_stmt *statement = bh_sql_bind(
                store, BH_SQL_EXECUTION_UPDATE,
                "tiiiittttiii"
                "iiititt"
                "iiii"
                "jjji",
                e->id, (int64_t)e->state, e->generation, (int64_t)e->required,
                (int64_t)e->effective, e->driver, e->technology, e->policy_digest, e->plan_digest,
                e->slot, (int64_t)e->shim_pid, (int64_t)e->shim_start_time, e->provisioning_ms,
                e->started_ms, e->ended_ms, e->outcome, e->exit_code, e->signal, e->detail,
                e->out.bytes, e->out.dropped, e->err.bytes, e->err.dropped, e->usage, e->timing,
                e->evidence, (int64_t)e->workspace_writable);
        return bh_sql_write(store, bind_exit_code(statement, 17, e), error);
}

static void read_end(sqlite3_stmt *statement, struct bh_execution *execution)
{
        execution->outcome = bh_sql_text(statement, 21);
        execution->has_exit_code = sqlite3_column_type(statement, 22) != SQLITE_NULL;
        execution->exit_code = sqlite3_column_int64(statement, 22);
        execution->signal = bh_sql_text(statement, 23);
        execution->detail = bh_sql_text(statement, 24);
        execution->out.bytes = sqlite3_column_int64(statement, 25);
        execution->out.dropped = sqlite3_column_int64(statement, 26);
        execution->err.bytes = sqlite3_column_int64(statement, 27);
        execution->err.dropped = sqlite3_column_int64(statement, 28);
        execution->usage = bh_sql_json(statement, 29);
        execution->timing = bh_sql_json(statement, 30);
        execution->evidence = bh_sql_json(statement, 31);
}

static int read_execution(sqlite3_stmt *statement, struct bh_execution **ret,
                          struct bh_error *error)
{
        _cleanup_(bh_execution_cleanup) struct bh_execution *row = bh_alloc(sizeof(*row));
        int state = sqlite3_column_int(statement, 3);
        int required = sqlite3_column_int(statement, 5);
        int effective = sqlite3_column_int(statement, 6);
        bh_sql_text_into(statement, 0, row->id, sizeof(row->id));
        row->tenant = bh_sql_text(statement, 1);
        row->agent = bh_sql_text(statement, 2);
        row->generation = sqlite3_column_int64(statement, 4);
        row->driver = bh_sql_text(statement, 7);
        row->technology = bh_sql_text(statement, 8);
        bh_sql_text_into(statement, 9, row->policy_digest, sizeof(row->policy_digest));
        bh_sql_text_into(statement, 10, row->plan_digest, sizeof(row->plan_digest));
        row->workspace = bh_sql_text(statement, 11);
        row->workspace_writable = sqlite3_column_int(statement, 12) != 0;
        row->labels = bh_sql_json(statement, 13);
        row->slot = sqlite3_column_int64(statement, 14);
        row->shim_pid = (pid_t)sqlite3_column_int64(statement, 15);
        row->shim_start_time = (uint64_t)sqlite3_column_int64(statement, 16);
        row->created_ms = sqlite3_column_int64(statement, 17);
        row->provisioning_ms = sqlite3_column_int64(statement, 18);
        row->started_ms = sqlite3_column_int64(statement, 19);
        row->ended_ms = sqlite3_column_int64(statement, 20);
        read_end(statement, row);
        if (!bh_id_valid("ex_", row->id) || !row->tenant || !row->agent || !row->driver ||
            !row->technology || !row->labels || state < 0 || state > BH_EXECUTION_ENDED ||
            required < 0 || required >= BH_TIER_COUNT || effective < 0 ||
            effective >= BH_TIER_COUNT)
                return bh_error_refused(error, "store_failed", "", "store: a damaged execution");
        row->state = (enum bh_execution_state)state;
        row->required = (enum bh_tier)required;
        row->effective = (enum bh_tier)effective;
        *ret = bh_steal_ptr(&row);
        return 0;
}

int bh_store_execution_get(struct bh_store *store, const char *id, struct bh_execution **ret,
                           struct bh_error *error)
{
        _cleanup_(bh_sql_reset_cleanup) sqlite3_stmt *statement =
                bh_sql_bind(store, BH_SQL_EXECUTION_GET, "t", id);
        int r = bh_sql_step(store, statement, error);
        if (r <= 0)
                return r;
        return read_execution(statement, ret, error) < 0 ? -1 : 1;
}

static int walk(struct bh_store *store, sqlite3_stmt *bound, bh_execution_visit visit, void *data,
                struct bh_error *error)
{
        _cleanup_(bh_sql_reset_cleanup) sqlite3_stmt *statement = bound;
        for (;;) {
                _cleanup_(bh_execution_cleanup) struct bh_execution *row = NULL;
                int r = bh_sql_step(store, statement, error);
                if (r <= 0)
                        return r;
                if (read_execution(statement, &row, error) < 0)
                        return -1;
                r = visit(row, data, error);
                if (r != 0)
                        return r < 0 ? -1 : 0;
        }
}

int bh_store_execution_list(struct bh_store *store, const struct bh_execution_filter *filter,
                            bh_execution_visit visit, void *data, struct bh_error *error)
{
        /* Few are not ended, and these have an index of their own. */
        enum bh_statement statement =
                filter->ended == 0 ? BH_SQL_EXECUTION_LIVE : BH_SQL_EXECUTION_LIST;
        return walk(store,
                    bh_sql_bind(store, statement, "ttit", filter->tenant, filter->agent,
                                (int64_t)filter->ended, filter->before),
                    visit, data, error);
}

int bh_store_execution_prunable(struct bh_store *store, int64_t ended_before_ms, int64_t keep,
                                int64_t spare_ms, int64_t max, bh_execution_visit visit, void *data,
                                struct bh_error *error)
{
        return walk(store,
                    bh_sql_bind(store, BH_SQL_EXECUTION_PRUNABLE, "iiii", ended_before_ms, keep,
                                spare_ms, max),
                    visit, data, error);
}

int bh_store_execution_delete(struct bh_store *store, const char *id, struct bh_error *error)
{
        if (bh_sql_write(store, bh_sql_bind(store, BH_SQL_PLAN_PRUNE, "t", id), error) < 0)
                return -1;
        return bh_sql_write(store, bh_sql_bind(store, BH_SQL_EXECUTION_DELETE, "t", id), error);
}
