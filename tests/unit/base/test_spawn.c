/* base/spawn: exactly the descriptors, environment and signals asked for. The program that is
 * started is this one, with "child" and a report to make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/spawn.h"

#define SELF       "/proc/self/exe"
#define OUTPUT_MAX 65536

extern char **environ;

/* ---- The child's reports ---- */

/* "3=<link> " for every descriptor that is open. */
static int report_descriptors(void)
{
        for (int fd = 0; fd < 1024; fd++) {
                char path[64], link[256];
                ssize_t length;

                snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                length = readlink(path, link, sizeof(link) - 1);
                if (length < 0)
                        continue;
                link[length] = '\0';
                printf("%d=%s ", fd, link);
        }
        return 0;
}

static int report_environment(void)
{
        for (char **entry = environ; *entry; entry++)
                printf("%s ", *entry);
        return 0;
}

static int report_signals(void)
{
        for (int number = 1; number < SIGRTMIN - 2; number++) {
                struct sigaction action;
                sigset_t blocked;

                sigprocmask(SIG_SETMASK, NULL, &blocked);
                if (sigismember(&blocked, number))
                        printf("%d blocked ", number);
                /* Handlers end with exec(2); sanitizers set some of their own after it. */
                if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
                        printf("%d ignored ", number);
        }
        return 0;
}

static int report_copies(void)
{
        char buffer[16];

        for (int fd = 3; fd <= 5; fd++) {
                ssize_t got = pread(fd, buffer, sizeof(buffer), 0);

                printf("%d=%.*s ", fd, got < 0 ? 0 : (int)got, buffer);
        }
        return 0;
}

static int report_much(void)
{
        for (int i = 0; i < 50000; i++)
                fputs("0123456789", i % 2 ? stdout : stderr);
        return 7;
}

/* Leaves a process behind that keeps the output open. */
static int report_orphan(void)
{
        pid_t orphan = fork();

        if (orphan == 0) {
                sleep(20);
                _exit(0);
        }
        printf("%d", (int)orphan);
        return 0;
}

static int be_child(const char *report)
{
        if (strcmp(report, "descriptors") == 0)
                return report_descriptors();
        if (strcmp(report, "environment") == 0)
                return report_environment();
        if (strcmp(report, "signals") == 0)
                return report_signals();
        if (strcmp(report, "copies") == 0)
                return report_copies();
        if (strcmp(report, "much") == 0)
                return report_much();
        if (strcmp(report, "orphan") == 0)
                return report_orphan();
        if (strcmp(report, "session") == 0)
                return getsid(0) == getpid() ? 11 : 12;
        if (strcmp(report, "die") == 0)
                return raise(SIGKILL);
        return 99;
}

/* ---- The tests ---- */

/* Runs a report and returns its output. */
static char *run(const char *report, struct bh_spawn spawn, int expected_status)
{
        char *argv[] = {(char *)"test", (char *)"child", (char *)report, NULL};
        struct bh_error error = {0};
        char *output = NULL;
        int status;

        spawn.path = SELF;
        spawn.argv = argv;
        status = bh_spawn_capture(&spawn, OUTPUT_MAX, &output, &error);
        if (status != expected_status)
                fail_msg("%s: %d: %s", report, status, error.message);
        return output;
}

static void assert_only_standard(const char *output)
{
        assert_memory_equal(output, "0=/dev/null 1=pipe:", 19);
        assert_non_null(strstr(output, " 2=pipe:"));
        for (int fd = 3; fd < 1024; fd++) {
                char name[16];

                snprintf(name, sizeof(name), " %d=", fd);
                assert_null(strstr(output, name));
        }
}

static void test_inherited_descriptors_do_not_pass(void **state)
{
        (void)state;
        /* As if this program had been started with them: without close-on-exec. */
        int nine = open("/etc/passwd", O_RDONLY);
        int high = fcntl(nine, F_DUPFD, 900);
        _cleanup_free_ char *output = NULL;

        assert_true(nine >= 0 && high >= 900);
        output = run("descriptors", (struct bh_spawn){0}, 0);
        assert_only_standard(output);
        bh_close(nine);
        bh_close(high);
}

static int text_fd(const char *text)
{
        int fd = bh_memfd_sealed(text, text, strlen(text), NULL);

        assert_true(fd >= 0);
        return fd;
}

/* Puts fd at number, close-on-exec. */
static int place(int fd, int number)
{
        assert_int_equal(dup3(fd, number, O_CLOEXEC), number);
        bh_close(fd);
        return number;
}

/* The sources' numbers are the targets of others, in a ring and with a copy. */
static void test_overlapping_targets(void **state)
{
        (void)state;
        int a = text_fd("three"), b = text_fd("four"), c = text_fd("five");
        int first = fcntl(a, F_DUPFD_CLOEXEC, 20), second = fcntl(b, F_DUPFD_CLOEXEC, 20),
            third = fcntl(c, F_DUPFD_CLOEXEC, 20);
        struct bh_spawn_fd ring[] = {{20, 21}, {21, 22}, {22, 20}, {20, 23}};
        struct bh_spawn_fd to_low[] = {{20, 4}, {21, 5}, {22, 3}};
        _cleanup_free_ char *output = NULL, *copies = NULL;
        const char *at;

        bh_close(a);
        bh_close(b);
        bh_close(c);
        assert_int_equal(first, 20);
        assert_int_equal(second, 21);
        assert_int_equal(third, 22);
        output = run("descriptors", (struct bh_spawn){.fds = ring, .fd_count = 4}, 0);
        at = strstr(output, " 20=/memfd:five");
        assert_non_null(at);
        assert_non_null(strstr(at, " 21=/memfd:three"));
        assert_non_null(strstr(at, " 22=/memfd:four"));
        assert_non_null(strstr(at, " 23=/memfd:three"));
        assert_null(strstr(output, " 3="));
        assert_null(strstr(output, " 19="));
        assert_null(strstr(output, " 24="));
        copies = run("copies", (struct bh_spawn){.fds = to_low, .fd_count = 3}, 0);
        assert_string_equal(copies, "3=five 4=three 5=four ");
        bh_close(20);
        bh_close(21);
        bh_close(22);
}

/* The targets are the numbers that come next in this process, from the top down: whatever is
 * opened on the way must not stand where a target goes. */
static void test_targets_at_the_next_free_numbers(void **state)
{
        (void)state;
        static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
        int lowest = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        struct bh_spawn_fd fds[8];
        _cleanup_free_ char *output = NULL;

        bh_close(lowest);
        for (int i = 0; i < 8; i++)
                fds[i] = (struct bh_spawn_fd){place(text_fd(names[i]), 40 + i), lowest + 7 - i};
        output = run("descriptors", (struct bh_spawn){.fds = fds, .fd_count = 8}, 0);
        for (int i = 0; i < 8; i++) {
                char expected[32];

                snprintf(expected, sizeof(expected), " %d=/memfd:%s ", fds[i].target, names[i]);
                assert_non_null(strstr(output, expected));
                bh_close(fds[i].source);
        }
}

/* A source that already has its target's number must lose close-on-exec in the child only. */
static void test_same_number(void **state)
{
        (void)state;
        int fd = place(text_fd("same"), 30);
        struct bh_spawn_fd same[] = {{fd, fd}};
        _cleanup_free_ char *output =
                run("descriptors", (struct bh_spawn){.fds = same, .fd_count = 1}, 0);

        assert_non_null(strstr(output, " 30=/memfd:same"));
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        bh_close(fd);
}

static void test_standard_input_by_name(void **state)
{
        (void)state;
        int fd = text_fd("input");
        struct bh_spawn_fd fds[] = {{fd, STDIN_FILENO}};
        _cleanup_free_ char *output =
                run("descriptors", (struct bh_spawn){.fds = fds, .fd_count = 1}, 0);

        assert_memory_equal(output, "0=/memfd:input", 14);
        bh_close(fd);
}

/* 0 and 1 become /dev/null, 2 is inherited, also when this process has them closed. */
static void test_standard_descriptors(void **state)
{
        (void)state;
        int to_status[2];
        pid_t middle;
        int status;

        assert_int_equal(pipe2(to_status, O_CLOEXEC), 0);
        middle = fork();
        assert_true(middle >= 0);
        if (middle == 0) {
                char *argv[] = {(char *)"test", (char *)"child", (char *)"descriptors", NULL};
                struct bh_spawn_fd fds[] = {{to_status[1], 5}};
                struct bh_spawn spawn = {.path = SELF, .argv = argv, .fds = fds, .fd_count = 1};
                struct bh_pidref child = BH_PIDREF_NONE;
                int code, exit_status;

                close(0);
                close(1);
                close(2);
                if (bh_spawn(&spawn, &child, NULL) < 0)
                        _exit(1);
                if (bh_pidref_wait(&child, true, &code, &exit_status, NULL) != 1)
                        _exit(2);
                _exit(code == CLD_EXITED && exit_status == 0 ? 0 : 3);
        }
        close(to_status[1]);
        assert_int_equal(waitpid(middle, &status, 0), middle);
        assert_int_equal(status, 0);
        close(to_status[0]);
}

static void test_environment(void **state)
{
        (void)state;
        char *envp[] = {(char *)"A=1", (char *)"B=two", NULL};
        _cleanup_free_ char *empty = NULL, *exact = NULL;

        assert_int_equal(setenv("LEAK", "secret", 1), 0);
        empty = run("environment", (struct bh_spawn){0}, 0);
        assert_string_equal(empty, "");
        exact = run("environment", (struct bh_spawn){.envp = envp}, 0);
        assert_string_equal(exact, "A=1 B=two ");
}

static void on_signal(int number)
{
        (void)number;
}

static void test_signals_are_reset(void **state)
{
        (void)state;
        _cleanup_free_ char *output = NULL;
        sigset_t all, old;

        signal(SIGPIPE, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGUSR1, on_signal);
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &old);
        output = run("signals", (struct bh_spawn){0}, 0);
        sigprocmask(SIG_SETMASK, &old, NULL);
        signal(SIGPIPE, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        signal(SIGUSR1, SIG_DFL);
        assert_string_equal(output, "");
}

static void test_session(void **state)
{
        (void)state;
        _cleanup_free_ char *new = run("session", (struct bh_spawn){.new_session = 1}, 11);
        _cleanup_free_ char *same = run("session", (struct bh_spawn){0}, 12);

        assert_non_null(new);
        assert_non_null(same);
}

/* Starting must fail, without a child or a descriptor left. */
static void assert_not_started(const struct bh_spawn *spawn, int errnum)
{
        int before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), after;
        struct bh_pidref child = BH_PIDREF_NONE;
        struct bh_error error = {0};

        bh_close(before);
        assert_int_equal(bh_spawn(spawn, &child, &error), -1);
        assert_int_equal(error.errnum, errnum);
        assert_true(error.message[0] != '\0');
        assert_int_equal(child.pidfd, -1);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
        after = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
        assert_int_equal(after, before);
        bh_close(after);
}

static void test_failures(void **state)
{
        (void)state;
        char *argv[] = {(char *)"x", NULL};
        struct bh_spawn_fd closed[] = {{777, 3}}, negative[] = {{0, -1}}, far[] = {{0, 100000}},
                           twice[] = {{0, 3}, {1, 3}}, many[100];

        for (int i = 0; i < 100; i++)
                many[i] = (struct bh_spawn_fd){0, 3 + i};
        assert_not_started(&(struct bh_spawn){.path = "/nonexistent", .argv = argv}, ENOENT);
        assert_not_started(&(struct bh_spawn){.path = "/etc/passwd", .argv = argv}, EACCES);
        assert_not_started(&(struct bh_spawn){.path = "/", .argv = argv}, EACCES);
        assert_not_started(&(struct bh_spawn){.path = "sh", .argv = argv}, 0);
        assert_not_started(&(struct bh_spawn){.path = "", .argv = argv}, 0);
        assert_not_started(
                &(struct bh_spawn){.path = SELF, .argv = argv, .fds = closed, .fd_count = 1},
                EBADF);
        assert_not_started(
                &(struct bh_spawn){.path = SELF, .argv = argv, .fds = negative, .fd_count = 1}, 0);
        assert_not_started(
                &(struct bh_spawn){.path = SELF, .argv = argv, .fds = far, .fd_count = 1}, 0);
        assert_not_started(
                &(struct bh_spawn){.path = SELF, .argv = argv, .fds = twice, .fd_count = 2}, 0);
        assert_not_started(
                &(struct bh_spawn){.path = SELF, .argv = argv, .fds = many, .fd_count = 100}, 0);
}

static void test_no_descriptor_is_left_open(void **state)
{
        (void)state;
        int before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), after;
        _cleanup_free_ char *output = NULL;

        bh_close(before);
        output = run("environment", (struct bh_spawn){0}, 0);
        after = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
        assert_int_equal(after, before);
        bh_close(after);
}

static void test_capture_is_bounded(void **state)
{
        (void)state;
        char *argv[] = {(char *)"test", (char *)"child", (char *)"much", NULL};
        struct bh_spawn spawn = {.path = SELF, .argv = argv};
        _cleanup_free_ char *output = NULL, *none = NULL, *all = NULL;

        assert_int_equal(bh_spawn_capture(&spawn, 1000, &output, NULL), 7);
        assert_int_equal(strlen(output), 1000);
        assert_int_equal(bh_spawn_capture(&spawn, 0, &none, NULL), 7);
        assert_string_equal(none, "");
        assert_int_equal(bh_spawn_capture(&spawn, 1000000, &all, NULL), 7);
        assert_int_equal(strlen(all), 500000);
}

static void test_capture_ends_with_the_program(void **state)
{
        (void)state;
        time_t before = time(NULL);
        _cleanup_free_ char *output = run("orphan", (struct bh_spawn){0}, 0);
        struct bh_pidref orphan = BH_PIDREF_NONE;

        assert_true(time(NULL) - before < 10);
        assert_int_equal(bh_pidref_open(atoi(output), &orphan, NULL), 0);
        assert_int_equal(bh_pidref_signal(&orphan, SIGKILL, NULL), 0);
        bh_pidref_clear(&orphan);
}

static void test_capture_failures(void **state)
{
        (void)state;
        char *die[] = {(char *)"test", (char *)"child", (char *)"die", NULL};
        struct bh_spawn spawn = {.path = SELF, .argv = die};
        struct bh_spawn_fd output[] = {{0, STDOUT_FILENO}};
        struct bh_error error = {0};
        char *text = NULL;

        assert_int_equal(bh_spawn_capture(&spawn, 10, &text, &error), -1);
        assert_string_equal(error.message, "run /proc/self/exe: ended by signal 9");
        /* Standard output is the capture's own. */
        spawn.fds = output;
        spawn.fd_count = 1;
        assert_int_equal(bh_spawn_capture(&spawn, 10, &text, &error), -1);
        spawn = (struct bh_spawn){.path = "/nonexistent", .argv = die};
        assert_int_equal(bh_spawn_capture(&spawn, 10, &text, &error), -1);
        assert_int_equal(error.errnum, ENOENT);
        assert_null(text);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_inherited_descriptors_do_not_pass),
                cmocka_unit_test(test_overlapping_targets),
                cmocka_unit_test(test_targets_at_the_next_free_numbers),
                cmocka_unit_test(test_same_number),
                cmocka_unit_test(test_standard_input_by_name),
                cmocka_unit_test(test_standard_descriptors),
                cmocka_unit_test(test_environment),
                cmocka_unit_test(test_signals_are_reset),
                cmocka_unit_test(test_session),
                cmocka_unit_test(test_failures),
                cmocka_unit_test(test_no_descriptor_is_left_open),
                cmocka_unit_test(test_capture_is_bounded),
                cmocka_unit_test(test_capture_ends_with_the_program),
                cmocka_unit_test(test_capture_failures),
        };

        if (argc == 3 && strcmp(argv[1], "child") == 0)
                return be_child(argv[2]);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
