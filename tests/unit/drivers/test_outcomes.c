/* The boundaries of lab.h: how a workload's end is told, and what it starts with. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/pidref.h"
#include "lab.h"
#include "needs_root.h"

#define RUN(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct bh_lab lab;
static struct bh_lab_outcome outcome;

static void run(const char *const argv[])
{
        bh_lab_command(&lab, argv, &outcome);
        if (outcome.prepared < 0)
                fail_msg("[%s] %s", outcome.error.subject, outcome.error.message);
}

static void assert_exit(int code)
{
        assert_false(outcome.end.lost);
        assert_false(outcome.end.by_signal);
        assert_int_equal(outcome.end.status, code);
}

static void assert_signal(int number)
{
        assert_false(outcome.end.lost);
        assert_true(outcome.end.by_signal);
        assert_int_equal(outcome.end.status, number);
}

static void test_exit_codes(void **state)
{
        (void)state;
        run(RUN("true"));
        assert_exit(0);
        run(RUN("sh", "-c", "exit 7"));
        assert_exit(7);
        run(RUN("sh", "-c", "exit 137"));
        assert_exit(137);
        assert_false(outcome.end.oom);
}

static void test_signals(void **state)
{
        (void)state;
        run(RUN("sh", "-c", "kill -9 $$"));
        assert_signal(SIGKILL);
        assert_false(outcome.end.oom);
        run(RUN("sh", "-c", "kill -SEGV $$"));
        assert_signal(SIGSEGV);
        run(RUN("sh", "-c", "kill -TERM $$"));
        assert_signal(SIGTERM);
}

static void test_commands_that_cannot_start(void **state)
{
        (void)state;
        run(RUN("no-such-command"));
        assert_exit(127);
        assert_string_equal(outcome.output,
                            "bulkhead: no-such-command: not found in the boundary\n");
        run(RUN("/no/such/file"));
        assert_exit(127);
        run(RUN(""));
        assert_exit(127);
        run(RUN("/etc/passwd"));
        assert_exit(126);
        assert_string_equal(outcome.output, "bulkhead: /etc/passwd: permission denied\n");
        run(RUN("/usr"));
        assert_exit(126);
}

static void test_text_without_interpreter_is_no_program(void **state)
{
        const struct bh_file_entry file = {.path = (char *)"script", .mode = 0755, .length = 7};
        const struct bh_lab_input input = {.payload = "echo hi", .files = &file, .file_count = 1};
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(RUN("./script"));

        (void)state;
        bh_lab_run(&lab, plan, &input, &outcome);
        json_decref(outcome.observed);
        assert_int_equal(outcome.prepared, 0);
        assert_exit(126); /* no shell is ever asked */
        assert_non_null(strstr(outcome.output, "not a program"));
}

static void test_path_is_the_plans(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(RUN("true"));

        (void)state;
        free(plan->environment[0]);
        plan->environment[0] = bh_strdup("PATH=/nowhere::/etc");
        bh_lab_run(&lab, plan, NULL, &outcome);
        json_decref(outcome.observed);
        assert_exit(127);
        free(plan->environment[0]);
        plan->environment[0] = bh_strdup("PATH=/etc:/nowhere:/usr/bin");
        bh_lab_run(&lab, plan, NULL, &outcome);
        json_decref(outcome.observed);
        assert_exit(0);
}

static void test_working_directory(void **state)
{
        static const char *const bad[] = {"/no/such", "/etc/passwd", "/proc/self/fd/3", "/root",
                                          "/proc/self/fd/1"};

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(RUN("pwd"));

                free(plan->cwd);
                plan->cwd = bh_strdup(bad[i]);
                bh_lab_run(&lab, plan, NULL, &outcome);
                json_decref(outcome.observed);
                assert_int_equal(outcome.prepared, 0);
                assert_exit(126);
                assert_non_null(strstr(outcome.output, "not a directory in the boundary"));
        }
        run(RUN("pwd"));
        assert_string_equal(outcome.output, "/workspace\n");
}

static void test_oom_is_told(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan =
                bh_lab_plan(RUN("python3", "-c", "x = bytearray(400 << 20)"));

        (void)state;
        bh_lab_run(&lab, plan, NULL, &outcome);
        json_decref(outcome.observed);
        assert_int_equal(outcome.prepared, 0);
        assert_signal(SIGKILL);
        assert_true(outcome.end.oom);
        assert_true(outcome.usage.oom_kills > 0);
        if (bh_lab_tier() != BH_TIER_USERKERNEL) /* where the limit has room for the sentry, too */
                assert_true(outcome.usage.memory_peak_bytes <=
                            plan->limits.value[BH_LIMIT_MEMORY_BYTES]);
}

/* The victim is a grandchild: the workload's own end is an ordinary one. All processes of a
 * userkernel are one for the host. */
static void test_oom_of_another_process(void **state)
{
        (void)state;
        run(RUN("sh", "-c", "python3 -c 'x = bytearray(400 << 20)'; exit 0"));
        assert_true(outcome.usage.oom_kills > 0);
        if (bh_lab_tier() == BH_TIER_USERKERNEL) {
                assert_signal(SIGKILL);
                assert_true(outcome.end.oom);
                return;
        }
        assert_exit(0);
        assert_false(outcome.end.oom);
}

static void test_kill(void **state)
{
        const struct bh_lab_input input = {.kill_after_ms = 200};
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan =
                bh_lab_plan(RUN("sh", "-c", "trap '' TERM; setsid sleep 99 & sleep 99"));

        (void)state;
        bh_lab_run(&lab, plan, &input, &outcome);
        json_decref(outcome.observed);
        assert_signal(SIGKILL);
        assert_false(outcome.end.oom);
}

/* What the workload leaves running ends with it, also when it holds the pipes. */
static void test_leftovers_end(void **state)
{
        int64_t begin = bh_monotonic_us();

        (void)state;
        run(RUN("sh", "-c", "setsid sleep 99 & (trap '' TERM HUP; sleep 99) & echo hi"));
        assert_exit(0);
        assert_string_equal(outcome.output, "hi\n");
        assert_true(bh_monotonic_us() - begin < 3000000);
}

static void test_orphans_are_reaped_meanwhile(void **state)
{
        (void)state;
        run(RUN("sh", "-c",
                "for i in 1 2 3 4 5; do (true & true); done; sleep 0.2; grep -l '(zombie)' "
                "/proc/[0-9]*/status; exit 3"));
        assert_exit(3);
        assert_string_equal(outcome.output, "");
}

static void test_lost_init(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(RUN("sleep", "99"));
        struct bh_lab_instance instance;
        struct bh_boundary *boundary;
        struct bh_error error;
        struct bh_pidref ref;
        struct bh_end end;
        pid_t init, workload;

        (void)state;
        bh_lab_instance_open(&lab, NULL, &instance);
        assert_ok(lab.driver->prepare(&lab.host, plan, &instance.instance, &boundary, &error),
                  error);
        assert_ok(lab.driver->start(boundary, &error), error);
        assert_int_equal(lab.driver->wait(boundary, &end, &error), 0);
        bh_lab_processes(boundary, &init, &workload);
        assert_ok(bh_pidref_open(init, &ref, &error), error);
        assert_ok(bh_pidref_signal(&ref, SIGKILL, &error), error);
        bh_pidref_clear(&ref);
        assert_int_equal(bh_lab_wait(boundary, &end, &error), 1);
        assert_true(end.lost);
        assert_ok(lab.driver->kill(boundary, &error), error); /* repeatable, also when over */
        lab.driver->release(boundary);
        assert_ok(lab.driver->destroy(&lab.host, instance.instance.id, &error), error);
        assert_ok(lab.driver->destroy(&lab.host, instance.instance.id, &error), error);
        bh_lab_instance_close(&instance);
}

static void test_standard_streams(void **state)
{
        (void)state;
        run(RUN("cat")); /* no input: an end at once */
        assert_exit(0);
        assert_string_equal(outcome.output, "");
        run(RUN("sh", "-c", "echo a > /dev/stdout; echo b > /dev/stderr; echo c >/proc/self/fd/1"));
        assert_exit(0);
        assert_string_equal(outcome.output, "a\nb\nc\n");
        run(RUN("sh", "-c", "echo /proc/self/fd/*")); /* the shell has the directory open as 3 */
        assert_string_equal(outcome.output, "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 "
                                            "/proc/self/fd/3\n");
}

static void test_what_a_workload_starts_with(void **state)
{
        (void)state;
        run(RUN("sh", "-c", "env | grep -v PWD= | sort"));
        assert_string_equal(outcome.output,
                            "HOME=/workspace\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\n");
        run(RUN("sh", "-c", "umask; id -u; id -g; id -G; ulimit -c; hostname"));
        assert_string_equal(outcome.output, "0022\n1000\n1000\n1000\n0\nbulkhead\n");
        if (bh_lab_tier() == BH_TIER_USERKERNEL) /* its status does not say */
                return;
        run(RUN("grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"));
        assert_string_equal(outcome.output, "SigBlk:\t0000000000000000\n"
                                            "SigIgn:\t0000000000000000\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_exit_codes),
                cmocka_unit_test(test_signals),
                cmocka_unit_test(test_commands_that_cannot_start),
                cmocka_unit_test(test_text_without_interpreter_is_no_program),
                cmocka_unit_test(test_path_is_the_plans),
                cmocka_unit_test(test_working_directory),
                cmocka_unit_test(test_oom_is_told),
                cmocka_unit_test(test_oom_of_another_process),
                cmocka_unit_test(test_kill),
                cmocka_unit_test(test_leftovers_end),
                cmocka_unit_test(test_orphans_are_reaped_meanwhile),
                cmocka_unit_test(test_lost_init),
                cmocka_unit_test(test_standard_streams),
                cmocka_unit_test(test_what_a_workload_starts_with),
        };

        if (bh_test_lacks_root("boundaries"))
                return TEST_SKIPPED;
        signal(SIGPIPE, SIG_IGN); /* a workload must not inherit it */
        return bh_lab_run_tests(&lab, tests);
}
