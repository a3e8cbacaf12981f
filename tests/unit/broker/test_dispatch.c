/* The broker's own authorization: every operation, every role, whatever the API let through. */
#include "fixture.h"

#include "broker/daemon/dispatch.h"

static const enum bh_role roles[] = {BH_ROLE_ANONYMOUS, BH_ROLE_ORCHESTRATOR, BH_ROLE_AUDITOR,
                                     BH_ROLE_OPERATOR};

static void every_operation_is_checked_for_every_role(void **state)
{
        (void)state;
        for (int op = 0; op < BH_OP_COUNT; op++)
                for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
                        const char *name = bh_op_name((enum bh_op)op);
                        _cleanup_json_ json_t *reply =
                                fixture_receive(fixture_send(name, roles[i], json_object()));
                        assert_non_null(reply);
                        int status = (int)json_integer_value(json_object_get(reply, "status"));
                        bool allowed = bh_op_allows((enum bh_op)op, roles[i]) ||
                                       bh_op_allows((enum bh_op)op, BH_ROLE_ANONYMOUS);
                        if (allowed) /* the empty params are then its affair */
                                assert_true(status == 200 || status == 400);
                        else
                                assert_int_equal(status, roles[i] == BH_ROLE_ANONYMOUS ? 401 : 403);
                }
}

static void a_wrong_token_is_nobody(void **state)
{
        (void)state;
        _cleanup_json_ json_t *frame =
                json_pack("{sissssssso}", "id", 900, "op", "host.get", "token",
                          "0000000000000000000000000000000000000000000000000000000000000000",
                          "request_id", "req_x", "params", json_object());
        bh_channel_send(fixture.api, frame, NULL, 0, NULL);
        _cleanup_json_ json_t *reply = fixture_receive(900);
        assert_int_equal(json_integer_value(json_object_get(reply, "status")), 401);
        assert_string_equal(text_at(json_object_get(reply, "problem"), "code"), "unauthorized");
}

static void unknown_params_are_refused(void **state)
{
        (void)state;
        static const enum bh_op with_params[] = {
                BH_OP_AUDIT_LIST,       BH_OP_AGENT_PUT,       BH_OP_AGENT_GET,
                BH_OP_AGENT_LIST,       BH_OP_AGENT_DELETE,    BH_OP_CAPABILITIES_PUT,
                BH_OP_REVIEW_CREATE,    BH_OP_REVIEW_LIST,     BH_OP_DECISION,
                BH_OP_EXECUTION_CREATE, BH_OP_EXECUTION_GET,   BH_OP_EXECUTION_LIST,
                BH_OP_EXECUTION_DELETE, BH_OP_EXECUTION_WATCH, BH_OP_WORKSPACE_PUT,
                BH_OP_WORKSPACE_GET,    BH_OP_WORKSPACE_LIST,  BH_OP_WORKSPACE_DELETE};
        for (size_t i = 0; i < sizeof(with_params) / sizeof(with_params[0]); i++) {
                _cleanup_json_ json_t *problem = fixture_expect(400, bh_op_name(with_params[i]),
                                                                json_pack("{si}", "nonsense", 1));
                assert_string_equal(text_at(problem, "code"), "invalid_request");
        }
}

static void an_orchestrator_stays_in_its_tenant(void **state)
{
        (void)state;
        _cleanup_json_ json_t *made =
                fixture_expect(201, "agents.put",
                               json_pack("{sssss{sss[]}}", "agent", "a1", "tenant", "other", "body",
                                         "owner", "o", "capabilities"));
        assert_string_equal(text_at(made, "tenant"), "other");
        _cleanup_json_ json_t *hidden = fixture_receive(
                fixture_send("agents.get", BH_ROLE_ORCHESTRATOR, json_pack("{ss}", "agent", "a1")));
        assert_int_equal(json_integer_value(json_object_get(hidden, "status")), 404);
        _cleanup_json_ json_t *refused = fixture_receive(
                fixture_send("agents.get", BH_ROLE_ORCHESTRATOR,
                             json_pack("{ssss}", "agent", "a1", "tenant", "other")));
        assert_int_equal(json_integer_value(json_object_get(refused, "status")), 403);
        _cleanup_json_ json_t *list =
                fixture_receive(fixture_send("agents.list", BH_ROLE_ORCHESTRATOR, json_object()));
        assert_int_equal(json_array_size(json_object_get(json_object_get(list, "body"), "data")),
                         0);
        _cleanup_json_ json_t *all =
                fixture_receive(fixture_send("agents.list", BH_ROLE_AUDITOR, json_object()));
        assert_int_equal(json_array_size(json_object_get(json_object_get(all, "body"), "data")), 1);
}

static void a_frame_that_no_api_sends_ends_it(void **state)
{
        (void)state;
        static const char *const wrong[] = {
                "{'id': 1, 'op': 'no.such', 'params': {}}",
                "{'op': 'host.get', 'params': {}}",
                "{'id': 1, 'op': 'host.get', 'params': []}",
                "{'id': 1, 'op': 'host.get', 'params': {}, 'role': 'operator'}",
        };
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                struct bh_error error = {0};
                struct bh_frame frame = {.message = quoted(wrong[i])};
                assert_int_equal(bh_dispatch(fixture.daemon, &frame, &error), -1);
                bh_frame_clear(&frame);
        }
        _cleanup_json_ json_t *wrong_frame = quoted(wrong[0]);
        bh_channel_send(fixture.api, wrong_frame, NULL, 0, NULL);
        fixture_settle();
        assert_null(fixture.daemon->api.link);
}

static void readiness_tells_why_not(void **state)
{
        (void)state;
        _cleanup_json_ json_t *ready = fixture_expect(200, "ready", json_object());
        assert_true(json_is_true(json_object_get(ready, "ready")));
        fixture.host_unavailable = true;
        assert_int_equal(bh_daemon_probe(fixture.daemon, NULL), 0);
        fixture.daemon->draining = true;
        fixture.daemon->store_failed = false;
        json_t *reply = fixture_call("ready", json_object());
        assert_int_equal(json_integer_value(json_object_get(reply, "status")), 503);
        json_t *reasons = json_object_get(json_object_get(reply, "body"), "reasons");
        assert_int_equal(json_array_size(reasons), 2);
        json_decref(reply);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                BROKER_TEST(every_operation_is_checked_for_every_role),
                BROKER_TEST(a_wrong_token_is_nobody),
                BROKER_TEST(unknown_params_are_refused),
                BROKER_TEST(an_orchestrator_stays_in_its_tenant),
                BROKER_TEST(a_frame_that_no_api_sends_ends_it),
                BROKER_TEST(readiness_tells_why_not),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
