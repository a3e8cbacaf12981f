/* Agents, reviews, mounts, decisions. */
#include "fixture.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"

static json_t *put(const char *agent, const char *body, const char *if_match)
{
        return json_pack("{sssoss*}", "agent", agent, "body", quoted(body), "if_match", if_match);
}

static void generations_grow_with_every_change(void **state)
{
        (void)state;
        static const struct {
                const char *body;
                int status, generation;
        } steps[] = {
                {"{'owner': 'o', 'capabilities': ['command.run']}", 201, 1},
                {"{'owner': 'o', 'capabilities': ['command.run']}", 200, 1},
                {"{'owner': 'p', 'capabilities': ['command.run']}", 200, 2},
                {"{'owner': 'p', 'capabilities': ['command.run'], 'labels': {'a': 'b'}}", 200, 3},
                {"{'owner': 'p', 'capabilities': ['command.run', 'code.execute']}", 200, 4},
                {"{'owner': 'p', 'capabilities': ['code.execute', 'command.run']}", 200, 4},
                {"{'owner': 'p', 'capabilities': ['command.run']}", 200, 5},
        };
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
                _cleanup_json_ json_t *agent = fixture_expect(steps[i].status, "agents.put",
                                                              put("a1", steps[i].body, NULL));
                assert_int_equal(json_integer_value(json_object_get(agent, "generation")),
                                 steps[i].generation);
        }
}

static char *etag_of(json_t *reply)
{
        char *etag = strdup(text_at(json_object_get(reply, "headers"), "ETag"));
        assert_true(etag[0] == '"');
        json_decref(reply);
        return etag;
}

static void a_lost_update_is_refused(void **state)
{
        (void)state;
        static const char one[] = "{'owner': 'o', 'capabilities': ['command.run']}";
        static const char two[] = "{'owner': 'q', 'capabilities': ['command.run']}";
        json_decref(fixture_expect(412, "agents.put", put("a1", one, "*")));
        _cleanup_free_ char *first = etag_of(fixture_call("agents.put", put("a1", one, NULL)));
        _cleanup_free_ char *same =
                etag_of(fixture_call("agents.get", json_pack("{ss}", "agent", "a1")));
        assert_string_equal(first, same);
        _cleanup_free_ char *second = etag_of(fixture_call("agents.put", put("a1", two, first)));
        assert_string_not_equal(first, second);
        _cleanup_json_ json_t *problem = fixture_expect(412, "agents.put", put("a1", one, first));
        assert_string_equal(text_at(problem, "code"), "precondition_failed");
        json_decref(fixture_expect(412, "agents.delete",
                                   json_pack("{ssss}", "agent", "a1", "if_match", first)));
        json_decref(fixture_expect(200, "agents.put", put("a1", one, "*")));
}

static void a_busy_agent_is_not_deleted(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, id);
        _cleanup_json_ json_t *problem =
                fixture_expect(409, "agents.delete", json_pack("{ss}", "agent", "a1"));
        assert_string_equal(text_at(problem, "code"), "agent_busy");
        fixture_shim_result(shim, "exited");
        json_decref(fixture_expect(204, "agents.delete", json_pack("{ss}", "agent", "a1")));
        json_decref(fixture_expect(404, "agents.get", json_pack("{ss}", "agent", "a1")));
}

static void lists_go_on_where_the_page_ended(void **state)
{
        (void)state;
        static const char *const names[] = {"a", "b", "c", "d", "e"};
        const char *cursor = NULL;
        size_t seen = 0;
        _cleanup_json_ json_t *page = NULL;
        for (size_t i = 0; i < 5; i++)
                fixture_agent(names[i], "['command.run']");
        do {
                json_t *next = fixture_expect(200, "agents.list",
                                              json_pack("{siss*}", "limit", 2, "cursor", cursor));
                json_decref(page);
                page = next;
                size_t index = 0;
                json_t *agent = NULL;
                json_array_foreach (json_object_get(page, "data"), index, agent)
                        assert_string_equal(text_at(agent, "agent"), names[seen++]);
                cursor = json_string_value(json_object_get(page, "next_cursor"));
        } while (cursor);
        assert_int_equal(seen, 5);
}

static void a_review_counts_until_it_grows(void **state)
{
        (void)state;
        static const char grown[] = "{'capabilities': ['command.run', 'code.execute']}";
        fixture_agent("a1", "['command.run']");
        json_decref(fixture_expect(201, "reviews.create",
                                   put("a1", "{'note': 'x', 'expires_in_days': 3}", NULL)));
        json_decref(
                fixture_expect(400, "reviews.create", put("a1", "{'expires_in_days': 0}", NULL)));
        json_decref(fixture_expect(404, "reviews.create", put("a2", "{}", NULL)));
        _cleanup_json_ json_t *agent =
                fixture_expect(200, "agents.get", json_pack("{ss}", "agent", "a1"));
        json_t *currency = json_object_get(agent, "currency");
        assert_true(json_is_false(json_object_get(currency, "stale")));
        assert_string_equal(text_at(currency, "reviewed_by"), "operator:default/operator");
        json_decref(fixture_expect(200, "agents.capabilities.put", put("a1", grown, NULL)));
        _cleanup_json_ json_t *after =
                fixture_expect(200, "agents.get", json_pack("{ss}", "agent", "a1"));
        currency = json_object_get(after, "currency");
        assert_true(json_is_true(json_object_get(currency, "stale")));
        _cleanup_json_ json_t *expected = quoted("['code.execute']");
        assert_true(json_equal(json_object_get(currency, "grown_since_review"), expected));
}

static void a_policy_may_deny_what_is_not_reviewed(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_stop();
        fixture_start(NULL, "{'currency': {'max_age_days': 90, 'on_stale': 'deny'}}");
        fixture_agent("a1", "['command.run']");
        _cleanup_json_ json_t *problem =
                fixture_expect(403, "executions.create", fixture_request("a1", NULL));
        assert_string_equal(text_at(problem, "code"), "review_stale");
        json_decref(fixture_expect(201, "reviews.create", put("a1", "{}", NULL)));
        fixture_execute("a1", NULL, id);
}

static json_t *mount_reply(const char *source)
{
        _cleanup_free_ char *body = bh_format(
                "{'owner': 'o', 'capabilities': ['fs.mount.read'], 'mounts': [{'source': '%s', "
                "'target': '/data', 'mode': 'ro'}]}",
                source);
        return fixture_call("agents.put", put("a1", body, NULL));
}

static void mount_sources_are_looked_at(void **state)
{
        (void)state;
        char root[128], path[192], link_path[192], through[224], socket_path[192];
        fixture_stop();
        temporary_directory(fixture.directory, sizeof(fixture.directory));
        snprintf(root, sizeof(root), "%s/root", fixture.directory);
        snprintf(path, sizeof(path), "%s/data", root);
        snprintf(link_path, sizeof(link_path), "%s/link", root);
        snprintf(through, sizeof(through), "%s/link/x", root);
        snprintf(socket_path, sizeof(socket_path), "%s/fifo", root);
        assert_int_equal(mkdir(root, 0700), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(symlink("/etc", link_path), 0);
        assert_int_equal(mkfifo(socket_path, 0600), 0);
        _cleanup_free_ char *policy = bh_format("{'mounts': {'allowed_roots': ['%s']}}", root);
        fixture_start(NULL, policy);
        const struct {
                const char *source;
                int status;
        } cases[] = {{path, 201},   {link_path, 422}, {through, 422},          {socket_path, 422},
                     {"/etc", 422}, {"/", 422},       {fixture.directory, 422}};
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_json_ json_t *reply = mount_reply(cases[i].source);
                assert_int_equal(json_integer_value(json_object_get(reply, "status")),
                                 cases[i].status);
                if (cases[i].status == 201)
                        continue;
                json_t *problem = json_object_get(reply, "problem");
                assert_string_equal(text_at(problem, "code"), "mount_not_allowed");
                assert_string_equal(
                        text_at(json_array_get(json_object_get(problem, "errors"), 0), "pointer"),
                        "/mounts/0/source");
        }
}

/* The descriptor is of what the name led to when the execution started; later, nothing is looked up
 * by name. */
static void a_source_travels_with_the_order(void **state)
{
        (void)state;
        char id[BH_ID_SIZE], path[192], other[192];
        struct stat status;
        fixture_stop();
        temporary_directory(fixture.directory, sizeof(fixture.directory));
        snprintf(path, sizeof(path), "%s/data", fixture.directory);
        snprintf(other, sizeof(other), "%s/other", fixture.directory);
        assert_int_equal(mkdir(path, 0700), 0);
        _cleanup_free_ char *policy =
                bh_format("{'mounts': {'allowed_roots': ['%s']}}", fixture.directory);
        fixture_start("{'executions': {'concurrent': 1, 'queued': 1}}", policy);
        _cleanup_json_ json_t *reply = mount_reply(path);
        assert_int_equal(json_integer_value(json_object_get(reply, "status")), 201);
        size_t shim = fixture_execute("a1", NULL, id);
        assert_int_equal(fixture.order_fds, 1);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(fixture.last_order_fd.st_ino, status.st_ino);
        assert_int_equal(fixture.last_order_fd.st_dev, status.st_dev);
        _cleanup_json_ json_t *queued =
                fixture_expect(201, "executions.create", fixture_request("a1", NULL));

        assert_int_equal(rename(path, other), 0);
        assert_int_equal(symlink(other, path), 0);
        fixture_shim_state(shim, "running");
        fixture_shim_result(shim, "exited");
        fixture_settle();
        _cleanup_json_ json_t *failed =
                fixture_expect(200, "executions.get",
                               json_pack("{ss}", "execution", text_at(queued, "execution")));
        assert_string_equal(text_at(failed, "outcome"), "boundary_failed");
        assert_non_null(strstr(text_at(failed, "detail"), "mounts: "));
        assert_non_null(strstr(text_at(failed, "detail"), "symbolic link"));

        /* One that need not wait is refused at once, and its key stands for nothing. */
        json_t *request = fixture_request("a1", NULL);
        json_object_set_new(request, "idempotency_key", json_string("once"));
        _cleanup_json_ json_t *again = json_deep_copy(request);
        _cleanup_json_ json_t *problem = fixture_expect(422, "executions.create", request);
        assert_string_equal(text_at(problem, "code"), "mount_not_allowed");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rename(other, path), 0);
        json_decref(fixture_expect(201, "executions.create", json_incref(again)));
        assert_int_equal(rmdir(path), 0);
}

static void the_brokers_own_directories_are_no_sources(void **state)
{
        (void)state;
        char root[64];
        fixture_stop();
        temporary_directory(fixture.directory, sizeof(fixture.directory));
        snprintf(root, sizeof(root), "%s", fixture.directory);
        _cleanup_free_ char *policy = bh_format("{'mounts': {'allowed_roots': ['%s']}}", root);
        fixture_start(NULL, policy);
        const char *const sources[] = {root, fixture.daemon->paths.state_dir,
                                       fixture.daemon->paths.run_dir};
        for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
                _cleanup_json_ json_t *reply = mount_reply(sources[i]);
                assert_int_equal(json_integer_value(json_object_get(reply, "status")), 422);
        }
}

static void a_decision_starts_nothing(void **state)
{
        (void)state;
        fixture_agent("a1", "['code.execute']");
        json_t *params = fixture_request("a1", NULL);
        json_object_del(params, "body_digest");
        _cleanup_json_ json_t *decision = fixture_expect(200, "decisions.create", params);
        assert_string_equal(text_at(decision, "tier"), "container");
        assert_true(json_is_true(json_object_get(decision, "available")));
        fixture_expect_no_shim_frame();
        assert_true(TAILQ_EMPTY(&fixture.daemon->executions.all));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                BROKER_TEST(generations_grow_with_every_change),
                BROKER_TEST(a_lost_update_is_refused),
                BROKER_TEST(a_busy_agent_is_not_deleted),
                BROKER_TEST(lists_go_on_where_the_page_ended),
                BROKER_TEST(a_review_counts_until_it_grows),
                BROKER_TEST(a_policy_may_deny_what_is_not_reviewed),
                BROKER_TEST(mount_sources_are_looked_at),
                BROKER_TEST(a_source_travels_with_the_order),
                BROKER_TEST(the_brokers_own_directories_are_no_sources),
                BROKER_TEST(a_decision_starts_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
