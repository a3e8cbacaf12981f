/* What is kept for how long. */
#include "fixture.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "broker/daemon/store_sql.h"

static bool has_directory(const char *id)
{
        struct stat st;
        _cleanup_free_ char *path = bh_format("%s/state/executions/%s", fixture.directory, id);
        return stat(path, &st) == 0;
}

static int status_of(const char *id)
{
        _cleanup_json_ json_t *reply =
                fixture_call("executions.get", json_pack("{ss}", "execution", id));
        return (int)json_integer_value(json_object_get(reply, "status"));
}

/* One that ended this many days ago. */
static void ended(char id[BH_ID_SIZE], int days)
{
        fixture_shim_result(fixture_execute("a1", NULL, id), "exited");
        fixture_settle();
        _cleanup_free_ char *sql = bh_format("UPDATE executions SET ended_ms = ended_ms - "
                                             "%lld WHERE id = '%s'",
                                             days * 24LL * 60 * 60 * 1000, id);
        assert_int_equal(sqlite3_exec(fixture.daemon->store->database, sql, NULL, NULL, NULL),
                         SQLITE_OK);
        size_t shim = 0;
        json_decref(fixture_expect_shim_frame("taken", &shim));
}

static void retain(void)
{
        bh_daemon_retain(fixture.daemon);
        bh_daemon_commit(fixture.daemon);
}

static void what_is_too_old_goes_with_its_directory(void **state)
{
        (void)state;
        char old[BH_ID_SIZE], young[BH_ID_SIZE], running[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        ended(old, 8);
        ended(young, 6);
        fixture_execute("a1", NULL, running);
        assert_true(has_directory(old));
        retain();
        assert_false(has_directory(old));
        assert_int_equal(status_of(old), 404);
        assert_true(has_directory(young));
        assert_int_equal(status_of(young), 200);
        assert_int_equal(status_of(running), 200);
}

static void what_is_too_many_goes_but_not_within_a_day(void **state)
{
        (void)state;
        char first[BH_ID_SIZE], second[BH_ID_SIZE], third[BH_ID_SIZE];
        fixture_stop();
        fixture_start("{'executions': {'retain_count': 1}}", NULL);
        fixture_agent("a1", "['command.run']");
        ended(first, 2);
        ended(second, 0); /* an idempotency key may still name it */
        ended(third, 0);
        retain();
        assert_int_equal(status_of(first), 404);
        assert_int_equal(status_of(second), 200);
        assert_int_equal(status_of(third), 200);
}

static void what_is_not_stored_as_deleted_keeps_its_files(void **state)
{
        (void)state;
        char old[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        ended(old, 8);
        bh_daemon_retain(fixture.daemon);
        bh_store_rollback(fixture.daemon->store);
        bh_turn_run(&fixture.daemon->turn, false);
        assert_true(has_directory(old));
        assert_int_equal(status_of(old), 200);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                BROKER_TEST(what_is_too_old_goes_with_its_directory),
                BROKER_TEST(what_is_too_many_goes_but_not_within_a_day),
                BROKER_TEST(what_is_not_stored_as_deleted_keeps_its_files),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
