/* base/alloc: sizes of zero, overflow, and the end of the process on exhaustion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* AddressSanitizer would end the process itself, with another text. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
        return "allocator_may_return_null=1";
}

static void test_alloc_is_zeroed(void **state)
{
        (void)state;
        _cleanup_free_ unsigned char *bytes = bh_alloc(1000);
        _cleanup_free_ unsigned char *array = bh_alloc_array(10, 100);

        for (size_t i = 0; i < 1000; i++) {
                assert_int_equal(bytes[i], 0);
                assert_int_equal(array[i], 0);
        }
}

static void test_zero_sizes_are_not_null(void **state)
{
        (void)state;
        _cleanup_free_ void *nothing = bh_alloc(0);
        _cleanup_free_ void *no_count = bh_alloc_array(0, 8);
        _cleanup_free_ void *no_size = bh_alloc_array(8, 0);
        _cleanup_free_ void *grown = bh_realloc_array(NULL, 0, 8);

        assert_non_null(nothing);
        assert_non_null(no_count);
        assert_non_null(no_size);
        assert_non_null(grown);
        /* Must not free what it was given. */
        grown = bh_realloc_array(grown, 4, 0);
        assert_non_null(grown);
}

static void test_realloc_keeps_content(void **state)
{
        (void)state;
        _cleanup_free_ char *text = bh_strdup("content");

        text = bh_realloc_array(text, 1000, 100);
        assert_string_equal(text, "content");
}

static void test_text_copies(void **state)
{
        (void)state;
        _cleanup_free_ char *empty = bh_strdup("");
        _cleanup_free_ char *cut = bh_strndup("abcdef", 3);
        _cleanup_free_ char *whole = bh_strndup("abc", 30);
        _cleanup_free_ char *formatted = bh_format("%s-%03d", "x", 7);

        assert_string_equal(empty, "");
        assert_string_equal(cut, "abc");
        assert_string_equal(whole, "abc");
        assert_string_equal(formatted, "x-007");
}

enum exhaustion { BY_SIZE, BY_OVERFLOW, BY_REALLOC_OVERFLOW };

/* Runs one allocation that cannot succeed in a child. */
static void exhaust_in_child(enum exhaustion how, char *output, size_t size)
{
        /* The compiler would refuse constants this large. */
        volatile size_t huge = SIZE_MAX / 2;
        struct rlimit no_core = {0, 0};
        int ends[2];
        ssize_t got;
        pid_t child;
        int status;

        assert_int_equal(pipe(ends), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                setrlimit(RLIMIT_CORE, &no_core);
                signal(SIGABRT, SIG_DFL);
                dup2(ends[1], STDERR_FILENO);
                if (how == BY_SIZE)
                        free(bh_alloc(huge));
                else if (how == BY_OVERFLOW)
                        free(bh_alloc_array(huge, 4));
                else
                        free(bh_realloc_array(NULL, huge, 4));
                _exit(0);
        }
        close(ends[1]);
        got = bh_read_full(ends[0], output, size - 1);
        assert_true(got >= 0);
        output[got] = '\0';
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void test_exhaustion_ends_the_process(void **state)
{
        (void)state;
        char output[8192];

        for (enum exhaustion how = BY_SIZE; how <= BY_REALLOC_OVERFLOW; how++) {
                exhaust_in_child(how, output, sizeof(output));
                assert_non_null(strstr(output, "out of memory\n"));
        }
}

static void test_steal(void **state)
{
        (void)state;
        _cleanup_free_ char *text = bh_strdup("x");
        char *mine = bh_steal_ptr(&text);
        int fd = 7;

        assert_null(text);
        assert_string_equal(mine, "x");
        free(mine);
        assert_int_equal(bh_steal_fd(&fd), 7);
        assert_int_equal(fd, -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_alloc_is_zeroed),
                cmocka_unit_test(test_zero_sizes_are_not_null),
                cmocka_unit_test(test_realloc_keeps_content),
                cmocka_unit_test(test_text_copies),
                cmocka_unit_test(test_exhaustion_ends_the_process),
                cmocka_unit_test(test_steal),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
