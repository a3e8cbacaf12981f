/* The store: turns, tenants, damage, and what is kept for how long. */
#include "unit.h"

#include <unistd.h>

#include "base/ulid.h"
#include "broker/daemon/store_sql.h"

static char directory[64], path[96];
static struct bh_store *store;

static void reopen(void)
{
        struct bh_error error = {0};
        bh_store_free(store);
        store = NULL;
        if (bh_store_open(path, &store, &error) < 0)
                fail_msg("%s", error.message);
}

static int setup(void **state)
{
        (void)state;
        temporary_directory(directory, sizeof(directory));
        snprintf(path, sizeof(path), "%s/test.db", directory);
        reopen();
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        bh_store_free(store);
        store = NULL;
        static const char *const suffixes[] = {"", "-wal", "-shm"};
        for (size_t i = 0; i < 3; i++) {
                char name[128];
                snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
                unlink(name);
        }
        return rmdir(directory);
}

static void put_agent(const char *tenant, const char *name, int64_t generation)
{
        char tenant_copy[64], name_copy[64], owner[] = "o", digest[] = "sha256:1";
        struct bh_agent_row row = {.tenant = strcpy(tenant_copy, tenant),
                                   .agent = strcpy(name_copy, name),
                                   .owner = owner,
                                   .labels = json_object(),
                                   .capabilities = quoted("{'capabilities': []}"),
                                   .generation = generation};
        strcpy(row.digest, digest);
        assert_int_equal(bh_store_agent_put(store, &row, NULL), 0);
        json_decref(row.labels);
        json_decref(row.capabilities);
}

static int64_t generation_of(const char *tenant, const char *name)
{
        _cleanup_(bh_agent_row_cleanup) struct bh_agent_row *row = NULL;
        int r = bh_store_agent_get(store, tenant, name, &row, NULL);
        assert_true(r >= 0);
        return r ? row->generation : -1;
}

static void a_turn_is_kept_or_not_as_a_whole(void **state)
{
        (void)state;
        put_agent("default", "a", 1);
        put_agent("default", "b", 1);
        bh_store_rollback(store);
        assert_int_equal(generation_of("default", "a"), -1);
        put_agent("default", "a", 2);
        assert_true(bh_store_is_dirty(store));
        assert_int_equal(bh_store_commit(store, NULL), 0);
        assert_false(bh_store_is_dirty(store));
        put_agent("default", "a", 3); /* never committed */
        reopen();
        assert_int_equal(generation_of("default", "a"), 2);
}

static void tenants_do_not_see_each_other(void **state)
{
        (void)state;
        put_agent("one", "a", 1);
        put_agent("two", "a", 5);
        assert_int_equal(generation_of("one", "a"), 1);
        assert_int_equal(generation_of("two", "a"), 5);
        assert_int_equal(generation_of("three", "a"), -1);
}

static int refuse_commit(void *data)
{
        return *(int *)data;
}

static void a_commit_that_fails_is_an_error_and_undoes(void **state)
{
        (void)state;
        int refuse = 1;
        struct bh_error error = {0};
        sqlite3_commit_hook(store->database, refuse_commit, &refuse);
        put_agent("default", "a", 1);
        assert_int_equal(bh_store_commit(store, &error), -1);
        assert_string_equal(error.reason, "store_failed");
        assert_false(bh_store_is_dirty(store));
        assert_int_equal(generation_of("default", "a"), -1);
        refuse = 0;
        put_agent("default", "a", 1);
        assert_int_equal(bh_store_commit(store, NULL), 0);
        assert_int_equal(generation_of("default", "a"), 1);
}

static void a_newer_database_is_refused(void **state)
{
        (void)state;
        struct bh_store *newer = NULL;
        struct bh_error error = {0};
        sqlite3_exec(store->database, "PRAGMA user_version = 99", NULL, NULL, NULL);
        bh_store_free(store);
        store = NULL;
        assert_int_equal(bh_store_open(path, &newer, &error), -1);
        assert_non_null(strstr(error.message, "99"));
}

static void a_damaged_row_is_an_error_not_an_empty_set(void **state)
{
        (void)state;
        _cleanup_(bh_agent_row_cleanup) struct bh_agent_row *row = NULL;
        struct bh_error error = {0};
        put_agent("default", "a", 1);
        sqlite3_exec(store->database, "UPDATE agents SET capabilities = '{'", NULL, NULL, NULL);
        assert_int_equal(bh_store_agent_get(store, "default", "a", &row, &error), -1);
        assert_string_equal(error.reason, "store_failed");
}

static void reviews_go_with_their_agent(void **state)
{
        (void)state;
        char tenant[] = "default", agent[] = "a", reviewer[] = "r", note[] = "n";
        struct bh_review_row row = {
                .tenant = tenant, .agent = agent, .reviewer = reviewer, .note = note};
        _cleanup_(bh_review_row_cleanup) struct bh_review_row *latest = NULL;
        row.capabilities = json_object();
        put_agent(tenant, agent, 1);
        assert_int_equal(bh_store_review_add(store, &row, NULL), 0);
        row.generation = 2;
        assert_int_equal(bh_store_review_add(store, &row, NULL), 0);
        assert_int_equal(bh_store_review_latest(store, tenant, agent, &latest, NULL), 1);
        assert_int_equal(latest->generation, 2);
        assert_int_equal(bh_store_agent_delete(store, tenant, agent, NULL), 0);
        put_agent(tenant, agent, 1);
        struct bh_review_row *none = NULL;
        assert_int_equal(bh_store_review_latest(store, tenant, agent, &none, NULL), 0);
        json_decref(row.capabilities);
}

static void make_execution(char ret_id[BH_ID_SIZE], const char *agent, int64_t ended_ms,
                           const char *plan_digest)
{
        char tenant[] = "default", name[64], driver[] = "d", technology[] = "t", outcome[] = "oom";
        struct bh_execution row = {.tenant = tenant,
                                   .agent = strcpy(name, agent),
                                   .driver = driver,
                                   .technology = technology,
                                   .labels = quoted("{'k': 'v'}"),
                                   .slot = 3,
                                   .created_ms = 10,
                                   .ended_ms = ended_ms,
                                   .outcome = ended_ms ? outcome : NULL,
                                   .state = ended_ms ? BH_EXECUTION_ENDED
                                                     : BH_EXECUTION_PROVISIONING};
        _cleanup_json_ json_t *plan = json_object();
        bh_id_make("ex_", row.id);
        strcpy(row.plan_digest, plan_digest);
        assert_int_equal(bh_store_execution_add(store, &row, plan, NULL), 0);
        memcpy(ret_id, row.id, BH_ID_SIZE);
        json_decref(row.labels);
}

static void an_execution_comes_back_as_it_was(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        _cleanup_(bh_execution_cleanup) struct bh_execution *row = NULL, *again = NULL;
        make_execution(id, "a", 0, "p1");
        assert_int_equal(bh_store_execution_get(store, id, &row, NULL), 1);
        assert_false(row->has_exit_code);
        assert_null(row->outcome);
        assert_int_equal(row->slot, 3);
        row->has_exit_code = true;
        row->exit_code = 137;
        row->out = (struct bh_stream_count){10, 4};
        row->signal = strdup("SIGSEGV");
        row->usage = quoted("{'wall_ms': 5}");
        row->state = BH_EXECUTION_ENDED;
        assert_int_equal(bh_store_execution_update(store, row, NULL), 0);
        assert_int_equal(bh_store_execution_get(store, id, &again, NULL), 1);
        assert_true(again->has_exit_code);
        assert_int_equal(again->exit_code, 137);
        assert_int_equal(again->out.dropped, 4);
        assert_string_equal(again->signal, "SIGSEGV");
        assert_true(json_equal(again->usage, row->usage));
        assert_true(json_equal(again->labels, row->labels));
}

static int count_rows(struct bh_execution *row, void *data, struct bh_error *error)
{
        (void)row;
        (void)error;
        (*(int *)data)++;
        return 0;
}

static int listed(const char *agent, int ended, const char *before)
{
        struct bh_execution_filter filter = {.agent = agent, .ended = ended, .before = before};
        int count = 0;
        assert_int_equal(bh_store_execution_list(store, &filter, count_rows, &count, NULL), 0);
        return count;
}

static void lists_filter(void **state)
{
        (void)state;
        char first[BH_ID_SIZE], second[BH_ID_SIZE], third[BH_ID_SIZE];
        make_execution(first, "a", 0, "p1");
        make_execution(second, "a", 100, "p1");
        make_execution(third, "b", 200, "p2");
        assert_int_equal(listed(NULL, -1, NULL), 3);
        assert_int_equal(listed("a", -1, NULL), 2);
        assert_int_equal(listed(NULL, 1, NULL), 2);
        assert_int_equal(listed(NULL, 0, NULL), 1);
        assert_int_equal(listed("b", 0, NULL), 0);
        assert_int_equal(listed(NULL, -1, third), 2);
        assert_int_equal(listed(NULL, -1, first), 0);
}

static int prunable(int64_t before, int64_t keep, int64_t spare)
{
        int count = 0;
        assert_int_equal(bh_store_execution_prunable(store, before, keep, spare, 100, count_rows,
                                                     &count, NULL),
                         0);
        return count;
}

static void retention_is_by_age_and_count_but_spares_the_young(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        make_execution(id, "a", 0, "p");
        for (int64_t ended_ms = 100; ended_ms <= 500; ended_ms += 100)
                make_execution(id, "a", ended_ms, "p");
        assert_int_equal(prunable(250, 100, 1000), 2); /* 100, 200 */
        assert_int_equal(prunable(0, 2, 1000), 3);     /* all but 400, 500 */
        assert_int_equal(prunable(0, 2, 150), 1);      /* of these only what ended before 150 */
        assert_int_equal(prunable(0, 100, 1000), 0);
}

static void a_plan_goes_with_its_last_execution(void **state)
{
        (void)state;
        char first[BH_ID_SIZE], second[BH_ID_SIZE];
        sqlite3_stmt *count = NULL;
        make_execution(first, "a", 1, "shared");
        make_execution(second, "a", 1, "shared");
        sqlite3_prepare_v2(store->database, "SELECT count(*) FROM plans", -1, &count, NULL);
        assert_int_equal(bh_store_execution_delete(store, first, NULL), 0);
        assert_int_equal(sqlite3_step(count), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(count, 0), 1);
        sqlite3_reset(count);
        assert_int_equal(bh_store_execution_delete(store, second, NULL), 0);
        assert_int_equal(sqlite3_step(count), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(count, 0), 0);
        sqlite3_finalize(count);
}

static void keys_expire(void **state)
{
        (void)state;
        char digest[BH_DIGEST_TEXT_SIZE], execution[BH_ID_SIZE];
        assert_int_equal(bh_store_key_put(store, "t", "k", "d", "ex_1", 1000, NULL), 0);
        assert_int_equal(bh_store_key_get(store, "t", "k", 999, digest, execution, NULL), 1);
        assert_string_equal(execution, "ex_1");
        assert_int_equal(bh_store_key_get(store, "t", "k", 1000, digest, execution, NULL), 0);
        assert_int_equal(bh_store_key_get(store, "u", "k", 1, digest, execution, NULL), 0);
        assert_int_equal(bh_store_key_expire(store, 1000, NULL), 0);
        assert_int_equal(bh_store_key_get(store, "t", "k", 1, digest, execution, NULL), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                STORE_TEST(a_turn_is_kept_or_not_as_a_whole),
                STORE_TEST(tenants_do_not_see_each_other),
                STORE_TEST(a_commit_that_fails_is_an_error_and_undoes),
                STORE_TEST(a_newer_database_is_refused),
                STORE_TEST(a_damaged_row_is_an_error_not_an_empty_set),
                STORE_TEST(reviews_go_with_their_agent),
                STORE_TEST(an_execution_comes_back_as_it_was),
                STORE_TEST(lists_filter),
                STORE_TEST(retention_is_by_age_and_count_but_spares_the_young),
                STORE_TEST(a_plan_goes_with_its_last_execution),
                STORE_TEST(keys_expire),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
