/* broker/shim/run.c, provision.c, finish.c: a whole execution on a scripted driver. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "broker/shim/run.h"
#include "broker/shim_protocol.h"
#include "broker_double.h"
#include "order.h"
#include "scripted_driver.h"

#define RUN(...) ((const char *const[]){__VA_ARGS__, NULL})

struct fixture {
        struct bh_shim_settings settings;
        struct broker_double broker;
        char buffer[4096];
};

static int fake_gateway(struct bh_error *error)
{
        (void)error;
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int no_gateway(struct bh_error *error)
{
        return bh_error_set(error, BH_ERROR_INTERNAL, "no namespace");
}

static int run_shim(void *data, int channel_fd)
{
        struct fixture *fixture = data;

        (void)signal(SIGPIPE, SIG_IGN);
        return bh_shim_run(&fixture->settings, channel_fd);
}

static int set_up(void **state)
{
        struct fixture *fixture = calloc(1, sizeof(*fixture));

        scripted_driver = (struct scripted_driver){.failing = NULL};
        fixture->settings = (struct bh_shim_settings){
                .driver_by_name = scripted_driver_by_name,
                .gateway_make = fake_gateway,
                .stop_fd = eventfd(0, EFD_CLOEXEC),
                .online_cpus = 2,
                .buffer = fixture->buffer,
                .buffer_size = sizeof(fixture->buffer),
                .provision_us = 5000000,
                .kill_us = 200000,
                .drain_us = 200000,
                .taken_us = 100000,
                .retry_us = 20000,
        };
        *state = fixture;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *fixture = *state;

        broker_double_close(&fixture->broker);
        bh_close(fixture->settings.stop_fd);
        free(fixture);
        return 0;
}

static json_t *order_for(const char *const argv[])
{
        static const char *const controls[] = {"scripted", "limit.wall", "limit.cpu",
                                               "limit.output", NULL};

        return order_new("scripted", argv, controls);
}

static void begin_take(struct fixture *fixture, json_t *order)
{
        broker_double_open(&fixture->broker, run_shim, fixture);
        broker_double_start_take(&fixture->broker, order, NULL, 0);
}

static const char *text_of(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

static json_int_t number_in(const json_t *object, const char *key, const char *inner)
{
        return json_integer_value(json_object_get(json_object_get(object, key), inner));
}

/* Takes the result and lets the shim go. */
static json_t *result_of(struct fixture *fixture)
{
        json_t *result = broker_double_hear(&fixture->broker, "result");

        assert_non_null(result);
        broker_double_say(&fixture->broker, "{\"type\": \"taken\"}");
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
        assert_false(broker_double_has_file(&fixture->broker, BH_SHIM_RESULT_FILE));
        assert_false(broker_double_has_file(&fixture->broker, BH_SHIM_CONTROL_SOCKET));
        return result;
}

static void assert_outcome(struct fixture *fixture, const char *outcome, const char *detail)
{
        _cleanup_json_ json_t *result = result_of(fixture);

        assert_string_equal(text_of(result, "outcome"), outcome);
        if (!strstr(text_of(result, "detail"), detail))
                fail_msg("%s is not in: %s", detail, text_of(result, "detail"));
}

static void assert_output(struct fixture *fixture, const char *name, const char *expected)
{
        _cleanup_free_ char *text = broker_double_read(&fixture->broker, name, NULL);

        assert_string_equal(text, expected);
}

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
        broker_double_open(&fixture->broker, run_shim, fixture);
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
        broker_double_open(&fixture->broker, run_shim, fixture);
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
        broker_double_open(&fixture->broker, run_shim, fixture);
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

/* ---- Boundaries that fail ---- */

static void every_failing_slot_ends_it_cleanly(void **state)
{
        static const struct {
                const char *slot, *outcome;
        } slots[] = {
                {"prepare", "boundary_failed"},
                {"observe", "boundary_failed"},
                {"start", "boundary_failed"},
                {"usage", "boundary_failed"},
                {"wait", "lost"},
        };

        for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
                struct fixture *fixture;

                if (i > 0) {
                        tear_down(state);
                        set_up(state);
                }
                fixture = *state;
                scripted_driver.failing = slots[i].slot;
                begin_take(fixture, order_for(RUN("exit:0")));
                assert_outcome(fixture, slots[i].outcome, "made to fail");
        }
}

static void failures_name_the_control(void **state)
{
        struct fixture *fixture = *state;

        scripted_driver.failing = "prepare";
        begin_take(fixture, order_for(RUN("exit:0")));
        assert_outcome(fixture, "boundary_failed", "scripted: made to fail");
}

static void a_control_without_evidence_starts_nothing(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *result = NULL;

        scripted_driver.hide_evidence = true;
        begin_take(fixture, order_for(RUN("out:never")));
        result = result_of(fixture);
        assert_string_equal(text_of(result, "outcome"), "boundary_failed");
        assert_string_equal(text_of(result, "detail"),
                            "scripted: it was not seen to hold on the boundary");
        assert_int_equal(number_in(result, "stdout", "bytes"), 0);
}

static void a_control_that_does_not_hold_starts_nothing(void **state)
{
        struct fixture *fixture = *state;

        scripted_driver.does_not_hold = true;
        begin_take(fixture, order_for(RUN("out:never")));
        assert_outcome(fixture, "boundary_failed", "scripted: it was not seen to hold");
}

static void without_a_gateway_nothing_starts(void **state)
{
        struct fixture *fixture = *state;

        fixture->settings.gateway_make = no_gateway;
        begin_take(fixture, order_for(RUN("out:never")));
        assert_outcome(fixture, "boundary_failed", "gateway.deny_all: no namespace");
}

static void a_driver_that_hangs_is_ended(void **state)
{
        struct fixture *fixture = *state;

        scripted_driver.hang_in_prepare = true;
        fixture->settings.provision_us = 50000;
        begin_take(fixture, order_for(RUN("out:never")));
        assert_outcome(fixture, "boundary_failed", "not ready within 50 ms");
}

static void an_unknown_driver_is_no_execution(void **state)
{
        struct fixture *fixture = *state;
        static const char *const controls[] = {"limit.wall", NULL};

        begin_take(fixture, order_new("vm", RUN("true"), controls));
        assert_outcome(fixture, "boundary_failed", "there is no driver vm");
}

static void output_files_of_another_are_not_touched(void **state)
{
        struct fixture *fixture = *state;
        int other;

        broker_double_open(&fixture->broker, run_shim, fixture);
        other = openat(fixture->broker.directory, "stderr", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_int_equal(bh_write_full(other, "theirs", 6), 0);
        bh_close(other);
        broker_double_start_take(&fixture->broker, order_for(RUN("err:mine")), NULL, 0);
        assert_outcome(fixture, "boundary_failed", "limit.output: ");
        assert_output(fixture, "stderr", "theirs");
}

/* ---- The broker's life ---- */

static void a_spare_goes_quietly(void **state)
{
        struct fixture *fixture = *state;

        broker_double_open(&fixture->broker, run_shim, fixture);
        broker_double_die(&fixture->broker);
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
}

static void a_spare_can_be_told_to_stop(void **state)
{
        struct fixture *fixture = *state;

        broker_double_open(&fixture->broker, run_shim, fixture);
        assert_int_equal(eventfd_write(fixture->settings.stop_fd, 1), 0);
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
}

static void a_wrong_order_is_refused(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("out:never"));

        json_object_set_new(order, "isolaton", json_string("none"));
        begin_take(fixture, order);
        assert_null(broker_double_hear(&fixture->broker, "result"));
        assert_int_equal(broker_double_wait_shim(&fixture->broker), W_EXITCODE(1, 0));
        assert_false(broker_double_has_file(&fixture->broker, "stdout"));
}

static void frames_before_the_order_are_refused(void **state)
{
        struct fixture *fixture = *state;

        broker_double_open(&fixture->broker, run_shim, fixture);
        broker_double_say(&fixture->broker, "{\"type\": \"watch\", \"on\": true}");
        assert_null(broker_double_hear(&fixture->broker, "result"));
        assert_int_equal(broker_double_wait_shim(&fixture->broker), W_EXITCODE(1, 0));
}

static void frames_out_of_order_end_the_execution(void **state)
{
        static const char *const wrong[] = {"{\"type\": \"taken\"}", "{\"type\": \"adopt\"}",
                                            "{\"type\": \"start\"}"};

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                struct fixture *fixture;
                _cleanup_json_ json_t *running = NULL, *result = NULL;

                if (i > 0) {
                        tear_down(state);
                        set_up(state);
                }
                fixture = *state;
                begin_take(fixture, order_for(RUN("sleep:20000")));
                running = broker_double_hear(&fixture->broker, "state");
                broker_double_say(&fixture->broker, wrong[i]);
                assert_null(broker_double_hear(&fixture->broker, "result"));
                assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
                result = broker_double_stored_result(&fixture->broker);
                assert_string_equal(text_of(result, "outcome"), "killed");
                assert_non_null(strstr(text_of(result, "detail"), "broke the protocol"));
        }
}

static void an_execution_outlives_its_broker(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *provisioning = NULL, *result = NULL;

        begin_take(fixture, order_for(RUN("sleep:50", "out:after", "exit:3")));
        provisioning = broker_double_hear(&fixture->broker, "state");
        broker_double_die(&fixture->broker);
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
        result = broker_double_stored_result(&fixture->broker);
        assert_string_equal(text_of(result, "outcome"), "exited");
        assert_int_equal(json_integer_value(json_object_get(result, "exit_code")), 3);
        assert_output(fixture, "stdout", "after");
        assert_false(broker_double_has_file(&fixture->broker, BH_SHIM_CONTROL_SOCKET));
}

static void a_new_broker_adopts_and_takes_the_result(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *provisioning = NULL, *running = NULL, *status = NULL;

        begin_take(fixture, order_for(RUN("sleep:100", "exit:4")));
        provisioning = broker_double_hear(&fixture->broker, "state");
        running = broker_double_hear(&fixture->broker, "state");
        for (int death = 0; death < 2; death++) {
                broker_double_die(&fixture->broker);
                broker_double_adopt(&fixture->broker);
        }
        status = broker_double_hear(&fixture->broker, "status");
        assert_string_equal(text_of(status, "state"), "running");
        assert_true(json_integer_value(json_object_get(status, "started_ms")) > 0);
        assert_outcome(fixture, "exited", "");
}

static void a_new_broker_can_kill(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *provisioning = NULL, *running = NULL;

        begin_take(fixture, order_for(RUN("sleep:20000")));
        provisioning = broker_double_hear(&fixture->broker, "state");
        running = broker_double_hear(&fixture->broker, "state");
        broker_double_die(&fixture->broker);
        broker_double_adopt(&fixture->broker);
        broker_double_say(&fixture->broker,
                          "{\"type\": \"kill\", \"outcome\": \"killed\", \"detail\": \"again\"}");
        assert_outcome(fixture, "killed", "again");
}

static void a_result_that_is_not_taken_is_stored(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *sent = NULL, *stored = NULL;

        begin_take(fixture, order_for(RUN("exit:5")));
        sent = broker_double_hear(&fixture->broker, "result");
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
        stored = broker_double_stored_result(&fixture->broker);
        assert_true(json_equal(sent, stored));
}

static void a_broker_that_dies_with_the_result_untaken_finds_it(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *sent = NULL, *stored = NULL;

        fixture->settings.taken_us = 20000000;
        begin_take(fixture, order_for(RUN("exit:5")));
        sent = broker_double_hear(&fixture->broker, "result");
        broker_double_die(&fixture->broker);
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
        stored = broker_double_stored_result(&fixture->broker);
        assert_true(json_equal(sent, stored));
}

static void every_last_byte_comes_each_time(void **state)
{
        for (int i = 0; i < 60; i++) {
                struct fixture *fixture;

                if (i > 0) {
                        tear_down(state);
                        set_up(state);
                }
                fixture = *state;
                begin_take(fixture, order_for(RUN("out:tail-without-newline")));
                assert_outcome(fixture, "exited", "");
                assert_output(fixture, "stdout", "tail-without-newline");
        }
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
                TEST(every_failing_slot_ends_it_cleanly),
                TEST(failures_name_the_control),
                TEST(a_control_without_evidence_starts_nothing),
                TEST(a_control_that_does_not_hold_starts_nothing),
                TEST(without_a_gateway_nothing_starts),
                TEST(a_driver_that_hangs_is_ended),
                TEST(an_unknown_driver_is_no_execution),
                TEST(output_files_of_another_are_not_touched),
                TEST(a_spare_goes_quietly),
                TEST(a_spare_can_be_told_to_stop),
                TEST(a_wrong_order_is_refused),
                TEST(frames_before_the_order_are_refused),
                TEST(frames_out_of_order_end_the_execution),
                TEST(an_execution_outlives_its_broker),
                TEST(a_new_broker_adopts_and_takes_the_result),
                TEST(a_new_broker_can_kill),
                TEST(a_result_that_is_not_taken_is_stored),
                TEST(a_broker_that_dies_with_the_result_untaken_finds_it),
                TEST(every_last_byte_comes_each_time),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
