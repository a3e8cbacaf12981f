/* Waiting for executions and watching them. */
#include "fixture.h"

#include <sys/socket.h>
#include <unistd.h>

static void expect_state(int64_t id, int sequence, const char *name)
{
        _cleanup_json_ json_t *event = fixture_receive(id);
        assert_non_null(event);
        assert_string_equal(text_at(event, "event"), "state");
        assert_string_equal(text_at(event, "state"), name);
        assert_int_equal(json_integer_value(json_object_get(event, "sequence")), sequence);
}

static void expect_output(int64_t id, int out)
{
        _cleanup_json_ json_t *event = fixture_receive(id);
        assert_non_null(event);
        assert_string_equal(text_at(event, "event"), "output");
        assert_int_equal(json_integer_value(json_object_get(event, "stdout")), out);
}

static void expect_ended(int64_t id)
{
        _cleanup_json_ json_t *event = fixture_receive(id);
        assert_non_null(event);
        assert_string_equal(text_at(event, "event"), "ended");
        assert_int_equal(json_integer_value(json_object_get(event, "sequence")), 4);
        assert_string_equal(text_at(json_object_get(event, "execution"), "state"), "ended");
}

static int64_t watch(const char *id)
{
        return fixture_send("executions.watch", BH_ROLE_OPERATOR,
                            json_pack("{ss}", "execution", id));
}

static void expect_reply(int64_t id, size_t fds)
{
        _cleanup_json_ json_t *reply = fixture_receive(id);
        assert_non_null(reply);
        assert_int_equal(json_integer_value(json_object_get(reply, "status")), 200);
        assert_int_equal(fixture.reply_fds, fds);
}

static void a_watcher_is_told_all_in_order(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        size_t got = 0;
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, id);
        int64_t watcher = watch(id);
        _cleanup_json_ json_t *on = fixture_expect_shim_frame("watch", &got);
        assert_true(json_is_true(json_object_get(on, "on")));
        expect_reply(watcher, 2);
        expect_state(watcher, 1, "queued");
        expect_state(watcher, 2, "provisioning");
        fixture_shim_state(shim, "running");
        expect_state(watcher, 3, "running");
        fixture_shim_send(shim, "{'type': 'output', 'stdout': 3, 'stderr': 0}");
        expect_output(watcher, 3);
        fixture_shim_send(shim, "{'type': 'output', 'stdout': 3, 'stderr': 0}");
        fixture_expect_silence(watcher); /* nothing grew */
        fixture_shim_result(shim, "exited");
        expect_output(watcher, 5);
        expect_ended(watcher);
        fixture_expect_silence(watcher);
        assert_true(LIST_EMPTY(&fixture.daemon->calls));
}

static void the_past_is_told_the_same_way(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, id);
        fixture_shim_state(shim, "running");
        fixture_shim_result(shim, "exited");
        fixture_settle();
        int64_t watcher = watch(id);
        expect_reply(watcher, 2);
        expect_state(watcher, 1, "queued");
        expect_state(watcher, 2, "provisioning");
        expect_state(watcher, 3, "running");
        expect_output(watcher, 5);
        expect_ended(watcher);
}

static void a_queued_one_has_its_watcher_wait_for_its_files(void **state)
{
        (void)state;
        char running[BH_ID_SIZE];
        fixture_stop();
        fixture_start("{'executions': {'concurrent': 1, 'queued': 2}}", NULL);
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, running);
        _cleanup_json_ json_t *second =
                fixture_expect(201, "executions.create", fixture_request("a1", NULL));
        _cleanup_json_ json_t *third =
                fixture_expect(201, "executions.create", fixture_request("a1", NULL));
        int64_t watcher = watch(text_at(second, "execution"));
        int64_t in_vain = watch(text_at(third, "execution"));
        fixture_expect_silence(watcher);
        fixture_expect_silence(in_vain);
        json_decref(fixture_expect(200, "executions.delete",
                                   json_pack("{ss}", "execution", text_at(third, "execution"))));
        expect_reply(in_vain, 0);
        expect_state(in_vain, 1, "queued");
        expect_ended(in_vain);
        fixture_shim_result(shim, "exited");
        expect_reply(watcher, 2);
        expect_state(watcher, 1, "queued");
        expect_state(watcher, 2, "provisioning");
}

static void the_last_watcher_switches_the_reports_off(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        size_t got = 0;
        fixture_agent("a1", "['command.run']");
        fixture_execute("a1", NULL, id);
        int64_t first = watch(id), second = watch(id);
        json_decref(fixture_expect_shim_frame("watch", &got));
        fixture_cancel(first);
        fixture_expect_no_shim_frame();
        fixture_cancel(second);
        _cleanup_json_ json_t *off = fixture_expect_shim_frame("watch", &got);
        assert_true(json_is_false(json_object_get(off, "on")));
}

static void a_wait_ends_with_its_time(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        fixture_execute("a1", NULL, id);
        int64_t wait = fixture_send("executions.get", BH_ROLE_OPERATOR,
                                    json_pack("{sssi}", "execution", id, "wait_ms", 100));
        fixture_expect_silence(wait);
        _cleanup_json_ json_t *reply = fixture_receive(wait);
        assert_string_equal(text_at(json_object_get(reply, "body"), "state"), "provisioning");
}

static void a_stop_answers_whoever_waits(void **state)
{
        (void)state;
        char running[BH_ID_SIZE];
        fixture_stop();
        fixture_start("{'executions': {'concurrent': 1, 'queued': 1}}", NULL);
        fixture_agent("a1", "['command.run']");
        fixture_execute("a1", NULL, running);
        _cleanup_json_ json_t *queued =
                fixture_expect(201, "executions.create", fixture_request("a1", NULL));
        int64_t wait = fixture_send("executions.get", BH_ROLE_OPERATOR,
                                    json_pack("{sssi}", "execution", running, "wait_ms", 60000));
        int64_t watcher = watch(text_at(queued, "execution"));
        fixture_expect_silence(wait);
        fixture_expect_silence(watcher);
        bh_executions_answer_waiters(fixture.daemon);
        _cleanup_json_ json_t *now = fixture_receive(wait);
        assert_string_equal(text_at(json_object_get(now, "body"), "state"), "provisioning");
        _cleanup_json_ json_t *refused = fixture_receive(watcher);
        assert_int_equal(json_integer_value(json_object_get(refused, "status")), 503);
        assert_string_equal(text_at(json_object_get(refused, "problem"), "code"), "draining");
        assert_true(LIST_EMPTY(&fixture.daemon->calls));
}

static void whoever_leaves_is_forgotten(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, id);
        int64_t wait = fixture_send("executions.get", BH_ROLE_OPERATOR,
                                    json_pack("{sssi}", "execution", id, "wait_ms", 60000));
        fixture_settle();
        fixture_cancel(wait);
        assert_true(LIST_EMPTY(&fixture.daemon->calls));
        fixture_shim_result(shim, "exited");
        fixture_expect_silence(wait);
        _cleanup_json_ json_t *ended =
                fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(ended, "state"), "ended"); /* it went on */
}

static void an_api_that_dies_leaves_executions_alone(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, id);
        fixture_send("executions.get", BH_ROLE_OPERATOR,
                     json_pack("{sssi}", "execution", id, "wait_ms", 60000));
        watch(id);
        fixture_settle();
        assert_false(LIST_EMPTY(&fixture.daemon->calls));
        bh_channel_free(fixture.api);
        fixture_settle();
        assert_true(LIST_EMPTY(&fixture.daemon->calls));
        assert_non_null(bh_live_find(fixture.daemon, id));
        fixture_shim_result(shim, "exited");
        fixture_settle();
        assert_null(bh_live_find(fixture.daemon, id)); /* stored */
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
                         0);
        event_del(fixture.daemon->api.restart);
        bh_api_attach_take(fixture.daemon, pair[0]);
        fixture.api = bh_channel_new_take(pair[1]);
        _cleanup_json_ json_t *ended =
                fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(ended, "outcome"), "exited");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                BROKER_TEST(a_watcher_is_told_all_in_order),
                BROKER_TEST(the_past_is_told_the_same_way),
                BROKER_TEST(a_queued_one_has_its_watcher_wait_for_its_files),
                BROKER_TEST(the_last_watcher_switches_the_reports_off),
                BROKER_TEST(a_wait_ends_with_its_time),
                BROKER_TEST(a_stop_answers_whoever_waits),
                BROKER_TEST(whoever_leaves_is_forgotten),
                BROKER_TEST(an_api_that_dies_leaves_executions_alone),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
