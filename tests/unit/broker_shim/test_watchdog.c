/* broker/shim/watchdog.c: a slot that hangs on its child gets the child's end instead. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "broker/shim/watchdog.h"

static pid_t start_sleeper(void)
{
        pid_t pid = fork();

        if (pid == 0) {
                for (;;)
                        pause();
        }
        return pid;
}

static void a_child_that_hangs_is_killed(void **state)
{
        pid_t first, second;
        int status;

        (void)state;
        assert_int_equal(bh_watchdog_arm(30000, NULL), 0);
        first = start_sleeper();
        assert_int_equal(waitpid(first, &status, 0), first);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGKILL);
        second = start_sleeper(); /* what the slot starts meanwhile goes too */
        assert_int_equal(waitpid(second, &status, 0), second);
        assert_true(WIFSIGNALED(status));
        assert_true(bh_watchdog_disarm());
}

static void in_time_nothing_happens(void **state)
{
        pid_t child = start_sleeper();
        int64_t until;

        (void)state;
        assert_int_equal(bh_watchdog_arm(30000, NULL), 0);
        assert_false(bh_watchdog_disarm());
        until = bh_monotonic_us() + 60000;
        while (bh_monotonic_us() < until)
                usleep(5000);
        assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_child_that_hangs_is_killed),
                cmocka_unit_test(in_time_nothing_happens),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
