/* Re-tiering: the pure decision, and what is done about it. */
#include "fixture.h"

#include "broker/daemon/retier.h"

static json_t *capabilities(const char *agent, const char *set)
{
        return json_pack("{sss{so}}", "agent", agent, "body", "capabilities", quoted(set));
}

static void raising_acts_by_policy_and_lowering_never(void **state)
{
        (void)state;
        struct bh_policy policy = {.on_raise = BH_ON_RAISE_KILL};
        for (int required = 0; required < BH_TIER_COUNT; required++)
                for (int effective = 0; effective < BH_TIER_COUNT; effective++) {
                        bool weak = effective < required;
                        policy.on_raise = BH_ON_RAISE_KILL;
                        assert_int_equal(bh_retier_decide(&policy, (enum bh_tier)required,
                                                          (enum bh_tier)effective),
                                         weak ? BH_RETIER_KILL : BH_RETIER_KEEP);
                        policy.on_raise = BH_ON_RAISE_DRAIN;
                        assert_int_equal(bh_retier_decide(&policy, (enum bh_tier)required,
                                                          (enum bh_tier)effective),
                                         weak ? BH_RETIER_DRAIN : BH_RETIER_KEEP);
                }
}

static const char *action_of(const json_t *change, const char *id)
{
        size_t index = 0;
        json_t *item = NULL;
        json_array_foreach (json_object_get(change, "affected"), index, item)
                if (strcmp(text_at(item, "execution"), id) == 0)
                        return text_at(item, "action");
        return "none";
}

static void the_answer_waits_until_the_weak_ones_are_gone(void **state)
{
        (void)state;
        char weak[BH_ID_SIZE], strong[BH_ID_SIZE], other[BH_ID_SIZE];
        size_t got = 0;
        fixture_agent("a1", "['command.run']");
        fixture_agent("a2", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, weak);
        fixture_execute("a1", "{'min_tier': 'container'}", strong);
        fixture_execute("a2", NULL, other);
        int64_t id = fixture_send("agents.capabilities.put", BH_ROLE_OPERATOR,
                                  capabilities("a1", "['code.execute']"));
        _cleanup_json_ json_t *kill = fixture_expect_shim_frame("kill", &got);
        assert_int_equal(got, shim);
        assert_string_equal(text_at(kill, "outcome"), "retiered");
        fixture_expect_no_shim_frame();
        fixture_expect_silence(id);
        fixture_shim_result(shim, "retiered");
        _cleanup_json_ json_t *reply = fixture_receive(id);
        json_t *change = json_object_get(reply, "body");
        assert_string_equal(text_at(change, "previous_tier"), "subprocess");
        assert_string_equal(text_at(change, "required_tier"), "container");
        assert_string_equal(action_of(change, weak), "killed");
        assert_string_equal(action_of(change, strong), "kept");
        assert_string_equal(action_of(change, other), "none");
        assert_int_equal(json_integer_value(json_object_get(change, "generation")), 2);
}

static void lowering_and_repeating_move_nothing(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_agent("a1", "['code.execute']");
        fixture_execute("a1", NULL, id);
        _cleanup_json_ json_t *lowered = fixture_expect(200, "agents.capabilities.put",
                                                        capabilities("a1", "['command.run']"));
        assert_string_equal(action_of(lowered, id), "kept");
        _cleanup_json_ json_t *repeated = fixture_expect(200, "agents.capabilities.put",
                                                         capabilities("a1", "['command.run']"));
        assert_int_equal(json_integer_value(json_object_get(repeated, "generation")), 2);
        fixture_expect_no_shim_frame();
}

static void draining_gives_time_and_then_ends_it(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        size_t got = 0;
        fixture_stop();
        fixture_start(NULL, "{'retier': {'on_raise': 'drain', 'drain_ms': 150}}");
        fixture_agent("a1", "['command.run']");
        size_t shim = fixture_execute("a1", NULL, id);
        _cleanup_json_ json_t *change = fixture_expect(200, "agents.capabilities.put",
                                                       capabilities("a1", "['code.execute']"));
        assert_string_equal(action_of(change, id), "drained");
        fixture_expect_no_shim_frame();
        _cleanup_json_ json_t *kill = fixture_expect_shim_frame("kill", &got);
        assert_int_equal(got, shim);
        assert_string_equal(text_at(kill, "outcome"), "retiered");
}

static void a_raise_that_is_taken_back_ends_nothing(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_stop();
        fixture_start(NULL, "{'retier': {'on_raise': 'drain', 'drain_ms': 150}}");
        fixture_agent("a1", "['command.run']");
        fixture_execute("a1", NULL, id);
        json_decref(fixture_expect(200, "agents.capabilities.put",
                                   capabilities("a1", "['code.execute']")));
        _cleanup_json_ json_t *back = fixture_expect(200, "agents.capabilities.put",
                                                     capabilities("a1", "['command.run']"));
        assert_string_equal(action_of(back, id), "kept");
        fixture_sleep_ms(300);
        fixture_expect_no_shim_frame();
}

static void what_is_queued_gets_the_newer_set(void **state)
{
        (void)state;
        char running[BH_ID_SIZE];
        size_t got = 0;
        fixture_stop();
        fixture_start("{'executions': {'concurrent': 1}}", NULL);
        fixture_agent("a1", "['command.run']");
        fixture_agent("a2", "['command.run']");
        size_t shim = fixture_execute("a2", NULL, running);
        _cleanup_json_ json_t *queued =
                fixture_expect(201, "executions.create", fixture_request("a1", NULL));
        const char *id = text_at(queued, "execution");
        _cleanup_json_ json_t *change = fixture_expect(200, "agents.capabilities.put",
                                                       capabilities("a1", "['code.execute']"));
        assert_string_equal(action_of(change, id), "kept");
        _cleanup_json_ json_t *shown =
                fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(json_object_get(shown, "tier"), "effective"), "container");
        assert_int_equal(json_integer_value(json_object_get(shown, "capability_generation")), 2);
        /* A set that this host cannot give ends it. */
        _cleanup_json_ json_t *raised = fixture_expect(200, "agents.capabilities.put",
                                                       capabilities("a1", "['root.inside']"));
        assert_string_equal(action_of(raised, id), "killed");
        _cleanup_json_ json_t *ended =
                fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(ended, "outcome"), "retiered");
        fixture_shim_result(shim, "exited");
        json_decref(fixture_expect_shim_frame("taken", &got));
        fixture_expect_no_shim_frame();
}

static void a_shim_that_does_not_obey_is_given_up(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        fixture_agent("a1", "['command.run']");
        fixture_execute("a1", NULL, id);
        int64_t reply = fixture_send("agents.capabilities.put", BH_ROLE_OPERATOR,
                                     capabilities("a1", "['code.execute']"));
        fixture_expect_silence(reply);
        struct bh_live *live = bh_live_find(fixture.daemon, id);
        assert_non_null(live->kill_deadline);
        event_active(live->kill_deadline, EV_TIMEOUT, 0);
        json_decref(fixture_receive(reply));
        _cleanup_json_ json_t *ended =
                fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(ended, "outcome"), "lost");
        assert_string_equal(fixture.last_destroyed, id);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(raising_acts_by_policy_and_lowering_never),
                BROKER_TEST(the_answer_waits_until_the_weak_ones_are_gone),
                BROKER_TEST(lowering_and_repeating_move_nothing),
                BROKER_TEST(draining_gives_time_and_then_ends_it),
                BROKER_TEST(a_raise_that_is_taken_back_ends_nothing),
                BROKER_TEST(what_is_queued_gets_the_newer_set),
                BROKER_TEST(a_shim_that_does_not_obey_is_given_up),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
