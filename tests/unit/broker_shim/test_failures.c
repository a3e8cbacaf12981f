/* broker/shim/run.c, provision.c, finish.c: boundaries and brokers that fail. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "broker/shim_protocol.h"
#include "execution_fixture.h"
#include "order.h"
#include "scripted_driver.h"

static int no_gateway(struct bh_error *error)
{
        return bh_error_set(error, BH_ERROR_INTERNAL, "no namespace");
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

static void a_workload_that_died_before_its_start_has_an_end(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *result = NULL;

        scripted_driver.end_in_prepare = scripted_driver.oom = true;
        begin_take(fixture, order_for(RUN("out:never")));
        result = result_of(fixture);
        assert_string_equal(text_of(result, "outcome"), "oom");
        assert_non_null(strstr(text_of(result, "detail"), "memory_bytes limit of"));
        assert_int_equal(number_in(result, "usage", "oom_kills"), 1);
        assert_int_equal(number_in(result, "stdout", "bytes"), 0);
        assert_true(json_is_null(json_object_get(result, "started_ms")));
}

static void an_unknown_driver_is_no_execution(void **state)
{
        struct fixture *fixture = *state;
        static const char *const controls[] = {"limit.wall", NULL};

        begin_take(fixture, order_new("vm", RUN("true"), controls));
        assert_outcome(fixture, "boundary_failed", "there is no driver vm");
}

/* ---- The broker's life ---- */

static void a_spare_goes_quietly(void **state)
{
        struct fixture *fixture = *state;

        open_shim(fixture);
        broker_double_die(&fixture->broker);
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
}

static void a_spare_can_be_told_to_stop(void **state)
{
        struct fixture *fixture = *state;

        open_shim(fixture);
        assert_int_equal(eventfd_write(fixture->settings.stop_fd, 1), 0);
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
}

static void a_wrong_order_is_refused(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("out:never"));

        json_object_set_new(order, "isolaton", json_string("none"));
        open_shim(fixture);
        broker_double_order_take(&fixture->broker, order, NULL, 0);
        assert_null(broker_double_hear(&fixture->broker, "result"));
        assert_int_equal(broker_double_wait_shim(&fixture->broker), W_EXITCODE(1, 0));
}

static void frames_before_the_order_are_refused(void **state)
{
        struct fixture *fixture = *state;

        open_shim(fixture);
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

static void nothing_runs_before_the_broker_says_go(void **state)
{
        struct fixture *fixture = *state;

        open_shim(fixture);
        broker_double_order_take(&fixture->broker, order_for(RUN("out:ran")), NULL, 0);
        json_decref(broker_double_hear(&fixture->broker, "state"));
        usleep(100000);
        broker_double_go(&fixture->broker);
        assert_outcome(fixture, "exited", "");
        assert_output(fixture, "stdout", "ran");
}

static void a_broker_that_never_said_go_leaves_nothing(void **state)
{
        struct fixture *fixture = *state;

        open_shim(fixture);
        broker_double_order_take(&fixture->broker, order_for(RUN("out:never")), NULL, 0);
        json_decref(broker_double_hear(&fixture->broker, "state"));
        broker_double_die(&fixture->broker);
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
        assert_false(broker_double_has_file(&fixture->broker, "stdout"));
        assert_false(broker_double_has_file(&fixture->broker, BH_SHIM_RESULT_FILE));
        assert_false(broker_double_has_file(&fixture->broker, BH_SHIM_CONTROL_SOCKET));
}

static void a_kill_before_go_starts_nothing(void **state)
{
        struct fixture *fixture = *state;

        open_shim(fixture);
        broker_double_order_take(&fixture->broker, order_for(RUN("out:never")), NULL, 0);
        broker_double_say(&fixture->broker,
                          "{\"type\": \"kill\", \"outcome\": \"killed\", \"detail\": \"by us\"}");
        broker_double_go(&fixture->broker);
        assert_outcome(fixture, "killed", "by us");
        assert_output(fixture, "stdout", "");
}

static void go_is_said_once(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *result = NULL;

        begin_take(fixture, order_for(RUN("sleep:20000")));
        json_decref(broker_double_hear(&fixture->broker, "state"));
        broker_double_go(&fixture->broker);
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
        result = broker_double_stored_result(&fixture->broker);
        assert_non_null(strstr(text_of(result, "detail"), "go twice"));
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

/* ---- A full disk ---- */

/* The execution's directory on a disk of three pages, two of which are taken. */
static void use_small_disk(struct fixture *fixture)
{
        struct broker_double *broker = &fixture->broker;

        assert_int_equal(unshare(CLONE_NEWNS), 0);
        assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
        assert_int_equal(mount("small", broker->path, "tmpfs", 0, "size=12k"), 0);
        bh_close(broker->directory);
        broker->directory = open(broker->path, O_DIRECTORY | O_CLOEXEC);
}

static void fill_disk(struct fixture *fixture)
{
        _cleanup_close_ int fd =
                openat(fixture->broker.directory, "filler", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        char page[4096] = "";

        assert_true(fd >= 0);
        while (write(fd, page, sizeof(page)) > 0)
                ;
        assert_int_equal(errno, ENOSPC);
}

static void empty_disk(struct fixture *fixture)
{
        assert_int_equal(unlinkat(fixture->broker.directory, "filler", 0), 0);
}

/* Runs to its end without a broker, and with nowhere to put the result. */
static void end_on_full_disk(struct fixture *fixture)
{
        _cleanup_json_ json_t *provisioning = NULL, *running = NULL;

        open_shim(fixture);
        use_small_disk(fixture);
        broker_double_start_take(&fixture->broker, order_for(RUN("sleep:30", "exit:6")), NULL, 0);
        provisioning = broker_double_hear(&fixture->broker, "state");
        running = broker_double_hear(&fixture->broker, "state");
        fill_disk(fixture);
        broker_double_die(&fixture->broker);
        usleep(150000);
        assert_int_equal(waitpid(fixture->broker.shim, NULL, WNOHANG), 0);
        assert_false(broker_double_has_file(&fixture->broker, BH_SHIM_RESULT_FILE));
}

static void a_result_waits_for_room(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *result = NULL;

        end_on_full_disk(fixture);
        empty_disk(fixture);
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
        result = broker_double_stored_result(&fixture->broker);
        assert_int_equal(json_integer_value(json_object_get(result, "exit_code")), 6);
        assert_int_equal(umount2(fixture->broker.path, MNT_DETACH), 0);
}

static void a_result_without_room_can_be_adopted(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *status = NULL;

        end_on_full_disk(fixture);
        broker_double_adopt(&fixture->broker);
        status = broker_double_hear(&fixture->broker, "status");
        assert_string_equal(text_of(status, "state"), "ended");
        assert_outcome(fixture, "exited", "");
        empty_disk(fixture);
        assert_int_equal(umount2(fixture->broker.path, MNT_DETACH), 0);
}

static void output_without_room_is_told(void **state)
{
        struct fixture *fixture = *state;

        open_shim(fixture);
        use_small_disk(fixture);
        broker_double_start_take(&fixture->broker, order_for(RUN("flood:100000", "exit:7")), NULL,
                                 0);
        assert_outcome(fixture, "exited", "stdout was lost after 12288 bytes: No space left");
        assert_int_equal(umount2(fixture->broker.path, MNT_DETACH), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(every_failing_slot_ends_it_cleanly),
                TEST(failures_name_the_control),
                TEST(a_control_without_evidence_starts_nothing),
                TEST(a_control_that_does_not_hold_starts_nothing),
                TEST(without_a_gateway_nothing_starts),
                TEST(a_driver_that_hangs_is_ended),
                TEST(a_workload_that_died_before_its_start_has_an_end),
                TEST(an_unknown_driver_is_no_execution),
                TEST(a_spare_goes_quietly),
                TEST(a_spare_can_be_told_to_stop),
                TEST(a_wrong_order_is_refused),
                TEST(frames_before_the_order_are_refused),
                TEST(frames_out_of_order_end_the_execution),
                TEST(nothing_runs_before_the_broker_says_go),
                TEST(a_broker_that_never_said_go_leaves_nothing),
                TEST(a_kill_before_go_starts_nothing),
                TEST(go_is_said_once),
                TEST(an_execution_outlives_its_broker),
                TEST(a_new_broker_adopts_and_takes_the_result),
                TEST(a_new_broker_can_kill),
                TEST(a_result_that_is_not_taken_is_stored),
                TEST(a_broker_that_dies_with_the_result_untaken_finds_it),
                TEST(a_result_waits_for_room),
                TEST(a_result_without_room_can_be_adopted),
                TEST(output_without_room_is_told),
                TEST(every_last_byte_comes_each_time),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
