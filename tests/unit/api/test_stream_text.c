/* api/stream_text: files inside JSON strings come back byte for byte, whatever the reader's
 * buffer; a file that shrinks is an error and not a short answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/stream_text.h"
#include "base/alloc.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/json.h"

static int file_of(const char *bytes, size_t size)
{
        int fd = memfd_create("test", MFD_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(bh_write_full(fd, bytes, size), 0);
        return fd;
}

/* All of text, read in steps. Caller frees. */
static char *read_in_steps(struct bh_stream_text *text, size_t step)
{
        size_t have = 0;
        char *all = bh_alloc(1 << 20);
        ssize_t got;

        while ((got = bh_stream_text_read(text, all + have, step, NULL)) > 0)
                have += (size_t)got;
        assert_int_equal(got, 0);
        all[have] = '\0';
        return all;
}

static void check_round_trip(const char *bytes, size_t size, bool base64, size_t step)
{
        _cleanup_(bh_stream_text_cleanup) struct bh_stream_text *text = bh_stream_text_new();
        _cleanup_close_ int fd = file_of(bytes, size);
        _cleanup_free_ char *all = NULL;
        _cleanup_free_ unsigned char *decoded = NULL;
        json_error_t problem;
        json_t *document, *value;

        bh_stream_text_add(text, "{\"a\":\"");
        assert_int_equal(bh_stream_text_add_file(text, fd, size, base64, NULL), 0);
        bh_stream_text_add(text, "\",\"b\":1}");
        all = read_in_steps(text, step);
        document = json_loads(all, JSON_ALLOW_NUL, &problem);
        if (!document)
                fail_msg("step %zu: %s", step, problem.text);
        value = json_object_get(document, "a");
        if (base64) {
                size_t length;

                assert_int_equal(bh_base64_decode(json_string_value(value),
                                                  json_string_length(value), &decoded, &length),
                                 0);
                assert_int_equal(length, size);
                assert_memory_equal(decoded, bytes, size);
        } else {
                assert_int_equal(json_string_length(value), size);
                assert_memory_equal(json_string_value(value), bytes, size);
        }
        json_decref(document);
}

static void test_round_trips(void **state)
{
        static const char text[] = "\0\x01\x1f \"\\\b\f\n\r\t\x7f/ gr\xc3\xbc\xf0\x9f\x98\x80";
        static const size_t steps[] = {64, 65, 67, 100, 1000, 70000};
        _cleanup_free_ char *large = bh_alloc(150001);

        (void)state;
        for (size_t i = 0; i < 150001; i++)
                large[i] = (char)(i * 31 >> 3);
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
                check_round_trip(text, sizeof(text) - 1, false, steps[i]);
                for (size_t size = 0; size < 8; size++)
                        check_round_trip(large, size, true, steps[i]);
                check_round_trip(large, 150000, true, steps[i]);
                check_round_trip(large, 150001, true, steps[i]);
        }
        memset(large, 1, 150001);
        check_round_trip(large, 150001, false, 70000);
}

static void test_a_file_that_shrinks(void **state)
{
        _cleanup_(bh_stream_text_cleanup) struct bh_stream_text *text = bh_stream_text_new();
        _cleanup_close_ int fd = file_of("12345", 5);
        struct bh_error error;
        char buffer[64];

        (void)state;
        assert_int_equal(bh_stream_text_add_file(text, fd, 6, false, NULL), 0);
        assert_int_equal(bh_stream_text_read(text, buffer, sizeof(buffer), &error), -1);
        assert_int_equal(error.code, BH_ERROR_INTERNAL);
        assert_int_equal(bh_file_is_utf8(fd, 6, &error), -1);
}

static void test_is_utf8(void **state)
{
        _cleanup_free_ char *large = bh_alloc(200000);
        _cleanup_close_ int good = -1, bad = -1;

        (void)state;
        for (size_t i = 0; i < 200000; i += 2)
                memcpy(large + i, "\xc3\xbc", 2);
        good = file_of(large, 200000);
        assert_int_equal(bh_file_is_utf8(good, 200000, NULL), 1);
        assert_int_equal(bh_file_is_utf8(good, 199999, NULL), 0);
        assert_int_equal(bh_file_is_utf8(good, 0, NULL), 1);
        large[199998] = '\xff';
        bad = file_of(large, 200000);
        assert_int_equal(bh_file_is_utf8(bad, 200000, NULL), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trips),
                cmocka_unit_test(test_a_file_that_shrinks),
                cmocka_unit_test(test_is_utf8),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
