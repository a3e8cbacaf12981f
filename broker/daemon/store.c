/* Opening the database, the turn's transaction, and the helpers that the other store files
 * build on. */
#include "broker/daemon/store.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "broker/daemon/store_sql.h"

static const char *const statement_texts[BH_SQL_COUNT] = {
#define BH_STATEMENT_TEXT(name, sql) [BH_SQL_##name] = sql,
        BH_STATEMENTS(BH_STATEMENT_TEXT)
#undef BH_STATEMENT_TEXT
};

int bh_store_failed(struct bh_store *store, struct bh_error *error)
{
        return bh_error_refused(error, "store_failed", "", "store: %s",
                                sqlite3_errmsg(store->database));
}

static int prepare(struct bh_store *store, struct bh_error *error)
{
        for (int i = 0; i < BH_SQL_COUNT; i++)
                if (sqlite3_prepare_v3(store->database, statement_texts[i], -1,
                                       SQLITE_PREPARE_PERSISTENT, &store->statements[i],
                                       NULL) != SQLITE_OK)
                        return bh_store_failed(store, error);
        return 0;
}

int bh_store_open(const char *path, struct bh_store **ret, struct bh_error *error)
{
        _cleanup_(bh_store_cleanup) struct bh_store *store = bh_alloc(sizeof(*store));
        int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW |
                    SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX;
        if (sqlite3_open_v2(path, &store->database, flags, NULL) != SQLITE_OK) {
                bh_store_failed(store, error);
                return bh_error_prefix(error, "open %s", path);
        }
        /* Nobody else opens it (the state directory is locked), so the WAL index need not be in
         * shared memory, and busy is an error like any other. */
        if (sqlite3_exec(store->database,
                         "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
                         "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
                         "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON",
                         NULL, NULL, NULL) != SQLITE_OK ||
            bh_store_upgrade(store, error) < 0 || prepare(store, error) < 0) {
                if (!error || error->code == BH_ERROR_NONE)
                        bh_store_failed(store, error);
                return bh_error_prefix(error, "open %s", path);
        }
        *ret = bh_steal_ptr(&store);
        return 0;
}

void bh_store_free(struct bh_store *store)
{
        if (!store)
                return;
        for (int i = 0; i < BH_SQL_COUNT; i++)
                sqlite3_finalize(store->statements[i]);
        sqlite3_close(store->database);
        free(store);
}

int bh_store_begin(struct bh_store *store, struct bh_error *error)
{
        if (store->in_transaction)
                return 0;
        if (bh_sql_step(store, bh_sql_bind(store, BH_SQL_BEGIN, ""), error) < 0)
                return -1;
        store->in_transaction = true;
        return 0;
}

bool bh_store_is_dirty(const struct bh_store *store)
{
        return store->in_transaction;
}

int bh_store_commit(struct bh_store *store, struct bh_error *error)
{
        if (!store->in_transaction)
                return 0;
        if (bh_sql_step(store, bh_sql_bind(store, BH_SQL_COMMIT, ""), error) < 0) {
                bh_store_rollback(store);
                return -1;
        }
        store->in_transaction = false;
        return 0;
}

void bh_store_rollback(struct bh_store *store)
{
        /* After some errors SQLite has rolled back by itself; then this one fails harmlessly. */
        if (!sqlite3_get_autocommit(store->database))
                bh_sql_step(store, bh_sql_bind(store, BH_SQL_ROLLBACK, ""), NULL);
        store->in_transaction = false;
}

static void bind_json(sqlite3_stmt *statement, int index, const json_t *json)
{
        if (!json) {
                sqlite3_bind_null(statement, index);
                return;
        }
        char *text = bh_json_text(json);
        sqlite3_bind_text(statement, index, text, -1, free);
}

sqlite3_stmt *bh_sql_bind(struct bh_store *store, enum bh_statement id, const char *types, ...)
{
        sqlite3_stmt *statement = store->statements[id];
        va_list arguments;
        va_start(arguments, types);
        for (int i = 0; types[i]; i++) {
                if (types[i] == 'i')
                        sqlite3_bind_int64(statement, i + 1, va_arg(arguments, int64_t));
                else if (types[i] == 'j')
                        bind_json(statement, i + 1, va_arg(arguments, const json_t *));
                else
                        sqlite3_bind_text(statement, i + 1, va_arg(arguments, const char *), -1,
                                          SQLITE_TRANSIENT);
        }
        va_end(arguments);
        return statement;
}

int bh_sql_step(struct bh_store *store, sqlite3_stmt *statement, struct bh_error *error)
{
        int r = sqlite3_step(statement);
        if (r == SQLITE_ROW)
                return 1;
        if (r != SQLITE_DONE)
                bh_store_failed(store, error);
        bh_sql_reset_cleanup(&statement);
        return r == SQLITE_DONE ? 0 : -1;
}

int bh_sql_write(struct bh_store *store, sqlite3_stmt *statement, struct bh_error *error)
{
        if (bh_store_begin(store, error) < 0) {
                bh_sql_reset_cleanup(&statement);
                return -1;
        }
        return bh_sql_step(store, statement, error);
}

char *bh_sql_text(sqlite3_stmt *statement, int column)
{
        const char *text = (const char *)sqlite3_column_text(statement, column);
        return text ? bh_strdup(text) : NULL;
}

void bh_sql_text_into(sqlite3_stmt *statement, int column, char *buffer, size_t size)
{
        const char *text = (const char *)sqlite3_column_text(statement, column);
        snprintf(buffer, size, "%s", text ? text : "");
}

json_t *bh_sql_json(sqlite3_stmt *statement, int column)
{
        const char *text = (const char *)sqlite3_column_text(statement, column);
        json_t *json = NULL;
        if (text && bh_json_parse(text, strlen(text), &json, NULL) < 0)
                return NULL;
        return json;
}
