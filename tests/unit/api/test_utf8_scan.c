/* api/utf8_scan: the verdict does not depend on where the pieces are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "api/utf8_scan.h"

struct example {
        const char *bytes;
        size_t size;
        bool valid;
};

#define EXAMPLE(bytes, valid)                   \
        {                                       \
                bytes, sizeof(bytes) - 1, valid \
        }

static const struct example examples[] = {
        EXAMPLE("", true),
        EXAMPLE("plain ascii that is longer than eight bytes", true),
        EXAMPLE("\0\x01\x7f", true),
        EXAMPLE("gr\xc3\xbc\xc3\x9f"
                "e \xe2\x82\xac \xf0\x9f\x98\x80 end",
                true),
        EXAMPLE("\xf4\x8f\xbf\xbf", true),
        EXAMPLE("\xf4\x90\x80\x80", false),
        EXAMPLE("\xed\xa0\x80", false),
        EXAMPLE("\xc0\x80", false),
        EXAMPLE("\xe0\x80\x80", false),
        EXAMPLE("\x80", false),
        EXAMPLE("12345678\xff", false),
        EXAMPLE("cut \xf0\x9f\x98", false),
        EXAMPLE("cut \xc3", false),
        EXAMPLE("\xc3(", false),
        EXAMPLE("\xf0\x9f\x98\xc3\xbc", false),
};

static bool fed_in_pieces(const struct example *example, size_t step)
{
        struct bh_utf8_scan scan = {.pending_size = 0};

        for (size_t at = 0; at < example->size; at += step) {
                size_t size = example->size - at < step ? example->size - at : step;

                if (!bh_utf8_scan_feed(&scan, example->bytes + at, size))
                        return false;
        }
        return bh_utf8_scan_finish(&scan);
}

static void test_examples(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
                assert_int_equal(bh_utf8_valid(examples[i].bytes, examples[i].size),
                                 examples[i].valid);
                for (size_t step = 1; step <= 9; step++)
                        if (fed_in_pieces(&examples[i], step) != examples[i].valid)
                                fail_msg("example %zu in pieces of %zu", i, step);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
