/* base/pidref: the right process, only the right process, and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidref.h"

/* A child that sleeps until it gets a signal; named name when that is given. */
static pid_t sleeper(const char *name)
{
        int ready[2];
        char byte;
        pid_t child;

        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                if (name)
                        prctl(PR_SET_NAME, name);
                close(ready[0]);
                close(ready[1]);
                for (;;)
                        pause();
        }
        close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 0);
        close(ready[0]);
        return child;
}

static void end(struct bh_pidref *ref)
{
        int code, status;

        assert_int_equal(bh_pidref_signal(ref, SIGKILL, NULL), 0);
        assert_int_equal(bh_pidref_wait(ref, true, &code, &status, NULL), 1);
        assert_int_equal(code, CLD_KILLED);
        assert_int_equal(status, SIGKILL);
        bh_pidref_clear(ref);
}

static void test_open(void **state)
{
        (void)state;
        struct bh_pidref self = BH_PIDREF_NONE, init = BH_PIDREF_NONE;

        assert_int_equal(bh_pidref_open(getpid(), &self, NULL), 0);
        assert_int_equal(self.pid, getpid());
        assert_true(self.start_time > 0);
        assert_true(fcntl(self.pidfd, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(bh_pidref_signal(&self, 0, NULL), 0);
        assert_int_equal(bh_pidref_open(1, &init, NULL), 0);
        assert_true(init.start_time < self.start_time);
        bh_pidref_clear(&init);
        bh_pidref_clear(&self);
        assert_int_equal(self.pid, 0);
        assert_int_equal(self.pidfd, -1);
        bh_pidref_clear(&self);
}

/* Names that look like the fields after them; proc(5) does not escape. */
static void test_names_that_lie(void **state)
{
        (void)state;
        static const char *const names[] = {") R 1 1 1 1", "a b c", ")))((", "x) S 2 3", "", " "};

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                pid_t plain = sleeper(NULL), named = sleeper(names[i]);
                struct bh_pidref a = BH_PIDREF_NONE, b = BH_PIDREF_NONE;

                assert_int_equal(bh_pidref_open(plain, &a, NULL), 0);
                assert_int_equal(bh_pidref_open(named, &b, NULL), 0);
                /* Started one after the other: at most some ticks apart. */
                assert_true(b.start_time >= a.start_time);
                assert_true(b.start_time - a.start_time < 500);
                end(&a);
                end(&b);
        }
}

static void test_reopen(void **state)
{
        (void)state;
        struct bh_pidref first = BH_PIDREF_NONE, again = BH_PIDREF_NONE;
        struct bh_error error = {0};
        pid_t pid = sleeper(NULL);
        uint64_t start_time;

        assert_int_equal(bh_pidref_open(pid, &first, NULL), 0);
        start_time = first.start_time;
        assert_int_equal(bh_pidref_reopen(pid, start_time, &again, &error), 0);
        assert_int_equal(again.pid, pid);
        bh_pidref_clear(&again);
        /* The number is in use, by another. */
        assert_int_equal(bh_pidref_reopen(pid, start_time + 1, &again, &error), -1);
        assert_int_equal(error.code, BH_ERROR_NOT_FOUND);
        assert_int_equal(again.pidfd, -1);
        end(&first);
        error.code = BH_ERROR_NONE;
        assert_int_equal(bh_pidref_reopen(pid, start_time, &again, &error), -1);
        assert_int_equal(error.code, BH_ERROR_NOT_FOUND);
}

static void test_bad_numbers(void **state)
{
        (void)state;
        struct bh_pidref ref = BH_PIDREF_NONE;
        struct bh_error error = {0};

        assert_int_equal(bh_pidref_open(0, &ref, &error), -1);
        assert_int_equal(error.errnum, EINVAL);
        assert_int_equal(bh_pidref_open(-5, &ref, &error), -1);
        assert_int_equal(bh_pidref_open(INT32_MAX, &ref, &error), -1);
        assert_int_equal(error.code, BH_ERROR_NOT_FOUND);
        assert_int_equal(ref.pidfd, -1);
}

static void test_wait(void **state)
{
        (void)state;
        struct bh_pidref ref = BH_PIDREF_NONE;
        struct bh_error error = {0};
        pid_t pid = sleeper(NULL);
        int code = 77, status = 77;

        assert_int_equal(bh_pidref_open(pid, &ref, NULL), 0);
        assert_int_equal(bh_pidref_wait(&ref, false, &code, &status, &error), 0);
        assert_int_equal(code, 77);
        assert_int_equal(bh_pidref_signal(&ref, SIGTERM, &error), 0);
        assert_int_equal(bh_pidref_wait(&ref, true, &code, &status, &error), 1);
        assert_int_equal(code, CLD_KILLED);
        assert_int_equal(status, SIGTERM);
        /* Gone: signals are success, waiting is not. */
        assert_int_equal(bh_pidref_signal(&ref, SIGKILL, &error), 0);
        assert_int_equal(bh_pidref_wait(&ref, true, &code, &status, &error), -1);
        assert_int_equal(error.errnum, ECHILD);
        bh_pidref_clear(&ref);
}

static void test_exit_status(void **state)
{
        (void)state;
        struct bh_pidref ref = BH_PIDREF_NONE;
        struct pollfd ended;
        int code, status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                _exit(42);
        /* Also when it is a zombie by now. */
        assert_int_equal(bh_pidref_open(pid, &ref, NULL), 0);
        ended = (struct pollfd){.fd = ref.pidfd, .events = POLLIN};
        assert_int_equal(poll(&ended, 1, 10000), 1);
        assert_int_equal(bh_pidref_wait(&ref, false, &code, &status, NULL), 1);
        assert_int_equal(code, CLD_EXITED);
        assert_int_equal(status, 42);
        bh_pidref_clear(&ref);
}

static void test_stopping_is_not_an_end(void **state)
{
        (void)state;
        struct bh_pidref ref = BH_PIDREF_NONE;

        assert_int_equal(bh_pidref_open(sleeper(NULL), &ref, NULL), 0);
        assert_int_equal(bh_pidref_signal(&ref, SIGSTOP, NULL), 0);
        usleep(20000);
        assert_int_equal(bh_pidref_wait(&ref, false, NULL, NULL, NULL), 0);
        end(&ref);
}

static void test_from_pidfd(void **state)
{
        (void)state;
        struct bh_pidref ref = BH_PIDREF_NONE;
        struct bh_error error = {0};
        pid_t pid = sleeper(NULL);
        int pidfd = pidfd_open(pid, 0), other = pidfd_open(pid, 0);

        assert_int_equal(bh_pidref_from_pidfd_take(pidfd, pid, &ref, &error), 0);
        assert_int_equal(ref.pidfd, pidfd);
        end(&ref);
        /* Taken also on failure. */
        assert_int_equal(bh_pidref_from_pidfd_take(other, pid, &ref, &error), -1);
        assert_int_equal(error.code, BH_ERROR_NOT_FOUND);
        assert_int_equal(fcntl(other, F_GETFD), -1);
        /* A number that lives while the pidfd's own process is gone. */
        pid = sleeper(NULL);
        pidfd = pidfd_open(pid, 0);
        assert_int_equal(pidfd_send_signal(pidfd, SIGKILL, NULL, 0), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(bh_pidref_from_pidfd_take(pidfd, getpid(), &ref, &error), -1);
        assert_int_equal(error.code, BH_ERROR_NOT_FOUND);
        assert_int_equal(ref.pidfd, -1);
}

static void test_signal_errors(void **state)
{
        (void)state;
        struct bh_pidref none = BH_PIDREF_NONE, self = BH_PIDREF_NONE;
        struct bh_error error = {0};

        assert_int_equal(bh_pidref_signal(&none, SIGTERM, &error), -1);
        assert_int_equal(error.errnum, EBADF);
        assert_int_equal(bh_pidref_open(getpid(), &self, NULL), 0);
        assert_int_equal(bh_pidref_signal(&self, 1000, &error), -1);
        assert_int_equal(error.errnum, EINVAL);
        bh_pidref_clear(&self);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_open),
                cmocka_unit_test(test_names_that_lie),
                cmocka_unit_test(test_reopen),
                cmocka_unit_test(test_bad_numbers),
                cmocka_unit_test(test_wait),
                cmocka_unit_test(test_exit_status),
                cmocka_unit_test(test_stopping_is_not_an_end),
                cmocka_unit_test(test_from_pidfd),
                cmocka_unit_test(test_signal_errors),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
