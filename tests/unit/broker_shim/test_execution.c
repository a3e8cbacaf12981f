/* broker/shim/run.c, provision.c, finish.c: executions that run, on a scripted driver. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "broker/shim_protocol.h"
#include "execution_fixture.h"
#include "order.h"
#include "scripted_driver.h"

/* ---- The usual way ---- */

static void an_execution_runs_end_to_end(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *provisioning = NULL, *running = NULL, *result = NULL;

        begin_take(fixture, order_for(RUN("out:hello", "err:oops", "exit:7")));
        provisioning = broker_double_hear(&fixture->broker, "state");
        assert_string_equal(text_of(provisioning, "state"), "provisioning");
        running = broker_double_hear(&fixture->broker, "state");
        assert_string_equal(text_of(running, "state"), "running");
        result = result_of(fixture);
        assert_string_equal(text_of(result, "outcome"), "exited");
        assert_int_equal(json_integer_value(json_object_get(result, "exit_code")), 7);
        assert_true(json_is_null(json_object_get(result, "signal")));
        assert_string_equal(text_of(result, "detail"), "");
        assert_int_equal(number_in(result, "stdout", "bytes"), 5);
        assert_int_equal(number_in(result, "stderr", "bytes"), 4);
        assert_int_equal(number_in(result, "usage", "memory_peak_bytes"), 12345);
        assert_non_null(json_object_get(json_object_get(result, "evidence"), "scripted"));
        assert_non_null(json_object_get(json_object_get(result, "evidence"), "limit.wall"));
        assert_true(json_integer_value(json_object_get(result, "started_ms")) > 0);
        assert_output(fixture, "stdout", "hello");
        assert_output(fixture, "stderr", "oops");
}

static void a_signal_has_its_name(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *result = NULL;

        begin_take(fixture, order_for(RUN("signal:15")));
        result = result_of(fixture);
        assert_string_equal(text_of(result, "outcome"), "signaled");
        assert_string_equal(text_of(result, "signal"), "SIGTERM");
        assert_true(json_is_null(json_object_get(result, "exit_code")));
}

static void stdin_is_fed_and_ends(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("cat"));
        size_t size = 300000, got;
        _cleanup_free_ char *input = malloc(size), *output = NULL;
        _cleanup_json_ json_t *result = NULL;

        for (size_t i = 0; i < size; i++)
                input[i] = (char)(i % 251);
        json_object_set_new(order, "stdin",
                            json_pack("{s:i, s:i}", "offset", 1, "length", (int)size - 1));
        open_shim(fixture);
        broker_double_start_take(&fixture->broker, order, input, size);
        result = result_of(fixture);
        assert_string_equal(text_of(result, "outcome"), "exited");
        output = broker_double_read(&fixture->broker, "stdout", &got);
        assert_int_equal(got, size - 1);
        assert_memory_equal(output, input + 1, got);
}

static void stdin_that_nobody_reads_blocks_nothing(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("sleep:30", "out:done"));
        size_t size = 1 << 20;
        _cleanup_free_ char *input = calloc(1, size);

        json_object_set_new(order, "stdin",
                            json_pack("{s:i, s:i}", "offset", 0, "length", (int)size));
        open_shim(fixture);
        broker_double_start_take(&fixture->broker, order, input, size);
        assert_outcome(fixture, "exited", "");
        assert_output(fixture, "stdout", "done");
}

static void without_stdin_there_is_its_end(void **state)
{
        struct fixture *fixture = *state;

        begin_take(fixture, order_for(RUN("cat", "out:end")));
        assert_outcome(fixture, "exited", "");
        assert_output(fixture, "stdout", "end");
}

static void the_head_of_a_flood_is_kept(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("flood:3000000", "err:FINAL", "exit:7"));
        _cleanup_json_ json_t *result = NULL;
        _cleanup_free_ char *head = NULL;
        size_t size;

        order_set_limit(order, "output_bytes", 100000);
        begin_take(fixture, order);
        result = result_of(fixture);
        assert_string_equal(text_of(result, "outcome"), "exited");
        assert_int_equal(json_integer_value(json_object_get(result, "exit_code")), 7);
        assert_int_equal(number_in(result, "stdout", "bytes"), 3000000);
        assert_int_equal(number_in(result, "stdout", "dropped_bytes"), 2900000);
        head = broker_double_read(&fixture->broker, "stdout", &size);
        assert_int_equal(size, 100000);
        assert_output(fixture, "stderr", "FINAL");
}

static void a_watching_broker_hears_of_output(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *first = NULL, *second = NULL;

        begin_take(fixture, order_for(RUN("out:abc", "sleep:60", "out:def", "err:x", "sleep:60")));
        broker_double_say(&fixture->broker, "{\"type\": \"watch\", \"on\": true}");
        first = broker_double_hear(&fixture->broker, "output");
        assert_int_equal(json_integer_value(json_object_get(first, "stdout")), 3);
        second = broker_double_hear(&fixture->broker, "output");
        assert_int_equal(json_integer_value(json_object_get(second, "stdout")), 6);
        assert_outcome(fixture, "exited", "");
}

/* ---- Limits and kills ---- */

static void wall_time_ends_it(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("out:hi", "sleep:20000"));
        _cleanup_json_ json_t *result = NULL;

        order_set_limit(order, "wall_ms", 50);
        begin_take(fixture, order);
        result = result_of(fixture);
        assert_string_equal(text_of(result, "outcome"), "timeout");
        assert_string_equal(text_of(result, "detail"), "wall_ms limit of 50 reached");
        assert_true(number_in(result, "usage", "wall_ms") >= 50);
        assert_true(number_in(result, "usage", "wall_ms") < 2000);
        assert_true(json_is_null(json_object_get(result, "signal")));
        assert_output(fixture, "stdout", "hi");
}

static void cpu_time_ends_it(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("sleep:20000"));
        _cleanup_json_ json_t *result = NULL;

        scripted_driver.cpu_us_per_ms = 2000; /* two CPUs, all the time */
        order_set_limit(order, "cpu_ms", 100);
        begin_take(fixture, order);
        result = result_of(fixture);
        assert_string_equal(text_of(result, "outcome"), "cpu_limit");
        assert_string_equal(text_of(result, "detail"), "cpu_ms limit of 100 reached");
        assert_true(number_in(result, "usage", "cpu_ms") >= 100);
        assert_true(number_in(result, "usage", "wall_ms") < 1000);
}

static void the_memory_limit_is_told_apart(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *result = NULL;

        scripted_driver.oom = true;
        begin_take(fixture, order_for(RUN("signal:9")));
        result = result_of(fixture);
        assert_string_equal(text_of(result, "outcome"), "oom");
        assert_int_equal(number_in(result, "usage", "oom_kills"), 1);
        assert_true(json_is_null(json_object_get(result, "signal")));
}

static void an_end_without_report_is_lost(void **state)
{
        struct fixture *fixture = *state;

        scripted_driver.lost = true;
        begin_take(fixture, order_for(RUN("exit:0")));
        assert_outcome(fixture, "lost", "without telling");
}

static void a_kill_ends_it(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *provisioning = NULL, *running = NULL;

        begin_take(fixture, order_for(RUN("sleep:20000")));
        provisioning = broker_double_hear(&fixture->broker, "state");
        running = broker_double_hear(&fixture->broker, "state");
        broker_double_say(
                &fixture->broker,
                "{\"type\": \"kill\", \"outcome\": \"retiered\", \"detail\": \"raised\"}");
        broker_double_say(&fixture->broker,
                          "{\"type\": \"kill\", \"outcome\": \"killed\", \"detail\": \"later\"}");
        assert_outcome(fixture, "retiered", "raised");
}

static void a_kill_before_the_start_starts_nothing(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("out:never"));
        _cleanup_json_ json_t *result = NULL;

        /* Both frames are there before the shim reads the first. */
        open_shim(fixture);
        assert_int_equal(kill(fixture->broker.shim, SIGSTOP), 0);
        broker_double_start_take(&fixture->broker, order, NULL, 0);
        broker_double_say(&fixture->broker,
                          "{\"type\": \"kill\", \"outcome\": \"killed\", \"detail\": \"no\"}");
        assert_int_equal(kill(fixture->broker.shim, SIGCONT), 0);
        result = result_of(fixture);
        assert_string_equal(text_of(result, "outcome"), "killed");
        assert_true(json_is_null(json_object_get(result, "started_ms")));
        assert_int_equal(number_in(result, "stdout", "bytes"), 0);
}

static void being_told_to_stop_is_a_kill(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *provisioning = NULL, *running = NULL;

        begin_take(fixture, order_for(RUN("sleep:20000")));
        provisioning = broker_double_hear(&fixture->broker, "state");
        running = broker_double_hear(&fixture->broker, "state");
        assert_int_equal(eventfd_write(fixture->settings.stop_fd, 1), 0);
        assert_outcome(fixture, "killed", "the shim was told to stop");
}

static void a_boundary_that_does_not_die_is_torn_down_by_id(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("sleep:20000"));

        scripted_driver.is_deaf = true;
        order_set_limit(order, "wall_ms", 20);
        begin_take(fixture, order);
        assert_outcome(fixture, "timeout", "wall_ms limit of 20 reached");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(an_execution_runs_end_to_end),
                TEST(a_signal_has_its_name),
                TEST(stdin_is_fed_and_ends),
                TEST(stdin_that_nobody_reads_blocks_nothing),
                TEST(without_stdin_there_is_its_end),
                TEST(the_head_of_a_flood_is_kept),
                TEST(a_watching_broker_hears_of_output),
                TEST(wall_time_ends_it),
                TEST(cpu_time_ends_it),
                TEST(the_memory_limit_is_told_apart),
                TEST(an_end_without_report_is_lost),
                TEST(a_kill_ends_it),
                TEST(a_kill_before_the_start_starts_nothing),
                TEST(being_told_to_stop_is_a_kill),
                TEST(a_boundary_that_does_not_die_is_torn_down_by_id),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
