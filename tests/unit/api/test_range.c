/* api/range: RFC 9110 section 14.2 on a body of ten bytes, and its edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/range.h"

struct example {
        const char *header;
        uint64_t size;
        enum bh_range_verdict verdict;
        uint64_t first, length;
};

static const struct example examples[] = {
        {NULL, 10, BH_RANGE_WHOLE, 0, 10},
        {"", 10, BH_RANGE_WHOLE, 0, 10},
        {"bytes=", 10, BH_RANGE_WHOLE, 0, 10},
        {"bytes=-", 10, BH_RANGE_WHOLE, 0, 10},
        {"bytes=0-0", 10, BH_RANGE_PART, 0, 1},
        {"BYTES=0-9", 10, BH_RANGE_PART, 0, 10},
        {"bytes=3-", 10, BH_RANGE_PART, 3, 7},
        {"bytes=3-100", 10, BH_RANGE_PART, 3, 7},
        {"bytes=9-18446744073709551615", 10, BH_RANGE_PART, 9, 1},
        {"bytes=9-99999999999999999999999", 10, BH_RANGE_PART, 9, 1},
        {"bytes=-1", 10, BH_RANGE_PART, 9, 1},
        {"bytes=-10", 10, BH_RANGE_PART, 0, 10},
        {"bytes=-11", 10, BH_RANGE_PART, 0, 10},
        {"bytes=-99999999999999999999999", 10, BH_RANGE_PART, 0, 10},
        {"bytes=10-", 10, BH_RANGE_UNSATISFIABLE, 0, 10},
        {"bytes=10-20", 10, BH_RANGE_UNSATISFIABLE, 0, 10},
        {"bytes=99999999999999999999999-", 10, BH_RANGE_UNSATISFIABLE, 0, 10},
        {"bytes=-0", 10, BH_RANGE_UNSATISFIABLE, 0, 10},
        {"bytes=0-", 0, BH_RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=-5", 0, BH_RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=5-4", 10, BH_RANGE_WHOLE, 0, 10},
        {"bytes=0-1,3-4", 10, BH_RANGE_WHOLE, 0, 10},
        {"bytes=0-1 ", 10, BH_RANGE_WHOLE, 0, 10},
        {"bytes= 0-1", 10, BH_RANGE_WHOLE, 0, 10},
        {"bytes=+1-2", 10, BH_RANGE_WHOLE, 0, 10},
        {"bytes=1--2", 10, BH_RANGE_WHOLE, 0, 10},
        {"bytes=0x1-2", 10, BH_RANGE_WHOLE, 0, 10},
        {"lines=0-1", 10, BH_RANGE_WHOLE, 0, 10},
};

static void test_examples(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
                const struct example *example = &examples[i];
                uint64_t first, length;
                enum bh_range_verdict verdict =
                        bh_range_parse(example->header, example->size, &first, &length);

                if (verdict != example->verdict || first != example->first ||
                    length != example->length)
                        fail_msg("%s: verdict %d, %llu+%llu", example->header, (int)verdict,
                                 (unsigned long long)first, (unsigned long long)length);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
