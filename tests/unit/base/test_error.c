/* base/error: what each setter fills, truncation, aliasing, and NULL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

static void test_set_clears_the_rest(void **state)
{
        (void)state;
        struct bh_error error = {.code = BH_ERROR_REFUSED,
                                 .errnum = 5,
                                 .reason = "r",
                                 .subject = "s",
                                 .message = "m"};

        assert_int_equal(bh_error_set(&error, BH_ERROR_CONFLICT, "number %d", 3), -1);
        assert_int_equal(error.code, BH_ERROR_CONFLICT);
        assert_int_equal(error.errnum, 0);
        assert_string_equal(error.reason, "");
        assert_string_equal(error.subject, "");
        assert_string_equal(error.message, "number 3");
}

static void test_errno(void **state)
{
        (void)state;
        struct bh_error error = {0};

        errno = 0;
        assert_int_equal(bh_error_errno(&error, ENOENT, "open %s", "/x"), -1);
        assert_int_equal(error.code, BH_ERROR_SYSTEM);
        assert_int_equal(error.errnum, ENOENT);
        assert_string_equal(error.message, "open /x: No such file or directory");
        assert_int_equal(errno, ENOENT);
        bh_error_errno(&error, 99999, "odd");
        assert_string_equal(error.message, "odd: unknown error");
}

static void test_input_errors(void **state)
{
        (void)state;
        struct bh_error error = {0};

        assert_int_equal(bh_error_invalid(&error, "/a/0", "must be %s", "x"), -1);
        assert_int_equal(error.code, BH_ERROR_INVALID);
        assert_string_equal(error.subject, "/a/0");
        assert_string_equal(error.message, "must be x");
        assert_int_equal(bh_error_refused(&error, "mount_not_allowed", "/m", "no %d", 1), -1);
        assert_int_equal(error.code, BH_ERROR_REFUSED);
        assert_string_equal(error.reason, "mount_not_allowed");
        assert_string_equal(error.subject, "/m");
        assert_string_equal(error.message, "no 1");
}

static void test_control_keeps_errnum_and_message(void **state)
{
        (void)state;
        struct bh_error error = {0};

        bh_error_errno(&error, EPERM, "set");
        assert_int_equal(bh_error_control(&error, "seccomp"), -1);
        assert_int_equal(error.code, BH_ERROR_CONTROL);
        assert_int_equal(error.errnum, EPERM);
        assert_string_equal(error.subject, "seccomp");
        assert_string_equal(error.message, "set: Operation not permitted");
        /* The name may be in the error itself. */
        bh_error_control(&error, error.subject);
        assert_string_equal(error.subject, "seccomp");
}

static void test_prefix(void **state)
{
        (void)state;
        struct bh_error error = {0};

        bh_error_refused(&error, "why", "/p", "inner");
        assert_int_equal(bh_error_prefix(&error, "load %s", "policy"), -1);
        assert_string_equal(error.message, "load policy: inner");
        assert_int_equal(error.code, BH_ERROR_REFUSED);
        assert_string_equal(error.reason, "why");
        assert_string_equal(error.subject, "/p");
        bh_error_prefix(&error, "%s", error.message);
        assert_string_equal(error.message, "load policy: inner: load policy: inner");
}

static void test_arguments_from_the_error_itself(void **state)
{
        (void)state;
        struct bh_error error = {0};

        bh_error_invalid(&error, "/x", "first");
        bh_error_invalid(&error, error.subject, "again %s", error.message);
        assert_string_equal(error.subject, "/x");
        assert_string_equal(error.message, "again first");
}

static void test_truncation(void **state)
{
        (void)state;
        struct bh_error error = {0};
        char longer[2000];

        memset(longer, 'x', sizeof(longer) - 1);
        longer[sizeof(longer) - 1] = '\0';
        bh_error_refused(&error, longer, longer, "%s", longer);
        assert_int_equal(strlen(error.reason), sizeof(error.reason) - 1);
        assert_int_equal(strlen(error.subject), sizeof(error.subject) - 1);
        assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
        /* The context is kept, the end goes. */
        bh_error_prefix(&error, "context");
        assert_memory_equal(error.message, "context: xxx", 12);
        assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
        bh_error_prefix(&error, "%s", longer);
        assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
        bh_error_errno(&error, EIO, "%s", longer);
        assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
        bh_error_control(&error, longer);
        assert_int_equal(strlen(error.subject), sizeof(error.subject) - 1);
}

static void assert_utf8(const char *text)
{
        for (size_t left = strlen(text); left > 0;) {
                size_t length = bh_utf8_length(text, left);

                assert_int_not_equal(length, 0);
                text += length;
                left -= length;
        }
}

static void test_text_is_always_utf8(void **state)
{
        (void)state;
        struct bh_error error = {0};
        char wide[1501];

        bh_error_invalid(&error, "/\xff", "path \xc3( \xed\xa0\x80");
        assert_string_equal(error.subject, "/?");
        assert_string_equal(error.message, "path ?( ???");
        /* Three-byte characters do not divide the buffer evenly. */
        for (size_t i = 0; i + 3 < sizeof(wide); i += 3)
                memcpy(wide + i, "\xe2\x82\xac", 4);
        for (size_t shift = 0; shift < 3; shift++) {
                bh_error_invalid(&error, wide, "%.*s%s", (int)shift, "ab", wide);
                assert_utf8(error.subject);
                assert_utf8(error.message);
                bh_error_prefix(&error, "%.*s", (int)shift, "ab");
                assert_utf8(error.message);
        }
}

static void test_null_error(void **state)
{
        (void)state;
        assert_int_equal(bh_error_set(NULL, BH_ERROR_INTERNAL, "x"), -1);
        assert_int_equal(bh_error_errno(NULL, EIO, "x"), -1);
        assert_int_equal(bh_error_invalid(NULL, "/", "x"), -1);
        assert_int_equal(bh_error_refused(NULL, "r", "/", "x"), -1);
        assert_int_equal(bh_error_control(NULL, "c"), -1);
        assert_int_equal(bh_error_prefix(NULL, "x"), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_set_clears_the_rest),
                cmocka_unit_test(test_errno),
                cmocka_unit_test(test_input_errors),
                cmocka_unit_test(test_control_keeps_errnum_and_message),
                cmocka_unit_test(test_prefix),
                cmocka_unit_test(test_arguments_from_the_error_itself),
                cmocka_unit_test(test_truncation),
                cmocka_unit_test(test_text_is_always_utf8),
                cmocka_unit_test(test_null_error),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
