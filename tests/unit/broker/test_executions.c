/* Admission and the life of an execution, with scripted shims. */
#include "fixture.h"

#include <sys/stat.h>

static void one_goes_from_order_to_result(void **state)
{
        (void)state;
        size_t shim = 0;
        fixture_agent("a1", "['command.run']");
        json_t *params = fixture_request("a1", "{'labels': {'run': '1'}}");
        json_object_set_new(params, "wait_ms", json_integer(5000));
        int64_t id = fixture_send("executions.create", BH_ROLE_OPERATOR, params);
        _cleanup_json_ json_t *start = fixture_expect_start(&shim);
        assert_true(json_is_null(json_object_get(start, "stdin")));
        json_int_t uid = json_integer_value(
                json_object_get(json_object_get(start, "instance"), "workload_uid"));
        assert_int_equal(uid % 2, 0);
        assert_true(uid > (json_int_t)BH_DEFAULT_UID_BASE); /* not the API's own */
        fixture_shim_state(shim, "running");
        fixture_expect_silence(id);
        fixture_shim_result(shim, "exited");
        _cleanup_json_ json_t *reply = fixture_receive(id);
        json_t *body = json_object_get(reply, "body");
        assert_int_equal(json_integer_value(json_object_get(reply, "status")), 201);
        assert_string_equal(text_at(body, "state"), "ended");
        assert_string_equal(text_at(body, "outcome"), "exited");
        assert_true(json_is_true(json_object_get(json_object_get(body, "stdout"), "truncated")));
        assert_non_null(strstr(text_at(json_object_get(reply, "headers"), "Location"), "ex_"));
        json_decref(fixture_expect_shim_frame("taken", &shim));
        _cleanup_json_ json_t *again = fixture_expect(
                200, "executions.get", json_pack("{ss}", "execution", text_at(body, "execution")));
        assert_true(json_equal(body, again));
        assert_int_equal(fixture.daemon->executions.active, 0);
}

static void a_key_creates_once(void **state)
{
        (void)state;
        size_t shim = 0;
        int64_t ids[10];
        fixture_agent("a1", "['command.run']");
        for (int i = 0; i < 10; i++) {
                json_t *params = fixture_request("a1", NULL);
                json_object_set_new(params, "idempotency_key", json_string("k"));
                ids[i] = fixture_send("executions.create", BH_ROLE_OPERATOR, params);
        }
        json_decref(fixture_expect_start(&shim));
        fixture_expect_no_shim_frame();
        char first[BH_ID_SIZE] = "";
        int created = 0;
        for (int i = 0; i < 10; i++) {
                _cleanup_json_ json_t *reply = fixture_receive(ids[i]);
                const char *id = text_at(json_object_get(reply, "body"), "execution");
                bool replayed =
                        strcmp(text_at(json_object_get(reply, "headers"), "Idempotency-Replayed"),
                               "true") == 0;
                int status = (int)json_integer_value(json_object_get(reply, "status"));
                assert_int_equal(status, replayed ? 200 : 201);
                created += !replayed;
                if (!first[0])
                        snprintf(first, sizeof(first), "%s", id);
                assert_string_equal(id, first);
        }
        assert_int_equal(created, 1);
        json_t *other = fixture_request("a1", "{'cwd': '/tmp'}");
        json_object_set_new(other, "idempotency_key", json_string("k"));
        _cleanup_json_ json_t *problem = fixture_expect(409, "executions.create", other);
        assert_string_equal(text_at(problem, "code"), "idempotency_key_reused");
        /* A replay honours wait. */
        json_t *waiting = fixture_request("a1", NULL);
        json_object_set_new(waiting, "idempotency_key", json_string("k"));
        json_object_set_new(waiting, "wait_ms", json_integer(5000));
        int64_t id = fixture_send("executions.create", BH_ROLE_OPERATOR, waiting);
        fixture_expect_silence(id);
        fixture_shim_result(shim, "exited");
        _cleanup_json_ json_t *reply = fixture_receive(id);
        assert_string_equal(text_at(json_object_get(reply, "body"), "outcome"), "exited");
}

static void what_it_names_must_exist(void **state)
{
        (void)state;
        static const struct {
                const char *agent, *extra, *code;
                int status;
        } cases[] = {
                {"nobody", NULL, "not_found", 404},
                {"a1", "{'workspace': 'none'}", "workspace_missing", 422},
                {"a1", "{'image': 'none'}", "image_missing", 422},
                {"a1", "{'min_tier': 'vm'}", "tier_unavailable", 503},
                {"a1", "{'argv': []}", "invalid_request", 400},
        };
        fixture_agent("a1", "['command.run']");
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_json_ json_t *problem =
                        fixture_expect(cases[i].status, "executions.create",
                                       fixture_request(cases[i].agent, cases[i].extra));
                assert_string_equal(text_at(problem, "code"), cases[i].code);
        }
        fixture_expect_no_shim_frame();
        _cleanup_json_ json_t *list = fixture_expect(200, "executions.list", json_object());
        assert_int_equal(json_array_size(json_object_get(list, "data")), 0);
}

static void a_repaired_host_is_seen(void **state)
{
        (void)state;
        fixture_agent("a1", "['command.run']");
        fixture.host_unavailable = true;
        assert_int_equal(bh_daemon_probe(fixture.daemon, NULL), 0);
        size_t probes = fixture.probes;
        json_decref(fixture_expect(503, "executions.create", fixture_request("a1", NULL)));
        json_decref(fixture_expect(503, "executions.create", fixture_request("a1", NULL)));
        assert_int_equal(fixture.probes, probes); /* not more than once a second */
        fixture.host_unavailable = false;
        fixture_sleep_ms(1050);
        char id[BH_ID_SIZE];
        fixture_execute("a1", NULL, id);
}

static void a_kill_goes_through_the_shim(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        size_t got = 0;
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, id);
        json_decref(fixture_expect(202, "executions.delete", json_pack("{ss}", "execution", id)));
        _cleanup_json_ json_t *kill = fixture_expect_shim_frame("kill", &got);
        assert_int_equal(got, shim);
        assert_string_equal(text_at(kill, "outcome"), "killed");
        fixture_shim_result(shim, "killed");
        _cleanup_json_ json_t *ended =
                fixture_expect(200, "executions.delete", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(ended, "outcome"), "killed");
        json_decref(fixture_expect(404, "executions.delete",
                                   json_pack("{ss}", "execution", "ex_nothing")));
}

static void a_kill_in_the_turn_of_the_creation_follows_the_order(void **state)
{
        (void)state;
        size_t shim = 0;
        fixture_agent("a1", "['command.run']");
        json_t *params = fixture_request("a1", NULL);
        int64_t id = fixture_send("executions.create", BH_ROLE_OPERATOR, params);
        int64_t force = fixture_send("agents.delete", BH_ROLE_OPERATOR,
                                     json_pack("{sssb}", "agent", "a1", "force", true));
        json_decref(fixture_expect_shim_frame("start", &shim));
        json_decref(fixture_expect_shim_frame("kill", &shim)); /* before it may go */
        json_decref(fixture_expect_shim_frame("go", &shim));
        json_decref(fixture_receive(id));
        fixture_expect_silence(force); /* until it has really ended */
        fixture_shim_result(shim, "killed");
        _cleanup_json_ json_t *reply = fixture_receive(force);
        assert_int_equal(json_integer_value(json_object_get(reply, "status")), 204);
}

static void a_shim_that_dies_is_a_clean_lost(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        fixture_shim_close(fixture_execute("a1", NULL, id));
        _cleanup_json_ json_t *ended =
                fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(ended, "outcome"), "lost");
        assert_string_equal(fixture.last_destroyed, id);
}

static void a_shim_that_breaks_the_protocol_is_a_clean_lost(void **state)
{
        (void)state;
        static const char *const wrong[] = {
                "{'type': 'nonsense'}",
                "{'type': 'state', 'state': 'flying', 'at_ms': 1}",
                "{'type': 'state', 'state': 'running', 'at_ms': 1, 'more': 1}",
                "{'type': 'output', 'stdout': -1, 'stderr': 0}",
                "{'type': 'result', 'outcome': 'exited'}",
        };
        fixture_agent("a1", "['command.run']");
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                char id[BH_ID_SIZE];
                size_t shim = fixture_execute("a1", NULL, id);
                fixture_shim_send(shim, wrong[i]);
                _cleanup_json_ json_t *ended =
                        fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
                assert_string_equal(text_at(ended, "outcome"), "lost");
                fixture_shim_close(shim);
        }
        assert_int_equal(fixture.destroyed, sizeof(wrong) / sizeof(wrong[0]));
}

static void one_writer_at_a_time(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        size_t shim = 0;
        json_t *params = json_pack("{sss{si}}", "workspace", "w1", "body", "disk_bytes", 4 << 20);
        json_decref(fixture_expect(201, "workspaces.put", params));
        fixture_agent("reader", "['command.run', 'fs.workspace.read']");
        fixture_agent("writer", "['command.run', 'fs.workspace.write']");
        fixture_execute("reader", "{'workspace': 'w1'}", id);
        shim = fixture_execute("reader", "{'workspace': 'w1'}", id);
        _cleanup_json_ json_t *busy = fixture_expect(
                409, "executions.create", fixture_request("writer", "{'workspace': 'w1'}"));
        assert_string_equal(text_at(busy, "code"), "workspace_busy");
        json_decref(fixture_expect(409, "workspaces.delete", json_pack("{ss}", "workspace", "w1")));
        fixture_shim_result(shim, "exited");
        json_decref(fixture_expect_shim_frame("taken", &shim));
        json_decref(fixture_expect(409, "executions.create",
                                   fixture_request("writer", "{'workspace': 'w1'}")));
        struct bh_live *first = TAILQ_FIRST(&fixture.daemon->executions.all);
        bh_live_end(first, "killed", "");
        fixture_settle();
        json_decref(fixture_shim_frame(&shim)); /* taken */
        fixture_execute("writer", "{'workspace': 'w1'}", id);
        json_decref(fixture_expect(409, "executions.create",
                                   fixture_request("reader", "{'workspace': 'w1'}")));
}

static void beyond_the_places_they_queue_in_order(void **state)
{
        (void)state;
        fixture_stop();
        fixture_start("{'executions': {'concurrent': 1, 'queued': 2}}", NULL);
        char running[BH_ID_SIZE];
        size_t shim = 0;
        fixture_agent("a1", "['command.run']");
        size_t first = fixture_execute("a1", NULL, running);
        _cleanup_json_ json_t *second =
                fixture_expect(201, "executions.create", fixture_request("a1", NULL));
        _cleanup_json_ json_t *third =
                fixture_expect(201, "executions.create", fixture_request("a1", NULL));
        assert_string_equal(text_at(second, "state"), "queued");
        _cleanup_json_ json_t *reply =
                fixture_call("executions.create", fixture_request("a1", NULL));
        assert_int_equal(json_integer_value(json_object_get(reply, "status")), 429);
        assert_string_equal(text_at(json_object_get(reply, "headers"), "Retry-After"), "1");
        fixture_expect_no_shim_frame();
        json_decref(
                fixture_expect(202, "executions.delete", json_pack("{ss}", "execution", running)));
        json_decref(fixture_expect_shim_frame("kill", &shim));
        fixture_shim_result(first, "killed");
        for (int frames = 0; frames < 3; frames++) {
                _cleanup_json_ json_t *frame = fixture_shim_frame(&shim);
                if (strcmp(text_at(frame, "type"), "start") == 0)
                        assert_string_equal(text_at(frame, "execution"),
                                            text_at(second, "execution"));
                else if (shim == first)
                        assert_string_equal(text_at(frame, "type"), "taken");
                else
                        assert_string_equal(text_at(frame, "type"), "go");
        }
        /* A queued one can be killed without any shim. */
        json_decref(fixture_expect(200, "executions.delete",
                                   json_pack("{ss}", "execution", text_at(third, "execution"))));
        fixture_expect_no_shim_frame();
}

static void lists_filter_by_what_is_true_now(void **state)
{
        (void)state;
        char id[BH_ID_SIZE], other[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        fixture_agent("a2", "['command.run']");
        size_t shim = fixture_execute("a1", "{'labels': {'run': '1'}}", id);
        fixture_execute("a2", NULL, other);
        fixture_shim_state(shim, "running");
        static const struct {
                const char *params;
                size_t count;
        } cases[] = {
                {"{'state': 'running'}", 1},
                {"{'state': 'provisioning'}", 1},
                {"{'state': 'ended'}", 0},
                {"{'agent': 'a1'}", 1},
                {"{'limit': 1}", 1},
                {"{'labels': {'run': '1'}}", 1},
                {"{'labels': {'run': '2'}}", 0},
                {"{}", 2},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_json_ json_t *list =
                        fixture_expect(200, "executions.list", quoted(cases[i].params));
                assert_int_equal(json_array_size(json_object_get(list, "data")), cases[i].count);
        }
        json_decref(fixture_expect(400, "executions.list", quoted("{'state': 'flying'}")));
}

static void without_a_shim_it_is_unavailable_and_never_was(void **state)
{
        (void)state;
        int64_t status = 201;
        fixture_agent("a1", "['command.run']");
        fixture.no_spawn = true;
        for (int i = 0; i < 50 && status == 201; i++) { /* the spares go first */
                _cleanup_json_ json_t *reply =
                        fixture_call("executions.create", fixture_request("a1", NULL));
                status = json_integer_value(json_object_get(reply, "status"));
        }
        assert_int_equal(status, 503);
        int64_t active = fixture.daemon->executions.active;
        json_decref(fixture_expect(503, "executions.create", fixture_request("a1", NULL)));
        assert_int_equal(fixture.daemon->executions.active, active);
        fixture.no_spawn = false;
        json_decref(fixture_expect(201, "executions.create", fixture_request("a1", NULL)));
}

static void a_shim_that_forgets_the_limit_is_told(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        size_t got = 0;
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", "{'limits': {'wall_ms': 1}}", id);
        fixture_shim_send(shim, "{'type': 'state', 'state': 'running', 'at_ms': 1}");
        fixture_expect_no_shim_frame();
        fixture_sleep_ms(5100);
        _cleanup_json_ json_t *kill = fixture_expect_shim_frame("kill", &got);
        assert_int_equal(got, shim);
        assert_string_equal(text_at(kill, "outcome"), "timeout");
}

static void its_files_are_there_before_it_runs_and_private(void **state)
{
        (void)state;
        static const char *const names[] = {"stdout", "stderr"};
        char id[BH_ID_SIZE], path[BH_ID_SIZE + 16];
        struct stat file;
        fixture_agent("a1", "['command.run']");
        fixture_execute("a1", NULL, id);
        for (size_t i = 0; i < 2; i++) {
                snprintf(path, sizeof(path), "%s/%s", id, names[i]);
                assert_int_equal(fstatat(fixture.daemon->executions_fd, path, &file, 0), 0);
                assert_int_equal(file.st_mode, S_IFREG | 0600);
                assert_int_equal(file.st_size, 0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                BROKER_TEST(a_shim_that_forgets_the_limit_is_told),
                BROKER_TEST(without_a_shim_it_is_unavailable_and_never_was),
                BROKER_TEST(its_files_are_there_before_it_runs_and_private),
                BROKER_TEST(one_goes_from_order_to_result),
                BROKER_TEST(a_key_creates_once),
                BROKER_TEST(what_it_names_must_exist),
                BROKER_TEST(a_repaired_host_is_seen),
                BROKER_TEST(a_kill_goes_through_the_shim),
                BROKER_TEST(a_kill_in_the_turn_of_the_creation_follows_the_order),
                BROKER_TEST(a_shim_that_dies_is_a_clean_lost),
                BROKER_TEST(a_shim_that_breaks_the_protocol_is_a_clean_lost),
                BROKER_TEST(one_writer_at_a_time),
                BROKER_TEST(beyond_the_places_they_queue_in_order),
                BROKER_TEST(lists_filter_by_what_is_true_now),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
