/* base/bytes: Base64 has one form, comparison is of whole texts, random bytes differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"

/* RFC 4648 section 10. */
static const struct {
        const char *plain, *encoded;
} VECTORS[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
};

static void test_base64_vectors(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(VECTORS) / sizeof(VECTORS[0]); i++) {
                const char *encoded = VECTORS[i].encoded;
                _cleanup_free_ char *text =
                        bh_base64_encode(VECTORS[i].plain, strlen(VECTORS[i].plain));
                _cleanup_free_ unsigned char *bytes = NULL;
                size_t size;

                assert_string_equal(text, encoded);
                assert_int_equal(bh_base64_decode(encoded, strlen(encoded), &bytes, &size), 0);
                assert_int_equal(size, strlen(VECTORS[i].plain));
                assert_memory_equal(bytes, VECTORS[i].plain, size);
        }
}

static void test_base64_every_length(void **state)
{
        (void)state;
        unsigned char data[258];

        for (size_t i = 0; i < sizeof(data); i++)
                data[i] = (unsigned char)(i * 7 + 0xf8);
        for (size_t length = 0; length <= sizeof(data); length++) {
                _cleanup_free_ char *text = bh_base64_encode(data, length);
                _cleanup_free_ unsigned char *back = NULL;
                size_t size;

                assert_int_equal(bh_base64_decode(text, strlen(text), &back, &size), 0);
                assert_int_equal(size, length);
                assert_memory_equal(back, data, length);
        }
}

static void test_base64_refuses(void **state)
{
        (void)state;
        static const char *const bad[] = {
                "Zg",       "Zg=",  "Zg===", "Z===",   "====",    "=",     "Zm9v=",
                "Zg==Zg==", "Zh==", "Zm9=",  "Zm 9",   "Zm9\n",   "Zm9-",  "Zm9_",
                "=m9v",     "Z=9v", "Zg=a",  "Zm9vZg", "\x80m9v", " Zm9v",
        };
        unsigned char *bytes = NULL;
        size_t size = 77;

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_int_equal(bh_base64_decode(bad[i], strlen(bad[i]), &bytes, &size), -1);
        assert_int_equal(bh_base64_decode("Zm9\0", 4, &bytes, &size), -1);
        assert_null(bytes);
        assert_int_equal(size, 77);
}

static void test_base64_length_is_obeyed(void **state)
{
        (void)state;
        _cleanup_free_ unsigned char *bytes = NULL;
        size_t size;

        assert_int_equal(bh_base64_decode("Zm9v!!!!", 4, &bytes, &size), 0);
        assert_int_equal(size, 3);
}

static void test_equal(void **state)
{
        (void)state;
        assert_true(bh_equal_constant_time("", ""));
        assert_true(bh_equal_constant_time("abc", "abc"));
        assert_false(bh_equal_constant_time("abc", "abd"));
        assert_false(bh_equal_constant_time("xbc", "abc"));
        assert_false(bh_equal_constant_time("abc", "abcd"));
        assert_false(bh_equal_constant_time("abcd", "abc"));
        assert_false(bh_equal_constant_time("", "a"));
        assert_false(bh_equal_constant_time("a", ""));
        assert_false(bh_equal_constant_time("\xff", "\x7f"));
}

static void test_random(void **state)
{
        (void)state;
        /* Over 256 bytes, where getrandom(2) may give less than asked for. */
        unsigned char a[1000] = {0}, b[1000] = {0}, zero[32] = {0};

        bh_random_bytes(a, sizeof(a));
        bh_random_bytes(b, sizeof(b));
        assert_memory_not_equal(a, b, sizeof(a));
        assert_memory_not_equal(a + sizeof(a) - 32, zero, 32);
        bh_random_bytes(a, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_base64_vectors),
                cmocka_unit_test(test_base64_every_length),
                cmocka_unit_test(test_base64_refuses),
                cmocka_unit_test(test_base64_length_is_obeyed),
                cmocka_unit_test(test_equal),
                cmocka_unit_test(test_random),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
