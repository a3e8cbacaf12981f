/* What is acknowledged is stored, and what cannot be stored is not acknowledged. */
#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>

#include <sys/stat.h>
#include <unistd.h>

#include "broker/daemon/store_sql.h"
#include "verified.h"

static int refuse_commit(void *data)
{
        return *(const int *)data;
}

static int refuse;

static void let_commits_fail(void)
{
        refuse = 1;
        sqlite3_commit_hook(fixture.daemon->store->database, refuse_commit, &refuse);
}

static int directories(void)
{
        int count = 0;
        DIR *stream = fdopendir(openat(fixture.daemon->executions_fd, ".", O_RDONLY | O_CLOEXEC));
        assert_non_null(stream);
        for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream))
                count += entry->d_name[0] != '.';
        closedir(stream);
        return count;
}

static void a_turn_that_is_not_stored_starts_and_promises_nothing(void **state)
{
        (void)state;
        size_t shim = 0;
        fixture_agent("a1", "['command.run']");
        let_commits_fail();
        json_t *params = fixture_request("a1", NULL);
        json_object_set_new(params, "idempotency_key", json_string("k"));
        _cleanup_json_ json_t *problem = fixture_expect(500, "executions.create", params);
        assert_string_equal(text_at(problem, "code"), "store_failed");
        json_decref(fixture_expect_shim_frame("start", &shim)); /* only builds */
        assert_int_equal(directories(), 0);
        fixture_expect_no_shim_frame();
        assert_true(TAILQ_EMPTY(&fixture.daemon->executions.all));
        assert_int_equal(fixture.daemon->executions.active, 0);
        json_decref(fixture_expect(
                500, "agents.put",
                json_pack("{sss{sss[]}}", "agent", "a2", "body", "owner", "o", "capabilities")));
        json_decref(fixture_expect(200, "agents.get", json_pack("{ss}", "agent", "a1")));
        _cleanup_json_ json_t *ready = fixture_call("ready", json_object());
        assert_int_equal(json_integer_value(json_object_get(ready, "status")), 503);
        fixture_sleep_ms(1100); /* nothing waits: whether it would work is not known */
        _cleanup_json_ json_t *unknown = fixture_call("ready", json_object());
        assert_int_equal(json_integer_value(json_object_get(unknown, "status")), 200);

        refuse = 0;
        json_decref(fixture_expect(404, "agents.get", json_pack("{ss}", "agent", "a2")));
        json_t *again = fixture_request("a1", NULL);
        json_object_set_new(again, "idempotency_key", json_string("k"));
        json_decref(fixture_expect(201, "executions.create", again));
        _cleanup_json_ json_t *healthy = fixture_call("ready", json_object());
        assert_int_equal(json_integer_value(json_object_get(healthy, "status")), 200);
}

static void an_end_that_is_not_stored_is_kept_and_stored_later(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        size_t got = 0;
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, id);
        let_commits_fail();
        fixture_shim_result(shim, "exited");
        fixture_expect_no_shim_frame(); /* not taken: the shim must keep it */
        refuse = 0;
        fixture_sleep_ms(1100); /* the retry */
        json_decref(fixture_expect_shim_frame("taken", &got));
        assert_int_equal(got, shim);
        _cleanup_json_ json_t *ended =
                fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(ended, "outcome"), "exited");
}

static void a_create_that_waits_is_told_that_it_was_not_stored(void **state)
{
        (void)state;
        fixture_agent("a1", "['command.run']");
        let_commits_fail();
        json_t *params = fixture_request("a1", NULL);
        json_object_set_new(params, "wait_ms", json_integer(60000));
        _cleanup_json_ json_t *problem = fixture_expect(500, "executions.create", params);
        assert_string_equal(text_at(problem, "code"), "store_failed");
        assert_true(TAILQ_EMPTY(&fixture.daemon->executions.all));
        refuse = 0;
}

static void reading_goes_on_while_an_end_cannot_be_stored(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, id);
        let_commits_fail();
        fixture_shim_result(shim, "exited");
        json_decref(fixture_expect(200, "health", json_object()));
        json_decref(fixture_expect(200, "agents.get", json_pack("{ss}", "agent", "a1")));
        json_decref(fixture_expect(200, "executions.list", json_object()));
        _cleanup_json_ json_t *ready = fixture_call("ready", json_object());
        assert_int_equal(json_integer_value(json_object_get(ready, "status")), 503);
        json_decref(fixture_expect(
                500, "agents.put",
                json_pack("{sss{sss[]}}", "agent", "a2", "body", "owner", "o", "capabilities")));
        refuse = 0;
}

static size_t entries(const char *action)
{
        _cleanup_json_ json_t *list = fixture_expect(200, "audit.list", quoted("{'limit': 200}"));
        json_t *entry = NULL;
        size_t index = 0, count = 0;
        json_array_foreach (json_object_get(list, "data"), index, entry)
                count += strcmp(text_at(entry, "action"), action) == 0;
        return count;
}

static void the_audit_log_holds_what_happened_and_only_that(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        size_t got = 0;
        fixture_agent("a1", "['command.run']");
        let_commits_fail();
        json_decref(fixture_expect(500, "executions.create", fixture_request("a1", NULL)));
        json_decref(fixture_expect_shim_frame("start", &got)); /* never to go */
        refuse = 0;
        assert_int_equal(entries("execution.created"), 0);
        size_t shim = fixture_execute("a1", NULL, id);
        refuse = 1;
        fixture_shim_result(shim, "exited");
        assert_int_equal(entries("execution.ended"), 0);
        refuse = 0;
        fixture_sleep_ms(1100);
        json_decref(fixture_expect_shim_frame("taken", &got));
        assert_int_equal(entries("execution.created"), 1);
        assert_int_equal(entries("execution.ended"), 1);
        assert_true(verified_entries(fixture.daemon->audit_fd) > 0);
}

static off_t audit_size(off_t cut)
{
        char path[160];
        struct stat st;
        snprintf(path, sizeof(path), "%s/state/audit/%020d.jsonl", fixture.directory, 1);
        assert_int_equal(stat(path, &st), 0);
        if (cut > 0)
                assert_int_equal(truncate(path, st.st_size - cut), 0);
        return st.st_size;
}

static void entries_that_a_crash_kept_from_the_file_come_back(void **state)
{
        (void)state;
        fixture_agent("a1", "['command.run']");
        fixture_agent("a2", "['command.run']");
        fixture_crash();
        off_t size = audit_size(400); /* the last entry, and half of the one before */
        fixture_start(NULL, NULL);
        assert_int_equal(entries("agent.created"), 2);
        assert_int_equal(entries("audit.repaired"), 1);
        assert_true(audit_size(0) > size);
        assert_true(verified_entries(fixture.daemon->audit_fd) > 0);
}

static void the_store_lets_go_of_entries_once_they_are_synced(void **state)
{
        (void)state;
        sqlite3_stmt *statement = NULL;
        fixture_agent("a1", "['command.run']");
        fixture_sleep_ms(600);
        fixture_agent("a2", "['command.run']");
        sqlite3_prepare_v2(fixture.daemon->store->database, "SELECT count(*) FROM audit_staged", -1,
                           &statement, NULL);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(statement, 0), 1);
        sqlite3_finalize(statement);
}

static void acknowledged_state_is_there_after_a_crash(void **state)
{
        (void)state;
        fixture_agent("a1", "['command.run', 'code.execute']");
        _cleanup_json_ json_t *before =
                fixture_expect(200, "agents.get", json_pack("{ss}", "agent", "a1"));
        fixture_crash();
        fixture_start(NULL, NULL);
        _cleanup_json_ json_t *after =
                fixture_expect(200, "agents.get", json_pack("{ss}", "agent", "a1"));
        assert_true(json_equal(before, after));
}

static void one_broker_for_one_state_directory(void **state)
{
        (void)state;
        struct bh_daemon *second = NULL;
        struct bh_error error = {0};
        struct bh_config *config = NULL;
        struct bh_policy *policy = NULL;
        enum bh_config_result result = BH_CONFIG_RUN;
        char program[] = "bulkheadd", flag[128], run[128];
        snprintf(flag, sizeof(flag), "--state-dir=%s/state", fixture.directory);
        snprintf(run, sizeof(run), "--run-dir=%s/run", fixture.directory);
        char *argv[] = {program, flag, run, NULL};
        assert_int_equal(bh_config_read(3, argv, &config, &result, NULL), 0);
        assert_int_equal(bh_policy_load(NULL, &policy, NULL), 0);
        assert_int_equal(bh_daemon_new_take(config, policy, fixture.daemon->seams, &second, &error),
                         -1);
        assert_non_null(strstr(error.message, "another broker"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                BROKER_TEST(a_turn_that_is_not_stored_starts_and_promises_nothing),
                BROKER_TEST(an_end_that_is_not_stored_is_kept_and_stored_later),
                BROKER_TEST(a_create_that_waits_is_told_that_it_was_not_stored),
                BROKER_TEST(reading_goes_on_while_an_end_cannot_be_stored),
                BROKER_TEST(the_audit_log_holds_what_happened_and_only_that),
                BROKER_TEST(entries_that_a_crash_kept_from_the_file_come_back),
                BROKER_TEST(the_store_lets_go_of_entries_once_they_are_synced),
                BROKER_TEST(acknowledged_state_is_there_after_a_crash),
                BROKER_TEST(one_broker_for_one_state_directory),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
