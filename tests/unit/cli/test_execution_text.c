/* api/cli/execution_text: how an execution ended, in words and as an exit status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cli/execution_text.h"
#include "base/cleanup.h"

static void test_signals(void **state)
{
        (void)state;
        assert_int_equal(bh_signal_number("SIGKILL"), SIGKILL);
        assert_int_equal(bh_signal_number("SIGSEGV"), SIGSEGV);
        assert_int_equal(bh_signal_number("SIGRTMIN"), SIGRTMIN);
        assert_int_equal(bh_signal_number("SIGRTMIN+3"), SIGRTMIN + 3);
        assert_int_equal(bh_signal_number("SIGRTMIN+300"), 0);
        assert_int_equal(bh_signal_number("KILL"), 0);
        assert_int_equal(bh_signal_number("SIGNONSENSE"), 0);
        assert_int_equal(bh_signal_number(""), 0);
}

static void test_exit_statuses(void **state)
{
        (void)state;
        static const struct {
                const char *json;
                int status;
                const char *outcome, *said; /* NULL: nothing */
        } cases[] = {
                {"{\"outcome\":\"exited\",\"exit_code\":0}", 0, "exited 0", NULL},
                {"{\"outcome\":\"exited\",\"exit_code\":137}", 137, "exited 137", NULL},
                {"{\"outcome\":\"signaled\",\"signal\":\"SIGSEGV\"}", 139, "signaled SIGSEGV",
                 "SIGSEGV"},
                {"{\"outcome\":\"timeout\"}", 124, "timeout", "--timeout"},
                {"{\"outcome\":\"cpu_limit\"}", 137, "cpu_limit", "--cpu"},
                {"{\"outcome\":\"oom\"}", 137, "oom", "--memory"},
                {"{\"outcome\":\"killed\"}", 137, "killed", "it was killed"},
                {"{\"outcome\":\"retiered\"}", 137, "retiered", "stronger tier"},
                {"{\"outcome\":\"lost\",\"detail\":\"shim died\"}", 125, "lost", "shim died"},
                {"{\"outcome\":\"boundary_failed\",\"detail\":\"seccomp: \\u001b[2J\"}", 125,
                 "boundary_failed", "seccomp: \\x1b[2J"},
                {"{\"outcome\":\"of a later version\"}", 125, "of a later version",
                 "of a later version"},
                {"{\"outcome\":null,\"state\":\"running\"}", 125, "running", "none"},
                {"{\"outcome\":\"exited\",\"exit_code\":3,\"stdout\":"
                 "{\"truncated\":true,\"dropped_bytes\":17}}",
                 3, "exited 3", "last 17 bytes were dropped"},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                char *said = NULL;
                size_t size = 0;
                struct bh_cli cli = {.err = open_memstream(&said, &size)};
                _cleanup_json_ json_t *execution = json_loads(cases[i].json, 0, NULL);
                _cleanup_free_ char *outcome = bh_execution_outcome(execution);

                assert_non_null(execution);
                assert_string_equal(outcome, cases[i].outcome);
                assert_int_equal(bh_execution_exit(&cli, execution), cases[i].status);
                fclose(cli.err);
                if (cases[i].said == NULL)
                        assert_string_equal(said, "");
                else
                        assert_non_null(strstr(said, cases[i].said));
                free(said);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_signals),
                cmocka_unit_test(test_exit_statuses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
