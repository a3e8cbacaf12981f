/* base/ulid: form, order, uniqueness across threads, and what is not an identifier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/ulid.h"

#define THREADS    4
#define PER_THREAD 5000

static int64_t decode_time(const char *ulid)
{
        static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
        int64_t ms = 0;

        for (size_t i = 0; i < 10; i++)
                ms = ms << 5 | (int64_t)(strchr(digits, ulid[i]) - digits);
        return ms;
}

static void test_holds_the_time(void **state)
{
        (void)state;
        int64_t before = bh_realtime_ms();
        char id[BH_ID_SIZE];

        bh_id_make("ex_", id);
        assert_int_equal(strlen(id), 3 + BH_ULID_LENGTH);
        assert_memory_equal(id, "ex_", 3);
        assert_true(decode_time(id + 3) >= before);
        assert_true(decode_time(id + 3) <= bh_realtime_ms());
}

static void test_ascending(void **state)
{
        (void)state;
        char last[BH_ID_SIZE], next[BH_ID_SIZE];

        bh_id_make("", last);
        for (int i = 0; i < 100000; i++) {
                bh_id_make("", next);
                if (strcmp(last, next) >= 0)
                        fail_msg("%s does not sort after %s", next, last);
                if (!bh_id_valid("", next))
                        fail_msg("%s is not valid", next);
                memcpy(last, next, sizeof(last));
        }
}

static void *make_many(void *argument)
{
        char(*ids)[BH_ID_SIZE] = argument;

        for (size_t i = 0; i < PER_THREAD; i++)
                bh_id_make("t_", ids[i]);
        return NULL;
}

static int compare(const void *a, const void *b)
{
        return strcmp(a, b);
}

static void test_unique_across_threads(void **state)
{
        (void)state;
        _cleanup_free_ char *ids = bh_alloc_array(THREADS * PER_THREAD, BH_ID_SIZE);
        pthread_t threads[THREADS];

        for (size_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, make_many,
                                                ids + i * PER_THREAD * BH_ID_SIZE),
                                 0);
        for (size_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        qsort(ids, (size_t)THREADS * PER_THREAD, BH_ID_SIZE, compare);
        for (size_t i = 1; i < (size_t)THREADS * PER_THREAD; i++)
                assert_string_not_equal(ids + i * BH_ID_SIZE, ids + (i - 1) * BH_ID_SIZE);
}

static void test_long_prefix_leaves_the_ulid_whole(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];

        bh_id_make("0123456789abc", id);
        assert_true(bh_id_valid("0123456789abc", id));
        bh_id_make("0123456789abcdefghi", id);
        assert_true(bh_id_valid("0123456789abc", id));
}

static void test_valid(void **state)
{
        (void)state;
        assert_true(bh_id_valid("ex_", "ex_01arz3ndektsv4rrffq69g5fav"));
        assert_true(bh_id_valid("", "7zzzzzzzzzzzzzzzzzzzzzzzzz"));
        assert_true(bh_id_valid("", "00000000000000000000000000"));
}

static void test_invalid(void **state)
{
        (void)state;
        static const char *const bad[] = {
                "",
                "ex_",
                "e",
                "ex_01arz3ndektsv4rrffq69g5fa",
                "ex_01arz3ndektsv4rrffq69g5favv",
                "ex_01ARZ3NDEKTSV4RRFFQ69G5FAV",
                "ex_81arz3ndektsv4rrffq69g5fav",
                "ex_01arz3ndektsv4rrffq69g5fai",
                "ex_01arz3ndektsv4rrffq69g5fal",
                "ex_01arz3ndektsv4rrffq69g5fao",
                "ex_01arz3ndektsv4rrffq69g5fau",
                "ex_01arz3ndektsv4rrffq69g5f/v",
                "ex_../arz3ndektsv4rrffq69g5fa",
                "ws_01arz3ndektsv4rrffq69g5fav",
                "EX_01arz3ndektsv4rrffq69g5fav",
                "01arz3ndektsv4rrffq69g5fav",
                "ex_01arz3ndektsv4rrffq69g5fav\n",
                " ex_01arz3ndektsv4rrffq69g5fav",
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_false(bh_id_valid("ex_", bad[i]));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_holds_the_time),
                cmocka_unit_test(test_ascending),
                cmocka_unit_test(test_unique_across_threads),
                cmocka_unit_test(test_long_prefix_leaves_the_ulid_whole),
                cmocka_unit_test(test_valid),
                cmocka_unit_test(test_invalid),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
